"""`doctor explain`, `doctor list`, `doctor lint`, `doctor fmt` and `doctor schema`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from doctor.base.bundled import bundled
from doctor.base.errors import UsageError
from doctor.catalog import loading as catalogs
from doctor.catalog.check_headers import load_checks
from doctor.cli import console as screen
from doctor.cli import options
from doctor.cli import suggestions as offered
from doctor.cli.program_names import suggest


def explain(
    id_: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="A known issue (torch/no-kernel-image) or a check (inductor-compile).",
            autocompletion=offered.ids,
        ),
    ],
    matrices: options.Matrices = None,
) -> int:
    """Explain one finding or one check."""
    from doctor.report.reference import explain as reporter

    known, checks, look = catalogs.load(matrices or ()), load_checks(), screen.style()
    if id_ in known.issues:
        screen.put(
            reporter.render(
                id_, known.issues[id_], width=look.width, colour=look.colour, unicode=look.unicode
            )
        )
    elif id_.removeprefix("canary/") in checks:
        screen.put(
            reporter.render_check(
                checks[id_.removeprefix("canary/")],
                width=look.width,
                colour=look.colour,
                unicode=look.unicode,
            )
        )
    else:
        raise UsageError(
            f"{id_}: no known issue and no check has this id"
            f"{suggest(id_, [*known.issues, *checks])}"
        )
    return 0


def list_(matrices: options.Matrices = None) -> int:
    """List the checks, the known issues and the compatibility tables."""
    from doctor.report.reference import listing

    look = screen.style()
    screen.put(
        listing.render(
            catalogs.load(matrices or ()),
            load_checks(),
            width=look.width,
            colour=look.colour,
            unicode=look.unicode,
        )
    )
    return 0


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
    screen.put("\n".join(faults) if faults else f"{where}: no faults")
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
        screen.put(f"{'would change' if check else 'changed'}: {path}")
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
    screen.put(text(name))
    return 0
