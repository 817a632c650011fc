"""Read requirements, environment markers and version specifiers (PEP 440, 503 and 508).

`packaging` is the reference. Importing its markers takes 25 to 45 ms, up to a tenth of a check of
files, and every current torch has markers. So the plain shapes are answered here:
`name[extra]>=1,<2`, comparisons of a variable with a text, joined by `and`, `or` and brackets, and
edges that are releases. Everything else (an address, `in`, `===`, a pre-release as an edge) is
handed to `packaging`, imported then. Tests hold both to one answer.

https://packaging.python.org/en/latest/specifications/dependency-specifiers/
https://packaging.python.org/en/latest/specifications/version-specifiers/
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping

import msgspec
from packaging.version import Version

from doctor.base.lazy_pattern import Pattern
from doctor.base.versions import parse

_LONGEST = 8192
"""Characters of a requirement; `packaging` needs the square of them for some texts."""
_SHOWN = 200
# After the name stands no character of a name, so that no part of a long name is tried as one.
_REQUIREMENT = Pattern(
    r"([A-Za-z0-9][\w.-]*)(?<![_.-])(?![\w.-])(?:\s*\[([\w\s,.-]*)\])?"
    r"\s*(?:\(([^()@;]*)\)|([=!<>~][^()@;\[\]]*)?)",
    re.ASCII,
)
_CLAUSE = Pattern(r"(~=|==|!=|<=|>=|<|>)\s*([^\s,=]+)")
_RELEASE = Pattern(r"(\d{1,9}(?:\.\d{1,9}){0,9})(\.\*)?", re.ASCII)
_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_VERSIONS = frozenset({"python_version", "python_full_version", "implementation_version"})


class InvalidRequirement(ValueError):
    """A line, a marker or a specifier that cannot be understood."""


class _UnusualError(Exception):
    """A marker of another shape than those that are answered here."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of one `Requires-Dist` line; `marker` is empty where it always applies."""

    name: str
    extras: frozenset[str]
    specifier: str
    address: str
    marker: str


