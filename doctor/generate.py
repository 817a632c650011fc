"""Write what is generated in this repository, or say what is stale: `python -m doctor.generate [--check]`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import msgspec

from doctor import catalog as catalogs
from doctor import examine
from doctor.model.report import Diagnosis, Report
from doctor.reporters import terminal_picture

ROOT: Final = Path(__file__).parent.parent
PICTURE: Final = ROOT / "docs" / "terminal.svg"
RECORDING: Final = ROOT / "doctor" / "recordings" / "demo.json"

_SHOWN = "cuda/pip-toolkit-cannot-link"
"""The finding of the recording that the picture shows: a canary that failed, what is known about it, and the commands."""


def picture() -> str:
    """Return the terminal of the README: the recording of `doctor demo`, with one finding and its first fix."""
    return terminal_picture.render(_report(), title="doctor demo")


def _report() -> Report:
    seen = msgspec.structs.replace(examine.read_observation(RECORDING), recording=True)
    report = examine.examine(seen, catalogs.load(), examine.Wanted())
    found = next(found for found in report.diagnosis.findings if found.id == _SHOWN)
    shown = msgspec.structs.replace(found, fixes=found.fixes[:1], symptoms=())
    return msgspec.structs.replace(report, diagnosis=Diagnosis(findings=(shown,)))


def stale() -> list[str]:
    """Return the names of the generated files that say something else than they should; what drew them does not count."""
    try:
        there = PICTURE.read_text(encoding="utf-8")
    except FileNotFoundError:
        there = ""
    return [] if terminal_picture.words(there) == terminal_picture.words(picture()) else [str(PICTURE.relative_to(ROOT))]


def main(arguments: list[str]) -> int:
    """Write the files, or with `--check` name the stale ones and return 1 where there are any."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: python -m doctor.generate [--check]\n")
        return 2
    if not arguments:
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(picture(), encoding="utf-8")
        return 0
    for name in (names := stale()):
        sys.stderr.write(f"{name} is stale: run python -m doctor.generate\n")
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
