"""No pattern that doctor brings can be made to hang by the text that it is searched in.

Held for every pattern that `re` compiles or searches for in the package, by its structure: the time
grows with the length of the text, times a constant that the pattern alone decides
(`tests/promises/steps.py` says how that is proved). Patterns of catalogs are not among them: an
engine that cannot go back searches for those (`doctor/patterns`).
"""

from __future__ import annotations

import ast
import importlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from doctor.logs.log import _TELLS
from doctor.observe.runner import resources as sparing
from doctor.redact.shapes import shapes
from tests.promises.sources import ROOT, modules, name_of
from tests.promises.steps import steps

_FUNCTIONS = frozenset(
    {"compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"}
)
_ANCHORED = frozenset({"match", "fullmatch"})
_MOST = 25_000
"""Steps for each character of a text."""
_MOST_NEAR = 300_000
"""Bound the steps where a text is matched from its beginning, and around secrets."""
_OURS = frozenset(
    {
        "doctor/catalog/check_headers.py",
        "doctor/report/terminal/picture.py",
        "doctor/timelines/build/codes.py",
    }
)
"""Where texts are searched that come with doctor, or with official headers that an author names.

Its check scripts, the picture that it draws, and what checks its tables.
"""
_BY_NAME: dict[tuple[str, str], tuple[str, ...]] = {
    ("doctor/observe/cargo/toolchain.py", 're.escape(name) + "-(?!\\\\d)[\\\\w-]+"'): (
        r"name-(?!\d)[\w-]+",
    ),
    ("doctor/observe/binaries/loader_cache.py", "separator"): ("[:;]",),
    ("doctor/observe/runner/resources.py", 'f"{words}|{more}" if more else words'): (
        sparing._NO_ROOM.pattern,
        sparing._NO_MEMORY.pattern,
    ),
    (
        "doctor/base/lazy_pattern.py",
        "self._text",
    ): (),  # the patterns are looked at where they stand
    ("doctor/redact/shapes.py", "pattern"): tuple(shape.pattern for shape in shapes()),
    (
        "doctor/observe/installed/modules.py",
        "pattern",
    ): (),  # the callers' patterns are looked at where they stand
    ("doctor/logs/log.py", "pattern"): tuple(pattern for pattern, _ in _TELLS),
    (
        "doctor/base/patterns/__init__.py",
        "pattern",
    ): (),  # a catalog's, which `fault` parses and `in_fact` takes without repetition only
}
"""Patterns that are made while doctor runs, and what they are made of."""


class Use(NamedTuple):
    """A pattern where it is compiled or searched for.

    `anchored` where only beginnings of texts are matched, `whole` where all of them.
    """

    path: str
    line: int
    pattern: str | bytes
    flags: int
    anchored: bool
    whole: bool


def _uses(path: Path) -> Iterator[Use]:
    text = path.read_text(encoding="utf-8")
    if not any(word in text for word in ("re.", "searched(", "Pattern(")):
        return  # to walk a tree takes longer than all else here
    nodes = list(ast.walk(ast.parse(text)))
    calls = [
        (node, place)
        for node in nodes
        if isinstance(node, ast.Call) and (place := _place_of_pattern(node)) is not None
    ]
    names = {**vars(importlib.import_module(name_of(path))), "re": re} if calls else {}
    methods: dict[str, set[str]] = {}
    for node in nodes if calls else ():
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            methods.setdefault(node.value.id, set()).add(node.attr)
    for node, place in calls:
        function = ast.unparse(node.func).removeprefix("re.")
        used = (
            methods.get(_bound_to(node, nodes), {"search"})
            if function in ("compile", "Pattern")
            else {function}
        )
        flags = sum(
            flag
            for flag in (_value(other, names) for other in _others(node))
            if isinstance(flag, re.RegexFlag)
        )
        for pattern in _patterns(node.args[place], names, str(path.relative_to(ROOT))):
            yield Use(
                str(path.relative_to(ROOT)),
                node.lineno,
                pattern,
                int(flags),
                used <= _ANCHORED,
                used <= _ANCHORED and "fullmatch" in used,
            )


def _place_of_pattern(node: ast.Call) -> int | None:
    if isinstance(node.func, ast.Name) and node.func.id in ("searched", "Pattern"):
        return int(node.func.id == "searched")
    function = node.func
    of_re = (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
    )
    return (
        0 if of_re and isinstance(function, ast.Attribute) and function.attr in _FUNCTIONS else None
    )


def _others(node: ast.Call) -> list[ast.expr]:
    return [*node.args[1:], *(keyword.value for keyword in node.keywords)]


def _bound_to(call: ast.Call, nodes: list[ast.AST]) -> str:
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            names = [
                one.id
                for one, value in zip(targets, values, strict=False)
                if value is call and isinstance(one, ast.Name)
            ]
            if names:
                return names[0]
    return ""


