"""Say which packages bring a header, and which releases of torch have it.

The table lies in `matrices/headers`. The headers of torch are read from a file that
`python -m doctor.timelines.build.headers` makes of the published wheels.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple

import msgspec

from doctor.catalog.reference import load_tables
from doctor.model.reference import HeaderRow, HeaderTable

_LONGEST = 400
_OLD_PARTS = ("TH/", "THC/", "THCUNN/", "THNN/")


class TorchHeaders(msgspec.Struct, frozen=True):
    """The headers of torch: releases, oldest first, and the headers of each set of releases.

    A set is a number: bit 0 stands for the first release.
    """

    releases: tuple[str, ...]
    headers: dict[int, tuple[str, ...]]


class Header(NamedTuple):
    """One header: its name, its row if the table has one, and the releases of torch with it.

    `torch` is empty for a header that no release of torch has.
    """

    name: str
    row: HeaderRow | None
    torch: tuple[str, ...]

    @property
    def gone_from_torch(self) -> bool:
        """Whether older releases of torch have it and the newest does not."""
        return bool(self.torch) and self.torch[-1] != torch_releases()[-1]


def header(name: str) -> Header | None:
    """Return a header by the name after #include; None for one that neither table knows.

    Paths above the include folder, such as /usr/include, are left out.
    """
    plain = name.strip().strip("<>\"'`:,").replace("\\", "/")[-_LONGEST:]
    plain = plain.rpartition("/include/")[2].removeprefix("./")
    row = _row(plain)
    torch = _torch_releases_of(plain)
    if row is None and not torch and (whole := _below_torch().get(plain)):
        # Old builds passed the folder itself: -I…/torch/include/THC.
        plain, row, torch = whole, _row(whole), _torch_releases_of(whole)
    return Header(plain, row, torch) if row or torch else None


def torch_releases() -> tuple[str, ...]:
    """Return the releases of torch whose headers are known, oldest first."""
    return _torch().releases


def _row(name: str) -> HeaderRow | None:
    rows = _rows()
    if name in rows:
        return rows[name]
    folder = name
    while "/" in folder:
        folder = folder.rpartition("/")[0]
        if f"{folder}/*" in rows:
            return rows[f"{folder}/*"]
    return None


def _torch_releases_of(name: str) -> tuple[str, ...]:
    bits = _torch_index().get(name, 0)
    return tuple(each for at, each in enumerate(torch_releases()) if bits >> at & 1)


@cache
def _rows() -> Mapping[str, HeaderRow]:
    tables = load_tables("headers", HeaderTable).values()
    return {name: row for table in tables for row in table.rows for name in row.names}


@cache
def _torch_index() -> Mapping[str, int]:
    return {name: bits for bits, names in _torch().headers.items() for name in names}


@cache
def _below_torch() -> Mapping[str, str]:
    """Return the headers of torch's old parts by their bare names."""
    return {name.partition("/")[2]: name for name in _torch_index() if name.startswith(_OLD_PARTS)}


@cache
def _torch() -> TorchHeaders:
    data = (resources.files("doctor.timelines") / "data" / "torch-headers.bin").read_bytes()
    return msgspec.msgpack.decode(zlib.decompress(data), type=TorchHeaders)
