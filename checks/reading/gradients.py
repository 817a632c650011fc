"""Run the target's autograd functions on the CPU, with stand-ins for their calls."""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import json
import os
import sys
import traceback
from typing import Any

sys.dont_write_bytecode = True
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from reading.sources import Sources, Thing  # noqa: E402

sys.path.pop(0)

import torch  # noqa: E402


class Stand:
    """Stands for whatever a class uses outside torch.

    A call gives a tensor like the first that it was handed.
    """

    def __call__(self, *values: Any, **words: Any) -> Any:
        """Give ones in the shape of the first tensor."""
        like = next(
            (value for value in (*values, *words.values()) if isinstance(value, torch.Tensor)), None
        )
        if like is None:
            return Stand()
        made = torch.ones_like(like.detach())
        made.stands = True
        return made

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Stand()

    def __bool__(self) -> bool:
        return False


def spread(value: Any, count: int) -> Any:
    """Let what a stand-in gave be unpacked into as many names as the source wants."""
    stands = isinstance(value, Stand) or getattr(value, "stands", False)
    return (
        tuple(value if isinstance(value, Stand) else value.clone() for _ in range(count))
        if stands
        else value
    )


class Standing(ast.NodeTransformer):
    """Replaces imports from outside torch, and makes room for what stand-ins give."""

    def visit_ImportFrom(self, node: Any) -> Any:
        """Bind stand-ins in place of an import."""
        if outside(node.module or "") or node.level:
            return [
                ast.Assign(
                    [ast.Name(alias.asname or alias.name, ast.Store())],
                    ast.Call(ast.Name("Stand", ast.Load()), [], []),
                )
                for alias in node.names
            ]
        return node

    def visit_Import(self, node: Any) -> Any:
        """Bind stand-ins in place of an import."""
        kept = [alias for alias in node.names if not outside(alias.name)]
        gone = [
            (alias.asname or alias.name).partition(".")[0]
            for alias in node.names
            if outside(alias.name)
        ]
        stands = [
            ast.Assign(
                [ast.Name(name, ast.Store())], ast.Call(ast.Name("Stand", ast.Load()), [], [])
            )
            for name in gone
        ]
        return [*([ast.Import(kept)] if kept else []), *stands]

    def visit_Assign(self, node: Any) -> Any:
        """Make `a, b = f(x)` fit what a stand-in for f gives."""
        self.generic_visit(node)
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Call):
            node.value = ast.Call(
                ast.Name("spread", ast.Load()), [node.value, ast.Constant(len(target.elts))], []
            )
        return node


def outside(name: str) -> bool:
    """Say whether a module is one that a class may not have while it is driven."""
    return name.partition(".")[0] not in (
        "torch",
        "math",
        "typing",
        "functools",
        "itertools",
        "operator",
        "contextlib",
        "collections",
        "warnings",
    )


def real(value: Any) -> Any:
    """Return what a top-level name stands for.

    Torch's and the standard library's own, and plain constants; else a stand-in.
    """
    try:
        if isinstance(value, str) and not outside(value):
            parts = value.split(".")
            for count in range(len(parts), 0, -1):
                if importlib.util.find_spec(".".join(parts[:count])):
                    thing = importlib.import_module(".".join(parts[:count]))
                    for part in parts[count:]:
                        thing = getattr(thing, part)
                    return thing
        return ast.literal_eval(value) if isinstance(value, ast.AST) else Stand()
    except Exception:
        return Stand()


def build(line: list[Thing]) -> Any:
    """Make the class out of its source alone, and those it inherits from before it."""
    made: Any = torch.autograd.Function
    for module, node in reversed(line):
        names = {name: real(values[-1]) for name, values in module.names.items()}
        used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        space = {
            name: names.get(name, Stand())
            for name in used
            if name in names or not hasattr(builtins, name)
        }
        space.update(__name__=module.name, base=made, Stand=Stand, spread=spread)
        node.bases, node.decorator_list = [ast.Name("base", ast.Load())], []
        whole = ast.fix_missing_locations(
            Standing().visit(
                ast.Module([ast.parse("from __future__ import annotations").body[0], node], [])
            )
        )
        exec(compile(whole, module.path, "exec"), space)
        made = space[node.name]
    return made


def drive(wanted: dict[str, Any]) -> None:
    """Run a class forward and backward once on the processor."""
    sources = Sources([])
    line = []
    for path, name in wanted["line"]:
        module = sources.at(path)
        line.append(
            (module, next(node for node in module.names[name] if isinstance(node, ast.ClassDef)))
        )
    function = build(line)
    given = [
        torch.randn(1, 8, 2, 16, requires_grad=True) if index in wanted["tensors"] else None
        for index in range(wanted["given"])
    ]
    out = function.apply(*given)
    first = next(
        part
        for part in (out if isinstance(out, tuple) else (out,))
        if isinstance(part, torch.Tensor) and part.requires_grad
    )
    first.sum().backward()


def main() -> None:
    """Run the classes that standard input describes, and print a line for each.

    `passed`, or what it raised.
    """
    for described in json.load(sys.stdin):
        try:
            drive(described)
            print("--", "passed", flush=True)
        except Exception as error:
            traceback.print_exc()
            print("--", " ".join(f"{type(error).__name__}: {error}".split())[:400], flush=True)


main()
