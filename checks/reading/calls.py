"""Finds calls from one installed package into another that the other's function cannot take."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from reading.sources import Function, Module, Sources, dotted_parts, place, top, unique

TRANSPARENT = {
    "no_grad",
    "inference_mode",
    "lru_cache",
    "cache",
    "disable",
    "allow_in_graph",
    "contextmanager",
    "wraps",
}
GATES = (
    *(
        "version",
        "signature",
        "inspect",
        "hasattr",
        "getattr",
        "param",
        "avail",
        "support",
        "has_",
        "greater",
        "install",
        "compat",
        "legacy",
    ),
    *(
        "is_new",
        "is_old",
        "deprecat",
        "backend",
        "find_spec",
        "import",
        "callable",
        "issubclass",
        "isinstance",
    ),
)
"""Words in a condition by which a caller may be choosing between releases of what it calls."""
IMPORTS = b"\nfrom ", b"\nimport ", b"\n    from ", b"\n    import "
MOST = 40
"""Files of one package that call into another.

Above it the two are released together, or reading them would take too long.
"""
MISSES = {"ImportError", "ModuleNotFoundError"}


class Misfit(NamedTuple):
    """A call that cannot work: what is wrong with it, and where the call and the function stand."""

    caller: Module
    callee: Module
    says: str
    where: str


def misfits(sources: Sources, callees: list[str]) -> Iterator[Misfit]:
    """Yield the calls into these packages that raise TypeError whenever they are reached."""
    pairs: dict[tuple[str, str], list[str]] = {}
    for path in sources.files:
        data = sources.text(path)
        home = sources.short(path).partition(os.sep)[0]
        for name in callees:
            if name != home and any(start + name.encode() in data for start in IMPORTS):
                pairs.setdefault((home, name), []).append(path)
    chosen: dict[str, set[str]] = {}
    for (_, name), paths in pairs.items():
        for path in paths if len(paths) <= MOST else ():
            chosen.setdefault(path, set()).add(name)
    for path, names in chosen.items():
        module = sources.at(path)
        try:
            yield from in_module(sources, module, names) if module else ()
        except RecursionError:
            continue


def in_module(sources: Sources, module: Module, wanted: set[str]) -> Iterator[Misfit]:
    """Yield the calls of one file."""
    roots = {
        name
        for name, values in module.names.items()
        for value in values
        if isinstance(value, str) and value.partition(".")[0] in wanted
    }
    for call, chain in calls(module.tree.body, []) if roots else ():
        if not roots.intersection(dotted_parts(call.func)[:1]):
            continue
        target = meant(module, call, chain)
        if target.partition(".")[0] in wanted and not hedged(call, chain):
            ends = [end for end in unique(sources.find(target)) if not isinstance(end, str)]
            if len(ends) == 1 and top(ends[0][0]) == target.partition(".")[0] and plain(*ends[0]):
                wrong = mismatch(call, ends[0][1].args)
                if wrong:
                    at = (
                        f"{place(sources, module, call.lineno)}, "
                        f"{place(sources, ends[0][0], ends[0][1].lineno)}"
                    )
                    says = (
                        f"{top(module)} calls {ends[0][1].name}() of {top(ends[0][0])}, which "
                        f"{wrong}"
                    )
                    yield Misfit(module, ends[0][0], says, at)


def calls(body: list[Any], chain: list[Any]) -> Iterator[tuple[Any, list[Any]]]:
    """Yield every call with what stands around it, outermost first.

    Definitions, conditions, attempts.
    """
    for node in body:
        if isinstance(node, ast.Call):
            yield node, chain
        around = isinstance(
            node, (*Function, ast.ClassDef, ast.If, ast.IfExp, ast.BoolOp, ast.Try, ast.Lambda)
        )
        yield from calls(list(ast.iter_child_nodes(node)), [*chain, node] if around else chain)


def meant(module: Module, call: Any, chain: list[Any]) -> str:
    """Return the dotted name that a call means by one top-level import; else nothing.

    An import within a function is most often of something that not everybody has, on a way that not
    everybody takes.
    """
    parts = dotted_parts(call.func)
    if not parts:
        return ""
    if any(
        binds(node, parts[0])
        for outer in chain
        if isinstance(outer, Function)
        for node in ast.walk(outer)
    ):
        return ""
    values = module.names.get(parts[0], [])
    imports = [value for value in values if isinstance(value, str)]
    others = [
        value
        for value in values
        if not isinstance(value, str)
        and not (isinstance(value, ast.Constant) and value.value is None)
    ]
    sure = parts[0] not in module.doubted or only_the_machine(module, parts[0])
    return ".".join([imports[0], *parts[1:]]) if len(imports) == 1 and not others and sure else ""


def binds(node: Any, name: str) -> bool:
    """Say whether a node gives a name another meaning."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return any((alias.asname or alias.name.partition(".")[0]) == name for alias in node.names)
    if isinstance(node, ast.Name):
        return node.id == name and not isinstance(node.ctx, ast.Load)
    return (isinstance(node, ast.arg) and node.arg == name) or (
        isinstance(node, (*Function, ast.ClassDef)) and node.name == name
    )


