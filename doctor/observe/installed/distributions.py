"""Read the distributions of another interpreter, and what they require of each other.

https://packaging.python.org/en/latest/specifications/recording-installed-packages/
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from doctor.base.lazy_pattern import Pattern
from doctor.base.requirements import InvalidRequirement, Line, applies, normalize_name, read_line
from doctor.base.versions import parse
from doctor.host.reading import (
    METADATA,
    RECORD,
    UnreadableFile,
    read_beginning,
    read_regular,
    read_whole_text,
)
from doctor.observe.installed.editables import dependencies_of, folder_of
from doctor.observe.installed.gpu_stack import in_stack
from doctor.observe.scene import Distribution, Interpreter

_HEAD, _RECORD_FIELDS, _MOST_DIGITS = 4096, 3, 20
_NAME, _VERSION = (
    Pattern(r"^Name:[ \t]*([A-Za-z0-9][\w.-]{0,200})[ \t\r]*$", re.MULTILINE),
    Pattern(r"^Version:[ \t]*(\S+)", re.MULTILINE),
)
PROVED = 0.5
"""Part of the files in a RECORD that have its sizes, above which another dist-info is stale."""
_EXTRA = Pattern(r"""\bextra\s{0,8}==\s{0,8}['"]([^'"]*)['"]""")
_BEGINNING = Pattern(r"[A-Za-z0-9][\w.-]*")
_SYSTEMS = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}
_IMPLEMENTATIONS = {"cpython": "CPython", "pypy": "PyPy"}


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a distribution asks for in this environment.

    An empty `specifier` takes any version. With an `address` (`name @ git+https://…`) no index
    is asked, and none may be: what an index has of that name can be somebody else's.
    """

    name: str
    specifier: str
    extras: frozenset[str] = frozenset()
    address: str = ""


def installed(path: Sequence[str]) -> tuple[Distribution, ...]:
    """Read every distribution on a `sys.path`.

    Where a name occurs twice, Python takes the first and so does this.

    Within one folder there is no first: of two dist-info folders of a name, the one whose RECORD
    fits the files is the real one.
    """
    found: dict[str, Distribution] = {}
    for folder in _folders(path):
        conda = _conda_names(folder)
        for entry in _entries(folder):
            distribution = _read(entry, conda)
            if distribution is not None:
                known = found.setdefault(distribution.name, distribution)
                if known is not distribution and known.folder.parent == distribution.folder.parent:
                    found[distribution.name] = _better(known, distribution)
    return tuple(sorted(found.values(), key=lambda one: one.name))


def _better(one: Distribution, other: Distribution) -> Distribution:
    """Return the one of two dist-info folders whose RECORD fits the files better.

    The version is ambiguous where neither fits most of them, or both fit alike.
    """
    fits = fit(one), fit(other)
    better = one if fits[0] >= fits[1] else other
    sure = max(fits) > PROVED and fits[0] != fits[1]
    if sure or (one.version == other.version and not (one.ambiguous or other.ambiguous)):
        return better
    return msgspec.structs.replace(better, ambiguous=True)


def installed_as(folder: Path) -> tuple[tuple[str, str], ...]:
    """Return name and version in the METADATA of a dist-info folder; empty where it has none.

    The folder's own name does not count.
    """
    head = _head(f"{folder}/METADATA")
    name, version = _NAME.search(head), _VERSION.search(head)
    return ((normalize_name(name[1]), version[1]),) if name and version else ()


def fit(distribution: Distribution) -> float:
    """Return which part of the files that RECORD lists has the size that it says.

    -1 where there is no RECORD.
    """
    try:
        text = record_of(distribution)
    except UnreadableFile:
        return -1.0
    rows = [line.rsplit(",", 2) for line in text.split("\n")]
    listed = [
        (row[0], size)
        for row in rows
        if len(row) == _RECORD_FIELDS and (size := size_in(row[2])) is not None
    ]
    fitting = [path for path, size in listed if _size(distribution.folder.parent / path) == size]
    return len(fitting) / len(listed) if listed else -1.0


def size_in(field: str) -> int | None:
    """Return the size that a line of RECORD says.

    None where it says none, or one that no file has.
    """
    return int(field) if field.rstrip().isdecimal() and len(field) <= _MOST_DIGITS else None


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return None


