"""The temporary folder of one run, and a warden that clears up where doctor itself is killed."""

from __future__ import annotations

import contextlib
import itertools
import shutil
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from types import TracebackType

from doctor.errors import DoctorError
from doctor.host.nursery import Nursery

_WARDEN = Path(__file__).with_name("warden.py")


class ScratchError(DoctorError):
    """No temporary folder can be made, so no check can run."""


class Scratch:
    """Use it with `with`: whatever was started or written there is gone afterwards, also after SIGKILL (where there is a /proc)."""

    def __init__(self) -> None:
        self._mark, self._numbers = uuid.uuid4().hex, itertools.count()
        self.nursery: Nursery | None = None
        self.forks = True
        try:
            self.folder = Path(tempfile.mkdtemp(prefix="doctor-"))
        except OSError as error:
            raise ScratchError(f"no temporary folder for the checks: {error}; free some space, set TMPDIR, or use --no-canaries") from None
        self._warden = self._watched()

    def mark(self) -> str:
        """Return a mark for one command; all of a run begin alike."""
        return f"{self._mark}.{next(self._numbers)}"

    def new_nursery(self) -> Nursery:
        """Return the nursery of this run, to be opened."""
        self.nursery = Nursery(self.mark())
        return self.nursery

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.nursery:
            self.nursery.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._warden and self._warden.stdin:
            with contextlib.suppress(OSError):
                self._warden.stdin.write(b".")
                self._warden.stdin.close()
            self._warden.wait()

    def _watched(self) -> subprocess.Popen[bytes] | None:
        argv = [sys.executable, "-I", "-S", str(_WARDEN), str(self.folder), self._mark]
        try:
            return subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
        except (OSError, ValueError):
            return None
