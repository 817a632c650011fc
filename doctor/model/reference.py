"""Reference tables: numbered errors, libraries, headers, names of C++, the C library.

A known issue says what a failure was once. A reference table says what one word of a message
means: a number, the name of a library, a header.
"""

from __future__ import annotations

from enum import Enum

from doctor.model.compat import Source
from doctor.model.issues import CatalogEntry


class Fault(str, Enum):
    """Where the cause of an error lies."""

    DRIVER = "driver"
    TOOLKIT = "toolkit"
    BUILD = "build"
    GPU = "gpu"
    MEMORY = "memory"
    HARDWARE = "hardware"
    PROGRAM = "program"
    ENVIRONMENT = "environment"
    PERMISSION = "permission"
    NETWORK = "network"


class CodeRow(CatalogEntry, frozen=True, kw_only=True):
    """One number of one kind of error.

    `name` is the name in the header, `text` what the library prints. `also` are other spellings,
    `numbers` other numbers of the same error (of an older release). `means` says what the error
    means for a machine, `check` what to look at first. After a `sticky` error the process can use
    the device no more.
    """

    number: int
    name: str
    text: str = ""
    also: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    means: str = ""
    check: str = ""
    fault: Fault | None = None
    sticky: bool = False


class CodeTable(CatalogEntry, frozen=True, kw_only=True):
    """One kind of numbered error.

    `context` are words, in lower case, one of which stands in a message that speaks of this kind.
    The texts of a `plain` table count without such a word. A row without a meaning has that of the
    row of the same name, or else of the same number, in the table `like`.
    """

    title: str
    sources: dict[str, Source]
    rows: tuple[CodeRow, ...]
    context: tuple[str, ...] = ()
    plain: bool = False
    like: str = ""


class Packages(CatalogEntry, frozen=True, kw_only=True):
    """Which packages bring a file, by package manager; `bundle` is a vendor's installer."""

    pip: tuple[str, ...] = ()
    conda: tuple[str, ...] = ()
    apt: tuple[str, ...] = ()
    dnf: tuple[str, ...] = ()
    brew: tuple[str, ...] = ()
    bundle: str = ""


class LibraryRow(CatalogEntry, frozen=True, kw_only=True):
    """One library of one generation.

    `names` are sonames, DLL and dylib names; `*` stands for a version. `means` says what it means
    that the library is missing, `check` what to look at first.
    """

    names: tuple[str, ...]
    what: str
    generation: str = ""
    packages: Packages = Packages()
    means: str = ""
    check: str = ""


class LibraryTable(CatalogEntry, frozen=True, kw_only=True):
    """Libraries of one vendor or kind."""

    title: str
    sources: dict[str, Source]
    rows: tuple[LibraryRow, ...]


class HeaderRow(CatalogEntry, frozen=True, kw_only=True):
    """One header, or with a `*` at the end all below one folder.

    It exists in the releases of `product` from `since` on and until the last release `until`.
    """

    names: tuple[str, ...]
    what: str
    packages: Packages = Packages()
    product: str = ""
    since: str = ""
    until: str = ""
    instead: str = ""
    means: str = ""
    check: str = ""


class HeaderTable(CatalogEntry, frozen=True, kw_only=True):
    """Headers of one vendor or kind."""

    title: str
    sources: dict[str, Source]
    rows: tuple[HeaderRow, ...]


class NameRow(CatalogEntry, frozen=True, kw_only=True):
    """A name of C++ or CUDA that some releases of `product` do not have.

    `since` is the first release that has the name, `until` the last; one that is left out is open.
    `instead` is what to write in its place. A release has the name if one of `proofs` stands in one
    of `headers`.
    """

    name: str
    product: str
    also: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    instead: str = ""
    note: str = ""
    headers: tuple[str, ...] = ()
    proofs: tuple[str, ...] = ()


class NameTable(CatalogEntry, frozen=True, kw_only=True):
    """Names of C++ and CUDA that came or went."""

    title: str
    sources: dict[str, Source]
    rows: tuple[NameRow, ...]


class SymbolVersionRow(CatalogEntry, frozen=True, kw_only=True):
    """One version of a runtime library's symbols, such as GLIBC_2.34.

    `compiler` is the first GCC release with it, `systems` the first releases of distributions
    whose own library has it, `conda` the packages that bring it, `tag` the wheel tag.
    """

    version: str
    compiler: str = ""
    released: str = ""
    systems: tuple[str, ...] = ()
    conda: tuple[str, ...] = ()
    tag: str = ""


class SymbolVersionTable(CatalogEntry, frozen=True, kw_only=True):
    """The versions of one runtime library's symbols, oldest first."""

    title: str
    prefix: str
    library: str
    sources: dict[str, Source]
    rows: tuple[SymbolVersionRow, ...]