def duplicates(path: Sequence[str], known: Sequence[Distribution]) -> dict[str, tuple[str, ...]]:
    """Return the other copies of `known` distributions on the path, as `version in folder`."""
    chosen = {one.name: one.folder for one in known}
    found: dict[str, tuple[str, ...]] = {}
    for folder in _folders(path):
        for entry in _entries(folder):
            name, version = _named(entry.name)
            if name in chosen and Path(entry.path) != chosen[name]:
                found[name] = (*found.get(name, ()), f"{version or 'unknown'} in {folder}")
    return found


def requirements(
    distribution: Distribution, interpreter: Interpreter, extras: Collection[str] = ()
) -> tuple[Requirement, ...]:
    """Return what a distribution asks for in the environment of `interpreter`.

    What only an extra asks for counts where that extra is in `extras`. Lines that make no sense are
    left out. Raises UnreadableFile where METADATA cannot be read.
    """
    environment = marker_environment(interpreter)
    found: list[Requirement] = []
    for text in _requires(distribution):
        name = _BEGINNING.match(text)
        wanted = set(_EXTRA.findall(text))
        if name is None or (wanted and not wanted & set(extras)):
            continue  # most lines end here, unread
        with suppress(InvalidRequirement):
            line = read_line(text)
            if "{" in line.address:
                continue  # no character of an address (RFC 3986), and one of doctor's placeholders
            if applies(line.marker, environment, wanted & set(extras)):
                found.append(_requirement(line))
    return tuple(found)


def extras_of(distribution: Distribution) -> tuple[str, ...]:
    """Return the extras under which a distribution asks for something of the GPU stack.

    Raises UnreadableFile as `requirements` does.
    """
    lines = [
        text
        for text in _requires(distribution)
        if (name := _BEGINNING.match(text)) and in_stack(normalize_name(name[0]))
    ]
    return tuple(dict.fromkeys(extra for text in lines for extra in _EXTRA.findall(text)))


def _requirement(line: Line) -> Requirement:
    name = normalize_name(line.name)
    return Requirement(
        name=name, specifier=line.specifier, extras=line.extras, address=line.address
    )


def marker_environment(interpreter: Interpreter) -> dict[str, str]:
    """Return the environment markers of the interpreter under examination, not of doctor's own."""
    system = _SYSTEMS.get(interpreter.platform, interpreter.platform.capitalize())
    implementation = _IMPLEMENTATIONS.get(interpreter.implementation, interpreter.implementation)
    return {
        "implementation_name": interpreter.implementation,
        "implementation_version": interpreter.version,
        "os_name": "nt" if interpreter.platform == "win32" else "posix",
        "platform_machine": interpreter.machine,
        "platform_python_implementation": implementation,
        "platform_release": "",
        "platform_system": system,
        "platform_version": "",
        "python_full_version": interpreter.version,
        "python_version": ".".join(interpreter.version.split(".")[:2]),
        "sys_platform": interpreter.platform,
    }


def record_of(distribution: Distribution) -> str:
    """Return the text of a RECORD; empty where there is none.

    Raises UnreadableFile (doctor.host.reading).
    """
    return read_whole_text(f"{distribution.folder}/RECORD", RECORD) or ""


def _requires(distribution: Distribution) -> Iterator[str]:
    """Yield what METADATA asks for; the project's own files say it for an editable install."""
    lines = _listed(distribution)
    today = todays_requirements(distribution)
    if today is None:
        yield from lines
        return
    yield from today
    yield from (line for line in lines if _EXTRA.search(line))


def plain_requirements(distribution: Distribution) -> tuple[str, ...]:
    """Return what METADATA asks for without an extra; raises UnreadableFile."""
    return tuple(line for line in _listed(distribution) if not _EXTRA.search(line))


def every_requirement(distribution: Distribution) -> tuple[str, ...]:
    """Return what METADATA asks for, also under an extra; raises UnreadableFile."""
    return tuple(_listed(distribution))


def _listed(distribution: Distribution) -> Iterator[str]:
    headers = _headers(distribution)
    return (line[14:].strip() for line in headers.split("\n") if line.startswith("Requires-Dist:"))


