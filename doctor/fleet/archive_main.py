"""Run doctor out of the archive that this file is the `__main__` of.

Compiled modules cannot be imported from an archive, so it is unpacked into a temporary folder,
which is removed at the end. This file is a program for the Python of a node, whichever that is: one
that is too old must still be able to say so.
"""

import json
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

_CANNOT = 3


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
            _say(f"{sys.executable} is {_words(here)}, and this archive is for {_words(made_for)}")
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
            shutil.rmtree(str(folder), ignore_errors=True)


def _run(argv: "list[str]") -> int:
    child = subprocess.Popen(argv)
    try:
        return child.wait()
    except BaseException:
        child.terminate()
        try:
            child.wait(10)
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
