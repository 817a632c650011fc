"""Turn mangled C++ names into readable ones.

The grammar is that of the Itanium C++ ABI
(https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling). A name comes from a log or from a
file of somebody else, and a few bytes of it can stand for gigabytes of text, because each part may
name an earlier part twice. Depth, length and the amount of text are therefore bounded; c++filt and
the parsers on PyPI have no such bounds.
"""

from __future__ import annotations

from functools import lru_cache

from doctor.timelines.demangling.cursor import Unreadable
from doctor.timelines.demangling.names import Names

_LONGEST = 8192
_STRING = "basic_string<char, std::char_traits<char>, std::allocator<char>>"


@lru_cache(maxsize=4096)
def demangled(symbol: str) -> str | None:
    """Return the readable form of a mangled C++ name, or None where it is none."""
    if not symbol.startswith("_Z") or len(symbol) > _LONGEST:
        return None
    # Only clones that the compiler makes of a function have a point in their names.
    mangled, point, clone = symbol.partition(".")
    parser = Names(mangled[2:])
    try:
        text = parser.encoding()
    except (Unreadable, RecursionError):
        return None
    if parser.rest:
        return None
    text = text.replace(f"std::__cxx11::{_STRING}", "std::__cxx11::string")
    text = text.replace(f"std::{_STRING}", "std::string")
    return f"{text} [clone .{clone}]" if point else text