def normalize_name(name: str) -> str:
    """Return the spelling of a name that installers compare (PEP 503).

    `Flash_Attn` is `flash-attn`. `packaging.utils` has the same line behind an import of 10 ms.
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def read_line(text: str) -> Line:
    """Split a `Requires-Dist` line into its parts; raises `InvalidRequirement`."""
    if len(text) > _LONGEST:
        raise InvalidRequirement(f"not a requirement: {text[:_SHOWN]!r}")
    requirement, _, marker = text.partition(";")
    found = _REQUIREMENT.fullmatch(requirement.strip())
    clauses = _clauses(found[3] or found[4] or "") if found else []
    if found is None or not all(map(_CLAUSE.fullmatch, clauses)):
        return _read_by_packaging(text)
    return Line(
        name=found[1],
        extras=frozenset(part.strip() for part in (found[2] or "").split(",") if part.strip()),
        specifier=",".join("".join(clause.split()) for clause in clauses),
        address="",
        marker=marker.strip(),
    )


def applies(marker: str, environment: Mapping[str, str], extras: Collection[str] = ()) -> bool:
    """Say whether a marker holds in an environment where these extras are asked for.

    `environment` gives each variable of PEP 508 but `extra`. Raises `InvalidRequirement`.
    """
    if not marker:
        return True
    if len(marker) > _LONGEST:
        raise InvalidRequirement(f"not a marker: {marker[:_SHOWN]!r}")
    try:
        # But for `~=` and for escapes in texts, a marker is an expression of Python's.
        tree = None if "\\" in marker else ast.parse(marker, mode="eval").body
        return _holds(tree, environment, extras)
    except (_UnusualError, SyntaxError, ValueError, RecursionError, MemoryError):
        return _evaluated_by_packaging(marker, environment, extras)


def meets(version: str, specifier: str) -> bool:
    """Say whether a version meets every clause of a specifier; pre-releases count like releases.

    A local part is ignored where the clause names none, so 2.4.1+cu121 meets ==2.4.1. Raises
    `InvalidRequirement`.
    """
    clauses = _clauses(specifier)
    parsed = parse(version)
    if clauses and parsed is None:
        raise InvalidRequirement(f"not a version: {version[:_SHOWN]!r}")
    return parsed is None or all(_meets(parsed, clause) for clause in clauses)


def may_meet(version: str, specifier: str) -> bool:
    """Say whether a version meets a specifier; what cannot be compared forbids nothing."""
    try:
        return not specifier or meets(version, specifier)
    except InvalidRequirement:
        return True


def _clauses(specifier: str) -> list[str]:
    return [part.strip() for part in specifier.split(",") if part.strip()]


def _holds(tree: ast.expr | None, environment: Mapping[str, str], extras: Collection[str]) -> bool:
    match tree:
        case ast.BoolOp(operator, values):
            answers = [_holds(value, environment, extras) for value in values]
            return all(answers) if isinstance(operator, ast.And) else any(answers)
        case ast.Compare(ast.Name(name), [operation], [ast.Constant(str(value))]):
            return _compared(name, _OPERATORS.get(type(operation), ""), value, environment, extras)
        case _:
            raise _UnusualError


def _compared(
    name: str, operator: str, value: str, environment: Mapping[str, str], extras: Collection[str]
) -> bool:
    """Answer one comparison of a marker, `python_version < "3.13"`."""
    if name == "extra" and operator == "==":
        return value in extras
    here = environment.get(name)
    if here is not None and name not in _VERSIONS and operator in ("==", "!="):
        return (here == value) is (operator == "==")
    version = parse(here) if here is not None and name in _VERSIONS else None
    if version is None or not operator or not _RELEASE.fullmatch(value):
        raise _UnusualError
    return _meets(version, operator + value)


def _meets(version: Version, clause: str) -> bool:
    """Compare by the rules of PEP 440 where the edge is a release, `>=2.4` or `==2.4.*`."""
    found = _CLAUSE.fullmatch(clause)
    edge = _RELEASE.fullmatch(found[2]) if found else None
    wild = bool(edge and edge[2]) and found is not None and found[1] not in ("==", "!=")
    short = found is not None and found[1] == "~=" and "." not in found[2]
    if found is None or edge is None or wild or short:
        return _contained_by_packaging(version, clause)
    release, public = Version(edge[1]), Version(version.public)
    # `<2.5` takes no 2.5rc1, and `>2.5` no 2.5.post1, though their order says otherwise.
    same_release = Version(version.base_version) == release
    match found[1]:
        case "==" | "!=":
            same = _begins(public, release) if edge[2] else public == release
            return same is (found[1] == "==")
        case "~=":
            family = Version(".".join(map(str, release.release[:-1])))
            return public >= release and _begins(public, family)
        case "<=":
            return public <= release
        case ">=":
            return public >= release
        case "<":
            return version < release and not (version.is_prerelease and same_release)
        case _:
            return public > release and not (version.is_postrelease and same_release)


def _begins(version: Version, edge: Version) -> bool:
    """Say whether a version begins with another: 2.4.1 begins with 2.4, and so does 2.4rc1."""
    size = len(edge.release)
    return not version.epoch and (*version.release, *[0] * size)[:size] == edge.release


def _read_by_packaging(text: str) -> Line:
    from packaging.requirements import Requirement

    try:
        requirement = Requirement(text)
    except (ValueError, RecursionError):
        raise InvalidRequirement(f"not a requirement: {text[:_SHOWN]!r}") from None
    return Line(
        name=requirement.name,
        extras=frozenset(requirement.extras),
        specifier=str(requirement.specifier),
        address=requirement.url or "",
        marker=str(requirement.marker or ""),
    )


def _evaluated_by_packaging(
    marker: str, environment: Mapping[str, str], extras: Collection[str]
) -> bool:
    from packaging.markers import Marker, UndefinedComparison, UndefinedEnvironmentName

    try:
        parsed = Marker(marker)
        return any(parsed.evaluate({**environment, "extra": one}) for one in ("", *extras))
    except (
        *(ValueError, RecursionError, KeyError, TypeError),
        *(UndefinedComparison, UndefinedEnvironmentName),
    ):
        raise InvalidRequirement(f"not a marker: {marker[:_SHOWN]!r}") from None


def _contained_by_packaging(version: Version, clause: str) -> bool:
    from packaging.specifiers import SpecifierSet

    try:
        return SpecifierSet(clause).contains(version, prereleases=True)
    except ValueError:
        raise InvalidRequirement(f"not a specifier: {clause[:_SHOWN]!r}") from None
