# /// script
# requires-python = ">=3.8"
# dependencies = []
#
# [tool.doctor]
# kind = "canary"
# summary = "Reads whether every autograd function keeps what its backward pass asks for and returns a gradient for each input"
# needs = []
# tier = "quick"
# timeout = 120
# devices = "host"
# cases = ["attributes", "gradient-count", "running"]
# ///
"""What the forward pass of each installed autograd function leaves on `ctx` is what its backward pass reads there.

A failure means that gradients cannot be had through that function: the first `backward()` raises, most often because one package
takes over the backward pass of another that has moved on since. Inference never calls it, so a failure matters as a warning.

Nothing is imported. Classes and their bases are found by reading the import statements of the installed files. The oracle is
what autograd itself does: an attribute that no statement sets is missing, and a backward pass returns at least as many values
as `apply` was given. A class counts where `apply` of it can be reached, and where its forward pass was made for a backward pass:
one that keeps no tensors, under an inherited backward pass that unpacks them, serves inference only. What is in doubt is no failure.

Where torch is there, the classes that build on another package's are run in a child: their own forward and backward pass on the
processor, with stand-ins for every function that they call outside torch.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, List, NamedTuple, Tuple


# --- report: the same in every check, kept so by a test ---
class Ending(Exception):
    """Ends a case, or a whole result, before its time: `raise Ending("skipped", "no nvcc here")`."""


class Report:
    """What was seen and what is being done, on disk before and after every risky step."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.results: list[dict[str, Any]] = []
        self.doing: dict[str, Any] = {"device": None, "case": "", "act": False}

    def write(self, doing: dict[str, Any] | None) -> None:
        """Replace the file in one step; where none is asked for, print the document once it is done."""
        document = {"contract": 1, "facts": self.facts, "results": self.results, "doing": doing}
        text, path = json.dumps(document, indent=1), os.environ.get("CANARY_RESULT")
        if path:
            with open(path + ".part", "w", encoding="utf-8") as part:
                part.write(text)
            os.replace(path + ".part", path)
        elif doing is None:
            print(text)

    @contextmanager
    def act(self) -> Iterator[None]:
        """Hold what is under test: what it raises is a failure, and how it dies is the patient's."""
        self.write({**self.doing, "act": True})
        try:
            yield
        except Ending:
            raise
        except Exception as error:
            traceback.print_exc()
            raise Ending("failed", " ".join(f"{type(error).__name__}: {error}".split())[:400]) from error
        self.write(self.doing)

    @contextmanager
    def result(self, device: str | None) -> Iterator[dict[str, Any]]:
        """Hold what a device gives (None: the machine): failed with any case, skipped with all."""
        entry: dict[str, Any] = {"device": device, "cases": {}, "data": {}}
        self.results.append(entry)
        started = time.monotonic()
        with self.case("", entry):
            yield entry["data"]
            for verdict in "failed", "skipped":
                said = [f"{name}: {case['reason']}" for name, case in entry["cases"].items() if case["verdict"] == verdict]
                if said and (verdict == "failed" or len(said) == len(entry["cases"])):
                    raise Ending(verdict, "; ".join(said))
        entry["seconds"] = round(time.monotonic() - started, 3)

    @contextmanager
    def case(self, name: str, entry: dict[str, Any] | None = None) -> Iterator[None]:
        """Hold a case of the last result, listed once it has ended; without a name, the result itself."""
        entry = {} if entry is None else entry
        entry.update(verdict="running", reason="")
        self.doing.update(device=self.results[-1]["device"], case=name)
        self.write(self.doing)
        try:
            yield
            entry["verdict"] = "passed"
        except Ending as end:
            entry["verdict"], entry["reason"] = end.args
        if name:
            self.results[-1]["cases"][name] = entry
        self.doing["case"] = ""
        self.write(self.doing)


# --- end of report ---


# --- sources: the same in every check that reads packages without importing them, kept so by a test ---
LARGEST = 2 << 20
ASIDE = {"__pycache__", "benchmark", "benchmarks", "docs", "examples", "test", "testing", "tests"}
DEPTH = 12
Function = (ast.FunctionDef, ast.AsyncFunctionDef)
Thing = Tuple["Module", Any]


class Module:
    """A source file of the target that was parsed and never run; `names` holds what stands at its top, under conditions too."""

    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        self.name, self.path, self.tree = name, path, tree
        self.package = name if os.path.basename(path) == "__init__.py" else name.rpartition(".")[0]
        self.names: dict[str, list[Any]] = {}
        self.stars: list[str] = []
        self.doubted: set[str] = set()
        self._bind(tree.body, sure=True)

    def _bind(self, body: list[Any], *, sure: bool) -> None:
        for node in body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._add(self.imported(node), sure=sure)
            elif isinstance(node, (*Function, ast.ClassDef)):
                self._add({node.name: node}, sure=sure)
            elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                self._add({part.id: node.value for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}, sure=sure)
            else:
                for part in ast.iter_child_nodes(node):
                    inner = part.body if isinstance(part, ast.ExceptHandler) else [part]
                    self._bind([one for one in inner if isinstance(one, ast.stmt)], sure=False)

    def _add(self, bound: dict[str, Any], *, sure: bool) -> None:
        for name, value in bound.items():
            self.names.setdefault(name, []).append(value)
            if not sure or len(self.names[name]) > 1:
                self.doubted.add(name)

    def imported(self, node: Any) -> dict[str, str]:
        """Return what an import statement binds: local names, and the dotted names they stand for."""
        if isinstance(node, ast.Import):
            return {
                alias.asname or alias.name.partition(".")[0]: alias.name if alias.asname else alias.name.partition(".")[0]
                for alias in node.names
            }
        home = self.package.split(".")
        start = ".".join(home[: len(home) - node.level + 1]) + "." if node.level else ""
        source = (start + (node.module or "")).rstrip(".")
        self.stars += [source for alias in node.names if alias.name == "*"]
        return {alias.asname or alias.name: f"{source}.{alias.name}" for alias in node.names if alias.name != "*"}