def todays_requirements(distribution: Distribution) -> tuple[str, ...] | None:
    """Return what the project of an editable install asks for now.

    None for any other distribution, and where the project's files do not list it.
    """
    source = folder_of(distribution.direct_url) if distribution.direct_url else ""
    return dependencies_of(Path(source)) if source and Path(source).is_absolute() else None


def _headers(distribution: Distribution) -> str:
    """Return the headers of METADATA, whose text ends with the first empty line.

    A description may follow, of any length. Raises UnreadableFile where the file cannot be read, or
    the headers alone go beyond the bound.
    """
    for name in ("METADATA", "PKG-INFO"):
        path = f"{distribution.folder}/{name}"
        if data := read_beginning(path, METADATA + 1):
            headers, end, _ = data.replace(b"\r\n", b"\n").partition(b"\n\n")
            if not end and len(data) > METADATA:
                raise UnreadableFile(f"{path}: its headers are larger than {METADATA >> 20} MiB")
            return headers.decode("utf-8", "replace")
    return ""


def _folders(path: Sequence[str]) -> list[str]:
    return [folder for folder in dict.fromkeys(path) if Path(folder).is_dir()]


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            # pip renames what it removes to ~name, and leaves that behind when it is killed.
            found = [
                one
                for one in entries
                if one.name.endswith((".dist-info", ".egg-info"))
                and one.name[0] != "~"
                and _is_text(one.name)
            ]
    except OSError:
        return []
    return sorted(found, key=lambda one: one.name)


def _is_text(name: str) -> bool:
    """Say whether a name is Unicode: another one is no distribution's, and fits into no report."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _named(folder: str) -> tuple[str, str]:
    """Split the name of a dist-info folder into the distribution's name and version."""
    name, _, version = folder.rpartition(".")[0].partition("-")
    return normalize_name(name), version.partition("-py")[0]


def _read(entry: os.DirEntry[str], conda: frozenset[str]) -> Distribution | None:
    folder = Path(entry.path)
    old = entry.name.endswith(".egg-info")
    head = _head(
        f"{entry.path}/PKG-INFO"
        if old and entry.is_dir()
        else entry.path
        if old
        else f"{entry.path}/METADATA"
    )
    # A description, which may hold such lines as well, begins behind the first empty line.
    head = head.replace("\r\n", "\n").partition("\n\n")[0]
    name, versions = _NAME.search(head), _VERSION.findall(head)
    if not (name and versions) and not old and not _has_record(folder):
        return None
    called, marked = _named(entry.name)
    called = normalize_name(name[1]) if name else called
    version = versions[0] if versions else marked
    others = [*versions[1:], *([marked] if marked else [])]
    installer = _head(f"{entry.path}/INSTALLER").strip() or ("conda" if called in conda else "")
    try:
        installed_at = entry.stat().st_mtime
    except OSError:
        installed_at = 0.0
    direct = _head(f"{entry.path}/direct_url.json") if entry.is_dir() else ""
    return Distribution(
        name=called,
        version=version,
        folder=folder,
        installer=installer,
        installed_at=installed_at,
        direct_url=direct,
        ambiguous=not all(_same_version(version, other) for other in others),
    )


def _has_record(folder: Path) -> bool:
    """Say whether a distribution lists its files; where nobody may look, its name has to do."""
    try:
        return (folder / "RECORD").exists()
    except OSError:
        return True


def _same_version(one: str, other: str) -> bool:
    """Say whether two spellings are one version: 1.0 and 1.0.0, 1.0-1 and 1.0_1."""
    if one == other:
        return True
    left, right = (parse(each.replace("_", "-")) for each in (one, other))
    return left == right if left and right else normalize_name(one) == normalize_name(other)


def _head(path: str) -> str:
    return (read_regular(path, _HEAD) or b"").decode("utf-8", "replace")


def _conda_names(folder: str) -> frozenset[str]:
    """Return the names that conda installed into the prefix of a site-packages folder."""
    parents = Path(folder).parents
    for prefix in parents[1:3]:
        if names := [name for name in _names(prefix / "conda-meta") if name.endswith(".json")]:
            return frozenset(normalize_name(name.rsplit("-", 2)[0]) for name in names)
    return frozenset()


def _names(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:
        return []
