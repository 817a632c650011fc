"""Run doctor out of the archive that this file is the `__main__` of.

Compiled modules cannot be imported from an archive, so it is unpacked into a temporary folder,
which is removed at the end. This file is a program for the Python of a node, whichever that is: one
of another release looks for the right one on this node, and one that is too old must still be able
to say so.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

_CANNOT = 3
_PROBE_SECONDS = 10
_END_SECONDS = 4
"""Less than what the engines wait before they kill: after it the folder has to go."""
_ASK = """
import json, sys, sysconfig
print(json.dumps({
    "python": ".".join(map(str, sys.version_info[:2])),
    "implementation": sys.implementation.name,
    "platform": sysconfig.get_platform(),
}))
"""


def main() -> int:
    """Unpack the archive, run doctor with the same arguments, and return its exit code."""
    with zipfile.ZipFile(sys.path[0]) as archive:
        made_for = json.loads(archive.read("made_for.json").decode())
        here = {
            "python": ".".join(map(str, sys.version_info[:2])),
            "implementation": sys.implementation.name,
            "platform": sysconfig.get_platform(),
        }
        if made_for != here:
            other = _fitting(made_for)
            if other is not None:
                os.execv(other, [other, *sys.argv])  # noqa: S606 - no shell is wanted
            _say(
                f"{sys.executable} is {_words(here)}, doctor came for {_words(made_for)}, and no "
                f"python{made_for['python']} is on PATH here. Name one with --node-python, start "
                f"doctor with Python {here['python']}, or install it here and use --installed"
            )
            return _CANNOT
        # A scheduler ends a task with SIGTERM first: the folder must go then as well.
        signal.signal(signal.SIGTERM, _interrupt)
        try:
            # The engine removes what has the archive's name, should this process be killed.
            folder = Path(tempfile.mkdtemp(prefix=f"{Path(sys.path[0]).stem}-"))
        except OSError as error:
            _say(f"no temporary folder can be made: {error}")
            return _CANNOT
        try:
            archive.extractall(str(folder))
            return _run([sys.executable, str(folder / "canary_doctor.py"), *sys.argv[1:]])
        except OSError as error:
            _say(f"this node does not let doctor start: {error}")
            return _CANNOT
        finally:
            # A second SIGTERM may not end this: Ray sends one when it ends the worker above.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            shutil.rmtree(str(folder), ignore_errors=True)


def _fitting(made_for: "dict[str, str]") -> "str | None":
    """Return a Python of this node for which the archive was made."""
    name = "python" + made_for["python"]
    folders = [Path(each) for each in os.environ.get("PATH", "").split(os.pathsep)]
    folders += [Path("/usr/bin"), Path("/usr/local/bin")]
    # Where uv and pyenv put releases, on PATH or not.
    for kept in (".local/share/uv/python", ".pyenv/versions"):
        folders += sorted(Path(os.path.expanduser("~"), kept).glob("*/bin"))  # noqa: PTH111
    for folder in dict.fromkeys(folders):
        path = folder / name
        if path.is_absolute() and os.access(str(path), os.X_OK) and _tells(str(path)) == made_for:
            return str(path)
    return None


def _tells(python: str) -> object:
    """Return what an interpreter says of itself, None where it does not start."""
    try:
        answer = subprocess.run(
            [python, "-I", "-c", _ASK],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PROBE_SECONDS,
            check=False,
        )
        return json.loads(answer.stdout.decode())
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def _run(argv: "list[str]") -> int:
    child = subprocess.Popen(argv)
    try:
        return child.wait()
    except BaseException:
        child.terminate()
        try:
            child.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
        raise


def _words(made_for: "dict[str, str]") -> str:
    return "{implementation} {python} on {platform}".format(**made_for)


def _say(text: str) -> None:
    sys.stderr.write(f"doctor: {text}\n")


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    try:
        code = main()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code if code >= 0 else 128 - code)