class Sources:
    """The Python files below the folders that hold packages, parsed when they are asked for."""

    def __init__(self, sites: list[str]) -> None:
        self.sites, self._modules = sites, {}  # type: list[str], dict[str, Module | None]
        self.files = [path for site in sites for path in self._walk(site, 0)]

    def _walk(self, folder: str, depth: int) -> Iterator[str]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            return
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name.isidentifier() and entry.name not in ASIDE and depth < DEPTH:
                    yield from self._walk(entry.path, depth + 1)
            elif entry.name.endswith(".py") and os.path.isfile(entry.path):
                yield entry.path

    def text(self, path: str) -> bytes:
        """Return the content of a file; nothing of one that is too large or that cannot be read."""
        try:
            with open(path, "rb", 0) as file:
                data = file.read(LARGEST + 1)
        except OSError:
            return b""
        return data if len(data) <= LARGEST else b""

    def short(self, path: str) -> str:
        """Name a file as its package does."""
        return next((os.path.relpath(path, site) for site in self.sites if path.startswith(site + os.sep)), path)

    def at(self, path: str) -> Module | None:
        """Parse a file; None where it is no Python that this interpreter understands."""
        parts = self.short(path)[: -len(".py")].split(os.sep)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name not in self._modules:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self._modules[name] = Module(name, path, ast.parse(self.text(path)))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._modules[name] = None
        return self._modules[name]

    def module(self, name: str) -> Module | None:
        """Find a module by its dotted name."""
        if name not in self._modules:
            self._modules[name] = None
            for site in self.sites if name.replace(".", "").isidentifier() else ():
                base = os.path.join(site, *name.split("."))
                for path in os.path.join(base, "__init__.py"), base + ".py":
                    if os.path.isfile(path) and self._modules[name] is None:
                        del self._modules[name]
                        self.at(path)
        return self._modules[name]

    def find(self, dotted: str, depth: int = 0) -> list[Thing | str]:
        """Return what a dotted name may stand for: definitions, or the name itself where it leads out of what is installed here."""
        parts = dotted.split(".")
        for count in range(len(parts) - 1, 0, -1):
            module = self.module(".".join(parts[:count]))
            if module is not None:
                return self.named(module, parts[count:], depth + 1)
        return [dotted]

    def named(self, module: Module, parts: list[str], depth: int = 0) -> list[Thing | str]:
        """Return what a name, with the attributes after it, may stand for within a module."""
        if depth > DEPTH:
            return []
        bound = module.names.get(parts[0])
        if bound is None:
            bound = [f"{star}.{parts[0]}" for star in module.stars[:DEPTH]]
        found: list[Thing | str] = []
        for value in bound:
            if isinstance(value, str):
                found += self.find(".".join([value, *parts[1:]]), depth + 1)
            elif isinstance(value, (ast.Name, ast.Attribute)):
                chain = dotted_parts(value)
                found += self.named(module, chain + parts[1:], depth + 1) if chain and chain[0] != parts[0] else []
            elif len(parts) == 1 and isinstance(value, (*Function, ast.ClassDef)):
                found.append((module, value))
            elif isinstance(value, ast.ClassDef):
                found += [(module, part) for part in value.body if isinstance(part, Function) and parts[1:] == [part.name]]
        return found


