"""Keep the temporary folder of one run, and the supervisor of its processes."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType

from doctor.base.errors import DoctorError
from doctor.base.refusals import refusal_of
from doctor.host.fork_server import ForkServer
from doctor.host.removal import remove_tree
from doctor.host.supervisor import Supervisor


class ScratchError(DoctorError):
    """No temporary folder can be made, so no check can run.

    `what` is what the machine refuses (`doctor.base.refusals`).
    """

    def __init__(self, text: str, what: str = "rights") -> None:
        super().__init__(text)
        self.what = what


class Scratch:
    """A context manager: processes and files of the run are gone at its end.

    Where there is a /proc, this holds after SIGKILL as well. The folder is made in `place`, by
    default where temporary files belong, and its name begins with `prefix`. Raises ScratchError.
    """

    def __init__(self, place: Path | None = None, prefix: str = "doctor-") -> None:
        self._mark, self._numbers = uuid.uuid4().hex, itertools.count()
        self.fork_server: ForkServer | None = None
        self.forks = True
        places = temporary_folders(os.environ) if place is None else (str(place),)
        self.folder = _make_folder(places, prefix)
        self.supervisor = Supervisor(self.folder, self._mark)

    def mark(self) -> str:
        """Return a mark for one command; all of a run begin alike."""
        return f"{self._mark}.{next(self._numbers)}"

    def new_fork_server(self) -> ForkServer:
        """Return the fork server of this run, to be opened."""
        self.fork_server = ForkServer(self.mark(), self.supervisor)
        return self.fork_server

    def __enter__(self) -> Scratch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.fork_server:
            self.fork_server.close()
        remove_tree(self.folder)
        self.supervisor.close()


def _make_folder(places: Iterable[str], prefix: str) -> Path:
    """Make the folder where temporary files belong; raises ScratchError.

    `tempfile` by itself ends with the current folder, which is the user's: there nothing of ours is
    ever written.
    """
    failed: dict[str, Exception] = {}
    for place in dict.fromkeys(places):
        try:
            return Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        except (OSError, ValueError) as error:
            failed[place] = error
    tried = "; ".join(
        f"{place}: {getattr(error, 'strerror', None) or error}" for place, error in failed.items()
    )
    refused = [no.what for error in failed.values() if (no := refusal_of(error))]
    raise ScratchError(
        f"no temporary folder can be made ({tried})",
        next((what for what in refused if what != "rights"), "rights"),
    )


def temporary_folders(env: Mapping[str, str], platform: str = sys.platform) -> Iterator[str]:
    """Yield the folders for temporary files: those of the environment, then the system's."""
    named = (env.get(name, "") for name in ("TMPDIR", "TEMP", "TMP"))
    yield from (name for name in named if Path(name).is_absolute())
    if platform == "win32":
        yield from (
            f"{home}\\Temp" for name in ("LOCALAPPDATA", "SYSTEMROOT") if (home := env.get(name))
        )
    else:
        yield from ("/tmp", "/var/tmp")  # noqa: S108 - mkdtemp makes a folder that is ours alone
