"""Ask pip: `--dry-run --report`, which names what it would install.

https://pip.pypa.io/en/stable/reference/installation-report/
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from doctor.base.requirements import normalize_name
from doctor.environments.answers import Answer, NoAnswer, NoAnswerReason, Resolution
from doctor.environments.asking import Question, changes_of, folder_for
from doctor.environments.inventory import installed_for
from doctor.environments.statements import failure

_REPORT = 64 << 20


def ask(question: Question) -> Answer:
    """Return what `pip install` or `pip uninstall` would change."""
    verb = next((one for one in question.arguments if not one.startswith("-")), "")
    if verb == "uninstall":
        return _uninstall(question)
    if verb != "install":
        return NoAnswer(why=NoAnswerReason.NO_DRY_RUN, text=f"pip {verb} has no dry run")
    with folder_for(question.host.env) as folder:
        report = folder / "report.json"
        extra = () if question.builds else ("--only-binary", ":all:")
        asked = (*question.arguments, "--dry-run", "--report", str(report), *extra)
        done = question.run(*asked)
        if isinstance(done, NoAnswer):
            return done
        if not done.ok:
            return failure(done.errors + "\n" + done.output)
        rows = _rows(report)
    if rows is None:
        return NoAnswer(why=NoAnswerReason.FAILED, text="pip wrote no report")
    here = {} if _is_elsewhere(question.arguments) else _here(question)
    if here is None:
        return NoAnswer(
            why=NoAnswerReason.NO_ENVIRONMENT, text="the Python of this pip does not answer"
        )
    return Resolution(
        changes=changes_of({name: here.get(name) for name in rows if name in here}, rows),
        download_bytes=None if rows else 0,
        seconds=done.seconds,
    )


def _is_elsewhere(arguments: tuple[str, ...]) -> bool:
    """Say whether pip is to install into a folder of its own."""
    return any(one in ("-t", "--target") or one.startswith("--target=") for one in arguments)


def _rows(report: Path) -> dict[str, str | None] | None:
    """Return name and version of each row of an installation report."""
    try:
        if report.stat().st_size > _REPORT:
            return None
        document: Any = msgspec.json.decode(report.read_bytes())
        rows = [one["metadata"] for one in document["install"]]
        return {normalize_name(str(one["name"])): str(one["version"]) for one in rows}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _here(question: Question) -> dict[str, str] | None:
    """Return what is installed for the Python that runs this pip."""
    return installed_for(_python(question), question.host)


def _python(question: Question) -> str:
    """Return the Python of a pip; where a script starts it, the one in the script's folder."""
    program = question.program[0]
    if len(question.program) > 1:
        return program
    found = question.host.which(program)
    folder = Path(found).parent if found else Path()
    names = ("python.exe",) if question.host.platform == "win32" else ("python3", "python")
    return next((str(folder / name) for name in names if (folder / name).exists()), names[0])


def _uninstall(question: Question) -> Answer:
    """Return what an uninstallation would remove, by what is installed."""
    here = _here(question)
    if here is None:
        return NoAnswer(
            why=NoAnswerReason.NO_ENVIRONMENT, text="the Python of this pip does not answer"
        )
    named = [normalize_name(one) for one in question.arguments[1:] if not one.startswith("-")]
    gone: dict[str, str | None] = {name: here[name] for name in named if name in here}
    return Resolution(changes=changes_of(gone, {}), download_bytes=0)
