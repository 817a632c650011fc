"""Rewrite what a manifest says of a version so that it admits a release.

Each clause keeps its operator, its precision and its blanks: `==2.5.*` becomes `==2.13.*`, and
`>=2.4, <2.6` becomes `>=2.4, <2.14`. A clause that admits the release stays as it is.

- Python: https://packaging.python.org/en/latest/specifications/version-specifiers/
- Poetry: https://python-poetry.org/docs/dependency-specification/
- conda: https://docs.conda.io/projects/conda-build/en/stable/resources/package-spec.html
- Cargo: https://doc.rust-lang.org/cargo/reference/specifying-dependencies.html
"""

from __future__ import annotations

import re
from typing import NamedTuple

from packaging.version import Version

from doctor.base.requirements import InvalidRequirement, meets
from doctor.base.versions import parse, public
from doctor.observe.manifests.pins import Syntax

_LONGEST = 300
_CLAUSE = re.compile(
    r"(\s{0,40})(===|~=|==|!=|<=|>=|<|>|=|\^|~|)(\s{0,40})(v?\d[\w.!+*-]{0,100}|\*)"
    r"(=[\w.*]{1,80})?(\s{0,40})"
)
_NUMBERS = re.compile(r"v?(\d{1,9}(?:\.\d{1,9}){0,5})(.*)")


class _Clause(NamedTuple):
    """One clause and the blanks around it; `build` is conda's, `=py311_0`."""

    before: str
    operator: str
    blank: str
    version: str
    build: str
    after: str

    @property
    def text(self) -> str:
        return "".join(self)


def admits(syntax: Syntax, text: str, release: str) -> bool | None:
    """Say whether a release meets what a manifest says of a version; None where nobody can tell."""
    wanted, clauses = parse(release), _clauses(text)
    if wanted is None or clauses is None:
        return None
    if syntax is Syntax.TAG:
        return None
    answers = [_admits(syntax, clause, release) for clause in clauses]
    return None if None in answers else all(answers)


def rewritten(syntax: Syntax, text: str, release: str) -> str | None:
    """Return `text` with as little changed as lets `release` in; None where no edit is honest.

    That is so for alternatives (`||`), for a release that the project excludes (`!=`), and for
    what is no version at all.
    """
    wanted, clauses = parse(release), _clauses(text)
    if wanted is None or clauses is None or syntax is Syntax.TAG:
        return None
    edits = [
        clause if _admits(syntax, clause, release) else _moved(syntax, clause, wanted, release)
        for clause in clauses
    ]
    if any(clause is None for clause in edits):
        return None
    after = ",".join(clause.text for clause in edits if clause is not None)
    return after if admits(syntax, after, release) else None


def limited(syntax: Syntax, text: str, release: str) -> str | None:
    """Return `text` with a limit that lets nothing newer than `release` in.

    For a step back, that an installer would undo with the next installation.
    """
    bare, number = text.strip(), public(release)
    if syntax in (Syntax.PYTHON, Syntax.CONDA, Syntax.POETRY) and bare in ("", "*"):
        return number if syntax is Syntax.POETRY else f"=={number}"
    if syntax is Syntax.CARGO or not bare.startswith((">", "!")):
        return None
    after = f"{text.rstrip()},<={number}"
    return after if admits(syntax, after, release) else None


def _clauses(text: str) -> list[_Clause] | None:
    """Split a specifier; None where it is none. An empty one has no clauses."""
    if len(text) > _LONGEST:
        return None
    if not text.strip():
        return []
    found = [_CLAUSE.fullmatch(part) for part in text.split(",")]
    return (
        [_Clause(*(group or "" for group in one.groups())) for one in found if one]
        if all(found)
        else None
    )


