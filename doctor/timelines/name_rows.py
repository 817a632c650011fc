"""Read the rows of a file of names: where a name lies, what a class and a function have."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from doctor.timelines.name_file import NameFile

EXTERNAL = ("", "")
"""Where another distribution defines a name."""
Origins = list[tuple[int, tuple[str, str]]]
"""Releases as a bit set, and the module and the name of what a module has in them."""
_DEEPEST = 25


def things(file: NameFile, name: str, defined: str | None) -> list[tuple[str, Origins]]:
    """Return the different things of one name, each with its module and its definitions.

    Definitions that one module brought one after the other are one thing that moved. The module is
    the plainest one that brings it in the newest release.
    """
    if not defined:
        return []
    row = {
        module: [each for each in origins if each[1] != EXTERNAL]
        for module, origins in names_row(file, name).items()
    }
    groups: list[tuple[set[tuple[str, str]], list[str]]] = []
    for module, origins in row.items():
        definitions, modules = {target for _, target in origins}, [module]
        for other in [each for each in groups if each[0] & definitions]:
            groups.remove(other)
            definitions |= other[0]
            modules += other[1]
        groups.append((definitions, modules))
    found = []
    for definitions, modules in groups:
        newest = {
            module: max((bit for bit, _ in row[module]), default=0).bit_length()
            for module in modules
        }
        best = min(modules, key=lambda x: (-newest[x], _plainness(x)))
        segments = list(row[best])
        others = every(file) & ~sum(bits for bits, _ in segments)
        segments += [(others, target) for target in sorted(definitions)]
        found.append((best, segments))
    return sorted(found, key=lambda each: _plainness(each[0]))


def members(
    file: NameFile, module: str, name: str, during: int, seen: tuple[str, ...] = ()
) -> dict[str, int]:
    """Return the attributes of a class and its bases; `*` stands for attributes not known."""
    found: dict[str, int] = {}
    here = f"{module}.{name}"
    if here in seen or len(seen) > _DEEPEST:
        return found
    for number, _, bases, attributes in rows(file, "classes", name):
        if file.module(number) != module:
            continue
        for each, bits in _groups(file, attributes):
            found[each] = found.get(each, 0) | bits & during
        for base, bits in _groups(file, bases):
            place, _, inner = base.rpartition(".")
            if place not in file.module_numbers:
                found["*"] = found.get("*", 0) | bits & during
                continue
            inherited = members(file, place, inner, bits & during, (*seen, here))
            for each, more in inherited.items():
                found[each] = found.get(each, 0) | more
        return found
    return {"*": during}


def signature(file: NameFile, module: str, name: str, depth: int = 0) -> tuple[int, dict[str, int]]:
    """Return the releases with a definition, and those with each parameter, bases included."""
    present = 0
    groups: dict[str, int] = {}
    for number, bits, parameters_ in rows(file, "parameters", name):
        if file.module(number) == module:
            present = file.bits(bits)
            groups = dict(_groups(file, parameters_))
    head, _, method = name.partition(".")
    for number, bits, bases, attributes in rows(file, "classes", head):
        if file.module(number) != module or depth > _DEEPEST:
            continue
        # Parameters that never changed are not recorded.
        names = (method,) if method else ("__init__", "__new__")
        own = 0
        for attribute, there in _groups(file, attributes):
            own |= there if attribute in names else 0
        defined = file.bits(bits) & ~(own & ~present)
        inherited = defined & (~present | groups.get("&", 0))
        present |= 0 if method else defined
        for base, there in _groups(file, bases) if inherited else ():
            place, _, inner = base.rpartition(".")
            during = there & inherited
            if not during:
                continue
            if place not in file.module_numbers or not _has_class(file, place, inner):
                groups["**"] = groups.get("**", 0) | during
                continue
            inner = f"{inner}.{method}" if method else inner
            inner_present, more = signature(file, place, inner, depth + 1)
            present |= inner_present & during
            for parameter, accepted in more.items():
                groups[parameter] = groups.get(parameter, 0) | accepted & during
    groups.pop("&", None)
    return present, groups


def _has_class(file: NameFile, module: str, name: str) -> bool:
    return any(file.module(row[0]) == module for row in rows(file, "classes", name))


def successor(file: NameFile, module: str, here: int) -> str | None:
    """Return the module that took the place of one that a release lacks."""
    number = file.module_numbers.get(module)
    parent = module.rpartition(".")[0]
    for _ in range(_DEEPEST):
        if number is None or file.bits(file.tables.present[number]) & here:
            break
        moved = file.module(file.tables.moved[number])
        number = file.module_numbers.get(moved)
    else:
        return None
    if number is None or file.tables.modules[number] == module:
        return None
    found = file.tables.modules[number]
    near = found.rpartition(".")[0] == parent
    return found if near or not _plainness(found)[0] else None


def elsewhere(module: str, row: dict[str, Origins], here: int) -> str | None:
    """Return the plainest module that has a name in a release.

    A module that had another thing of this name beside this one is not where it went.
    """
    mine = row.get(module, [])
    places = [
        place
        for place, origins in row.items()
        if place != module
        and here & sum(bit for bit, target in origins if target != EXTERNAL)
        and not _plainness(place)[0]
        and _is_near(place, module)
        and not _differ(mine, origins)
    ]
    return min(places, key=lambda place: _nearness(place, module), default=None)


def _is_near(place: str, module: str) -> bool:
    """Return whether a module is public enough, or close enough, to be where a name went."""
    return place.count(".") < 3 or place.split(".")[:3] == module.split(".")[:3]


def _differ(mine: Origins, theirs: Origins) -> bool:
    """Return whether there were two things of one name from the first release of `mine` on."""
    first = sum(bits for bits, _ in mine)
    first &= -first
    return any(
        first & one & other and origin != target for one, origin in mine for other, target in theirs
    )


def release_number(file: NameFile, version: str | None) -> int:
    """Return the release that was read and comes next to a version; default: the newest."""
    releases = file.header.releases
    if version is None:
        return len(releases) - 1
    wanted = Version(version).release
    lines = [Version(each).release[:2] <= wanted[:2] for each in releases]
    return max(0, sum(lines) - 1)


def _plainness(module: str) -> tuple[bool, int, str]:
    private = any(part.startswith("_") or part == "src" for part in module.split("."))
    return private, module.count("."), module


def _nearness(place: str, module: str) -> tuple[bool, int, int, str]:
    private, depth, _ = _plainness(place)
    shared = 0
    for one, other in zip(place.split("."), module.split("."), strict=False):
        if one != other:
            break
        shared += 1
    return private, depth, -shared, place


def names_row(file: NameFile, name: str) -> dict[str, Origins]:
    """Return the modules that have a name, with the releases and the place of its definition."""
    found: dict[str, Origins] = {}
    for row in filter(None, (file.row("names", name) or "").split("|")):
        number, _, segments = row.partition(":")
        module = file.module(number)
        origins: Origins = []
        for segment in segments.split(","):
            bits, _, origin = segment.partition(">")
            place, _, other = origin.replace("-", "").partition(".")
            inner = other if "." in origin else name
            target = (file.module(place), inner) if place else (module, name)
            target = EXTERNAL if origin == "-" else target
            origins.append((file.bits(bits), target))
        found[module] = origins
    return found


def rows(file: NameFile, section: str, key: str) -> list[list[str]]:
    """Return the rows of a key, each split into its columns."""
    text = file.row(section, key)
    return [row.split(";") for row in text.split("|")] if text else []


def _groups(file: NameFile, text: str) -> Iterator[tuple[str, int]]:
    for group in filter(None, text.split(",")):
        bits, _, names = group.partition(":")
        for name in names.split():
            yield name, file.bits(bits)


def every(file: NameFile) -> int:
    """Return all releases as a bit set."""
    return (1 << len(file.header.releases)) - 1
