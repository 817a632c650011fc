"""The codes of mangled C++ names (Itanium C++ ABI, 5.1.3, 5.1.5.2 and 5.1.10)."""

from __future__ import annotations


def _table(text: str) -> dict[str, str]:
    """Return a table whose rows are separated by semicolons: a code, a space, its meaning."""
    rows = (row.strip().partition(" ") for row in text.split(";"))
    return {code: meaning for code, _, meaning in rows}


BUILTIN_TYPES = _table("""
    v void; w wchar_t; b bool; c char; a signed char; h unsigned char; s short; t unsigned short;
    i int; j unsigned int; l long; m unsigned long; x long long; y unsigned long long;
    n __int128; o unsigned __int128; f float; d double; e long double; g __float128; z ...;
    Dd decimal64; De decimal128; Df decimal32; Dh half; Di char32_t; Ds char16_t; Du char8_t;
    Da auto; Dc decltype(auto); Dn decltype(nullptr)
""")

STANDARD_WORDS = _table("""
    a allocator; b basic_string; s string; i istream; o ostream; d iostream
""")
STANDARD_TYPES = {
    **STANDARD_WORDS,
    "s": "basic_string<char, std::char_traits<char>, std::allocator<char>>",
    "i": "basic_istream<char, std::char_traits<char>>",
    "o": "basic_ostream<char, std::char_traits<char>>",
    "d": "basic_iostream<char, std::char_traits<char>>",
}
"""The same in full, for their constructors."""

OPERATORS = _table("""
    nw new; na new[]; dl delete; da delete[]; aw co_await; ps +; ng -; ad &; de *; co ~; pl +; mi -;
    ml *; dv /; rm %; an &; or |; eo ^; aS =; pL +=; mI -=; mL *=; dV /=; rM %=; aN &=; oR |=;
    eO ^=; ls <<; rs >>; lS <<=; rS >>=; eq ==; ne !=; lt <; gt >; le <=; ge >=; ss <=>; nt !;
    aa &&; oo ||; pp ++; mm --; cm ,; pm ->*; pt ->; cl (); ix []; qu ?
""")

SPECIAL_NAMES = _table("""
    TV vtable for; TT VTT for; TI typeinfo for; TS typeinfo name for; TC construction vtable for;
    TW TLS wrapper function for; TH TLS init function for; GV guard variable for;
    GR reference temporary for
""")
