"""Say which Pythons and which CUDA builds torch was released for, from the tables."""

from __future__ import annotations

from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from doctor.model.catalog import Catalog
from doctor.model.issues import Action, Recipe

PYTHONS = tuple(f"3.{minor}" for minor in range(6, 16))
_OLD_CUDA = (
    ({"from": "1.4", "before": "1.8"}, "9.2"),
    ({"from": "1.4", "before": "1.5"}, "10.0"),
    ({"from": "1.4", "before": "1.9"}, "10.1"),
    ({"from": "1.5", "before": "1.13"}, "10.2"),
    ({"from": "1.7", "before": "1.8"}, "11.0"),
)
"""Builds of torch for CUDA before 11.1, which the table of architectures leaves out."""
_USUAL = ("3.12", "3.11", "3.13", "3.10", "3.14", "3.9", "3.8", "3.7", "3.6", "3.15")
"""Minor releases of Python, those that most packages have wheels for first."""


def pythons_of_torch(catalog: Catalog, release: str) -> tuple[str, ...]:
    """Return the minor releases of Python that a release of torch has wheels for."""
    table = catalog.tables.get("torch-python")
    for row in table.rows if table else ():
        wanted = row.get("python")
        if _covers(row.get("torch"), release) and isinstance(wanted, dict):
            return tuple(one for one in PYTHONS if _covers(wanted, one))
    return ()


def cuda_of_torch(catalog: Catalog, release: str) -> tuple[str, ...]:
    """Return the CUDA releases that a release of torch was built for, Linux on x86-64."""
    table = catalog.tables.get("torch-archs")
    found = [cuda for span, cuda in _OLD_CUDA if _covers(span, release)]
    for row in table.rows if table else ():
        if row.get("machine") == "x86_64" and _covers(row.get("torch"), release):
            cuda = row.get("cuda")
            found += [cuda] if isinstance(cuda, str) else [str(one) for one in cuda or ()]
    return tuple(sorted(set(found), key=Version))


def torch_with_cuda(catalog: Catalog, cuda: str) -> tuple[str, ...]:
    """Return the releases of torch that were built for a CUDA, by the keys of the table."""
    table = catalog.tables.get("torch-python")
    releases = [
        release
        for row in (table.rows if table else ())
        for release in (row["torch"] if isinstance(row["torch"], list) else [row["torch"]])
    ]
    return tuple(one for one in releases if cuda in cuda_of_torch(catalog, one))


def companion_of(catalog: Catalog, name: str, torch: str) -> str:
    """Return the release of torchvision or torchaudio that was made for a release of torch."""
    table = catalog.tables.get(name)
    rows = [row for row in (table.rows if table else ()) if row.get("torch") == torch]
    return str(rows[-1].get(name, "")) if rows else ""


def _covers(cell: Any, release: str) -> bool:
    try:
        version = Version(release)
        if isinstance(cell, dict):
            low, high = cell.get("from"), cell.get("before")
            return (low is None or Version(low) <= version) and (
                high is None or version < Version(high)
            )
        return any(Version(one) == version for one in ([cell] if isinstance(cell, str) else cell))
    except (InvalidVersion, TypeError):
        return False


def python_for(wanted: str) -> str | None:
    """Return the minor release of Python to take for a requirement such as `>=3.9,<3.13`."""
    try:
        specifier = SpecifierSet(wanted)
    except InvalidSpecifier:
        return None
    return next((one for one in _USUAL if specifier.contains(f"{one}.9", prereleases=True)), None)


def usual(pythons: tuple[str, ...]) -> str | None:
    """Return the one to take of several minor releases of Python."""
    return next((one for one in _USUAL if one in pythons), None)


def environment(python: str, request: str = "") -> tuple[Action, tuple[str, ...]]:
    """Return the step that makes an environment with a Python, and how pip is called in it.

    uv brings CPython 3.8 and newer (`uv python list`), conda older ones too. `request` names the
    Python to uv where the minor release is not enough.
    """
    if tuple(int(one) for one in python.split(".")) < (3, 8):
        name = f"python-{python}"
        make: tuple[str, ...] = (
            "conda",
            "create",
            "--yes",
            "--name",
            name,
            f"python={python}",
            "pip",
        )
        install = ("conda", "run", "--name", name, "python", "-m", "pip", "install")
        return Action(run=make), install
    folder = f".venv-{python}"
    make = ("uv", "venv", "--python", request or python, folder)
    return Action(run=make), ("uv", "pip", "install", "--python", folder)


def new_environment(python: str, *, use_if: tuple[str, ...] = ()) -> Recipe:
    """Return the recipe for an environment with another Python."""
    return Recipe(
        title=f"Make an environment with Python {python}",
        use_if=use_if,
        note="Install the packages into it.",
        steps=(environment(python)[0],),
    )


def span(pythons: tuple[str, ...]) -> str:
    """Write minor releases of Python that follow each other."""
    if not pythons:
        return ""
    first, last = pythons[0], pythons[-1]
    return f"Python {first}" if first == last else f"Python {first} to {last}"


def named_cuda(local: str) -> str | None:
    """Return the CUDA release that a local version such as `cu124` names."""
    digits = local.removeprefix("cu")
    if not local.startswith("cu") or not digits.isdigit() or len(digits) not in (2, 3, 4):
        return None
    return f"{digits[:-1]}.{digits[-1]}"
