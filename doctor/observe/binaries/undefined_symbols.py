"""Find the symbols of torch and CUDA that an extension needs and that are not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import msgspec

from doctor.base.lazy_pattern import Pattern
from doctor.observe.binaries.elf import Elf, ElfError, opened
from doctor.observe.binaries.library_names import is_cuda, is_torch
from doctor.observe.binaries.linking import Resolved
from doctor.observe.binaries.symbols import Exports, required_symbols

_MOST_UNDEFINED = 200
# Names that only torch defines: what lies in its namespaces, their vtables and type descriptions,
# and its two C interfaces. A function of the extension's own that merely takes a tensor is not
# among them: it may be defined in a file that the package loads first.
_OF_TORCH = Pattern(
    rb"_Z(?:T[VTIS]|GV)?N[KVRO]*(?:2at|3c10|5torch|6caffe2)\d|_ZT[VTIS]N(?:2at|3c10|5torch)"
    rb"|aoti_torch_\w+|torch_\w+"
)
_OLD_TEXT = Pattern(rb"(?:E|RK|K|_|[a-z])Ss(?:[A-Z_a-z]|$)")
_NEW_TEXT = b"NSt7__cxx11"
# The constructor of c10::Error takes a std::string, so its mangled name tells which std::string
# torch was compiled with.
_ERROR = b"_ZN3c105ErrorC2ENS_14SourceLocation"
_NEW_ABI, _OLD_ABI = (
    _ERROR + b"ENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
    _ERROR + b"ESs",
)


class Undefined(msgspec.Struct, frozen=True):
    """A symbol that no library defines.

    `means` is cxx11-abi, torch or cuda: what the extension was built for another of.
    """

    name: str
    means: str


class Scope:
    """The libraries in which symbols are looked up, each opened once."""

    def __init__(self, loaded: Mapping[str, Resolved]) -> None:
        self._stack = ExitStack()
        self._exports: dict[Path, Exports | None] = {}
        self._torch = [
            path
            for name, one in loaded.items()
            if is_torch(name) and (path := one.path) is not None
        ]
        self._found: dict[bytes, bool] = {}

    def close(self) -> None:
        """Close every library."""
        self._stack.close()

    def undefined(self, elf: Elf, found: Mapping[str, Resolved]) -> Iterator[Undefined]:
        """Yield the symbols that `elf` asks of torch and of CUDA libraries in vain.

        Nothing where its own tables cannot be read.
        """
        owners = {number: name for number, name in elf.version_owners().items() if is_cuda(name)}
        own = [
            one.path
            for one in found.values()
            if one.path is not None and one.path not in self._torch
        ]
        on_torch = bool(self._torch) and any(is_torch(name) for name in found)
        if not owners and not on_torch:
            return
        try:
            names = list(required_symbols(elf, None if on_torch else owners))
        except ElfError:
            return
        told = 0
        for name, version in names:
            owner = owners.get(version)
            if owner is not None:
                lacking = (
                    path := found[owner].path if owner in found else None
                ) is not None and not self._has(path, name)
            else:
                lacking = (
                    version < 2
                    and on_torch
                    and _OF_TORCH.match(name) is not None
                    and not self._given(name, own)
                )
            if lacking and told < _MOST_UNDEFINED:
                told += 1
                yield Undefined(
                    name.decode("utf-8", "replace"), "cuda" if owner else self._meaning(name)
                )

    def asked_of_torch(self, elf: Elf) -> Iterator[str]:
        """Yield the symbols that a file asks of torch, defined here or not."""
        try:
            for name, version in required_symbols(elf):
                if version < 2 and _OF_TORCH.match(name):
                    yield name.decode("utf-8", "replace")
        except ElfError:
            return

    def _given(self, name: bytes, own: list[Path]) -> bool:
        if name not in self._found:
            self._found[name] = any(self._has(path, name) for path in self._torch)
        return self._found[name] or any(self._has(path, name) for path in own)

    def _has(self, path: Path, name: bytes) -> bool:
        """Say whether a library gives a symbol; one that cannot be read is believed to."""
        if path not in self._exports:
            try:
                self._exports[path] = Exports(self._stack.enter_context(opened(path)))
            except ElfError:
                self._exports[path] = None
        exports = self._exports[path]
        try:
            return exports is None or exports.has(name)
        except ElfError:
            return True

    def _meaning(self, name: bytes) -> str:
        new, old = (
            any(self._has(path, each) for path in self._torch) for each in (_NEW_ABI, _OLD_ABI)
        )
        if new is not old and (
            _NEW_TEXT in name if old else _NEW_TEXT not in name and _OLD_TEXT.search(name)
        ):
            return "cxx11-abi"
        return "torch"
