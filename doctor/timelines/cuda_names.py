"""Look up since and until which release of CUDA or cuDNN a name of its interface exists.

The data are made by `python -m doctor.timelines.build.cuda_names` from the tables of HIPIFY.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import msgspec

FILE = Path(__file__).resolve().parent / "data" / "cuda-names.json"


class Interface(msgspec.Struct, frozen=True, kw_only=True):
    """The names of one product by `since-gone`, a blank between them; `releases` are in order."""

    releases: tuple[str, ...]
    spans: dict[str, str]


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """The names of all products that some release lacks."""

    made: str
    products: dict[str, Interface]

    def encoded(self) -> bytes:
        """Return the file."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"


class CudaName(msgspec.Struct, frozen=True, kw_only=True):
    """A name: the first release with it, and the first without it; empty where there is none.

    `until` is the last release with the name, of those in which any name came or went.
    """

    name: str
    product: str
    since: str
    gone: str
    until: str


def cuda_name(name: str) -> CudaName | None:
    """Return when a name of CUDA or cuDNN came and went; None if every release has it."""
    return _names().get(name)


@lru_cache(maxsize=1)
def _names() -> dict[str, CudaName]:
    try:
        read = msgspec.json.decode(FILE.read_bytes(), type=Names)
    except (OSError, msgspec.MsgspecError):
        return {}
    found: dict[str, CudaName] = {}
    for product, interface in read.products.items():
        for span, names in interface.spans.items():
            since, _, gone = span.partition("-")
            at = interface.releases.index(gone) if gone in interface.releases else 0
            until = interface.releases[at - 1] if at else ""
            for name in names.split():
                found[name] = CudaName(
                    name=name, product=product, since=since, gone=gone, until=until
                )
    return found
