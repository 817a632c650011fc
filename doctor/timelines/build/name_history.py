"""Collect the names of many releases, and write them as one compact file."""

from __future__ import annotations

import lzma
import re
from collections import Counter
from collections.abc import Iterable

import msgspec

from doctor.timelines.build.name_files import Class, Release
from doctor.timelines.build.name_package import EXTERNAL, Origin, Package
from doctor.timelines.name_file import FORMAT, MAGIC, Header, Tables, number_text

_BLOCK = 700_000
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 20}]
_FILTERS[0] |= {"lc": 4, "lp": 0, "pb": 0}
_CALLED = {"__init__", "__call__", "__new__"}
_GENERATED = re.compile(r"(keras\.(_tf_keras|api)|tensorflow\._api)(\.|\Z)")
"""Copies of modules that have a better name."""
_MAIN = {"__call__", "forward", "generate", "from_pretrained", "step", "encode", "decode", "fit"}
"""Methods whose parameters are recorded for classes of every module, however deep."""
_PLAIN_BASES = {"object", "abc.ABC", "typing.Generic", "typing.Protocol", "Exception"}


class Histories:
    """What the releases of one distribution contain; release `i` is bit `i`."""

    def __init__(self) -> None:
        self.releases: list[Release] = []
        self.modules: dict[str, int] = {}
        self.dynamic: dict[str, int] = {}
        self.names: dict[str, dict[str, list[tuple[int, int, Origin | None]]]] = {}
        self.parameters: dict[str, dict[str, dict[str, int]]] = {}
        self.classes: dict[str, dict[str, tuple[dict[str, int], dict[str, int]]]] = {}
        self.thinned: set[str] = set()
        """Modules of which only a selection of names is recorded."""
        self.moves: dict[str, str] = {}
        self._before: dict[str, set[str]] = {}

    def add(self, release: Release, package: Package) -> None:
        """Add the next release."""
        bit = 1 << len(self.releases)
        self.releases.append(release)
        for module in package.modules:
            self.modules[module] = self.modules.get(module, 0) | bit
        for module in package.dynamic:
            self.dynamic[module] = self.dynamic.get(module, 0) | bit
        for module in package.modules:
            if _GENERATED.match(module):
                self.dynamic[module] = self.dynamic.get(module, 0) | bit
                continue
            for name, origin in package.names(module).items():
                self._name(module, name, None if origin == (module, name) else origin)
            for source in package.modules[module]:
                for name, function in source.functions.items():
                    self._parameters(module, name, function.parameters, bit)
        for module, name, found, bases in package.classes():
            self._class(module, name, found, bases, bit, package)
        self._moved(package)

    def _name(self, module: str, name: str, origin: Origin | None) -> None:
        at = len(self.releases) - 1
        segments = self.names.setdefault(name, {}).setdefault(module, [])
        if segments and segments[-1][1] == at - 1 and segments[-1][2] == origin:
            segments[-1] = (segments[-1][0], at, origin)
        else:
            segments.append((at, at, origin))

    def _parameters(self, module: str, name: str, parameters: Iterable[str], bit: int) -> None:
        row = self.parameters.setdefault(name, {}).setdefault(module, {})
        for parameter in ("", *parameters):
            row[parameter] = row.get(parameter, 0) | bit

    def _class(
        self, module: str, name: str, found: Class, bases: list[str], bit: int, package: Package
    ) -> None:
        base_row, row = self.classes.setdefault(name, {}).setdefault(module, ({}, {}))
        for base in bases:
            if base not in _PLAIN_BASES:
                base_row[base] = base_row.get(base, 0) | bit
        dynamic = ("*",) if found.dynamic else ()
        for attribute in ("", *found.attributes, *dynamic):
            if not (attribute.startswith("__") and attribute not in _CALLED):
                row[attribute] = row.get(attribute, 0) | bit
        start = found.methods.get("__init__") or found.methods.get("__new__")
        if start:
            self._parameters(module, name, start.parameters, bit)
        elif found.generated or (found.fields and package.is_model(f"{module}.{name}")):
            self._parameters(module, name, (*found.fields, "&"), bit)
        deep = module.count(".") > 2
        if name[0] != "_":
            for method, function in found.methods.items():
                if method in _MAIN or (not deep and method[0] != "_"):
                    self._parameters(module, f"{name}.{method}", function.parameters, bit)

    def _moved(self, package: Package) -> None:
        """Find where the contents of modules went that are in this release no more."""
        contents: dict[str, set[str]] = {}
        places: dict[str, list[str]] = {}
        for module, sources in package.modules.items():
            own = {x for source in sources for x in (*source.functions, *source.classes)}
            for name in own:
                places.setdefault(name, []).append(module)
            space = package.names(module) if not own and module not in package.packages else {}
            contents[module] = own | {name for name, origin in space.items() if origin}
        for module in self._before.keys() - contents.keys():
            own = self._before[module]
            votes = Counter(place for name in own for place in places.get(name, ()))
            best = max(votes.items(), key=lambda x: (x[1], -len(x[0])), default=("", 0))
            if best[1] * 2 > len(own):
                self.moves[module] = best[0]
        self._before = contents

    def encode(self, distribution: str, roots: list[str], made: str) -> bytes:
        """Return the file."""
        return _Encoder(self).encode(distribution, roots, made)


