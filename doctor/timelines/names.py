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
from packaging.version import Version

from doctor.timelines.name_file import DamagedError, NameFile

FOLDER = Path(__file__).resolve().parent / "data" / "names"
_LONGEST = 300
_DEEPEST = 25
_P = ParamSpec("_P")
_T = TypeVar("_T")
_EXTERNAL = ("", "")
_Origins = list[tuple[int, tuple[str, str]]]


class History(msgspec.Struct, frozen=True, kw_only=True):
    """The releases of a distribution in which something exists.

    `present` has the first and the last release of each interval. It is empty if no release that
    was read has the name; a name that compiled code makes is not seen.
    """

    distribution: str
    releases: tuple[str, ...]
    present: tuple[tuple[str, str], ...]
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
    def still_there(self) -> bool:
        """Whether the newest release that was read has it."""
        return self.last == self.newest_known

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
    row = _names(file, name)
    bits = sum(bit for bit, _ in row.get(module, ()))
    inner = file.module_numbers.get(f"{module}.{name}")
    if inner is not None:
        bits |= file.bits(file.tables.present[inner])
    known = file.module_numbers[module]
    if not bits and file.tables.dynamic[known] and file.bits(file.tables.dynamic[known]):
        return None
    here = 1 << _number_of(file, at)
    moved = None
    if not bits & here:
        place = _elsewhere(module, row, here)
        if place:
            moved = f"{place}.{name}"
        elif inner is not None:
            moved = file.module(file.tables.moved[inner]) or None
    return _history(file, bits, moved)


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
    moved = file.module(file.tables.moved[number]) or None
    return _history(file, bits, None if bits >> _newest(file) & 1 else moved)


@_quiet
def parameters(module: str, name: str) -> Signature | None:
    """Return the parameters of a function, of a class (its `__init__`) or of `Class.method`."""
    file = _file_of(module)
    if file is None or len(name) > _LONGEST:
        return None
    head, _, method = name.partition(".")
    bits = 0
    groups: dict[str, int] = {}
    row = _names(file, head).get(module) or [(_every(file), (module, head))]
    for during, (place, inner) in row:
        present, found = _signature(file, place, f"{inner}.{method}" if method else inner)
        bits |= present & during
        for parameter, accepted in found.items():
            groups[parameter] = groups.get(parameter, 0) | accepted & during
    return _as_signature(file, module, name, bits, groups) if bits else None


def functions(name: str, package: str | None = None) -> list[Signature]:
    """Return the functions, classes and methods called `name` (`f`, `Class`, `Class.method`).

    `package` is an import name or a distribution; None looks through all. `Class.__init__` is the
    same as `Class`.
    """
    name = name.removesuffix(".__init__").removesuffix(".__new__")
    found = [_functions(file, name) or [] for file in _files(package, name)]
    return [each for several in found for each in several]


@_quiet
def _functions(file: NameFile, name: str) -> list[Signature] | None:
    found = []
    head = name.partition(".")[0]
    rows = _rows(file, "parameters", name)
    modules = {file.module(each[0]) for each in rows}
    modules |= {file.module(each[0]) for each in _rows(file, "classes", head)}
    for module in sorted(modules, key=_plainness):
        present, groups = _signature(file, module, name)
        if present:
            found.append(_as_signature(file, module, name, present, groups))
    return found


def class_attributes(name: str, package: str | None = None) -> list[Attributes]:
    """Return the classes called `name` with their attributes, methods and properties."""
    found = [_attributes_of(file, name) or [] for file in _files(package, name)]
    return [each for several in found for each in several]


@_quiet
def _attributes_of(file: NameFile, name: str) -> list[Attributes] | None:
    found = []
    for row in sorted(_rows(file, "classes", name), key=lambda x: _plainness(file.module(x[0]))):
        module, present = file.module(row[0]), file.bits(row[1])
        members = _members(file, module, name, _every(file))
        dynamic = _history(file, members.pop("*", 0) & present)
        histories = {
            each: _history(file, bits & present)
            for each, bits in sorted(members.items())
            if bits & present
        }
        found.append(
            Attributes(
                distribution=file.header.distribution,
                module=module,
                name=name,
                history=_history(file, present),
                attributes=histories,
                dynamic=dynamic,
            )
        )
    return found


def _members(
    file: NameFile, module: str, name: str, during: int, seen: tuple[str, ...] = ()
) -> dict[str, int]:
    """Return the attributes of a class and its bases; `*` stands for attributes not known."""
    found: dict[str, int] = {}
    here = f"{module}.{name}"
    if here in seen or len(seen) > _DEEPEST:
        return found
    for number, _, bases, attributes in _rows(file, "classes", name):
        if file.module(number) != module:
            continue
        for each, bits in _groups(file, attributes):
            found[each] = found.get(each, 0) | bits & during
        for base, bits in _groups(file, bases):
            place, _, inner = base.rpartition(".")
            if place not in file.module_numbers:
                found["*"] = found.get("*", 0) | bits & during
                continue
            inherited = _members(file, place, inner, bits & during, (*seen, here))
            for each, more in inherited.items():
                found[each] = found.get(each, 0) | more
        return found
    return {"*": during}


