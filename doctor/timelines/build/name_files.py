"""A release, its files, and the names that a file defines."""

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


class Import(msgspec.Struct, frozen=True):
    """Where an imported name comes from: `name` of `module`, `level` dots before it."""

    level: int
    module: str
    name: str = ""


class Function(msgspec.Struct):
    """The parameters that can be given by keyword; `**` stands for any."""

    parameters: list[str]


class Class(msgspec.Struct):
    """What one class statement defines."""

    bases: list[str] = []
    attributes: set[str] = set()
    methods: dict[str, Function] = {}
    fields: list[str] = []
    generated: bool = False
    """The fields are the parameters of `__init__`."""
    dynamic: bool = False
    """Attributes may be made while the program runs."""


class Source(msgspec.Struct):
    """The names that one file defines."""

    plain: set[str] = set()
    answered: set[str] = set()
    """Names that `__getattr__` of the module answers."""
    imports: dict[str, Import] = {}
    typing_only: dict[str, Import] = {}
    stars: list[Import] = []
    typing_stars: list[Import] = []
    functions: dict[str, Function] = {}
    classes: dict[str, Class] = {}
    exported: list[str] = []
    lazy: dict[str, list[str]] = {}
    """Names that a lazy module imports, by the module that they come from."""
    lazy_loading: bool = False
    exported_from: list[str] = []
    """Modules whose `__all__` is added to this one."""
    has_all: bool = False
    all_unknown: bool = False
    structure_of: str | None = None
    """The folder whose `__all__` lists make up this module (`define_import_structure`)."""
    dynamic: bool = False
    """Names may be made while the program runs."""
    deleted: set[str] = set()