def dotted_parts(node: Any) -> list[str]:
    """Return the parts of `a.b.c`; nothing of any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts, node = [node.attr, *parts], node.value
    return [node.id, *parts] if isinstance(node, ast.Name) else []


def sites() -> list[str]:
    """Name the folders that hold the packages of the target."""
    told = os.environ.get("CANARY_SITE")
    folders = [told] if told else [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    return list(dict.fromkeys(os.path.abspath(folder) for folder in folders))


# --- end of sources ---

REPORT = Report()
ROOTS = {f"torch.autograd.{name}" for name in ("Function", "function.Function", "function.InplaceFunction")}
PROVIDED = {
    *("apply", "dirty_tensors", "mark_dirty", "mark_non_differentiable", "mark_shared_storage", "materialize_grads", "metadata", "name"),
    *("maybe_clear_saved_tensors", "needs_input_grad", "next_functions", "non_differentiable", "register_hook", "register_prehook"),
    *("requires_grad", "save_for_backward", "save_for_forward", "saved_for_forward", "saved_tensors", "saved_variables", "to_save"),
    *("set_materialize_grads", "_fwd_used_autocast", "_dtype"),
}
"""What torch itself puts on `ctx`, its autocast decorators included."""
SAVED = {"saved_tensors", "saved_variables"}
SAVES = {"save_for_backward", "to_save"}
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
ASKS_FOR_GRADIENTS = ("grad", "training")
DEFINES = b"def forward(", b"def backward(", b"def setup_context("
BORROWS = b".forward(ctx", b".backward(ctx", b"    backward = "
PLAIN = tuple(
    b"(%s)" % base for base in (b"torch.autograd.Function", b"autograd.Function", b"Function", b"nn.Module", b"torch.nn.Module", b"Module")
)
BOUND = 60.0
RUNS = 4


class Method(NamedTuple):
    """A forward pass, a backward pass, or `setup_context`: where it is written, and in which class."""

    module: Module
    node: Any
    owner: str


class Kind(NamedTuple):
    """An autograd function: its class, the classes it inherits from, nearest first, and itself at their head."""

    module: Module
    node: Any
    line: list[Thing]


class Kept(NamedTuple):
    """What a forward pass leaves on `ctx`: on some way through it, on every way that can meet a backward pass; `saves` tensors."""

    some: set[str]
    always: set[str]
    saves: bool


class Read(NamedTuple):
    """An attribute that a backward pass reads whatever happens, and where."""

    name: str
    module: Module
    line: int
    owner: str


class Doubt(Exception):
    """The source does not say for sure."""


class Contract(NamedTuple):
    """What an autograd function promises itself."""

    kind: Kind
    forward: Method
    backward: Method
    kept: Kept
    reads: list[Read]
    unpacks: bool
    skips: int
    inputs: int | None
    returns: int | None


Suspect = Tuple[Contract, List["Site"], List["Fault"]]


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
                    if isinstance(node, ast.ClassDef) and len(values) == 1 and node.bases and not node.keywords:
                        line = ancestry(sources, module, node)
                        if line:
                            yield Kind(module, node, line)


def places(data: bytes) -> Iterator[int]:
    """Yield where the methods of an autograd function may begin."""
    for start in DEFINES:
        at = data.find(start)
        while at >= 0:
            if data.find(b"@staticmethod", max(0, at - 300), at) >= 0 or data.find(b"@classmethod", max(0, at - 300), at) >= 0:
                yield at
            at = data.find(start, at + 1)


def derived(data: bytes, at: int) -> bool:
    """Say whether a method stands in a class that is derived from something else than what needs no look: a text search, to be fast."""
    start = data.rfind(b"class ", 0, at)
    return start >= 0 and not any(data.startswith(base, data.find(b"(", start, start + 200)) for base in PLAIN)


def ancestry(sources: Sources, module: Module, node: Any, depth: int = 0) -> list[Thing]:
    """Return a class and those it inherits from, down to torch's own; nothing where it does not lead there, or two ways do."""
    if f"{module.name}.{node.name}" in ROOTS or depth > DEPTH:
        return []
    lines = []
    for base in node.bases:
        parts = dotted_parts(base)
        ends = sources.named(module, parts) if parts else []
        for end in unique(ends):
            name = end if isinstance(end, str) else f"{end[0].name}.{end[1].name}"
            if name in ROOTS:
                lines.append([(module, node)])
            elif not isinstance(end, str) and isinstance(end[1], ast.ClassDef) and end[1] is not node:
                rest = ancestry(sources, end[0], end[1], depth + 1)
                lines += [[(module, node), *rest]] if rest else []
    return lines[0] if len(lines) == 1 else []


def unique(ends: list[Any]) -> list[Any]:
    """Drop what is there twice: two ways of importing one class."""
    return list({end if isinstance(end, str) else id(end[1]): end for end in ends}.values())


def method(sources: Sources, kind: Kind, name: str) -> Method | None:
    """Return the method that a class has or inherits; None where that is torch's."""
    for module, node in kind.line:
        found = [part for part in node.body if isinstance(part, Function) and part.name == name]
        taken = [part.value for part in node.body if isinstance(part, ast.Assign) and [dotted_parts(to) for to in part.targets] == [[name]]]
        nested = [part for part in ast.walk(node) if isinstance(part, Function) and part.name == name]
        if len(nested) != len(found) or len(found) + len(taken) > 1 or node.decorator_list:
            raise Doubt
        if found:
            return Method(module, found[0], node.name)
        if taken:
            return borrowed(sources, module, taken[0], name)
    return None


def borrowed(sources: Sources, module: Module, value: Any, name: str) -> Method:
    """Follow `backward = Other.backward` to the method that is meant."""
    if isinstance(value, ast.Call) and dotted_parts(value.func) == ["staticmethod"] and len(value.args) == 1:
        value = value.args[0]
    parts = dotted_parts(value)
    ends = [end for end in sources.named(module, parts) if not isinstance(end, str)] if parts else []
    if len(ends) != 1 or not isinstance(ends[0][1], Function):
        inherited = method_of(sources, module, parts[:-1], name) if parts[1:] and parts[-1] == name else None
        if inherited is None:
            raise Doubt
        return inherited
    return Method(ends[0][0], ends[0][1], parts[-2] if parts[1:] else "")


