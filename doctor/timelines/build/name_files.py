"""A release and its files."""

from __future__ import annotations

import msgspec


class Release(msgspec.Struct, frozen=True):
    """The file that stands for a release."""

    version: str
    filename: str
    url: str
    size: int
    date: str


class Member(msgspec.Struct, frozen=True):
    """One file of a release; native modules have no content."""

    path: str
    content: bytes | None