def _patterns(node: ast.expr, names: dict[str, Any], path: str) -> list[str | bytes]:
    if isinstance(node, ast.JoinedStr):  # what is put in is a name that was read, a word
        parts = [
            part.value if isinstance(part, ast.Constant) else _value(part, names) or "word"
            for part in node.values
        ]
        return ["".join(map(str, parts))]
    value = _value(node, names)
    if isinstance(value, str | bytes):
        return [value]
    known = {source for where, source in _BY_NAME if where == path}
    source = ast.unparse(node).replace("'", '"')
    shapes = source.partition(".")[2] if source.startswith("shape.") else ""
    if shapes:  # the tables of manifests in TOML
        return [
            getattr(shape, shapes)
            for shape in names.values()
            if hasattr(shape, shapes) and isinstance(getattr(shape, shapes), str)
        ]
    assert source in known, (
        f"{path}:{node.lineno}: {source}: say in _BY_NAME what this pattern is made of"
    )
    return list(_BY_NAME[path, source])


def _value(node: ast.AST, names: dict[str, Any]) -> Any:
    expression = node.value if isinstance(node, ast.FormattedValue) else node
    if not isinstance(expression, ast.expr):
        return None
    try:
        return eval(compile(ast.Expression(expression), "pattern", "eval"), names)
    except Exception:  # noqa: BLE001 - a name that only a function knows
        return None


def _packages() -> dict[str, list[Path]]:
    """Return the modules of each package.

    Every worker collects: the trees of the modules are walked in the tests only.
    """
    found: dict[str, list[Path]] = {}
    for path in modules("doctor"):
        found.setdefault(path.relative_to(ROOT).parts[1], []).append(path)
    return found


_PACKAGES = _packages()


def test_patterns_are_found() -> None:
    uses = [use for path in modules("doctor") for use in _uses(path)]
    assert len(uses) > 230
    assert len({use.path for use in uses}) > 60
    assert sum(use.anchored for use in uses) > 40
    assert {use.path for use in uses} >= _OURS


@pytest.mark.parametrize("package", _PACKAGES)
def test_every_pattern_takes_linear_time(package: str) -> None:
    slow = []
    for use in (use for path in _PACKAGES[package] for use in _uses(path)):
        if use.path in _OURS:
            continue
        cost = steps(use.pattern, use.flags, anchored=use.anchored, whole=use.whole)
        if cost.degree > 1 or cost.constant > (
            _MOST_NEAR if use.anchored or package == "redact" else _MOST
        ):
            slow.append(
                f"{use.path}:{use.line}: {use.pattern!r} may take {cost.constant} steps times "
                f"the length to the power of {cost.degree}"
            )
    assert not slow, "bound its repetitions, or split the text by hand"


@pytest.mark.parametrize(
    ("pattern", "anchored", "degree"),
    [
        (r"a", False, 1),
        (r"\d+", False, 1),
        (r"\w+ x", False, 2),
        (r"\w+ x", True, 1),
        (r"\b\w+ x", False, 1),
        (r"(?<!\w)\w+ x", False, 1),
        (r"x\d+y", False, 1),
        (r"x.*y", False, 2),
        (r"x.{0,99}y", False, 1),
        (r"(?m)^[ \t]*#", False, 1),
        (r"(?m)^\s*#", False, 2),
        (r"^\s*#", False, 1),
        (r"\s*\s*x", True, 2),
        (r"\s*,?\s*x", True, 2),
        (r"[ =]+\S.*", True, 1),
        (r"x\s*\s*\s*y", False, 4),
        (r"\d+(?:\.\d+)*", False, 1),
        (r"(?:a|b)*c", True, 1),
        (r"a=(\d+);|b=(\w+);", False, 1),
        (r"a=(\d+);|b=(.+);", False, 2),
    ],
)
def test_steps_are_counted(pattern: str, anchored: bool, degree: int) -> None:
    assert steps(pattern, anchored=anchored).degree == degree


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|a)*$", r"(?:a?a?)*$", r"(\w+\s?)*:"])
def test_what_may_take_for_ever_is_known(pattern: str) -> None:
    assert steps(pattern, anchored=True).degree > 3


@pytest.mark.parametrize(
    ("pattern", "text"),
    [(r"common_cflags.*-std=", "common_cflags"), (r"(?m)^\s*#", "\n"), (r"\w+:", "a")],
)
def test_what_is_counted_as_slow_is_slow(pattern: str, text: str) -> None:
    """Eight times the text costs `re` 64 times as long where the degree is two.

    Where it is one, eight times.
    """
    assert steps(pattern).degree == 2
    compiled = re.compile(pattern)
    short, long = (
        min(_seconds(compiled, (text * length)[:length]) for _ in range(3))
        for length in (1000, 8000)
    )
    assert long > 20 * short


def _seconds(pattern: re.Pattern[str], text: str) -> float:
    begun = time.process_time()
    pattern.search(text)
    return time.process_time() - begun
