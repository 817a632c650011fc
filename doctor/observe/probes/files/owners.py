"""Find the owner of a file that several distributions list: the one whose RECORD fits."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from doctor.host.reading import UnreadableFile, descriptor_of
from doctor.observe.installed.distributions import record_of
from doctor.observe.installed.records import rows
from doctor.observe.scene import Distribution

_LARGEST_HASHED, _BLOCK = 256 << 20, 1 << 20

HASHED_BY = "sha256="
"""How a hash in RECORD begins that `hash_of` can be compared with."""


class ChangedFile(msgspec.Struct, frozen=True):
    """A file that is not as the RECORD of its owner says.

    `found` is its size, None where it is gone.
    """

    owner: Distribution
    path: str
    wanted: int | None
    found: int | None

    @property
    def place(self) -> Path:
        """Where the file lies, or should."""
        return self.owner.folder.parent / self.path


class Claim(msgspec.Struct, frozen=True):
    """What a RECORD says of a file: who lists it, its size and its hash."""

    owner: Distribution
    size: int | None
    digest: str


def claims(
    wrong: Iterable[ChangedFile], distributions: Iterable[Distribution]
) -> Mapping[Path, list[Claim]]:
    """Return what other distributions say of each of these files.

    Only RECORDs that name one of their folders are read line by line, so that this costs little,
    and nothing where no file is wrong.
    """
    wanted: dict[Path, set[str]] = {}
    owners: dict[Path, set[Distribution]] = {}
    for one in wrong:
        wanted.setdefault(one.owner.folder.parent, set()).add(one.path)
        owners.setdefault(one.place, set()).add(one.owner)
    found: dict[Path, list[Claim]] = {}
    for other in distributions if wanted else ():
        site = other.folder.parent
        paths = wanted.get(site, set())
        text = _record(other) if paths else ""
        if not any(f"{path.rpartition('/')[0]}/" in text for path in paths):
            continue
        for path, size, digest in rows(text):
            if path in paths and (owners[site / path] != {other}):
                found.setdefault(site / path, []).append(Claim(other, size, digest))
    return found


def _record(one: Distribution) -> str:
    """Return a RECORD.

    An empty text where it cannot be read, of which whoever examines that distribution speaks.
    """
    try:
        return record_of(one)
    except UnreadableFile:
        return ""


def owner_of(one: ChangedFile, others: Iterable[Claim]) -> Distribution | None:
    """Return the owner of a file by size, and by hash where several sizes fit, or None."""
    fitting = [
        each
        for each in others
        if each.owner is not one.owner and each.size is not None and each.size == one.found
    ]
    if len({each.digest for each in fitting}) > 1 and (
        digest := hash_of(one.place, _LARGEST_HASHED)
    ):
        fitting = [each for each in fitting if each.digest == digest]
    return fitting[0].owner if fitting else None


def hash_of(path: Path, most: int) -> str:
    """Hash a file as RECORD does, a block at a time.

    An empty text where it is larger than `most` bytes, or cannot be read.
    """
    # A healthy environment has nothing to hash.
    import base64
    import hashlib

    found, left = hashlib.sha256(), most
    try:
        with descriptor_of(path) as descriptor:
            if os.fstat(descriptor).st_size > most:
                return ""
            while left > 0 and (block := os.read(descriptor, _BLOCK)):
                found.update(block)
                left -= len(block)
    except (OSError, ValueError, UnreadableFile):
        return ""
    return HASHED_BY + base64.urlsafe_b64encode(found.digest()).rstrip(b"=").decode()
