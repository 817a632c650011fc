"""Look up in which releases of a distribution a Python name exists.

The data are made by `python -m doctor.timelines.build.names` from published wheels. They hold the
last release of each minor line, so that the ends of an interval are releases that were read: a name
that is there in 4.40.2 and not in 4.41.2 left in 4.41.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

import msgspec

from doctor.timelines.name_file import DamagedError, NameFile
from doctor.timelines.name_rows import (
    Origins,
    elsewhere,
    every,
    members,
    names_row,
    release_number,
    rows,
    signature,
    successor,
    things,
)

FOLDER = Path(__file__).resolve().parent / "data" / "names"
_LONGEST = 300
_P = ParamSpec("_P")
_T = TypeVar("_T")


class History(msgspec.Struct, frozen=True, kw_only=True):
    """The releases of a distribution in which something exists.

    `present` has the first and the last release of each interval. It is empty if no release that
    was read has the name; a name that compiled code makes is not seen. In `uncertain` intervals the
    module may make the name while it runs. `moved_to` is another module of the same distribution.
    """

    distribution: str
    releases: tuple[str, ...]
    present: tuple[tuple[str, str], ...]
    uncertain: tuple[tuple[str, str], ...] = ()
    moved_to: str | None = None

    @property
    def first(self) -> str | None:
        """The first release that has it."""
        return self.present[0][0] if self.present else None

    @property
    def last(self) -> str | None:
        """The last release that has it."""
        return self.present[-1][1] if self.present else None

    @property
    def newest_known(self) -> str:
        """The newest release that was read."""
        return self.releases[-1]

    @property
    def has_left(self) -> bool:
        """Whether it existed and the newest release that was read certainly lacks it."""
        ends = {last for _, last in (*self.present, *self.uncertain)}
        return bool(self.present) and self.newest_known not in ends

    @property
    def always(self) -> bool:
        """Whether every release that was read has it."""
        return self.present == ((self.releases[0], self.releases[-1]),)


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """A function, a class or a method, and the parameters that it accepts by keyword."""

    distribution: str
    module: str
    name: str
    history: History
    parameters: dict[str, History]
    any_keyword: History
    """The releases in which `**kwargs`, or a base class that is not known, takes any keyword."""


class Attributes(msgspec.Struct, frozen=True, kw_only=True):
    """A class with its attributes and methods, those of its base classes included."""

    distribution: str
    module: str
    name: str
    history: History
    attributes: dict[str, History]
    dynamic: History
    """The releases in which `__getattr__`, or a base class that is not known, may have more."""


def _quiet(function: Callable[_P, _T | None]) -> Callable[_P, _T | None]:
    """Return None where data are missing or damaged: no timeline is better than no report."""

    @wraps(function)
    def answer(*args: _P.args, **kwargs: _P.kwargs) -> _T | None:
        try:
            return function(*args, **kwargs)
        except (OSError, DamagedError, ValueError, IndexError, KeyError):
            return None

    return answer


def distribution_of(module: str) -> str | None:
    """Return the distribution that a module belongs to, such as `opencv-python` for `cv2`."""
    found = distributions_of(module)
    return found[0] if found else None


def distributions_of(module: str) -> tuple[str, ...]:
    """Return the distributions that bring a module, the most usual one first."""
    if len(module) > _LONGEST:
        return ()
    owners = _owners(FOLDER)
    while module:
        if module in owners:
            return tuple(owners[module])
        module = module.rpartition(".")[0]
    return ()


def covered() -> tuple[str, ...]:
    """Return the distributions whose names are known."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.names")))


@_quiet
def importable(module: str, name: str, at: str | None = None) -> History | None:
    """Return the releases in which `module` has `name`.

    `moved_to` is where it is in the release `at` (default: the newest) if `module` lacks it there.
    None if nothing is known about the module, or if the name is unknown and the module makes names
    while it runs.
    """
    file = _file_of(module)
    if file is None or len(name) > _LONGEST or module not in file.module_numbers:
        return None
    row = names_row(file, name)
    bits = sum(bit for bit, _ in row.get(module, ()))
    inner = file.module_numbers.get(f"{module}.{name}")
    if inner is not None:
        bits |= file.bits(file.tables.present[inner])
    number = file.module_numbers[module]
    uncertain = file.bits(file.tables.dynamic[number]) & ~bits
    if not bits and (uncertain or number in file.tables.thinned):
        return None
    here = 1 << release_number(file, at)
    moved = None
    if not bits & here:
        place = successor(file, module, here)
        if place is None or not here & sum(bit for bit, _ in row.get(place, ())):
            place = elsewhere(module, row, here)
        moved = f"{place}.{name}" if place else successor(file, f"{module}.{name}", here)
    return _history(file, bits, moved, uncertain)


@_quiet
def below(module: str, name: str) -> str | None:
    """Return the public module right below `module` that has `name` in the most releases."""
    file = _file_of(module)
    if file is None or len(name) > _LONGEST:
        return None
    found = {
        other: sum(bit for bit, _ in segments).bit_count()
        for other, segments in names_row(file, name).items()
        if other.rpartition(".")[0] == module and "._" not in other
    }
    return min(found, key=lambda one: (-found[one], one)) if found else None


