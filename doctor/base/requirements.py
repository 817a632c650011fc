"""Version specifiers and environment markers of METADATA lines, as `packaging` answers them.

Importing packaging.requirements costs more than all probes of a healthy environment together; a
test holds both to one answer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping

import msgspec
from packaging.version import Version

from doctor.base.versions import parse

_SHOWN = 200
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_CLAUSE = re.compile(r"(===|~=|==|!=|<=|>=|<|>)\s*(\S+)")
_WORDS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}
_VERSIONS = frozenset({"python_version", "python_full_version", "implementation_version"})


class InvalidRequirement(ValueError):
    """A line, a marker or a specifier that cannot be understood."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of one `Requires-Dist` line; `marker` is empty where it always applies."""

    name: str
    extras: frozenset[str]
    specifier: str
    address: str
    marker: str


def read_line(text: str) -> Line:
    """Split a `Requires-Dist` line into its parts; raises `InvalidRequirement`."""
    body, _, marker = text.partition(";")
    body = body.strip()
    found = _NAME.match(body)
    name = found[0] if found else ""
    extras, rest = _bracketed(body[len(name) :].lstrip(), "[", "]")
    address, specifier = "", ""
    if rest.startswith("@"):
        address = rest[1:].strip()
    elif rest.startswith("("):
        specifier, rest = _bracketed(rest, "(", ")")
        name = "" if rest else name
    else:
        specifier, name = rest, "" if any(mark in rest for mark in "()@[]") else name
    clauses = [part.strip() for part in _clauses(specifier)]
    whole = (
        name[-1:].isascii() and name[-1:].isalnum() and len(address.split()) == rest.startswith("@")
    )
    if not whole or not all(map(_CLAUSE.fullmatch, clauses)):
        raise InvalidRequirement(f"not a requirement: {text[:_SHOWN]!r}")
    return Line(
        name=name,
        extras=frozenset(part.strip() for part in extras.split(",") if part.strip()),
        specifier=",".join("".join(clause.split()) for clause in clauses),
        address=address,
        marker=marker.strip(),
    )


def _bracketed(text: str, opening: str, closing: str) -> tuple[str, str]:
    """Return what stands in the brackets that a text begins with, and what comes behind.

    Raises `InvalidRequirement` where they stay open.
    """
    if not text.startswith(opening):
        return "", text
    inside, closed, rest = text[1:].partition(closing)
    if not closed:
        raise InvalidRequirement(f"a bracket stays open: {text[:_SHOWN]!r}")
    return inside, rest.strip()


def applies(marker: str, environment: Mapping[str, str], extras: Collection[str] = ()) -> bool:
    """Say whether a marker holds in an environment where these extras are asked for.

    Raises `InvalidRequirement`.
    """
    if not marker:
        return True
    try:
        # PEP 508 is a subset of Python's expressions but for `~=`, which becomes an operator that
        # binds as tightly.
        return _holds(ast.parse(marker.replace("~=", "@"), mode="eval").body, environment, extras)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidRequirement(f"not a marker: {marker!r}") from error


def meets(version: str, specifier: str) -> bool:
    """Say whether a version meets every clause of a specifier; pre-releases count like releases.

    Raises `InvalidRequirement`.

    A local part is ignored where the clause names none, so 2.4.1+cu121 meets ==2.4.1.
    """
    for clause in _clauses(specifier):
        match = _CLAUSE.fullmatch(clause.strip())
        if match is None:
            raise InvalidRequirement(f"not a specifier: {clause!r}")
        if not _meets(version, match[1], match[2]):
            return False
    return True


def _clauses(specifier: str) -> list[str]:
    return [part for part in specifier.split(",") if part.strip()]


def _holds(tree: ast.expr, environment: Mapping[str, str], extras: Collection[str]) -> bool:
    if isinstance(tree, ast.BoolOp):
        answers = (_holds(value, environment, extras) for value in tree.values)
        return all(answers) if isinstance(tree.op, ast.And) else any(answers)
    if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in _WORDS:
        left, word, right = tree.left, _WORDS[type(tree.ops[0])], tree.comparators[0]
    elif isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.MatMult):
        left, word, right = tree.left, "~=", tree.right
    else:
        raise InvalidRequirement("neither a comparison nor several of them")
    names = {side.id for side in (left, right) if isinstance(side, ast.Name)}
    if names == {"extra"} and word == "==":
        return any(
            isinstance(side, ast.Constant) and side.value in extras for side in (left, right)
        )
    return _compared(
        _value(left, environment), word, _value(right, environment), ordered=bool(names & _VERSIONS)
    )


def _compared(one: str, word: str, two: str, *, ordered: bool) -> bool:
    if word in {"in", "not in"}:
        return (one in two) is (word == "in")
    if ordered and parse(one) and parse(two.removesuffix(".*")):
        return _meets(one, word, two)
    if word in {"==", "!="}:
        return (one == two) is (word == "==")
    raise InvalidRequirement(f"{one!r} {word} {two!r}")


def _value(side: ast.expr, environment: Mapping[str, str]) -> str:
    if isinstance(side, ast.Constant) and isinstance(side.value, str):
        return side.value
    if isinstance(side, ast.Name) and side.id in environment:
        return environment[side.id]
    raise InvalidRequirement("neither a text nor the name of a variable")


def _meets(text: str, operator: str, wanted: str) -> bool:
    if operator == "===":
        return text.lower() == wanted.lower()
    version, edge = parse(text), parse(wanted.removesuffix(".*"))
    if version is None or edge is None:
        raise InvalidRequirement(f"{text!r} {operator} {wanted!r}")
    public = Version(version.public)
    match operator:
        case "==" | "!=":
            same = (
                _begins(public, edge)
                if wanted.endswith(".*")
                else (version if edge.local else public) == edge
            )
            return same is (operator == "==")
        case "~=" if len(edge.release) < 2:
            raise InvalidRequirement(f"~= wants a release of two numbers, not {wanted!r}")
        case "~=":
            return public >= edge and _begins(
                public, Version(f"{edge.epoch}!" + ".".join(map(str, edge.release[:-1])))
            )
        case "<=":
            return public <= edge
        case ">=":
            return public >= edge
        case "<":
            same = Version(version.base_version) == Version(edge.base_version)
            early = version.is_prerelease and not edge.is_prerelease and same
            return version < edge and not early
        case _:
            same = version.pre == edge.pre and Version(version.base_version) == Version(
                edge.base_version
            )
            late = version.is_postrelease and not edge.is_postrelease and same
            return public > edge and not late


def _begins(version: Version, edge: Version) -> bool:
    """Say whether a version begins with another: 2.4.1 begins with 2.4, and so does 2.4rc1."""
    size = len(edge.release)
    return version.epoch == edge.epoch and (*version.release, *[0] * size)[:size] == edge.release
