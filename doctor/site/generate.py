"""Write what is generated in this repository, or say what is stale: `python -m doctor.site.generate [--check]`.

`python -m doctor.site.generate site [DIR]` writes the pages of the documentation site (they are not
kept) to docs/site or DIR. `python -m doctor.site.generate shapes GITLEAKS.toml` derives the shapes
of secrets from the rules of gitleaks (doctor/redact/gitleaks.py names the release).
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from doctor.base.toml import parsed
from doctor.catalog import loading as catalogs
from doctor.catalog.check_headers import load_checks
from doctor.catalog.schemas import KINDS, schema
from doctor.host import writing
from doctor.model.report import Diagnosis, Report
from doctor.pipeline import examine
from doctor.redact import gitleaks
from doctor.report.terminal import picture as terminal_picture
from doctor.site.site import COPIES, site

ROOT: Final = Path(__file__).parents[2]
PICTURE: Final = ROOT / "docs" / "terminal.svg"
SHAPES: Final = ROOT / "doctor" / "redact" / "gitleaks.json"
SITE: Final = ROOT / "docs" / "site"
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


def schemas() -> dict[Path, str]:
    """Return the JSON Schemas, for editors and for programs, by their file."""
    return {ROOT / "docs" / "schema" / f"{name}.json": schema(name) for name in KINDS}


def stale() -> list[str]:
    """Return the names of the generated files that say something else than they should.

    What drew the picture does not count.
    """
    found = (
        []
        if terminal_picture.words(_there(PICTURE)) == terminal_picture.words(picture())
        else [PICTURE]
    )
    found += [path for path, text in schemas().items() if _there(path) != text]
    return [str(path.relative_to(ROOT)) for path in found]


def _there(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def write_site(folder: Path) -> None:
    """Write every page of the site. What an earlier one left in docs/site goes.

    Another folder only gains files.
    """
    if folder == SITE:
        shutil.rmtree(folder, ignore_errors=True)
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in COPIES}
    pages = site(catalogs.load(), load_checks(), texts)
    _write({folder / name: text for name, text in pages.items()})


def shapes(rules: Path) -> str:
    """Return the shapes of secrets that the rules of gitleaks, a TOML file, stand for."""
    found = list(gitleaks.shapes(parsed(rules.read_text(encoding="utf-8"))))
    told = {
        "source": gitleaks.SOURCE,
        "licence": gitleaks.LICENCE,
        "left_out": gitleaks.LEFT_OUT,
        "shapes": found,
    }
    return msgspec.json.format(msgspec.json.encode(told), indent=1).decode() + "\n"


def _write(files: Mapping[Path, str]) -> None:
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        writing.write(path, text)


def main(arguments: list[str]) -> int:
    """Write the files, or with `--check` name the stale ones and return 1 where there are any."""
    match arguments:
        case []:
            _write({PICTURE: picture(), **schemas()})
        case ["--check"]:
            for name in (names := stale()):
                sys.stderr.write(f"{name} is stale: run python -m doctor.site.generate\n")
            return 1 if names else 0
        case ["shapes", rules]:
            _write({SHAPES: shapes(Path(rules))})
        case ["site", *folders] if len(folders) <= 1:
            write_site(Path(*folders) if folders else SITE)
        case _:
            sys.stderr.write(
                "usage: python -m doctor.site.generate [--check | site [DIR] | shapes GITLEAKS.toml]\n"
            )
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
