"""Find and parse the sources of installed packages, and follow names through their imports."""

from __future__ import annotations

import ast
import os
import sysconfig
import warnings
from collections.abc import Iterator
from typing import Any, Tuple

LARGEST = 2 << 20
ASIDE = {"__pycache__", "benchmark", "benchmarks", "docs", "examples", "test", "testing", "tests"}
DEPTH = 12
Function = (ast.FunctionDef, ast.AsyncFunctionDef)
Thing = Tuple["Module", Any]


class Module:
    """A source file of the target that was parsed and never run.

    `names` holds what stands at its top, under conditions too.
    """

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
                self._add(
                    {
                        part.id: node.value
                        for target in targets
                        for part in ast.walk(target)
                        if isinstance(part, ast.Name)
                    },
                    sure=sure,
                )
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
        """Return what an import statement binds.

        Local names, and the dotted names they stand for.
        """
        if isinstance(node, ast.Import):
            return {
                alias.asname or alias.name.partition(".")[0]: alias.name
                if alias.asname
                else alias.name.partition(".")[0]
                for alias in node.names
            }
        home = self.package.split(".")
        start = ".".join(home[: len(home) - node.level + 1]) + "." if node.level else ""
        source = (start + (node.module or "")).rstrip(".")
        self.stars += [source for alias in node.names if alias.name == "*"]
        return {
            alias.asname or alias.name: f"{source}.{alias.name}"
            for alias in node.names
            if alias.name != "*"
        }


class Sources:
    """The Python files below the folders that hold packages, parsed when they are asked for."""

    def __init__(self, sites: list[str]) -> None:
        self.sites = sites
        self.memo: dict[Any, Any] = {}
        self._modules: dict[str, Module | None] = {}
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
        return next(
            (os.path.relpath(path, site) for site in self.sites if path.startswith(site + os.sep)),
            path,
        )

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
        """Return what a dotted name may stand for.

        Definitions, or the name itself where it leads out of what is installed here.
        """
        parts = dotted.split(".")
        for count in range(len(parts) - 1, 0, -1):
            module = self.module(".".join(parts[:count]))
            if module is not None:
                return self.resolve(module, parts[count:], depth + 1)
        return [dotted]

    def resolve(self, module: Module, parts: list[str], depth: int = 0) -> list[Thing | str]:
        """Return what a name, with the attributes after it, may stand for within a module.

        Each is looked for once.
        """
        if depth > DEPTH:
            return []
        key = (module.name, *parts)
        if key not in self.memo:
            self.memo[key] = []
            self.memo[key] = self._named(module, parts, depth)
        found: list[Thing | str] = self.memo[key]
        return found

    def _named(self, module: Module, parts: list[str], depth: int) -> list[Thing | str]:
        bound = module.names.get(parts[0])
        if bound is None:
            bound = [f"{star}.{parts[0]}" for star in module.stars[:DEPTH]]
        found: list[Thing | str] = []
        for value in bound:
            if isinstance(value, str):
                found += self.find(".".join([value, *parts[1:]]), depth + 1)
            elif isinstance(value, (ast.Name, ast.Attribute)):
                chain = dotted_parts(value)
                found += (
                    self.resolve(module, chain + parts[1:], depth + 1)
                    if chain and chain[0] != parts[0]
                    else []
                )
            elif len(parts) == 1 and isinstance(value, (*Function, ast.ClassDef)):
                found.append((module, value))
            elif isinstance(value, ast.ClassDef):
                found += [
                    (module, part)
                    for part in value.body
                    if isinstance(part, Function) and parts[1:] == [part.name]
                ]
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
    own = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    folders = [told] if told and told not in own else own
    return list(dict.fromkeys(os.path.abspath(folder) for folder in folders))


def unique(ends: list[Any]) -> list[Any]:
    """Drop what is there twice: two ways of importing one class."""
    return list({end if isinstance(end, str) else id(end[1]): end for end in ends}.values())


def top(module: Module) -> str:
    """Name the package at the head of a module."""
    return module.name.partition(".")[0]


def place(sources: Sources, module: Module, line: int) -> str:
    """Name a line of an installed file."""
    return f"{sources.short(module.path)}:{line}"
