"""Resolve the names of one release: re-exports, star imports, lazy modules, base classes."""

from __future__ import annotations

import builtins
import hashlib
import sys
from collections.abc import Iterable, Iterator

from doctor.timelines.build.name_files import Class, Import, Member, Source
from doctor.timelines.build.name_scan import scan

Origin = tuple[str, str]
"""The module and the name of a definition; the name is empty for a module."""

EXTERNAL: Origin = ("", "")
"""The origin of what other distributions define."""

_MODELS = {"BaseModel", "BaseSettings", "NamedTuple", "TypedDict", "Struct"}
_STDLIB = sys.stdlib_module_names | {"distutils", "imp", "asyncore", "cgi", "pipes"}
_STUBBED = {"torch", "torch.functional", "torch.linalg", "torch._C._VariableFunctions"}
"""Modules that copy names out of compiled code whose stubs are in the wheel."""
_BUILTIN = set(dir(builtins))
_ALIASES = {  # modules that are found through a changed `__path__`
    "keras": ("keras.api", "keras"),
    "tensorflow": ("tensorflow._api.v2", "tensorflow"),
}


class Scanner:
    """Scans files, each content once."""

    def __init__(self) -> None:
        self._known: dict[bytes, Source | None] = {}
        self._used: set[bytes] = set()

    def scan(self, content: bytes) -> Source | None:
        """Return the names that a file defines."""
        key = hashlib.blake2b(content, digest_size=16).digest()
        self._used.add(key)
        if key not in self._known:
            self._known[key] = scan(content)
        return self._known[key]

    def forget(self) -> None:
        """Forget files that the last release no longer had."""
        self._known = {key: self._known[key] for key in self._used}
        self._used = set()