def _admits(syntax: Syntax, clause: _Clause, release: str) -> bool | None:
    if clause.version == "*":
        return True
    if clause.build:
        return False  # a build belongs to one release
    number = public(release)
    match _operator(syntax, clause):
        case "^":
            return _between(number, clause.version, _caret(clause.version))
        case "~":
            return _between(number, clause.version, _tilde(clause.version))
        case "prefix":
            return _has_prefix(number, clause.version.removesuffix(".*"))
        case operator:
            version = clause.version.removeprefix("v")
            if "+" in version and syntax is Syntax.PYTHON:
                number = release
            try:
                return meets(number, operator + version)
            except InvalidRequirement:
                return None


def _operator(syntax: Syntax, clause: _Clause) -> str:
    """Return what a clause means: a comparison of PEP 440, `^`, `~`, or `prefix`."""
    operator, wild = clause.operator, clause.version.endswith(".*")
    partial = wild or len(_release(clause.version)) < 3
    match syntax, operator:
        case Syntax.CARGO, "":
            return "prefix" if wild else "^"
        case Syntax.CARGO, "=":
            return "prefix" if partial else "=="
        case Syntax.CONDA, "=":
            return "prefix"
        case _, "":
            return "prefix" if wild else "=="
        case _:
            return operator


def _moved(syntax: Syntax, clause: _Clause, wanted: Version, release: str) -> _Clause | None:
    """Return a clause that admits the release; None where its author excludes it."""
    operator, version = clause.operator, clause.version
    size = len(_release(version))
    match operator:
        case "!=":
            return None
        case "<" if _release(version):
            return clause._replace(version=_next(version, wanted))
        case ">" | ">=":
            return clause._replace(operator=">=", version=public(release))
        case "^" | "~" | "~=":
            return clause._replace(version=_cut(wanted, size, release))
        case "==" | "===" if "+" in version and "+" in release:
            return clause._replace(version=release)
        case _ if version.endswith(".*"):
            return clause._replace(version=_cut(wanted, size, release) + ".*", build="")
        case _ if _operator(syntax, clause) in ("^", "prefix"):
            return clause._replace(version=_cut(wanted, size, release), build="")
        case _:
            return clause._replace(version=public(release), build="")


def _release(version: str) -> tuple[int, ...]:
    found = _NUMBERS.match(version)
    return tuple(int(part) for part in found[1].split(".")) if found else ()


def _cut(wanted: Version, size: int, release: str) -> str:
    """Return the first `size` numbers of a release, all of them for a pre-release."""
    if wanted.is_prerelease or wanted.is_postrelease:
        return public(release)
    return _dotted((*wanted.release, *[0] * size)[:size])


def _next(version: str, wanted: Version) -> str:
    """Return the upper end above a release, as precise as the one that it replaces.

    Zeros at the end are a way of writing: `<2.6.0` means that 2.6 is out.
    """
    numbers = _release(version)
    size = len(numbers)
    while size > 1 and numbers[size - 1] == 0:
        size -= 1
    head = (*wanted.release, *[0] * size)[:size]
    return _dotted((*head[:-1], head[-1] + 1, *[0] * (len(numbers) - size)))


def _caret(version: str) -> tuple[int, ...]:
    numbers = _release(version)
    first = next((place for place, number in enumerate(numbers) if number), len(numbers) - 1)
    return (*numbers[:first], numbers[first] + 1)


def _tilde(version: str) -> tuple[int, ...]:
    numbers = _release(version)
    return (numbers[0], numbers[1] + 1) if len(numbers) > 1 else (numbers[0] + 1,)


def _between(number: str, low: str, high: tuple[int, ...]) -> bool | None:
    version, lowest = parse(number), parse(low)
    if version is None or lowest is None:
        return None
    return lowest <= version < Version(f"{_dotted(high)}.dev0")


def _has_prefix(number: str, prefix: str) -> bool | None:
    version, numbers = parse(number), _release(prefix)
    if version is None or parse(prefix) is None or not numbers:
        return None
    return (*version.release, *[0] * len(numbers))[: len(numbers)] == numbers


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))