def method_of(sources: Sources, module: Module, parts: list[str], name: str) -> Method | None:
    """Return the method of another autograd function, which its own class may inherit."""
    ends = [end for end in unique(sources.named(module, parts)) if not isinstance(end, str) and isinstance(end[1], ast.ClassDef)]
    line = ancestry(sources, *ends[0]) if len(ends) == 1 else []
    return method(sources, Kind(*line[0], line), name) if line else None


def parameters(found: Method) -> list[str]:
    """Name the parameters of a method that its callers fill, in order."""
    decorators = [dotted_parts(part.func if isinstance(part, ast.Call) else part) for part in found.node.decorator_list]
    if not all(parts and parts[-1] in PASSES_THROUGH for parts in decorators) or isinstance(found.node, ast.AsyncFunctionDef):
        raise Doubt
    given = [one.arg for one in [*getattr(found.node.args, "posonlyargs", []), *found.node.args.args]]
    return given[1:] if ["classmethod"] in decorators else given


def bodies(node: Any) -> Iterator[Any]:
    """Yield every node below a function that runs when it runs: nested functions and classes are left out."""
    pending = list(node.body) if isinstance(node, Function) else [node]
    while pending:
        one = pending.pop()
        yield one
        if not isinstance(one, (*Function, ast.ClassDef, ast.Lambda)):
            pending += ast.iter_child_nodes(one)


class Reader:
    """Follows `ctx` through a method and the functions that it is handed to."""

    def __init__(self, sources: Sources, found: Method, ctx: str, depth: int = 0) -> None:
        self.sources, self.found, self.ctx, self.depth = sources, found, ctx, depth
        if depth > DEPTH:
            raise Doubt
        self.local = [part for part in ast.walk(found.node) if isinstance(part, (ast.Import, ast.ImportFrom))]

    def attribute(self, node: Any, *way: Any) -> str:
        """Name the attribute of `ctx` that an expression stands for, in one of these ways (loaded, stored)."""
        held = (
            isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == self.ctx and isinstance(node.ctx, way)
        )
        return node.attr if held else ""

    def is_ctx(self, node: Any) -> bool:
        """Say whether an expression is `ctx` itself."""
        return isinstance(node, ast.Name) and node.id == self.ctx

    def handed(self, call: Any) -> Iterator[Reader]:
        """Yield the function that is called with `ctx`, seen from within; doubt where it cannot be found."""
        places = [index for index, value in enumerate(call.args) if self.is_ctx(value)]
        names = [word.arg for word in call.keywords if self.is_ctx(word.value)]
        if not places and not names:
            return
        callee = self.callee(call)
        given = parameters(callee)
        bound = isinstance(call.func, ast.Attribute) and given[:1] == ["self"]
        if len(places) + len(names) != 1 or bound or any(isinstance(value, ast.Starred) for value in call.args):
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
            ends = unique(self.sources.named(self.found.module, [self.found.owner]))
            line = ancestry(self.sources, *ends[0]) if len(ends) == 1 and not isinstance(ends[0], str) else []
            inherited = method(self.sources, Kind(*line[1], line[1:]), call.func.attr) if line[1:] else None
        else:
            inherited = self.named(parts)
        if inherited is None:
            raise Doubt
        return inherited

    def named(self, parts: list[str]) -> Method | None:
        """Find a function or a method of a class by the name it has here."""
        if not parts:
            return None
        module = self.found.module
        imports = {name: to for part in self.local for name, to in module.imported(part).items()}
        inner = parts[0] in imports
        ends = self.sources.find(".".join([imports[parts[0]], *parts[1:]])) if inner else self.sources.named(module, parts)
        ends = unique([end for end in ends if not isinstance(end, str)])
        if len(ends) == 1 and isinstance(ends[0][1], Function) and not ends[0][1].name.startswith("__"):
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
            and any(self.is_ctx(value) for value in [*part.args, *(word.value for word in part.keywords)])
        ]