class Package:
    """The modules of one release."""

    def __init__(self, members: Iterable[Member], roots: set[str], scanner: Scanner) -> None:
        self._roots = roots
        self.modules: dict[str, list[Source]] = {}
        self.packages: set[str] = set()
        self.dynamic: set[str] = set()
        self._spaces: dict[str, dict[str, Origin | None]] = {}
        # Stubs come last: they show what compiled code has.
        for member in sorted(members, key=lambda each: each.path.endswith(".pyi")):
            name, is_package = _module_name(member.path)
            if not any(name == root or name.startswith(root + ".") for root in roots):
                continue
            sources = self.modules.setdefault(name, [])
            if is_package:
                self.packages.add(name)
            source = None if member.content is None else scanner.scan(member.content)
            if source is None:
                self.dynamic.add(name)
            else:
                sources.append(source)
                if source.dynamic and name not in _STUBBED:
                    self.dynamic.add(name)
        self._alias()
        self._children: dict[str, list[str]] = {}
        for name in list(self.modules):
            self._adopt(name)
        # Circular imports see half of a module the first time.
        self._before: dict[str, dict[str, Origin | None]] = {}
        for _ in range(2):
            self._before, self._spaces = self._spaces, {}
            for name in self.modules:
                self.names(name)

    def _adopt(self, name: str) -> None:
        parent = name.rpartition(".")[0]
        if parent:
            self._children.setdefault(parent, []).append(name)
        if parent and parent not in self.modules:
            self.modules[parent] = []  # a namespace package
            self.packages.add(parent)
            self._adopt(parent)

    def _alias(self) -> None:
        for root, (old, new) in _ALIASES.items():
            if old not in self.modules:
                continue
            for name in [each for each in self.modules if each.startswith(old + ".")]:
                alias = new + name[len(old) :]
                if alias not in self.modules:
                    self.modules[alias] = [Source(stars=[Import(0, name, "*")])]
                    if name in self.packages:
                        self.packages.add(alias)
            self.modules[root].append(Source(stars=[Import(0, old, "*")]))

    def names(self, module: str) -> dict[str, Origin | None]:
        """Return the names that can be imported from a module, with their definitions."""
        known = self._spaces.get(module)
        if known is not None:
            return known
        space = dict(self._before.get(module, ()))
        self._spaces[module] = space
        for source in self.modules[module]:
            self._fill(module, source, space)
        return space

    def _fill(self, module: str, source: Source, space: dict[str, Origin | None]) -> None:
        own = source.plain | source.functions.keys() | source.classes.keys()
        for name in own:
            space.setdefault(name, None)
        typed = module in self.packages or source.lazy_loading
        for star in [*source.stars, *(source.typing_stars if typed else ())]:
            self._star(module, self._absolute(module, star), space)
        for name, found in (source.typing_only if typed else {}).items():
            self._bind(module, source, name, found, space)
        for name, found in source.imports.items():
            self._bind(module, source, name, found, space)
        for place, names in source.lazy.items():
            self._lazy(module, place, names, space)
        if source.structure_of is not None:
            self._structure(module, source.structure_of, space)
        if source.lazy_loading:
            own |= set(source.exported) - space.keys()
        space.update(dict.fromkeys(own))
        for name in source.answered:
            space.setdefault(name, None)
        for name in source.deleted - own:
            space.pop(name, None)

    def _star(self, module: str, target: str, space: dict[str, Origin | None]) -> None:
        if target in self.modules:
            for name, origin in self._starred(target):
                space[name] = origin or (target, name)
        elif target.partition(".")[0] not in _STDLIB and not self._is_own(target):
            self.dynamic.add(module)

    def _is_own(self, target: str) -> bool:
        return any(target == root or target.startswith(root + ".") for root in self._roots)

    def _starred(self, target: str) -> Iterator[tuple[str, Origin | None]]:
        space = self.names(target)
        sources = self.modules[target]
        exported = self._exported(target)
        if exported:
            yield from ((name, space.get(name)) for name in exported)
            if all(source.has_all and not source.all_unknown for source in sources):
                return
        yield from ((name, origin) for name, origin in space.items() if name[0] != "_")

    def _exported(self, module: str, depth: int = 0) -> set[str]:
        """Return the names in the `__all__` of a module."""
        found: set[str] = set()
        for source in self.modules[module]:
            found |= {name for name in source.exported if name.isidentifier()}
            for dotted in source.exported_from:
                origin = self.names(module).get(dotted)
                target = origin[0] if origin and not origin[1] else f"{module}.{dotted}"
                if target in self.modules and depth < 10:
                    found |= self._exported(target, depth + 1)
                else:
                    source.all_unknown = True
        return found

    def _bind(
        self,
        module: str,
        source: Source,
        name: str,
        found: Import,
        space: dict[str, Origin | None],
    ) -> None:
        target = self._absolute(module, found)
        if target in self.modules:
            inner = f"{target}.{found.name}"
            if not found.name:
                space[name] = (target, "")
            elif found.name in (names := self.names(target)):
                space[name] = names[found.name] or (target, found.name)
            elif inner in self.modules:
                space[name] = (inner, "")
            else:
                space[name] = None
            return
        top = target.partition(".")[0]
        if self._is_own(target):
            space[name] = None
        elif top != "builtins" and (not top or top in _STDLIB):
            if name in source.exported:
                space[name] = EXTERNAL
        elif module in self.packages or module.count(".") < 2 or name in source.exported:
            space[name] = None if top == "builtins" else EXTERNAL

    def _lazy(
        self, module: str, place: str, names: list[str], space: dict[str, Origin | None]
    ) -> None:
        target = place if place in self.modules else f"{module}.{place}"
        there = self.names(target) if target in self.modules else {}
        if target in self.modules and "." not in place:
            space.setdefault(place, (target, ""))
        for name in names:
            if name.isidentifier():
                space[name] = (there[name] or (target, name)) if name in there else None

    def _structure(self, module: str, folder: str, space: dict[str, Origin | None]) -> None:
        start = module if module in self.packages else module.rpartition(".")[0]
        if folder and f"{start}.{folder}" in self.modules:
            start = f"{start}.{folder}"
        for child in self._children.get(start, ()):
            for source in self.modules[child]:
                for name in source.exported:
                    if name.isidentifier():
                        space[name] = self.names(child).get(name) or (child, name)
            if child in self.packages:
                self._structure(child, "", space)

    def _absolute(self, module: str, found: Import) -> str:
        if not found.level:
            return found.module
        parts = module.split(".")
        up = found.level - (module in self.packages)
        base = parts[: len(parts) - up] if up else parts
        return ".".join([*base, found.module] if found.module else base)

    def base(self, module: str, dotted: str) -> str:
        """Return the full name of a base class that is written in a module."""
        head, _, rest = dotted.partition(".")
        for source in self.modules[module]:
            if head in source.classes:
                return f"{module}.{dotted}"
            found = source.imports.get(head)
            if found is None:
                continue
            origin = self.names(module).get(head)
            if origin is None or origin == EXTERNAL:
                full = ".".join(filter(None, (self._absolute(module, found), found.name, rest)))
                return self._canonical(full)
            full = ".".join(filter(None, (*origin, rest)))
            return self._canonical(full)
        origin = self.names(module).get(head)
        if origin and origin != EXTERNAL:
            return ".".join(filter(None, (*origin, rest)))
        return dotted if head in _BUILTIN else f"?.{dotted}"

    def _canonical(self, full: str) -> str:
        place, _, name = full.rpartition(".")
        if place in self.modules and (origin := self.names(place).get(name)):
            if origin == EXTERNAL:
                return full
            return ".".join(filter(None, origin))
        return full

    def classes(self) -> Iterator[tuple[str, str, Class, list[str]]]:
        """Yield each class with its module, its name and its base classes."""
        for module, sources in self.modules.items():
            for source in sources:
                for name, found in source.classes.items():
                    yield module, name, found, [self.base(module, each) for each in found.bases]

    def is_model(self, full: str, seen: frozenset[str] = frozenset()) -> bool:
        """Return whether the annotated fields of a class are the parameters of its `__init__`."""
        place, _, name = full.rpartition(".")
        if place not in self.modules:
            return name in _MODELS
        if full in seen or len(seen) > 30:
            return False
        for source in self.modules[place]:
            found = source.classes.get(name)
            if found:
                if "__init__" in found.methods:
                    return False
                bases = [self.base(place, each) for each in found.bases]
                return any(self.is_model(each, seen | {full}) for each in bases)
        return False


def _module_name(path: str) -> tuple[str, bool]:
    folder, _, file = path.rpartition("/")
    stem = file.partition(".")[0]
    parts = folder.split("/") if folder else []
    if stem == "__init__":
        return ".".join(parts), True
    return ".".join([*parts, stem]), False
