"""Find installed packages that cannot be loaded as they lie there, to install them again.

The smallest change for such a package is the same release once more. Two things tell:

| what | by |
| --- | --- |
| the wheel was made for another machine, system or Python | the tags in WHEEL |
| files are gone, or are not those that were installed | sizes and hashes in RECORD |

https://packaging.python.org/en/latest/specifications/binary-distribution-format/
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePath
from typing import NamedTuple

from packaging.tags import Tag, compatible_tags, cpython_tags, parse_tag

from doctor.environments.environment import Environment, interpreter_of
from doctor.host import UnreadableFile, read_regular
from doctor.observe.descriptions import TargetError
from doctor.observe.installed.distributions import record_of
from doctor.observe.installed.records import kind_of, rows
from doctor.observe.probes.files.owners import HASHED_BY, hash_of
from doctor.observe.scene import Distribution, Interpreter

_WHEEL_LIMIT, _HASHED, _LARGEST, _TAGS = 1 << 16, 400, 16 << 20, 200
_TAG = re.compile(r"^Tag:[ \t]{0,20}([\w.]{1,200}-[\w.]{1,200}-[\w.]{1,300})[ \t\r]{0,20}$", re.M)

_NO_PROGRAMS = (".py", ".pyc", ".pyi", ".txt", ".md", ".json", ".h", ".hpp", ".o", ".a", ".dylib")
_PROGRAMS = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""How programs of Linux and macOS begin."""
_HARMLESS = (".pyc", ".pyi", ".c", ".h", ".hpp", ".pxd", ".pyx", ".md", ".rst", ".a", ".ipynb")
"""Endings of files that no program reads; people delete them to make an image smaller."""
_SPARED = frozenset({"test", "tests", "testing", "doc", "docs", "examples", "__pycache__"})


_OTHER = "not the file that was installed"


class Damage(NamedTuple):
    """A package that is not as it was made, or not made for this interpreter; `why` says how.

    `shared`: another package lists the file as well, and may have to go first.
    """

    package: Distribution
    why: str
    shared: bool = False


def misfits(here: Iterable[Distribution], environment: Environment) -> tuple[Damage, ...]:
    """Return the packages of wheels that no installer would choose for this interpreter."""
    tagged = [(one, _tags(one)) for one in here if _is_of_index(one)]
    # Without compiled parts there is nothing to ask.
    tagged = [(one, tags) for one, tags in tagged if any(tag.platform != "any" for tag in tags)]
    if not tagged:
        return ()
    try:
        interpreter = interpreter_of(environment)
    except TargetError:
        return ()
    supported = _supported(interpreter)
    if not supported:
        return ()
    return tuple(
        Damage(one, f"its wheel is made for {min(str(tag) for tag in tags)}")
        for one, tags in tagged
        if not tags & supported
    )


def changed(one: Distribution) -> str:
    """Return how the files of a package differ from its RECORD; empty where they do not."""
    if not _is_of_index(one):
        return ""
    site, hashed = one.folder.parent, 0
    with suppress(UnreadableFile):
        for path, size, digest in rows(record_of(one)):
            place = site / path
            try:
                there = place.stat().st_size
            except OSError:
                if size != 0:
                    return f"{path} is gone"
                continue
            if size is not None and there != size:
                return f"{path} is {_apart(there, size)}"
            if digest.startswith(HASHED_BY) and there <= _LARGEST and hashed < _HASHED:
                hashed += 1
                if hash_of(place, _LARGEST) not in ("", digest):
                    return f"{path} is {_OTHER}"
    inner = (path for path in every_path(one) if path[:1] not in ("/", "."))
    gone = (path for path in inner if matters(path, "1") and not (site / path).exists())
    return next((f"{path} is gone" for path in gone), "")


def _apart(there: int, size: int) -> str:
    """Return how a file of another size differs, in words."""
    return f"cut off: {there} bytes of {size}" if there < size else _OTHER


def missing_file(one: Distribution) -> str:
    """Return which file of a package is not there, in words; what no program reads is no matter."""
    if _is_of_index(one):
        head = one.folder / "METADATA"
        if one.folder.name.endswith(".dist-info") and not head.exists():
            return f"{one.folder.name}/METADATA is gone"  # programs ask it for the release
        with suppress(UnreadableFile):
            for path, size, _ in rows(record_of(one)):
                there = (one.folder.parent / path).exists()
                if not there and matters(path, str(size or 0)):
                    return f"{path} is gone"
    return ""


def closed_program(one: Distribution) -> str:
    """Return which program of a package nobody may execute, in words; RECORD has no modes.

    An archive, or a copy to another file system, takes the bit away.
    """
    if sys.platform == "win32" or not _is_of_index(one):
        return ""
    site = one.folder.parent
    for path in every_path(one):
        if ".so" in PurePath(path).name or path.endswith(_NO_PROGRAMS):
            continue
        with suppress(OSError):
            if not (site / path).stat().st_mode & 0o111:
                with (site / path).open("rb") as file:
                    if file.read(4) in _PROGRAMS:
                        return f"{path} is a program, and may not be executed"
    return ""


