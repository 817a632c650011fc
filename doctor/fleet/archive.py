"""The archive that carries doctor to the nodes: doctor with what it imports, as one file.

`python doctor.pyz ARGUMENTS` runs it wherever the Python is of the same release and platform; see
https://docs.python.org/3/library/zipapp.html.
"""

from __future__ import annotations

import importlib.metadata
import json
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

import doctor
from doctor.base.bundled import bundled
from doctor.base.errors import DoctorError
from doctor.catalog import loading, reference

_NOT_ON_A_NODE = frozenset({"markdown-it-py", "mdurl", "pygments"})
"""What rich needs for documents and source code; a node prints none."""
_SKIPPED = frozenset({"__pycache__", "tests", "bin"})


def build(path: Path) -> Path:
    """Write the archive of this doctor to `path`, and return it.

    Raises DoctorError where a part of this installation is missing.
    """
    package = Path(doctor.__file__).parent
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        archive.writestr("made_for.json", json.dumps(made_for()))
        archive.write(Path(__file__).with_name("archive_main.py"), "__main__.py")
        archive.write(package.parent / "canary_doctor.py", "canary_doctor.py")
        packed = package / "_bundled"
        for file in _files(package):
            if packed not in file.parents:
                archive.write(file, f"doctor/{file.relative_to(package).as_posix()}")
        for name in ("checks", "matrices"):
            for file in _files(bundled(name)):
                inside = file.relative_to(bundled(name)).as_posix()
                archive.write(file, f"doctor/_bundled/{name}/{inside}")
        _add_compiled(archive, bundled("matrices"))
        for file, inside in _requirements():
            archive.write(file, inside)
    return path


def made_for() -> dict[str, str]:
    """Return the Python and the platform on which the archive runs: those of this process."""
    return {
        "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "implementation": sys.implementation.name,
        "platform": sysconfig.get_platform(),
    }


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def _add_compiled(archive: zipfile.ZipFile, matrices: Path) -> None:
    """Add the compiled catalog that a wheel brings, so that no node parses YAML."""
    if (matrices / loading.COMPILED).exists():
        return
    archive.writestr(
        f"doctor/_bundled/matrices/{loading.COMPILED}",
        loading.compiled(loading.load_folder(matrices)),
    )
    for name, data in reference.compiled_tables(matrices).items():
        archive.writestr(f"doctor/_bundled/matrices/{name}", data)


def _requirements() -> Iterator[tuple[Path, str]]:
    """Yield each file of what doctor requires here, with its name inside the archive."""
    seen = set(_NOT_ON_A_NODE)
    wanted = ["canary-doctor"]
    while wanted:
        name = wanted.pop()
        if (key := canonicalize_name(name)) in seen:
            continue
        seen.add(key)
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            raise DoctorError(
                f"no archive for the nodes can be made: {name} is not installed beside doctor"
            ) from None
        wanted += _required(distribution.requires or ())
        if key != "canary-doctor":
            yield from _of(distribution)


def _required(lines: list[str] | tuple[str, ...]) -> Iterator[str]:
    for line in lines:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield requirement.name


def _of(distribution: importlib.metadata.Distribution) -> Iterator[tuple[Path, str]]:
    for entry in distribution.files or ():
        path = Path(str(distribution.locate_file(entry)))
        if not _SKIPPED & {*entry.parts} and ".." not in entry.parts and path.is_file():
            yield path, entry.as_posix()