class Keeper(Reader):
    """Says what a forward pass leaves on `ctx`."""

    def kept(self) -> Kept:
        """Follow every way through the method."""
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
                inner = Keeper(reader.sources, reader.found, reader.ctx, reader.depth).kept()
                some, saves = some | inner.some, saves | inner.saves
        ends += [last] if last is not None else []
        return Kept(some, set.intersection(*ends) if ends else some, saves)

    def by_name(self, node: Any) -> set[str]:
        """Return what `setattr(ctx, "name", value)` sets."""
        if not (isinstance(node, ast.Call) and dotted_parts(node.func) == ["setattr"] and node.args and self.is_ctx(node.args[0])):
            return set()
        if len(node.args) < 2 or not isinstance(node.args[1], ast.Constant):
            raise Doubt
        return {str(node.args[1].value)}

    def escapes(self) -> None:
        """Doubt where `ctx` goes where it cannot be followed: into a container, another name, a nested function."""
        held = {id(part.value) for part in ast.walk(self.found.node) if isinstance(part, ast.Attribute)}
        for call in ast.walk(self.found.node):
            if isinstance(call, ast.Call):
                held |= {id(value) for value in [*call.args, *(word.value for word in call.keywords)]}
        for part in ast.walk(self.found.node):
            if (self.is_ctx(part) and id(part) not in held) or self.attribute(part, ast.Load) == "__dict__":
                raise Doubt
            if isinstance(part, ast.Call) and dotted_parts(part.func) in (["vars"], ["setattr"]) and not self.by_name(part):
                raise Doubt

    def follow(self, body: list[Any], held: set[str], ends: list[set[str]], *, sure: bool) -> set[str] | None:
        """Return what is set behind these statements, None where no way leads there; `ends` collects what is set at each return.

        A return that stands under a condition without another side is left out: such a way often never meets a backward pass.
        """
        for node in body:
            held = held | self.set_by(node)
            if isinstance(node, ast.Raise):
                return None
            if isinstance(node, ast.Return):
                ends += [held] if sure else []
                return None
            if isinstance(node, ast.If):
                sides = [self.follow(side, held, ends, sure=sure and bool(node.orelse)) for side in (node.body, node.orelse)]
                ways = [side for side in sides if side is not None]
                if not ways:
                    return None
                settled = node.orelse and not any(word in ast.dump(node.test) for word in ASKS_FOR_GRADIENTS)
                held = set.intersection(*ways) if settled else set.union(*ways)
            elif isinstance(node, ast.With):
                inner = self.follow(node.body, held, ends, sure=sure)
                if inner is None:
                    return None
                held = inner
            elif isinstance(node, (ast.For, ast.While, ast.Try)):
                for part in getattr(node, "body", []), getattr(node, "orelse", []), getattr(node, "finalbody", []):
                    held = held | (self.follow(part, held, ends, sure=False) or set())
        return held

    def set_by(self, node: Any) -> set[str]:
        """Return what one statement sets by itself, and the functions that it hands `ctx` to."""
        if isinstance(node, (ast.If, ast.With, ast.For, ast.While, ast.Try, *Function, ast.ClassDef)):
            return set()
        told = {name for part in bodies(node) for name in (self.attribute(part, ast.Store), *self.by_name(part))} - {""}
        for call in self.calls(node):
            for reader in self.handed(call):
                told |= Keeper(reader.sources, reader.found, reader.ctx, reader.depth).kept().always
        return told


class Asker(Reader):
    """Says what a backward pass reads from `ctx` whatever happens."""

    def asked(self) -> tuple[list[Read], bool]:
        """Return the reads, without those that are guarded or that the method sets itself; and whether it unpacks saved tensors."""
        reads = self.read(self.found.node.body)
        guarded = {self.attribute(part, ast.Store, ast.Del) for part in ast.walk(self.found.node)}
        for part in ast.walk(self.found.node):
            if (
                isinstance(part, ast.Call)
                and dotted_parts(part.func) in (["hasattr"], ["getattr"], ["setattr"])
                and self.is_ctx(part.args[0])
            ):
                guarded |= {value.value for value in part.args[1:2] if isinstance(value, ast.Constant)}
        unpacks = any(self.attribute(part, ast.Load) in SAVED for part in bodies(self.found.node))
        return [read for read in reads if read.name not in guarded | PROVIDED], unpacks

    def read(self, body: list[Any]) -> list[Read]:
        """Follow statements as far as nothing decides whether they run."""
        reads: list[Read] = []
        for node in body:
            if isinstance(node, (ast.If, ast.While)):
                reads += self.of(node.test)
                asks = "needs_input_grad" in ast.dump(node.test)
                reads += self.read(node.body) if asks and isinstance(node, ast.If) and not isinstance(node.test, ast.UnaryOp) else []
                if not asks and any(isinstance(part, (ast.Return, ast.Break, ast.Continue)) for part in bodies(node)):
                    break
            elif isinstance(node, ast.For):
                reads += self.of(node.iter)
                if any(isinstance(part, ast.Return) for part in bodies(node)):
                    break
            elif isinstance(node, ast.With):
                reads += [read for item in node.items for read in self.of(item.context_expr)] + self.read(node.body)
            elif isinstance(node, ast.Try) or not isinstance(node, ast.stmt):
                break
            elif not isinstance(node, (*Function, ast.ClassDef)):
                reads += self.of(node)
            if isinstance(node, (ast.Return, ast.Raise)):
                break
        return reads

    def of(self, node: Any) -> list[Read]:
        """Return what an expression or a simple statement reads, without those parts of it that may be passed over."""
        name = self.attribute(node, ast.Load)
        if name:
            return [Read(name, self.found.module, node.lineno, self.found.owner)]
        if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
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
                    reads += Asker(reader.sources, reader.found, reader.ctx, reader.depth).asked()[0]
            except Doubt:
                return reads
        return reads


def contract(sources: Sources, kind: Kind) -> Contract | None:
    """Read what a class promises itself; None where torch's own forward or backward pass would run."""
    forward, backward, setup = (method(sources, kind, name) for name in ("forward", "backward", "setup_context"))
    if forward is None or backward is None:
        return None
    keeps = setup or forward
    given, keeping, asking = parameters(forward), parameters(keeps), parameters(backward)
    if not keeping or not asking or (setup and given[:1] == ["ctx"]):
        raise Doubt
    kept = Keeper(sources, keeps, keeping[0]).kept()
    reads, unpacks = Asker(sources, backward, asking[0]).asked()
    arguments = forward.node.args
    fixed = not (arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults)
    skips = 0 if setup else 1
    return Contract(kind, forward, backward, kept, reads, unpacks, skips, len(given) - skips if fixed else None, returned(backward))


