"""One question to an installer, and how it is asked."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from doctor.base.errors import DoctorError
from doctor.environments.answers import NoAnswer, NoAnswerReason
from doctor.host import CompletedCommand, Host, Termination
from doctor.host.scratch import temporary_folders
from doctor.model.plans import Change
from doctor.redact import without_secrets

_OUTPUT = 16 << 20
_QUIET = {
    "NO_COLOR": "1",
    "UV_NO_PROGRESS": "1",
    "UV_PYTHON_DOWNLOADS": "never",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "CARGO_TERM_COLOR": "never",
    "PYTHONUTF8": "1",
    "PYTHONWARNINGS": "ignore",
}


NO_LIBRARIES = {"LD_LIBRARY_PATH": "", "LD_PRELOAD": ""}
"""Without what comes into a program from elsewhere: ld.so passes over an empty value."""


def is_of_loader(done: CompletedCommand) -> bool:
    """Say whether a program did not start for a library, such as one of LD_LIBRARY_PATH."""
    crashed = done.ended is Termination.ITSELF and (done.code or 0) < 0
    said = f"{done.output}{done.errors}{done.why}"
    return crashed or "error while loading shared libraries" in said


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of an installer: its command, and the bounds of the answer.

    `program` is what starts it (`uv`, or a Python with `-m pip`), `arguments` what follows.
    """

    program: tuple[str, ...]
    arguments: tuple[str, ...]
    host: Host
    env: Mapping[str, str]
    cwd: Path
    builds: bool = False
    sizes: bool = True
    timeout: float = 180.0

    def run(
        self, *arguments: str, env: Mapping[str, str] | None = None
    ) -> CompletedCommand | NoAnswer:
        """Run the program with arguments; NoAnswer where it does not start, or never ends."""

        def ran(more: Mapping[str, str]) -> CompletedCommand:
            return self.host.run(
                (*self.program, *arguments),
                timeout=self.timeout,
                limit=_OUTPUT,
                env={**_QUIET, **self.env, **(env or {}), **more},
                cwd=self.cwd,
            )

        done = ran({})
        if is_of_loader(done):
            done = ran(NO_LIBRARIES)
        if done.ended is Termination.NOT_STARTED:
            return NoAnswer(why=NoAnswerReason.NO_INSTALLER, text=without_secrets(done.why))
        if done.ended is Termination.TIMEOUT:
            text = f"{self.program[0]} gave no answer within {self.timeout:.0f} s"
            return NoAnswer(why=NoAnswerReason.TIMEOUT, text=text)
        return done


def changes_of(
    before: Mapping[str, str | None], after: Mapping[str, str | None]
) -> tuple[Change, ...]:
    """Return the changes between what is removed and what is put there, by name.

    A distribution that is removed and put back in the same release is a change as well: its files
    are written again.
    """
    names = sorted({*before, *after})
    return tuple(
        Change(name=name, before=before.get(name), after=after.get(name)) for name in names
    )


@contextmanager
def folder_for(env: Mapping[str, str]) -> Iterator[Path]:
    """Give a temporary folder, gone at the end; raises DoctorError where none can be made."""
    for place in temporary_folders(env):
        try:
            folder = tempfile.TemporaryDirectory(prefix="doctor-", dir=place)
        except OSError:
            continue
        with folder as path:
            yield Path(path)
        return
    raise DoctorError("no temporary folder can be made for the question to the installer")