@_quiet
def module_history(module: str) -> History | None:
    """Return the releases in which a module exists, and the module that took its place."""
    file = _file_of(module)
    if file is None or len(module) > _LONGEST:
        return None
    number = file.module_numbers.get(module)
    if number is None:
        return _history(file, 0)
    bits = file.bits(file.tables.present[number])
    return _history(file, bits, successor(file, module, 1 << release_number(file, None)))


@_quiet
def parameters(module: str, name: str) -> Signature | None:
    """Return the parameters of a function, of a class (its `__init__`) or of `Class.method`."""
    file = _file_of(module)
    if file is None or len(name) > _LONGEST:
        return None
    head = name.partition(".")[0]
    segments = names_row(file, head).get(module) or [(every(file), (module, head))]
    return _signature_of(file, module, name, segments)


def functions(name: str, package: str | None = None) -> list[Signature]:
    """Return the functions, classes and methods called `name` (`f`, `Class`, `Class.method`).

    `package` is an import name or a distribution; None looks through all. `Class.__init__` is the
    same as `Class`. The plainest module comes first.
    """
    name = name.removesuffix(".__init__").removesuffix(".__new__")
    found = [_functions(file, name) or [] for file in _files(package, name)]
    return [each for several in found for each in several]


@_quiet
def _functions(file: NameFile, name: str) -> list[Signature] | None:
    head = name.partition(".")[0]
    defined = file.row("parameters", name) or file.row("classes", head)
    found = (
        _signature_of(file, module, name, segments)
        for module, segments in things(file, head, defined)
    )
    return [each for each in found if each]


def _signature_of(file: NameFile, module: str, name: str, segments: Origins) -> Signature | None:
    method = name.partition(".")[2]
    bits = 0
    groups: dict[str, int] = {}
    for during, (place, inner) in segments:
        present, found = signature(file, place, f"{inner}.{method}" if method else inner)
        bits |= present & during
        for parameter, accepted in found.items():
            groups[parameter] = groups.get(parameter, 0) | accepted & during & present
    if not bits:
        return None
    return Signature(
        distribution=file.header.distribution,
        module=module,
        name=name,
        history=_history(file, bits),
        any_keyword=_history(file, groups.pop("**", 0)),
        parameters={each: _history(file, bits) for each, bits in groups.items() if bits},
    )


def class_attributes(name: str, package: str | None = None) -> list[Attributes]:
    """Return the classes called `name` with their attributes, methods and properties."""
    found = [_attributes_of(file, name) or [] for file in _files(package, name)]
    return [each for several in found for each in several]


@_quiet
def _attributes_of(file: NameFile, name: str) -> list[Attributes] | None:
    found = []
    for module, segments in things(file, name, file.row("classes", name)):
        bits = 0
        attributes: dict[str, int] = {}
        for during, (place, inner) in segments:
            present = sum(
                file.bits(row[1])
                for row in rows(file, "classes", inner)
                if file.module(row[0]) == place
            )
            bits |= present & during
            for each, there in members(file, place, inner, present & during).items():
                attributes[each] = attributes.get(each, 0) | there
        if bits:
            dynamic = _history(file, attributes.pop("*", 0))
            found.append(
                Attributes(
                    distribution=file.header.distribution,
                    module=module,
                    name=name,
                    history=_history(file, bits),
                    attributes={
                        each: _history(file, there) for each, there in sorted(attributes.items())
                    },
                    dynamic=dynamic,
                )
            )
    return found


def _history(file: NameFile, bits: int, moved_to: str | None = None, uncertain: int = 0) -> History:
    releases = tuple(file.header.releases)
    return History(
        distribution=file.header.distribution,
        releases=releases,
        present=_intervals(releases, bits),
        uncertain=_intervals(releases, uncertain),
        moved_to=moved_to,
    )


def _intervals(releases: tuple[str, ...], bits: int) -> tuple[tuple[str, str], ...]:
    present = []
    at = 0
    while bits >> at:
        if bits >> at & 1:
            first = at
            while bits >> at & 1:
                at += 1
            present.append((releases[first], releases[at - 1]))
        at += 1
    return tuple(present)


def _file_of(module: str) -> NameFile | None:
    for distribution in distributions_of(module):
        file = _file(FOLDER, distribution)
        if file is not None:
            return file
    return None


def _files(package: str | None, name: str) -> Iterator[NameFile]:
    if len(name) > _LONGEST or (package is not None and len(package) > _LONGEST):
        return
    names = covered() if package is None else (*distributions_of(package), package)
    for distribution in dict.fromkeys(names):
        file = _file(FOLDER, distribution)
        if file is not None:
            yield file


@lru_cache(maxsize=8)
def _file(folder: Path, distribution: str) -> NameFile | None:
    if not distribution.replace("-", "").replace(".", "").replace("_", "").isalnum():
        return None
    try:
        return NameFile.read(folder / f"{distribution}.names")
    except (OSError, DamagedError, ValueError):
        return None


@lru_cache(maxsize=2)
def _owners(folder: Path) -> dict[str, list[str]]:
    try:
        return msgspec.json.decode((folder / "owners.json").read_bytes(), type=dict[str, list[str]])
    except (OSError, msgspec.MsgspecError):
        return {}