def only_the_machine(module: Module, name: str) -> bool:
    """Say whether the one condition of an import is that the machine has an accelerator.

    `if torch.cuda.is_available():`.
    """
    for node in module.tree.body:
        if isinstance(node, ast.If):
            held = any(
                binds(part, name)
                for one in node.body
                for part in ast.walk(one)
                if isinstance(one, (ast.Import, ast.ImportFrom))
            )
            tests = (
                node.test.values
                if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.Or)
                else [node.test]
            )
            if held and any(
                isinstance(test, ast.Call) and dotted_parts(test.func)[:1] == ["torch"]
                for test in tests
            ):
                return True
    return False


def hedged(call: Any, chain: list[Any]) -> bool:
    """Say whether a call may be there for some releases only.

    By what stands around it, or by another call of the same in a function.
    """
    for node in chain:
        if isinstance(node, ast.Try):
            types = [
                part
                for one in node.handlers
                for part in ast.walk(one.type or ast.Name("Exception", ast.Load()))
            ]
            if not {part.id for part in types if isinstance(part, ast.Name)} <= MISSES:
                return True
        if isinstance(node, (ast.If, ast.IfExp, ast.BoolOp)) and chooses(node):
            return True
        if isinstance(node, Function):
            others = [
                part
                for part in ast.walk(node)
                if isinstance(part, ast.Call) and ast.dump(part.func) == ast.dump(call.func)
            ]
            early = [
                part
                for part in ast.walk(node)
                if isinstance(part, ast.If)
                and any(isinstance(one, ast.Return) for one in part.body)
            ]
            if len(others) > 1 or any(chooses(part) for part in early):
                return True
    return False


def chooses(node: Any) -> bool:
    """Say whether a condition may be about what is installed."""
    told = ast.dump(node if isinstance(node, ast.BoolOp) else node.test).lower()
    return any(word in told for word in GATES)


def plain(module: Module, node: Any) -> bool:
    """Say whether a definition is what a caller gets.

    A function at the top of its file, the only one of its name, wrapped by nothing.
    """
    decorators = [
        dotted_parts(one.func if isinstance(one, ast.Call) else one)[-1:]
        for one in getattr(node, "decorator_list", [])
    ]
    return (
        isinstance(node, ast.FunctionDef)
        and node in module.tree.body
        and node.name not in module.doubted
        and all(parts and parts[0] in TRANSPARENT for parts in decorators)
    )


def mismatch(call: Any, takes: ast.arguments) -> str:
    """Say how a call and the parameters of a function do not fit, in the words of Python.

    Nothing where they may.
    """
    only = [one.arg for one in getattr(takes, "posonlyargs", [])]
    names = only + [one.arg for one in takes.args]
    words = [word.arg for word in call.keywords if word.arg]
    known = {*names[len(only) :], *(one.arg for one in takes.kwonlyargs)}
    unknown = [word for word in words if word not in known]
    if unknown and takes.kwarg is None:
        return f"got an unexpected keyword argument '{unknown[0]}'"
    if any(isinstance(value, ast.Starred) for value in call.args):
        return ""
    if len(call.args) > len(names) and takes.vararg is None:
        return f"takes {len(names)} positional arguments but {len(call.args)} were given"
    if any(word.arg is None for word in call.keywords):
        return ""
    needed = names[: len(names) - len(takes.defaults)] + [
        one.arg for one, default in zip(takes.kwonlyargs, takes.kw_defaults) if default is None
    ]
    given = {*names[: len(call.args)], *words}
    missing = [name for name in needed if name not in given]
    return (
        f"is missing the argument{'s' if missing[1:] else ''} {', '.join(map(repr, missing))}"
        if missing
        else ""
    )
