"""Import modules one by one, each in a child process; runs in the target's interpreter.

It imports nothing of doctor. The first argument is the file for the answers, a line of JSON each.
"""

import json
import os
import signal
import subprocess
import sys
import time
import traceback

_SECONDS = 90.0
_LOG = 16000
_ONE = "import sys; sys.path[:] = [p for p in sys.path if p]; __import__(sys.argv[1])"


def main():
    """Import what the command line names."""
    path, names = sys.argv[1], sys.argv[2:]
    sys.path[:] = [entry for entry in sys.path[1:] if entry]
    forks = hasattr(os, "fork") and sys.platform != "darwin"
    with open(path, "a", encoding="utf-8") as out:
        for name in names:
            answer = _forked(name) if forks else _started(name)
            answer["module"] = name
            out.write(json.dumps(answer) + "\n")
            out.flush()


def _forked(name):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.setpgid(0, 0)
        _in_child(name, write)
    os.close(write)
    data, ended = b"", time.time() + _SECONDS
    import select

    while time.time() < ended:
        ready, _, _ = select.select([read], [], [], max(ended - time.time(), 0))
        chunk = os.read(read, 65536) if ready else b""
        if not chunk:
            break
        data = (data + chunk)[-_LOG:]
    late = time.time() >= ended
    try:
        os.killpg(child, signal.SIGKILL)
    except OSError:
        pass
    _, status = os.waitpid(child, 0)
    os.close(read)
    text = data.decode("utf-8", "replace")
    if text.endswith("\0ok"):
        return {"ok": True}
    log, failed, error = text.rpartition("\0error ")
    if failed:
        return {"ok": False, "error": error, "log": log}
    signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    why = "it did not end in %d s" % _SECONDS if late else "it ended with signal %d" % signalled
    return {"ok": False, "error": why, "log": text}


def _in_child(name, write):
    """Import a module, write how that ended, and end at once."""
    for number in (1, 2):
        os.dup2(write, number)
    try:
        __import__(name)
        end = "\0ok"
    except BaseException as error:
        traceback.print_exc()
        end = "\0error " + ("%s: %s" % (type(error).__name__, error)).replace("\0", "")[:500]
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os.write(write, end.encode("utf-8", "replace"))
        os._exit(0)


def _started(name):
    """Import a module in an interpreter of its own, where nothing can be forked."""
    try:
        ran = subprocess.run(
            [sys.executable, "-c", _ONE, name],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return {"ok": False, "error": "it did not end in %d s" % _SECONDS, "log": ""}
    text = ran.stdout.decode("utf-8", "replace")[-_LOG:]
    last = text.strip().splitlines()[-1:] or ["it ended with code %d" % ran.returncode]
    return {"ok": ran.returncode == 0, "error": "" if ran.returncode == 0 else last[0], "log": text}


if __name__ == "__main__":
    main()