class _Encoder:
    def __init__(self, histories: Histories) -> None:
        self.of = histories
        self.modules = sorted(histories.modules)
        self.number = {name: number_text(i) for i, name in enumerate(self.modules)}
        self._uses: Counter[int] = Counter()
        self._interval: dict[int, str] = {}

    def encode(self, distribution: str, roots: list[str], made: str) -> bytes:
        self._rows()  # counts, so that frequent intervals get short numbers
        ordered = [bits for bits, _ in self._uses.most_common()]
        self._interval = {bits: number_text(i) for i, bits in enumerate(ordered)}
        sections = self._rows()
        tables = Tables(
            modules=self.modules,
            present=[self._bits(self.of.modules[name]) for name in self.modules],
            dynamic=[self._bits(self.of.dynamic.get(name, 0)) for name in self.modules],
            moved=[self.number.get(self.of.moves.get(name, ""), "") for name in self.modules],
            thinned=[i for i, name in enumerate(self.modules) if name in self.of.thinned],
            intervals=[_intervals(bits) for bits in ordered],
        )
        body = bytearray()

        def packed(data: bytes) -> tuple[int, int]:
            block = _compressed(data)
            body.extend(block)
            return len(body) - len(block), len(block)

        directory = {
            name: [(first, *packed(text.encode())) for first, text in _blocks(rows)]
            for name, rows in sections.items()
        }
        header = Header(
            format=FORMAT,
            distribution=distribution,
            imports=roots,
            releases=[each.version for each in self.of.releases],
            sources=[each.filename for each in self.of.releases],
            dates=[each.date for each in self.of.releases],
            made=made,
            tables=packed(msgspec.json.encode(tables)),
            sections=directory,
        )
        head = _compressed(msgspec.json.encode(header))
        return MAGIC + len(head).to_bytes(4, "big") + head + bytes(body)

    def _rows(self) -> dict[str, list[str]]:
        for name in self.modules:
            self._bits(self.of.modules[name])
            self._bits(self.of.dynamic.get(name, 0))
        return {
            "names": [self._names(name) for name in sorted(self.of.names)],
            "classes": [self._classes(name) for name in sorted(self.of.classes)],
            "parameters": [self._parameters(name) for name in sorted(self.of.parameters)],
        }

    def _bits(self, bits: int) -> str:
        self._uses[bits] += 1
        return self._interval.get(bits, "0")

    def _names(self, name: str) -> str:
        rows = []
        for module, segments in sorted(self.of.names[name].items()):
            origins: dict[Origin | None, int] = {}
            for first, last, origin in segments:
                origins[origin] = origins.get(origin, 0) | ((2 << last) - (1 << first))
            texts = [
                self._bits(bits) + (f">{self._origin(origin, name)}" if origin else "")
                for origin, bits in origins.items()
            ]
            rows.append(f"{self.number[module]}:{','.join(texts)}")
        return f"{name}\t{'|'.join(rows)}"

    def _origin(self, origin: Origin, name: str) -> str:
        if origin == EXTERNAL:
            return "-"
        number = self.number[origin[0]]
        return number if origin[1] == name else f"{number}.{origin[1]}"

    def _groups(self, row: dict[str, int], skip: str | None = None) -> str:
        groups: dict[int, list[str]] = {}
        for name, bits in row.items():
            if name != skip:
                groups.setdefault(bits, []).append(name)
        return ",".join(f"{self._bits(bits)}:{' '.join(names)}" for bits, names in groups.items())

    def _parameters(self, name: str) -> str:
        rows = [
            f"{self.number[module]};{self._bits(row[''])};{self._groups(row, '')}"
            for module, row in sorted(self.of.parameters[name].items())
        ]
        return f"{name}\t{'|'.join(rows)}"

    def _classes(self, name: str) -> str:
        rows = []
        for module, (bases, row) in sorted(self.of.classes[name].items()):
            number, bits = self.number[module], self._bits(row[""])
            names = dict(sorted(row.items()))
            rows.append(f"{number};{bits};{self._groups(bases)};{self._groups(names, '')}")
        return f"{name}\t{'|'.join(rows)}"


def _compressed(data: bytes) -> bytes:
    return lzma.compress(data, lzma.FORMAT_XZ, lzma.CHECK_CRC32, filters=_FILTERS)


def _intervals(bits: int) -> list[int]:
    """Return the first and last release of each interval, one after the other."""
    found = []
    at = 0
    while bits >> at:
        if bits >> at & 1:
            first = at
            while bits >> at & 1:
                at += 1
            found += [first, at - 1]
        at += 1
    return found


def _blocks(rows: list[str]) -> Iterable[tuple[str, str]]:
    part: list[str] = []
    size = 0
    for row in rows:
        if size > _BLOCK:
            yield part[0].partition("\t")[0], "\n".join(part)
            part, size = [], 0
        part.append(row)
        size += len(row) + 1
    if part:
        yield part[0].partition("\t")[0], "\n".join(part)
