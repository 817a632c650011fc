"""Finds where `apply` of an autograd function can be reached."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from reading.functions import Kind
from reading.sources import Function, Module, Sources, dotted_parts


class Site(NamedTuple):
    """A place that calls, or hands on, `apply` of an autograd function.

    `given` counts the inputs where it spells them out.
    """

    module: Module
    line: int
    given: int | None
    through: str


def applied(sources: Sources, kind: Kind) -> list[Site]:
    """Find where `apply` of a class is reached.

    From the top of a module, or from what can be imported or is used there.
    """
    return [
        Site(module, node.lineno, given, chain[0].name if chain else module.name)
        for module in mentions(sources, kind.node.name, b"apply")
        for node, given, chain in applications(sources, kind, module)
        if reached(sources, chain, kind, set())
    ]


def mentions(sources: Sources, *words: str | bytes) -> Iterator[Module]:
    """Yield the modules whose text holds all of these words."""
    wanted = [word.encode() if isinstance(word, str) else word for word in words]
    for path in sources.files:
        data = sources.text(path)
        module = sources.at(path) if all(word in data for word in wanted) else None
        if module is not None:
            yield module


def applications(
    sources: Sources, kind: Kind, module: Module
) -> Iterator[tuple[Any, int | None, list[Any]]]:
    """Yield each `X.apply` of this class, its number of inputs, and the definitions around it."""
    called = {id(call.func): call for call in ast.walk(module.tree) if isinstance(call, ast.Call)}
    for node, chain in within(module.tree, []):
        if (
            isinstance(node, ast.Attribute)
            and node.attr == "apply"
            and means(sources, module, node.value, chain, kind)
        ):
            call = called.get(id(node))
            spelled = (
                call is not None
                and not call.keywords
                and not any(isinstance(value, ast.Starred) for value in call.args)
            )
            yield node, len(call.args) if call is not None and spelled else None, chain


def within(node: Any, chain: list[Any]) -> Iterator[tuple[Any, list[Any]]]:
    """Yield every node with the definitions around it, outermost first.

    What runs only as a program is left out.
    """
    for child in ast.iter_child_nodes(node):
        yield child, chain
        if not (isinstance(child, ast.If) and "'__main__'" in ast.dump(child.test)):
            yield from within(
                child, [*chain, child] if isinstance(child, (*Function, ast.ClassDef)) else chain
            )


def means(sources: Sources, module: Module, value: Any, chain: list[Any], kind: Kind) -> bool:
    """Say whether an expression stands for the class."""
    parts = dotted_parts(value)
    if parts == ["cls"]:
        return bool(chain) and any(chain[0] is node for _, node in kind.line)
    if not parts or (parts[-1] != kind.node.name and parts[0] not in module.names and not chain):
        return False
    local = [
        part
        for outer in chain
        for part in ast.walk(outer)
        if isinstance(part, (ast.Import, ast.ImportFrom))
    ]
    imports = {name: to for part in local for name, to in module.imported(part).items()}
    found = (
        sources.find(".".join([imports[parts[0]], *parts[1:]]))
        if parts[0] in imports
        else sources.resolve(module, parts)
    )
    return any(not isinstance(end, str) and end[1] is kind.node for end in found)


def reached(sources: Sources, chain: list[Any], kind: Kind, seen: set[str]) -> bool:
    """Say whether what stands there can run.

    Not in the class itself, nor in something private that nothing uses.
    """
    if not chain:
        return True
    name = chain[0].name
    if chain[0] is kind.node:
        return len(chain) > 1 and chain[1].name not in ("forward", "backward", "setup_context")
    if not name.startswith("_"):
        return True
    if name in seen:
        return False
    for other in mentions(sources, name):
        for node, around in within(other.tree, []):
            used = (isinstance(node, ast.Name) and node.id == name) or (
                isinstance(node, ast.Attribute) and node.attr == name
            )
            taken = isinstance(node, ast.ImportFrom) and any(
                alias.name == name for alias in node.names
            )
            if taken or (used and reached(sources, around, kind, {*seen, name})):
                return True
    return False