def returned(backward: Method) -> int | None:
    """Count the gradients that a backward pass returns, trailing None aside where there are more; None where it cannot be read off."""
    ends = [part.value for part in bodies(backward.node) if isinstance(part, ast.Return)]
    counts = {len(end.elts) for end in ends if isinstance(end, ast.Tuple) and not any(isinstance(part, ast.Starred) for part in end.elts)}
    return counts.pop() if ends and len(counts) == 1 and all(isinstance(end, ast.Tuple) for end in ends) and counts else None


class Site(NamedTuple):
    """A place that calls, or hands on, `apply` of an autograd function; `given` counts the inputs where it spells them out."""

    module: Module
    line: int
    given: int | None
    through: str


class Fault(NamedTuple):
    """What is wrong with an autograd function; `settled` where a run that goes well would refute it."""

    case: str
    says: str
    settled: bool


def applied(sources: Sources, kind: Kind) -> list[Site]:
    """Find where `apply` of a class is reached: from the top of a module, or from what can be imported or is used there."""
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


def applications(sources: Sources, kind: Kind, module: Module) -> Iterator[tuple[Any, int | None, list[Any]]]:
    """Yield each `X.apply` that means this class, how many inputs it is called with, and the definitions around it."""
    called = {id(call.func): call for call in ast.walk(module.tree) if isinstance(call, ast.Call)}
    for node, chain in within(module.tree, []):
        if isinstance(node, ast.Attribute) and node.attr == "apply" and means(sources, module, node.value, chain, kind):
            call = called.get(id(node))
            spelled = call is not None and not call.keywords and not any(isinstance(value, ast.Starred) for value in call.args)
            yield node, len(call.args) if call is not None and spelled else None, chain


def within(node: Any, chain: list[Any]) -> Iterator[tuple[Any, list[Any]]]:
    """Yield every node with the definitions around it, outermost first; what runs only as a program is left out."""
    for child in ast.iter_child_nodes(node):
        yield child, chain
        if not (isinstance(child, ast.If) and "'__main__'" in ast.dump(child.test)):
            yield from within(child, [*chain, child] if isinstance(child, (*Function, ast.ClassDef)) else chain)


def means(sources: Sources, module: Module, value: Any, chain: list[Any], kind: Kind) -> bool:
    """Say whether an expression stands for the class."""
    parts = dotted_parts(value)
    if parts == ["cls"]:
        return bool(chain) and any(chain[0] is node for _, node in kind.line)
    if not parts or (parts[-1] != kind.node.name and parts[0] not in module.names and not chain):
        return False
    local = [part for outer in chain for part in ast.walk(outer) if isinstance(part, (ast.Import, ast.ImportFrom))]
    imports = {name: to for part in local for name, to in module.imported(part).items()}
    found = sources.find(".".join([imports[parts[0]], *parts[1:]])) if parts[0] in imports else sources.named(module, parts)
    return any(not isinstance(end, str) and end[1] is kind.node for end in found)


def reached(sources: Sources, chain: list[Any], kind: Kind, seen: set[str]) -> bool:
    """Say whether what stands there can run: not in the class itself, nor in something private that nothing uses."""
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
            used = (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)
            taken = isinstance(node, ast.ImportFrom) and any(alias.name == name for alias in node.names)
            if taken or (used and reached(sources, around, kind, {*seen, name})):
                return True
    return False


def faults(sources: Sources, held: Contract, sites: list[Site]) -> Iterator[Fault]:
    """Yield what a class that is reached promises and does not keep."""
    name, advice = held.kind.node.name, advise(held.kind)
    through = sites[0].through
    missing = [read for read in held.reads if read.name not in held.kept.always and apart(held.forward, read.module, read.owner)]
    if missing:
        some = all(read.name in held.kept.some for read in missing)
        names = ", ".join(dict.fromkeys(f"ctx.{read.name}" for read in missing)) + (" on every way through it" if some else "")
        at = f"{place(sources, held.forward.module, held.forward.node.lineno)}, {place(sources, missing[0].module, missing[0].line)}"
        reader = f"{whose(held, missing[0].module)} {missing[0].owner or held.backward.owner}.backward"
        what = f"{name}.forward sets no {names}, which {reader} reads"
        yield Fault("attributes", f"{what}: {advice}; backward() through {through} raises AttributeError ({at})", not some)
    counts = [site for site in sites if site.given is not None and accepts(held, site.given)] if split(held) else []
    counts = [site for site in counts if held.returns is not None and site.given > held.returns]
    if counts:
        at = f"{place(sources, counts[0].module, counts[0].line)}, {place(sources, held.backward.module, held.backward.node.lineno)}"
        returns = f"{whose(held, held.backward.module)} {held.backward.owner}.backward returns {held.returns}"
        what = f"{name} is given {counts[0].given} inputs, and {returns}"
        raises = f"backward() through {counts[0].through} raises RuntimeError, an incorrect number of gradients ({at})"
        yield Fault("gradient-count", f"{what}: {advice}; {raises}", True)


