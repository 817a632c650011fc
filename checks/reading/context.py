"""Follows `ctx` through the passes of an autograd function.

What is kept on it, and what is asked of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from reading.functions import Doubt, Kind, Method, ancestry, bodies, method, method_of, parameters
from reading.sources import DEPTH, Function, Module, Sources, dotted_parts, unique

PROVIDED = {
    *(
        "apply",
        "dirty_tensors",
        "mark_dirty",
        "mark_non_differentiable",
        "mark_shared_storage",
        "materialize_grads",
        "metadata",
        "name",
    ),
    *(
        "maybe_clear_saved_tensors",
        "needs_input_grad",
        "next_functions",
        "non_differentiable",
        "register_hook",
        "register_prehook",
    ),
    *(
        "requires_grad",
        "save_for_backward",
        "save_for_forward",
        "saved_for_forward",
        "saved_tensors",
        "saved_variables",
        "to_save",
    ),
    *("set_materialize_grads", "_fwd_used_autocast", "_dtype"),
}
"""What torch itself puts on `ctx`, its autocast decorators included."""
SAVED = {"saved_tensors", "saved_variables"}
SAVES = {"save_for_backward", "to_save"}
ASKS_FOR_GRADIENTS = ("grad", "training")


class HeadAndTail(NamedTuple):
    """What a forward pass leaves on `ctx`.

    On some way through it, on every way that can meet a backward pass; `saves` tensors.
    """

    some: set[str]
    always: set[str]
    saves: bool


class Read(NamedTuple):
    """An attribute that a backward pass reads whatever happens, and where."""

    name: str
    module: Module
    line: int
    owner: str


class Reader:
    """Follows `ctx` through a method and the functions that it is handed to."""

    def __init__(self, sources: Sources, found: Method, ctx: str, depth: int = 0) -> None:
        self.sources, self.found, self.ctx, self.depth = sources, found, ctx, depth
        if depth > DEPTH:
            raise Doubt
        self.local = [
            part for part in ast.walk(found.node) if isinstance(part, (ast.Import, ast.ImportFrom))
        ]

    def attribute(self, node: Any, *way: Any) -> str:
        """Return the attribute of `ctx` that an expression means, if loaded or stored as asked."""
        held = (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == self.ctx
            and isinstance(node.ctx, way)
        )
        return node.attr if held else ""

    def is_ctx(self, node: Any) -> bool:
        """Say whether an expression is `ctx` itself."""
        return isinstance(node, ast.Name) and node.id == self.ctx

    def handed(self, call: Any) -> Iterator[Reader]:
        """Yield the function that is called with `ctx`, seen from within.

        Doubt where it cannot be found.
        """
        places = [index for index, value in enumerate(call.args) if self.is_ctx(value)]
        names = [word.arg for word in call.keywords if self.is_ctx(word.value)]
        if not places and not names:
            return
        callee = self.callee(call)
        given = parameters(callee)
        bound = isinstance(call.func, ast.Attribute) and given[:1] == ["self"]
        if (
            len(places) + len(names) != 1
            or bound
            or any(isinstance(value, ast.Starred) for value in call.args)
        ):
            raise Doubt
        name = names[0] if names else given[places[0]] if places[0] < len(given) else None
        if name is None:
            raise Doubt
        yield Reader(self.sources, callee, name, self.depth + 1)

    def callee(self, call: Any) -> Method:
        """Find what is called."""
        parts = dotted_parts(call.func)
        of_super = (
            isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Call)
            and dotted_parts(call.func.value.func) == ["super"]
        )
        if of_super:
            ends = unique(self.sources.resolve(self.found.module, [self.found.owner]))
            line = (
                ancestry(self.sources, *ends[0])
                if len(ends) == 1 and not isinstance(ends[0], str)
                else []
            )
            inherited = (
                method(self.sources, Kind(*line[1], line[1:]), call.func.attr) if line[1:] else None
            )
        else:
            inherited = self.resolve(parts)
        if inherited is None:
            raise Doubt
        return inherited

    def resolve(self, parts: list[str]) -> Method | None:
        """Find a function or a method of a class by the name it has here."""
        if not parts:
            return None
        module = self.found.module
        imports = {name: to for part in self.local for name, to in module.imported(part).items()}
        inner = parts[0] in imports
        ends = (
            self.sources.find(".".join([imports[parts[0]], *parts[1:]]))
            if inner
            else self.sources.resolve(module, parts)
        )
        ends = unique([end for end in ends if not isinstance(end, str)])
        if (
            len(ends) == 1
            and isinstance(ends[0][1], Function)
            and not ends[0][1].name.startswith("__")
        ):
            return Method(ends[0][0], ends[0][1], parts[-2] if parts[1:] else "")
        return method_of(self.sources, module, parts[:-1], parts[-1]) if parts[1:] else None

    def calls(self, node: Any) -> list[Any]:
        """List the calls below a node that `ctx` is handed to."""
        known = {"hasattr", "getattr", "setattr", "isinstance", "print", "id", "type"}
        return [
            part
            for part in ast.walk(node)
            if isinstance(part, ast.Call)
            and dotted_parts(part.func)[-1:] not in [[name] for name in known]
            and any(
                self.is_ctx(value)
                for value in [*part.args, *(word.value for word in part.keywords)]
            )
        ]

    def once(self, what: str, ask: Any) -> Any:
        """Follow a method once; doubt where it leads back to itself."""
        key = (what, id(self.found.node), self.ctx)
        if key not in self.sources.memo:
            self.sources.memo[key] = None
            self.sources.memo[key] = ask()
        if self.sources.memo[key] is None:
            raise Doubt
        return self.sources.memo[key]


class ForwardReader(Reader):
    """Says what a forward pass leaves on `ctx`."""

    def saved_on_ctx(self) -> HeadAndTail:
        """Return what is kept, by every way through the method."""
        kept: HeadAndTail = self.once("kept", self._kept)
        return kept

    def _kept(self) -> HeadAndTail:
        some, saves = set(), False
        for part in ast.walk(self.found.node):
            some |= {self.attribute(part, ast.Store)} - {""}
            saves |= self.attribute(part, ast.Load, ast.Store) in SAVES
            some |= self.by_name(part)
        self.escapes()
        ends: list[set[str]] = []
        last = self.follow(self.found.node.body, set(), ends, sure=True)
        for call in self.calls(self.found.node):
            for reader in self.handed(call):
                inner = ForwardReader(
                    reader.sources, reader.found, reader.ctx, reader.depth
                ).saved_on_ctx()
                some, saves = some | inner.some, saves | inner.saves
        ends += [last] if last is not None else []
        return HeadAndTail(some, set.intersection(*ends) if ends else some, saves)

    def by_name(self, node: Any) -> set[str]:
        """Return what `setattr(ctx, "name", value)` sets."""
        if not (
            isinstance(node, ast.Call)
            and dotted_parts(node.func) == ["setattr"]
            and node.args
            and self.is_ctx(node.args[0])
        ):
            return set()
        if len(node.args) < 2 or not isinstance(node.args[1], ast.Constant):
            raise Doubt
        return {str(node.args[1].value)}

    def escapes(self) -> None:
        """Doubt where `ctx` goes where it cannot be followed.

        Into a container, another name, a nested function.
        """
        held = {
            id(part.value) for part in ast.walk(self.found.node) if isinstance(part, ast.Attribute)
        }
        for call in ast.walk(self.found.node):
            if isinstance(call, ast.Call):
                held |= {
                    id(value) for value in [*call.args, *(word.value for word in call.keywords)]
                }
        for part in ast.walk(self.found.node):
            if (self.is_ctx(part) and id(part) not in held) or self.attribute(
                part, ast.Load
            ) == "__dict__":
                raise Doubt
            if (
                isinstance(part, ast.Call)
                and dotted_parts(part.func) in (["vars"], ["setattr"])
                and not self.by_name(part)
            ):
                raise Doubt

    def follow(
        self, body: list[Any], held: set[str], ends: list[set[str]], *, sure: bool
    ) -> set[str] | None:
        """Return what is set behind these statements, None where no way leads there.

        `ends` collects what is set at each return.

        A return that stands under a condition without another side is left out: such a way often
        never meets a backward pass.
        """
        for node in body:
            held = held | self.set_by(node)
            if isinstance(node, ast.Raise):
                return None
            if isinstance(node, ast.Return):
                ends += [held] if sure else []
                return None
            if isinstance(node, ast.If):
                sides = [
                    self.follow(side, held, ends, sure=sure and bool(node.orelse))
                    for side in (node.body, node.orelse)
                ]
                ways = [side for side in sides if side is not None]
                if not ways:
                    return None
                settled = node.orelse and not any(
                    word in ast.dump(node.test) for word in ASKS_FOR_GRADIENTS
                )
                held = set.intersection(*ways) if settled else set.union(*ways)
            elif isinstance(node, ast.With):
                inner = self.follow(node.body, held, ends, sure=sure)
                if inner is None:
                    return None
                held = inner
            elif isinstance(node, (ast.For, ast.While, ast.Try)):
                for part in (
                    getattr(node, "body", []),
                    getattr(node, "orelse", []),
                    getattr(node, "finalbody", []),
                ):
                    held = held | (self.follow(part, held, ends, sure=False) or set())
        return held

    def set_by(self, node: Any) -> set[str]:
        """Return what one statement sets by itself, and the functions that it hands `ctx` to."""
        if isinstance(
            node, (ast.If, ast.With, ast.For, ast.While, ast.Try, *Function, ast.ClassDef)
        ):
            return set()
        told = {
            name
            for part in bodies(node)
            for name in (self.attribute(part, ast.Store), *self.by_name(part))
        } - {""}
        for call in self.calls(node):
            for reader in self.handed(call):
                told |= (
                    ForwardReader(reader.sources, reader.found, reader.ctx, reader.depth)
                    .saved_on_ctx()
                    .always
                )
        return told


class BackwardReader(Reader):
    """Says what a backward pass reads from `ctx` whatever happens."""

    def reads_from_ctx(self) -> tuple[list[Read], bool]:
        """Return the reads, without those that are guarded or that the method sets itself.

        And whether it unpacks saved tensors.
        """
        asked: tuple[list[Read], bool] = self.once("asked", self._asked)
        return asked

    def _asked(self) -> tuple[list[Read], bool]:
        reads = self.read(self.found.node.body)
        guarded = {self.attribute(part, ast.Store, ast.Del) for part in ast.walk(self.found.node)}
        for part in ast.walk(self.found.node):
            if (
                isinstance(part, ast.Call)
                and dotted_parts(part.func) in (["hasattr"], ["getattr"], ["setattr"])
                and self.is_ctx(part.args[0])
            ):
                guarded |= {
                    value.value for value in part.args[1:2] if isinstance(value, ast.Constant)
                }
        unpacks = any(self.attribute(part, ast.Load) in SAVED for part in bodies(self.found.node))
        return [read for read in reads if read.name not in guarded | PROVIDED], unpacks

    def read(self, body: list[Any]) -> list[Read]:
        """Follow statements as far as nothing decides whether they run."""
        reads: list[Read] = []
        for node in body:
            if isinstance(node, (ast.If, ast.While)):
                reads += self.of(node.test)
                asks = "needs_input_grad" in ast.dump(node.test)
                reads += (
                    self.read(node.body)
                    if asks and isinstance(node, ast.If) and not isinstance(node.test, ast.UnaryOp)
                    else []
                )
                if not asks and any(
                    isinstance(part, (ast.Return, ast.Break, ast.Continue)) for part in bodies(node)
                ):
                    break
            elif isinstance(node, ast.For):
                reads += self.of(node.iter)
                if any(isinstance(part, ast.Return) for part in bodies(node)):
                    break
            elif isinstance(node, ast.With):
                reads += [
                    read for item in node.items for read in self.of(item.context_expr)
                ] + self.read(node.body)
            elif isinstance(node, ast.Try) or not isinstance(node, ast.stmt):
                break
            elif not isinstance(node, (*Function, ast.ClassDef)):
                reads += self.of(node)
            if isinstance(node, (ast.Return, ast.Raise)):
                break
        return reads

    def of(self, node: Any) -> list[Read]:
        """Return what an expression or a simple statement reads, without its optional parts."""
        name = self.attribute(node, ast.Load)
        if name:
            return [Read(name, self.found.module, node.lineno, self.found.owner)]
        if isinstance(
            node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
        ):
            return []
        parts = (
            [node.test]
            if isinstance(node, (ast.IfExp, ast.Assert))
            else node.values[:1]
            if isinstance(node, ast.BoolOp)
            else ast.iter_child_nodes(node)
        )
        reads = [read for part in parts for read in self.of(part)]
        if isinstance(node, ast.Call):
            try:
                for reader in self.handed(node):
                    reads += BackwardReader(
                        reader.sources, reader.found, reader.ctx, reader.depth
                    ).reads_from_ctx()[0]
            except Doubt:
                return reads
        return reads
