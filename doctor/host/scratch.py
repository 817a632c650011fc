"""The temporary folder of one run, and the warden that starts what runs in it and clears up behind it."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import uuid
from pathlib import Path
from types import TracebackType

from doctor.errors import DoctorError
from doctor.host.nursery import Nursery
from doctor.host.warden import Warden


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
        self.warden = Warden(self.folder, self._mark)

    def mark(self) -> str:
        """Return a mark for one command; all of a run begin alike."""
        return f"{self._mark}.{next(self._numbers)}"

    def new_nursery(self) -> Nursery:
        """Return the nursery of this run, to be opened."""
        self.nursery = Nursery(self.mark(), self.warden)
        return self.nursery

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.nursery:
            self.nursery.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.warden.close()
