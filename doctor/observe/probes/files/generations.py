"""Find NVIDIA's packages of several CUDA generations in one environment.

nvidia-cudnn-cu12 and nvidia-cudnn-cu13 unpack into one folder.

When torch moves from one generation to the next, the packages of the earlier one stay behind, and
the later one's files lie in their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec

from doctor.base.lazy_pattern import Pattern
from doctor.host import UnreadableFile
from doctor.model.facts import Fact, FactStream, absent, present
from doctor.observe.binaries.elf import ElfError, opened
from doctor.observe.installed.distributions import extras_of, record_of, requirements
from doctor.observe.installed.extension_files import Compiled, list_files
from doctor.observe.installed.records import kind_of, rows
from doctor.observe.probes.files.owners import ChangedFile
from doctor.observe.scene import Distribution, Interpreter, ProbeInput

_MOST_READ = 400
_GENERATION = Pattern(r"nvidia-.+-cu(?P<major>\d\d)")
_NAMES = ("leftover", "shared", "overwritten", "overwriting", "wanted_by", "also_wanted_by")


class Replaced(msgspec.Struct, frozen=True):
    """A file of one distribution in whose place lies the file of another."""

    file: ChangedFile
    by: Distribution


class Needs(msgspec.Struct, frozen=True):
    """Which of NVIDIA's packages are asked for, and by whom.

    `spare` are those of another generation that nothing asks for.
    """

    asked: Mapping[str, frozenset[str]]
    spare: frozenset[str]


def generation_of(name: str) -> str:
    """Return the CUDA generation in the name of a package, as 12.

    An empty text where there is none.
    """
    found = _GENERATION.fullmatch(name)
    return found["major"] if found else ""


def needs_of(scene: ProbeInput) -> Needs:
    """Find the dependents of NVIDIA's packages, by metadata and by compiled files."""
    packages = {one.name: one for one in scene.distributions if generation_of(one.name)}
    if scene.interpreter is None or not packages:
        return Needs({}, frozenset())
    others = [one for one in scene.distributions if one.name not in packages]
    try:
        asked = _dependents(others, packages, scene)
    except UnreadableFile:
        return Needs({}, frozenset())  # whoever it is may need any of them
    here = {generation_of(name) for name in asked}
    spare = (
        {name for name in packages if name not in asked and generation_of(name) not in here}
        if here
        else set()
    )
    for name, users in _loaded(
        scene,
        [packages[name] for name in sorted(spare)],
        [packages[name] for name in asked if name in packages],
    ).items():
        asked[name] = frozenset(users)
    with suppress(UnreadableFile):
        _close(asked, packages, scene.interpreter)
    return Needs(asked, frozenset(spare - set(asked)))


def _dependents(
    others: Iterable[Distribution], packages: Mapping[str, Distribution], scene: ProbeInput
) -> dict[str, frozenset[str]]:
    """Collect who asks for which of these packages in METADATA.

    An extra counts where all that it names is installed.
    """
    if scene.interpreter is None:
        return {}
    here = {one.name for one in scene.distributions}
    asked: dict[str, frozenset[str]] = {}
    for one in others:
        plain = {each.name for each in requirements(one, scene.interpreter)}
        wanted = {name for name in plain if generation_of(name)}
        for extra in extras_of(one):
            more = {each.name for each in requirements(one, scene.interpreter, (extra,))} - plain
            if more & set(packages) and more <= here:
                wanted |= more & set(packages)
        for name in wanted:
            asked[name] = asked.get(name, frozenset()) | {one.name}
    _close(asked, packages, scene.interpreter)
    return asked


def _close(
    asked: dict[str, frozenset[str]], packages: Mapping[str, Distribution], interpreter: Interpreter
) -> None:
    """Add what the packages that are asked for ask for themselves."""
    waiting = [name for name in asked if name in packages]
    while waiting:
        asking = waiting.pop()
        for each in requirements(packages[asking], interpreter):
            if each.name in packages and each.name not in asked:
                asked[each.name] = frozenset({asking})
                waiting.append(each.name)


def _loaded(
    scene: ProbeInput, spare: Sequence[Distribution], kept: Sequence[Distribution]
) -> dict[str, set[str]]:
    """Return the spare packages whose libraries a compiled file names, with its owner."""
    others = frozenset(name for one in kept for name in _libraries(one))
    bringers = {name: one.name for one in spare for name in _libraries(one) if name not in others}
    found: dict[str, set[str]] = {}
    if bringers:
        for file in _asking(scene):
            for name in _named(file, bringers):
                found.setdefault(bringers[name], set()).add(file.owner.name)
    return found


def _libraries(one: Distribution) -> list[str]:
    return [path.rpartition("/")[2] for path, _, _ in _rows(one) if kind_of(path) == "library"]


def _asking(scene: ProbeInput) -> Sequence[Compiled]:
    torch = next((one.version for one in scene.distributions if one.name == "torch"), "")
    return list_files(scene, {"torch": torch}, bundled=True).files[:_MOST_READ]


def _named(file: Compiled, names: Iterable[str]) -> list[str]:
    """Return which of these libraries a compiled file needs, or names in order to open it later."""
    try:
        with opened(file.path) as elf:
            needed, constants = elf.needed, elf.section(".rodata")
            return [name for name in names if name in needed or name.encode() in constants]
    except ElfError:
        return []


def package_facts(
    replaced: Sequence[Replaced], needs: Needs, distributions: Iterable[Distribution]
) -> FactStream:
    """Give cuda_packages.*, out of the files that lie in another's place."""
    pairs = [
        one for one in replaced if generation_of(one.file.owner.name) and generation_of(one.by.name)
    ]
    lost = [one for one in pairs if one.file.owner.name not in needs.spare]
    spare = [one for one in distributions if one.name in needs.spare] if pairs else []
    values: dict[str, list[str]] = {
        "leftover": [one.name for one in spare],
        "shared": _requirements(
            _sharing(spare, [one for one in distributions if one.name in needs.asked])
        )
        if spare
        else [],
        "overwritten": _requirements(one.file.owner for one in lost),
        "overwriting": _requirements(one.by for one in lost),
        "wanted_by": sorted(
            {who for one in lost for who in needs.asked.get(one.file.owner.name, ())}
        ),
        "also_wanted_by": sorted({who for one in lost for who in needs.asked.get(one.by.name, ())}),
    }
    for name in _NAMES:
        yield f"cuda_packages.{name}", _fact(values[name])


def _sharing(spare: Iterable[Distribution], kept: Iterable[Distribution]) -> Iterator[Distribution]:
    """Yield the packages that share a file with a spare one.

    Uninstalling the spare one removes that file.
    """
    paths = {(one.folder.parent, path) for one in spare for path, size, _ in _rows(one) if size}
    yield from (
        one for one in kept if any((one.folder.parent, path) in paths for path, _, _ in _rows(one))
    )


def _rows(one: Distribution) -> Iterator[tuple[str, int | None, str]]:
    try:
        return rows(record_of(one))
    except UnreadableFile:
        return iter(())


def _requirements(distributions: Iterable[Distribution]) -> list[str]:
    return list(dict.fromkeys(one.requirement for one in distributions))


def _fact(values: list[str]) -> Fact:
    return (
        present(values, "RECORD and METADATA files")
        if values
        else absent("RECORD and METADATA files")
    )