def whose(held: Contract, module: Module) -> str:
    """Name the package that a backward pass comes from."""
    return f"{top(module)}'s" if top(module) != top(held.forward.module) else "its base"


def apart(forward: Method, module: Module, owner: str) -> bool:
    """Say whether code belongs to another class than a forward pass, or to another package: such parts may move apart."""
    return (owner not in ("", forward.owner)) or top(module) != top(forward.module)


def split(held: Contract) -> bool:
    """Say whether the backward pass is another class's."""
    return apart(held.forward, held.backward.module, held.backward.owner)


def top(module: Module) -> str:
    """Name the package at the head of a module."""
    return module.name.partition(".")[0]


def accepts(held: Contract, given: int) -> bool:
    """Say whether the forward pass takes so many inputs: where it does not, it is not backward that fails."""
    arguments = held.forward.node.args
    most = len(parameters(held.forward)) - held.skips
    return arguments.vararg is not None or most - len(arguments.defaults) <= given <= most


def advise(kind: Kind) -> str:
    """Say what to do: which packages to move."""
    packages = list(dict.fromkeys(top(module) for module, _ in kind.line))
    which = f"move {' and '.join(packages)} to releases made for each other" if packages[1:] else f"move {packages[0]} to another release"
    return f"to train (inference is not affected), {which}"


def place(sources: Sources, module: Module, line: int) -> str:
    """Name a line of an installed file."""
    return f"{sources.short(module.path)}:{line}"


def made_for_training(held: Contract) -> bool:
    """Say whether the forward pass keeps anything for a backward pass that it inherits: where it does not, it serves inference only."""
    if held.backward.owner == held.forward.owner:
        return True
    return held.kept.saves if held.unpacks else any(read.name in held.kept.some for read in held.reads) or not held.reads


def suspects(sources: Sources, data: dict[str, Any]) -> Iterator[Suspect]:
    """Yield the classes that are reached and either break their contract or build on another package's class."""
    aside, unclear = [], 0
    for kind in kinds(sources):
        data["functions"] += 1
        try:
            held = contract(sources, kind)
            across = len({top(module) for module, _ in kind.line}) > 1
            if held is None or not (across or any(faults(sources, held, [anywhere(held)]))):
                continue
            sites = applied(sources, kind)
            found = list(faults(sources, held, sites)) if sites else []
        except (Doubt, RecursionError):
            unclear += 1
            continue
        if sites and made_for_training(held):
            if across or found:
                yield held, sites, found
        else:
            aside.append(f"{place(sources, kind.module, kind.node.lineno)} {kind.node.name}")
    data.update(unclear=unclear, set_aside=aside[:16])


def anywhere(held: Contract) -> Site:
    """Stand for a call that nobody has looked for yet."""
    return Site(held.kind.module, 0, held.inputs, "")


class Stand:
    """Stands for whatever a class uses outside torch: a call gives a tensor like the first that it was handed."""

    def __call__(self, *values: Any, **words: Any) -> Any:
        """Give ones in the shape of the first tensor."""
        import torch

        like = next((value for value in (*values, *words.values()) if isinstance(value, torch.Tensor)), None)
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
    return tuple(value if isinstance(value, Stand) else value.clone() for _ in range(count)) if stands else value


class Standing(ast.NodeTransformer):
    """Replaces imports from outside torch, and makes room for what stand-ins give."""

    def visit_ImportFrom(self, node: Any) -> Any:
        """Bind stand-ins in place of an import."""
        if outside(node.module or "") or node.level:
            return [
                ast.Assign([ast.Name(alias.asname or alias.name, ast.Store())], ast.Call(ast.Name("Stand", ast.Load()), [], []))
                for alias in node.names
            ]
        return node

    def visit_Import(self, node: Any) -> Any:
        """Bind stand-ins in place of an import."""
        kept = [alias for alias in node.names if not outside(alias.name)]
        gone = [(alias.asname or alias.name).partition(".")[0] for alias in node.names if outside(alias.name)]
        stands = [ast.Assign([ast.Name(name, ast.Store())], ast.Call(ast.Name("Stand", ast.Load()), [], [])) for name in gone]
        return [*([ast.Import(kept)] if kept else []), *stands]

    def visit_Assign(self, node: Any) -> Any:
        """Make `a, b = f(x)` fit what a stand-in for f gives."""
        self.generic_visit(node)
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Call):
            node.value = ast.Call(ast.Name("spread", ast.Load()), [node.value, ast.Constant(len(target.elts))], [])
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
    """Return what a top-level name stands for: torch's and the standard library's own, and plain constants; else a stand-in."""
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
    import torch

    made: Any = torch.autograd.Function
    for module, node in reversed(line):
        names = {name: real(values[-1]) for name, values in module.names.items()}
        used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        space = {name: names.get(name, Stand()) for name in used if name in names or not hasattr(builtins, name)}
        space.update(__name__=module.name, base=made, Stand=Stand, spread=spread)
        node.bases, node.decorator_list = [ast.Name("base", ast.Load())], []
        whole = ast.fix_missing_locations(Standing().visit(ast.Module([ast.parse("from __future__ import annotations").body[0], node], [])))
        exec(compile(whole, module.path, "exec"), space)
        made = space[node.name]
    return made