def damaged(
    names: Iterable[str],
    here: Mapping[str, Distribution],
    environment: Environment,
    beneath: Iterable[str] = (),
) -> tuple[Damage, ...]:
    """Return what is to be installed again, where a failure speaks of some packages.

    Where one of them is of a wheel that does not fit, every such package is: they came together.
    Of packages `beneath` them it is enough that no file is gone.
    """
    mine = _own(here, environment)
    spoken = [mine[name] for name in dict.fromkeys(names) if name in mine]
    unfit = {one.package.name: one for one in misfits(mine.values(), environment)}
    found = dict(unfit) if any(one.name in unfit for one in spoken) else {}
    for one in spoken:
        if one.name not in found and (why := changed(one) or closed_program(one)):
            shared = any(_lists(other, why) for other in mine.values() if other is not one)
            found[one.name] = Damage(one, why, shared)
    for name in beneath:
        if name in mine and name not in found and (why := missing_file(mine[name])):
            shared = any(_lists(other, why) for other in mine.values() if other is not mine[name])
            found[name] = Damage(mine[name], why, shared)
    return tuple(found[name] for name in sorted(found))


def damaged_libraries(
    here: Mapping[str, Distribution], environment: Environment
) -> tuple[Damage, ...]:
    """Return the packages with a library that is not the one that was installed.

    A crash in a library has no message that names it. Sizes tell within milliseconds; where all are
    right, hashes tell.
    """
    mine = sorted(_own(here, environment).items())
    for differs in (_other_size, _other_hash):
        found = tuple(
            Damage(one, why) for _, one in mine if _is_of_index(one) and (why := differs(one))
        )
        if found:
            return found
    return ()


def _own(here: Mapping[str, Distribution], environment: Environment) -> dict[str, Distribution]:
    """Return the packages that lie in the environment itself."""
    own = {folder.resolve() for folder in environment.own_folders}
    return {name: one for name, one in here.items() if one.folder.parent.resolve() in own}


def _libraries(one: Distribution) -> Iterator[tuple[str, int, int, str]]:
    """Yield the libraries of a RECORD that are there: path, size, the size in RECORD, and hash."""
    with suppress(UnreadableFile):
        for path, size, digest in rows(record_of(one)):
            if size is not None and kind_of(path) == "library":
                with suppress(OSError):
                    yield path, (one.folder.parent / path).stat().st_size, size, digest


def _other_size(one: Distribution) -> str:
    for path, there, size, _ in _libraries(one):
        if there != size:
            return f"{path} is {_apart(there, size)}"
    return ""


def _other_hash(one: Distribution) -> str:
    for path, there, _, digest in _libraries(one):
        known = digest.startswith(HASHED_BY) and there <= _LARGEST
        if known and hash_of(one.folder.parent / path, _LARGEST) not in ("", digest):
            return f"{path} is {_OTHER}"
    return ""


def matters(path: str, size: str) -> bool:
    """Say whether a program may read a file of a RECORD, by its path and size."""
    parts = PurePath(path).parts
    spared = any(part.lower() in _SPARED or part.endswith(".dist-info") for part in parts[:-1])
    empty = parts[-1:] == ("__init__.py",) and size in ("", "0")
    return not (spared or empty or path.endswith(_HARMLESS))


def _lists(one: Distribution, why: str) -> bool:
    """Say whether a package lists the file that a sentence begins with."""
    return any(why.startswith(f"{path} is ") for path in listed(one))


def listed(one: Distribution) -> frozenset[str]:
    """Return the paths that a RECORD lists; none where it cannot be read."""
    with suppress(UnreadableFile):
        return frozenset(path for path, _, _ in rows(record_of(one)))
    return frozenset()


def every_path(one: Distribution) -> tuple[str, ...]:
    """Return all paths of a RECORD, also of programs, data and `.pth` files."""
    with suppress(UnreadableFile):
        lines = record_of(one).split("\n")
        return tuple(line.rsplit(",", 2)[0].strip('"') for line in lines if line)
    return ()


def dead_links(one: Distribution) -> tuple[Path, ...]:
    """Return the links in the place of a package's files that lead nowhere: no installer goes on.

    pip and uv make the folder anew, and the link has its name.
    """
    site = one.folder.parent
    tops = sorted({path.partition("/")[0] for path in listed(one)} - {"..", ""})
    links = [site / top for top in tops if (site / top).is_symlink()]
    return tuple(link for link in links if not link.exists() and not Path(f"{link}.old").exists())


def _is_of_index(one: Distribution) -> bool:
    """Say whether an index has the very release: no conda package, no address, no own build."""
    return (
        not (one.direct_url or one.ambiguous or one.installer == "conda") and "+" not in one.version
    )


def _tags(one: Distribution) -> frozenset[Tag]:
    text = (read_regular(one.folder / "WHEEL", _WHEEL_LIMIT) or b"").decode("utf-8", "replace")
    found: set[Tag] = set()
    for word in _TAG.findall(text)[:_TAGS]:
        found |= parse_tag(word)
    return frozenset(found)


def _supported(interpreter: Interpreter) -> frozenset[Tag]:
    """Return the tags that fit an interpreter; none where they cannot be known here."""
    if interpreter.implementation.lower() != "cpython" or interpreter.free_threaded:
        return frozenset()
    if interpreter.machine.lower() != platform.machine().lower():
        return frozenset()  # one that is emulated
    parts = interpreter.version.split(".")
    if len(parts) < 2 or not (parts[0].isdecimal() and parts[1].isdecimal()):
        return frozenset()
    version = (int(parts[0]), int(parts[1]))
    return frozenset(_all_tags(version))


def _all_tags(version: tuple[int, int]) -> Iterator[Tag]:
    abi = f"cp{version[0]}{version[1]}"
    yield from cpython_tags(version, abis=[abi])
    yield from compatible_tags(version, interpreter=abi)
