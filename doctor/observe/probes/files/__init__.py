"""Compare the files of the stack's packages with their RECORD."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from doctor.base.lazy_pattern import Pattern
from doctor.host.reading import UnreadableFile, read_regular
from doctor.model.facts import Fact, FactStream, absent, present, unknown
from doctor.observe.installed.distributions import record_of
from doctor.observe.installed.record_check import CHECKED, look_at
from doctor.observe.installed.records import kind_of, rows
from doctor.observe.probes.files.generations import (
    Needs,
    Replaced,
    generation_of,
    needs_of,
    package_facts,
)
from doctor.observe.probes.files.owners import ChangedFile, claims, owner_of
from doctor.observe.scene import Distribution, ProbeInput

WAITS = True
BOUND = 20.0

_MOST_LISTED = 50
_SOURCE = "RECORD files"
_MOST_UNREAD = 3
_POINTER = b"version https://git-lfs"
_LARGEST_POINTER = 1024
_OF_TORCH = Pattern(r"torch|(pytorch-)?triton.*|nvidia-.*|cuda-bindings")
"""Packages that `import torch` proves whole enough to run, or not."""


def probe(scene: ProbeInput) -> FactStream:
    """Give files.* and cuda_packages.*; each is absent where nothing of the kind was found.

    Raises UnreadableFile, once it has told what it found, where a RECORD or a file could not be
    looked at.
    """
    if scene.interpreter is None:
        return
    checked = [one for one in scene.distributions if CHECKED.fullmatch(one.name)]
    unread: list[str] = []
    intact = _intact(scene, checked)
    wrong = [each for one in checked if one.name not in intact for each in _wrong(one, unread)]
    others = claims(wrong, scene.distributions)
    needs = needs_of(scene) if wrong else Needs({}, frozenset())
    replaced = [
        Replaced(one, by) for one in wrong if (by := owner_of(one, others.get(one.place, ())))
    ]
    # A file that nothing asks for, and that is wrong for its owner, is missed by nobody.
    kept = {one.file for one in replaced}
    wrong = [one for one in wrong if one not in kept and one.owner.name not in needs.spare]
    yield from _of_files(
        [one for one in wrong if one.found is None],
        [one for one in wrong if one.found is not None],
        unread,
    )
    pairs = [
        one
        for one in replaced
        if not (generation_of(one.file.owner.name) and generation_of(one.by.name))
    ]
    yield (
        "files.overwritten",
        _listed([{**_file_value(one.file), "by": one.by.requirement} for one in replaced]),
    )
    yield "files.overwritten_packages", _listed(_owners(one.file for one in pairs))
    yield (
        "files.overwriting_packages",
        _listed(list(dict.fromkeys(one.by.requirement for one in pairs))),
    )
    yield from package_facts(replaced, needs, scene.distributions)
    if unread:
        raise UnreadableFile("; ".join(unread[:_MOST_UNREAD]))


def _of_files(
    missing: Sequence[ChangedFile], damaged: Sequence[ChangedFile], unread: Sequence[str]
) -> FactStream:
    pointers = [each for each in damaged if kind_of(each.path) == "library" and _is_pointer(each)]
    yield "files.missing", _listed([_file_value(each) for each in missing], unread)
    yield "files.missing_packages", _listed(_owners(missing), unread)
    apart = [
        each
        for each in missing
        if kind_of(each.path) == "library" and not _OF_TORCH.fullmatch(each.owner.name)
    ]
    yield "files.missing_apart", _listed(_owners(apart), unread)
    yield "files.damaged", _listed([_file_value(each) for each in damaged], unread)
    yield "files.damaged_packages", _listed(_owners(damaged), unread)
    yield "files.lfs_pointers", _listed([_file_value(each)["path"] for each in pointers], unread)


def _listed(values: Sequence[Any], unread: Sequence[str] = ()) -> Fact:
    if values:
        return present(list(values[:_MOST_LISTED]), _SOURCE)
    return unknown(unread[0], _SOURCE) if unread else absent(_SOURCE)


def _owners(wrong: Iterable[ChangedFile]) -> list[str]:
    return list(dict.fromkeys(each.owner.requirement for each in wrong))


def _file_value(each: ChangedFile) -> dict[str, Any]:
    owner = each.owner
    return {
        "path": f"{owner.folder.parent}/{each.path}",
        "kind": kind_of(each.path),
        "package": owner.name,
        "requirement": owner.requirement,
        "size": each.found,
        "wanted_size": each.wanted,
    }


def _wrong(one: Distribution, unread: list[str]) -> Iterator[ChangedFile]:
    """Yield the files of a distribution that are not as its RECORD says.

    What could not be looked at is added to `unread`.
    """
    try:
        text = record_of(one)
    except UnreadableFile as error:
        unread.append(str(error))
        return
    site = f"{one.folder.parent}/"
    # conda rewrites search paths inside the files after RECORD was written, so there the sizes mean
    # nothing.
    compared = one.installer != "conda"
    for path, wanted, _ in rows(text):
        try:
            size = os.stat(site + path).st_size  # noqa: PTH116 - 12,000 times, and a Path costs more than the call
        except (FileNotFoundError, NotADirectoryError):
            # An empty __init__.py makes no difference when it is gone, and packages that share a
            # folder delete each other's.
            if wanted != 0 or not path.endswith("__init__.py"):
                yield ChangedFile(one, path, wanted, None)
            continue
        except ValueError:
            continue  # a line that names what no file system holds
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                unread.append(f"{site}{path}: {error.strerror}")
            continue
        if size != wanted and wanted is not None and (compared or not size):
            yield ChangedFile(one, path, wanted, size)


def _intact(scene: ProbeInput, checked: Iterable[Distribution]) -> frozenset[str]:
    """Return the distributions that a helper process finds intact.

    This process works meanwhile, and examines the others itself.
    """
    asked = {str(one.folder / "RECORD"): one.name for one in checked if one.installer != "conda"}
    early = scene.early
    look = early if early and asked.keys() <= {*early.paths} else look_at(scene.host, tuple(asked))
    intact = look.intact() if look else frozenset()
    return frozenset(name for path, name in asked.items() if path in intact)


def _is_pointer(each: ChangedFile) -> bool:
    """Say whether a library is the text that git-lfs leaves where it did not fetch the file."""
    if each.found is None or each.found > _LARGEST_POINTER:
        return False
    return read_regular(each.place, len(_POINTER)) == _POINTER
