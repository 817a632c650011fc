"""Commands about the catalog: explain, list, search, lint, fmt and schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from doctor.base.bundled import bundled
from doctor.base.errors import UsageError
from doctor.catalog import loading as catalogs
from doctor.catalog.check_headers import load_checks
from doctor.cli import console as screen
from doctor.cli import options
from doctor.cli import suggestions as offered
from doctor.cli.program_names import suggest
from doctor.model.catalog import Catalog
from doctor.model.checks import Check

if TYPE_CHECKING:
    from doctor.report.reference.search import Matches


class ListFormat(str, Enum):
    """Formats of a list."""

    TEXT = "text"
    JSON = "json"


_ListFormat = Annotated[
    ListFormat, typer.Option("--format", "-f", help="Format on standard output.")
]


def explain(
    id_: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="An id of a report (torch/no-kernel-image, requires/xfuser), a check, a component "
            "or a table.",
            autocompletion=offered.ids,
        ),
    ],
    matrices: options.Matrices = None,
) -> int:
    """Explain a finding, a check, a component or a compatibility table."""
    look = screen.style()
    how: Any = {"width": look.width, "colour": look.colour, "unicode": look.unicode}
    screen.write_out(explanation(id_, matrices or (), **how))
    return 0


def explanation(id_: str, matrices: Sequence[Path], **how: Any) -> str:
    """Return what is known about an id; raises UsageError where nothing is."""
    from doctor.report.reference import explain as reporter
    from doctor.report.reference import families, listing
    from doctor.report.reference.search import Matches, matching

    known, checks = catalogs.load(matrices), load_checks()
    family, _, rest = id_.partition("/")
    parts: list[str] = []
    if id_ in known.issues:
        parts.append(reporter.render(id_, known.issues[id_], **how))
    elif id_ in checks:
        parts.append(reporter.render_check(checks[id_], **how))
    elif rest and family in families.FAMILIES:
        parts.append(families.render(id_, **how))
        if rest in checks:
            parts.append(reporter.render_check(checks[rest], **how))
        elif tables := [name for name in known.tables if rest.partition("/")[0] == name]:
            parts.append(listing.render(known, checks, Matches(tables=tuple(tables)), **how))
    elif not rest and (found := matching((id_,), known, checks)):
        parts.append(listing.render(known, checks, found, **how))
    if not parts:
        raise UsageError(
            f"{id_}: no finding, check, component or table has this id"
            f"{suggest(id_, [*known.issues, *checks])}"
        )
    return "\n".join(parts)


def list_(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORD]...",
            help="A component (torch), a glob ('torch/*'), or parts of ids and titles.",
            autocompletion=offered.ids,
        ),
    ] = None,
    format_: _ListFormat = ListFormat.TEXT,
    matrices: options.Matrices = None,
) -> int:
    """List checks, known issues and compatibility tables; without words, an overview."""
    from doctor.report.reference.search import matching

    known, checks = catalogs.load(matrices or ()), load_checks()
    found = matching(words or (), known, checks)
    if words and not found:
        raise UsageError(
            f"{' '.join(words)}: nothing has this in its id or title; doctor search looks "
            "everywhere"
        )
    _put(found, known, checks, format_, overview=not words)
    return 0


def search(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORD...", help="Words, or the line of an error in quotes.", show_default=False
        ),
    ],
    format_: _ListFormat = ListFormat.TEXT,
    matrices: options.Matrices = None,
) -> int:
    """Find known issues by words in their title, cause and log lines, or by the line of an error.

    The exit code is 4 if nothing fits.
    """
    from doctor.pipeline.diagnose import ids_for
    from doctor.report.reference.search import Matches, with_words

    known = catalogs.load(matrices or ())
    text = " ".join(words)
    exact = [name for name in ids_for(text, known) if name in known.issues]
    phrase = with_words((text,), known)
    every = with_words(text.split(), known)
    found = Matches(issues=tuple(dict.fromkeys((*exact, *phrase, *every))))
    if not found:
        screen.say("doctor: nothing fits; doctor diagnose FILE reads a whole log")
        return 4
    _put(found, known, {}, format_)
    return 0


def _put(
    found: Matches,
    known: Catalog,
    checks: Mapping[str, Check],
    format_: ListFormat,
    *,
    overview: bool = False,
) -> None:
    from doctor.report.reference import listing
    from doctor.report.reference.search import document

    if format_ is ListFormat.JSON:
        content = msgspec.json.encode(document(found, known, checks))
        screen.write_out(msgspec.json.format(content, indent=2).decode())
        return
    look = screen.style()
    screen.write_out(
        listing.render(
            known,
            checks,
            None if overview else found,
            width=look.width,
            colour=look.colour,
            unicode=look.unicode,
        )
    )


def lint(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]", help="A folder with issues/ and compat/; default: doctor's own."
        ),
    ] = None,
) -> int:
    """Check a catalog: print every fault with file, line and reason.

    The examples of the known issues are run.
    """
    from doctor.lint import lint as find_faults

    where = folder or bundled("matrices")
    if not where.is_dir():
        raise UsageError(f"{where}: no such folder")
    faults = find_faults(where, load_checks())
    screen.write_out("\n".join(faults) if faults else f"{where}: no faults")
    return 1 if faults else 0


def fmt(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]", help="A folder with issues/ and compat/; default: doctor's own."
        ),
    ] = None,
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 if a file would change.")
    ] = False,
) -> int:
    """Format a catalog: one key order, one wrapping. Comments and quotes stay."""
    from doctor.host.writing import write
    from doctor.lint.formatting import unformatted

    where = folder or bundled("matrices")
    if not where.is_dir():
        raise UsageError(f"{where}: no such folder")
    changed = list(unformatted(where))
    for path, text in () if check else changed:
        write(path, text)
    for path, _ in changed:
        screen.write_out(f"{'would change' if check else 'changed'}: {path}")
    return 1 if check and changed else 0


def schema(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="report, observation, issue, table, codes and so on; an unknown name lists all.",
            autocompletion=offered.schemas,
        ),
    ],
) -> int:
    """Print a JSON Schema: report, comparison, snapshot, known issue or compatibility table."""
    from doctor.catalog.schemas import KINDS
    from doctor.catalog.schemas import schema as text

    if name not in KINDS:
        raise UsageError(f"{name}: choose one of {', '.join(KINDS)}")
    screen.write_out(text(name))
    return 0