def _signature(
    file: NameFile, module: str, name: str, depth: int = 0
) -> tuple[int, dict[str, int]]:
    """Return the releases with a definition, and those with each parameter, bases included."""
    present = 0
    groups: dict[str, int] = {}
    for number, bits, parameters_ in _rows(file, "parameters", name):
        if file.module(number) == module:
            present = file.bits(bits)
            groups = dict(_groups(file, parameters_))
    head, _, method = name.partition(".")
    for number, defined, bases, _ in _rows(file, "classes", head):
        if file.module(number) != module or depth > _DEEPEST:
            continue
        inherited = file.bits(defined) & (~present | groups.get("&", 0))
        present |= 0 if method else file.bits(defined)
        for base, there in _groups(file, bases) if inherited else ():
            place, _, inner = base.rpartition(".")
            during = there & inherited
            if not during:
                continue
            if place not in file.module_numbers:
                groups["**"] = groups.get("**", 0) | during
                continue
            inner = f"{inner}.{method}" if method else inner
            inner_present, more = _signature(file, place, inner, depth + 1)
            present |= inner_present & during
            for parameter, accepted in more.items():
                groups[parameter] = groups.get(parameter, 0) | accepted & during
    groups.pop("&", None)
    return present, groups


def _as_signature(
    file: NameFile, module: str, name: str, present: int, groups: dict[str, int]
) -> Signature:
    groups = dict(groups)
    return Signature(
        distribution=file.header.distribution,
        module=module,
        name=name,
        history=_history(file, present),
        any_keyword=_history(file, groups.pop("**", 0) & present),
        parameters={
            each: _history(file, bits & present) for each, bits in groups.items() if bits & present
        },
    )


def _elsewhere(module: str, row: dict[str, _Origins], here: int) -> str | None:
    """Return the plainest module that has a name in a release.

    A module that had another thing of this name beside this one is not where it went.
    """
    mine = row.get(module, [])
    places = [
        place
        for place, origins in row.items()
        if place != module
        and here & sum(bit for bit, target in origins if target != _EXTERNAL)
        and (mine or not _plainness(place)[0])
        and not _differ(mine, origins)
    ]
    return min(places, key=lambda place: _nearness(place, module), default=None)


def _differ(mine: _Origins, theirs: _Origins) -> bool:
    """Return whether there were two things of one name from the first release of `mine` on."""
    first = sum(bits for bits, _ in mine)
    first &= -first
    return any(
        first & one & other and origin != target for one, origin in mine for other, target in theirs
    )


def _number_of(file: NameFile, version: str | None) -> int:
    """Return the release that was read and comes next to a version; default: the newest."""
    releases = file.header.releases
    if version is None:
        return len(releases) - 1
    wanted = Version(version).release
    lines = [Version(each).release[:2] <= wanted[:2] for each in releases]
    return max(0, sum(lines) - 1)


def _plainness(module: str) -> tuple[bool, int, str]:
    private = any(part.startswith("_") for part in module.split("."))
    return private, module.count("."), module


def _nearness(place: str, module: str) -> tuple[bool, int, int, str]:
    private, depth, _ = _plainness(place)
    shared = 0
    for one, other in zip(place.split("."), module.split("."), strict=False):
        if one != other:
            break
        shared += 1
    return private, depth, -shared, place


def _names(file: NameFile, name: str) -> dict[str, _Origins]:
    """Return the modules that have a name, with the releases and the place of its definition."""
    found: dict[str, _Origins] = {}
    for row in filter(None, (file.row("names", name) or "").split("|")):
        number, _, segments = row.partition(":")
        module = file.module(number)
        origins: _Origins = []
        for segment in segments.split(","):
            bits, _, origin = segment.partition(">")
            place, _, other = origin.replace("-", "").partition(".")
            inner = other if "." in origin else name
            target = (file.module(place), inner) if place else (module, name)
            target = _EXTERNAL if origin == "-" else target
            origins.append((file.bits(bits), target))
        found[module] = origins
    return found


def _rows(file: NameFile, section: str, key: str) -> list[list[str]]:
    text = file.row(section, key)
    return [row.split(";") for row in text.split("|")] if text else []


def _groups(file: NameFile, text: str) -> Iterator[tuple[str, int]]:
    for group in filter(None, text.split(",")):
        bits, _, names = group.partition(":")
        for name in names.split():
            yield name, file.bits(bits)


def _newest(file: NameFile) -> int:
    return len(file.header.releases) - 1


def _every(file: NameFile) -> int:
    return (1 << len(file.header.releases)) - 1


def _history(file: NameFile, bits: int, moved_to: str | None = None) -> History:
    releases = file.header.releases
    present = []
    at = 0
    while bits >> at:
        if bits >> at & 1:
            first = at
            while bits >> at & 1:
                at += 1
            present.append((releases[first], releases[at - 1]))
        at += 1
    return History(
        distribution=file.header.distribution,
        releases=tuple(releases),
        present=tuple(present),
        moved_to=moved_to,
    )


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