def drive(wanted: dict[str, Any]) -> None:
    """Run a class forward and backward once on the processor."""
    import torch

    sources = Sources([])
    line = []
    for path, name in wanted["line"]:
        module = sources.at(path)
        line.append((module, next(node for node in module.names[name] if isinstance(node, ast.ClassDef))))
    function = build(line)
    given = [torch.randn(1, 8, 2, 16, requires_grad=True) if index in wanted["tensors"] else None for index in range(wanted["given"])]
    out = function.apply(*given)
    first = next(part for part in (out if isinstance(out, tuple) else (out,)) if isinstance(part, torch.Tensor) and part.requires_grad)
    first.sum().backward()


def wanted(held: Contract, sites: list[Site]) -> dict[str, Any] | None:
    """Describe a class to the child that runs it; None where its source does not say which inputs are tensors."""
    ends = [part.value for part in bodies(held.backward.node) if isinstance(part, ast.Return)]
    last = ends[0].elts if len(ends) == 1 and isinstance(ends[0], ast.Tuple) else []
    tensors = [index for index, value in enumerate(last) if not isinstance(value, ast.Constant)]
    given = max([site.given for site in sites if site.given is not None and accepts(held, site.given)] or [0])
    if not tensors or not given or {held.forward.owner, held.backward.owner} - {node.name for _, node in held.kind.line}:
        return None
    return {"line": [[module.path, node.name] for module, node in held.kind.line], "tensors": tensors, "given": given}


def run(classes: list[Any]) -> list[str]:
    """Ask classes for gradients in one child; return what each said, as far as the child came."""
    try:
        command = [sys.executable, os.path.abspath(__file__), DRIVE]
        ran = subprocess.run(command, input=json.dumps(classes), capture_output=True, text=True, timeout=BOUND, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [type(error).__name__] * len(classes)
    print(ran.stderr[-8000:], file=sys.stderr)
    said = [line[len(DRIVE) :].strip() for line in ran.stdout.splitlines() if line.startswith(DRIVE)]
    return said + [f"the child ended with {ran.returncode}"] * (len(classes) - len(said))


def judged(held: Contract, said: str) -> bool | None:
    """Say whether a class gave gradients; None where what it raised is not about its contract."""
    name = f"{held.kind.node.name}Backward"
    if f"function {name} returned an incorrect number of gradients" in said:
        return False
    missing = [read.name for read in held.reads if said == f"AttributeError: '{name}' object has no attribute '{read.name}'"]
    return True if said == "passed" else False if missing and missing[0] not in held.kept.some else None


def main() -> None:
    """Read every autograd function, run those that build on another package, and say what does not hold."""
    with REPORT.result(None) as data:
        data.update(matters="warning", functions=0)
        sources = Sources(sites())
        held = list(suspects(sources, data))
        data["files"] = len(sources.files)
        if not data["functions"]:
            raise Ending("skipped", "no autograd function that is installed takes over the passes of another")
        ran = running(held) if importlib.util.find_spec("torch") else []
        data["ran"] = {one.kind.node.name: said for one, said in ran}
        with REPORT.case("attributes"):
            tell(held, "attributes", ran)
        with REPORT.case("gradient-count"):
            tell(held, "gradient-count", ran)
        with REPORT.case("running"):
            if not held:
                raise Ending("skipped", "no autograd function here builds on one of another package")
            tell_run(ran)
    REPORT.write(doing=None)


def running(held: list[Suspect]) -> list[tuple[Contract, str]]:
    """Run the suspects, the faulty ones first, and return what each said."""
    chosen = [(one, wanted(one, places)) for one, places, _ in sorted(held, key=lambda one: not one[2])[:RUNS]]
    asked = [described for _, described in chosen if described]
    told = iter(run(asked) if asked else [])
    return [(one, next(told) if described else "its source does not say which inputs are tensors") for one, described in chosen]


def tell(held: list[Suspect], case: str, ran: list[tuple[Contract, str]]) -> None:
    """End a case with its faults, but for those that running the class has refuted."""
    well = [one for one, said in ran if judged(one, said)]
    said = [fault.says for one, _, found in held for fault in found if fault.case == case and not (fault.settled and one in well)]
    if said:
        raise Ending("failed", "; ".join(said[:4]) + (f"; and {len(said) - 4} more" if len(said) > 4 else ""))


def tell_run(ran: list[tuple[Contract, str]]) -> None:
    """End the case with what the classes raised."""
    if not ran:
        raise Ending("skipped", "torch is not installed")
    red = [
        f"{said} (what {one.kind.node.name} calls outside torch was replaced by stand-ins)"
        for one, said in ran
        if judged(one, said) is False
    ]
    if red:
        raise Ending("failed", "; ".join(red))
    if all(judged(one, said) is None for one, said in ran):
        raise Ending("skipped", "; ".join(f"{one.kind.node.name} could not be run by itself: {said}" for one, said in ran))


DRIVE = "--drive"
if DRIVE in sys.argv:
    sys.path.pop(0)
    for described in json.load(sys.stdin):
        try:
            drive(described)
            print(DRIVE, "passed", flush=True)
        except Exception as error:
            traceback.print_exc()
            print(DRIVE, " ".join(f"{type(error).__name__}: {error}".split())[:400], flush=True)
else:
    main()
