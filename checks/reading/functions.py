"""Find the autograd functions among installed classes, and the passes of each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from reading.sources import DEPTH, Function, Module, Sources, Thing, dotted_parts, unique

ROOTS = {
    f"torch.autograd.{name}"
    for name in ("Function", "function.Function", "function.InplaceFunction")
}
PASSES_THROUGH = {
    "staticmethod",
    "classmethod",
    "custom_fwd",
    "custom_bwd",
    "once_differentiable",
    "no_grad",
    "allow_in_graph",
    "disable",
    "ignore",
}
DEFINES = b"def forward(", b"def backward(", b"def setup_context("
BORROWS = b".forward(ctx", b".backward(ctx", b"    backward = "
PLAIN = tuple(
    b"(%s)" % base
    for base in (
        b"torch.autograd.Function",
        b"autograd.Function",
        b"Function",
        b"nn.Module",
        b"torch.nn.Module",
        b"Module",
    )
)


class Method(NamedTuple):
    """A forward pass, a backward pass, or `setup_context`.

    Where it is written, and in which class.
    """

    module: Module
    node: Any
    owner: str


class Kind(NamedTuple):
    """An autograd function.

    Its class, the classes it inherits from, nearest first, and itself at their head.
    """

    module: Module
    node: Any
    line: list[Thing]


class Doubt(Exception):
    """The source does not say for sure."""


def kinds(sources: Sources) -> Iterator[Kind]:
    """Yield the autograd functions of each file where one may take over what another does."""
    for path in sources.files:
        data = sources.text(path)
        if b"@staticmethod" not in data and b"@classmethod" not in data:
            continue
        if any(word in data for word in BORROWS) or any(derived(data, at) for at in places(data)):
            module = sources.at(path)
            for values in module.names.values() if module else ():
                for node in values:
                    if (
                        isinstance(node, ast.ClassDef)
                        and len(values) == 1
                        and node.bases
                        and not node.keywords
                    ):
                        line = ancestry(sources, module, node)
                        if line:
                            yield Kind(module, node, line)


def places(data: bytes) -> Iterator[int]:
    """Yield where the methods of an autograd function may begin."""
    for start in DEFINES:
        at = data.find(start)
        while at >= 0:
            if (
                data.find(b"@staticmethod", max(0, at - 300), at) >= 0
                or data.find(b"@classmethod", max(0, at - 300), at) >= 0
            ):
                yield at
            at = data.find(start, at + 1)


def derived(data: bytes, at: int) -> bool:
    """Say whether a method's class may be an autograd function, by a fast text search."""
    start = data.rfind(b"class ", 0, at)
    return start >= 0 and not any(
        data.startswith(base, data.find(b"(", start, start + 200)) for base in PLAIN
    )


def ancestry(sources: Sources, module: Module, node: Any, depth: int = 0) -> list[Thing]:
    """Return a class and those it inherits from, down to torch's own.

    Nothing where it does not lead there, or two ways do.
    """
    key = ("ancestry", id(node))
    if key not in sources.memo:
        sources.memo[key] = []
        sources.memo[key] = lines_of(sources, module, node, depth)
    line: list[Thing] = sources.memo[key]
    return line


def lines_of(sources: Sources, module: Module, node: Any, depth: int) -> list[Thing]:
    """Look for the one way from a class to torch's own."""
    if f"{module.name}.{node.name}" in ROOTS or depth > DEPTH:
        return []
    lines = []
    for base in node.bases:
        parts = dotted_parts(base)
        ends = sources.resolve(module, parts) if parts else []
        for end in unique(ends):
            name = end if isinstance(end, str) else f"{end[0].name}.{end[1].name}"
            if name in ROOTS:
                lines.append([(module, node)])
            elif (
                not isinstance(end, str) and isinstance(end[1], ast.ClassDef) and end[1] is not node
            ):
                rest = ancestry(sources, end[0], end[1], depth + 1)
                lines += [[(module, node), *rest]] if rest else []
    return lines[0] if len(lines) == 1 else []


def method(sources: Sources, kind: Kind, name: str) -> Method | None:
    """Return the method that a class has or inherits; None where that is torch's."""
    for module, node in kind.line:
        found = [part for part in node.body if isinstance(part, Function) and part.name == name]
        taken = [
            part.value
            for part in node.body
            if isinstance(part, ast.Assign)
            and [dotted_parts(to) for to in part.targets] == [[name]]
        ]
        nested = [
            part for part in ast.walk(node) if isinstance(part, Function) and part.name == name
        ]
        if len(nested) != len(found) or len(found) + len(taken) > 1 or node.decorator_list:
            raise Doubt
        if found:
            return Method(module, found[0], node.name)
        if taken:
            return borrowed(sources, module, taken[0], name)
    return None


def borrowed(sources: Sources, module: Module, value: Any, name: str) -> Method:
    """Follow `backward = Other.backward` to the method that is meant."""
    if (
        isinstance(value, ast.Call)
        and dotted_parts(value.func) == ["staticmethod"]
        and len(value.args) == 1
    ):
        value = value.args[0]
    parts = dotted_parts(value)
    ends = (
        [end for end in sources.resolve(module, parts) if not isinstance(end, str)] if parts else []
    )
    if len(ends) != 1 or not isinstance(ends[0][1], Function):
        inherited = (
            method_of(sources, module, parts[:-1], name)
            if parts[1:] and parts[-1] == name
            else None
        )
        if inherited is None:
            raise Doubt
        return inherited
    return Method(ends[0][0], ends[0][1], parts[-2] if parts[1:] else "")


def method_of(sources: Sources, module: Module, parts: list[str], name: str) -> Method | None:
    """Return the method of another autograd function, which its own class may inherit."""
    ends = [
        end
        for end in unique(sources.resolve(module, parts))
        if not isinstance(end, str) and isinstance(end[1], ast.ClassDef)
    ]
    line = ancestry(sources, *ends[0]) if len(ends) == 1 else []
    return method(sources, Kind(*line[0], line), name) if line else None


def parameters(found: Method) -> list[str]:
    """Name the parameters of a method that its callers fill, in order."""
    decorators = [
        dotted_parts(part.func if isinstance(part, ast.Call) else part)
        for part in found.node.decorator_list
    ]
    if not all(parts and parts[-1] in PASSES_THROUGH for parts in decorators) or isinstance(
        found.node, ast.AsyncFunctionDef
    ):
        raise Doubt
    given = [
        one.arg for one in [*getattr(found.node.args, "posonlyargs", []), *found.node.args.args]
    ]
    return given[1:] if ["classmethod"] in decorators else given


def bodies(node: Any) -> Iterator[Any]:
    """Yield every node below a function that runs when it runs.

    Nested functions and classes are left out.
    """
    pending = list(node.body) if isinstance(node, Function) else [node]
    while pending:
        one = pending.pop()
        yield one
        if not isinstance(one, (*Function, ast.ClassDef, ast.Lambda)):
            pending += ast.iter_child_nodes(one)
