"""Make `doctor/timelines/data/torch-headers.bin` from the members of torch's wheels.

Run as `python -m doctor.timelines.build.headers RELEASE…`, with the newest patch of each minor
release, oldest first. `RELEASE@PYTHON` names the Python whose wheel is read, such as 1.0.0@3.7.
Only the directory of each wheel is read.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from doctor.timelines.build.wheels import member_names, wheel_address
from doctor.timelines.headers import TorchHeaders

_DATA = Path(__file__).parent.parent / "data" / "torch-headers.bin"
_HEADER = re.compile(
    r"torch/(?:lib/)?include/(?:torch/csrc/api/include/(?=torch/))?(.+\.(?:h|hpp|cuh|inc|inl))"
)
_PYTHON = "3.12"


def headers_of(members: Iterable[str]) -> frozenset[str]:
    """Return the names by which programs include the headers among the members of a wheel."""
    return frozenset(found[1] for member in members if (found := _HEADER.fullmatch(member)))


def encoded(releases: Sequence[tuple[str, frozenset[str]]]) -> bytes:
    """Return the data of the timeline, of releases with their headers, oldest first."""
    sets: dict[str, int] = {}
    for at, (_, names) in enumerate(releases):
        for name in names:
            sets[name] = sets.get(name, 0) | 1 << at
    headers: dict[int, tuple[str, ...]] = {}
    for name in sorted(sets):
        headers[sets[name]] = (*headers.get(sets[name], ()), name)
    minors = tuple(".".join(release.split(".")[:2]) for release, _ in releases)
    return zlib.compress(msgspec.msgpack.encode(TorchHeaders(minors, headers)), 9)


def main(arguments: Sequence[str]) -> int:
    """Read the wheels of the releases, write the data, and return 0."""
    releases = []
    for each in arguments:
        release, _, python = each.partition("@")
        address = wheel_address(f"torch=={release}", python or _PYTHON)
        releases.append((release, headers_of(member_names(address))))
    _DATA.write_bytes(encoded(releases))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
