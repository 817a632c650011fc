"""Read types."""

from __future__ import annotations

import re
from abc import abstractmethod

from doctor.timelines.demangling.cursor import MOST_ARGUMENTS, Name, Part, Unreadable
from doctor.timelines.demangling.expressions import Expressions
from doctor.timelines.demangling.tables import BUILTIN_TYPES

QUALIFIERS = re.compile(r"r?V?K?")
WORDS = {"r": " restrict", "V": " volatile", "K": " const"}


class Types(Expressions):
    """The production `type`."""

    @abstractmethod
    def _name(self, *, keeps_arguments: bool = False) -> Name: ...

    def _parameters(self) -> str:
        """Read types up to the end of a function; a single void means none."""
        found: list[str] = []
        while self._peek() not in {"", "E", "."} and self._peek(2) not in {"RE", "OE"}:
            if len(found) >= MOST_ARGUMENTS:
                raise Unreadable
            found.append(self._type().text)
        texts = [text for text in found if text]
        return self._bounded("" if texts == ["void"] else ", ".join(texts))

    def _type(self) -> Part:
        self._enter()
        try:
            return self._bounded_part(self._type_here())
        finally:
            self._depth -= 1

    def _type_here(self) -> Part:
        first, two = self._peek(), self._peek(2)
        if two in BUILTIN_TYPES:
            self._at += 2
            return Part(BUILTIN_TYPES[two])
        if first in BUILTIN_TYPES:
            self._at += 1
            return Part(BUILTIN_TYPES[first])
        if first in {"r", "V", "K"}:
            words = "".join(WORDS[letter] for letter in self._match(QUALIFIERS))
            return self._remember(_qualified(self._type(), words))
        if first in {"P", "R", "O"}:
            self._at += 1
            return self._remember(_pointing(self._type(), {"P": "*", "R": "&", "O": "&&"}[first]))
        if first in {"C", "G"}:
            self._at += 1
            word = " _Complex" if first == "C" else " _Imaginary"
            return self._remember(_qualified(self._type(), word))
        if first == "T":
            return self._with_arguments(self._remember(self._template_parameter()))
        if first == "S" and two != "St":
            return self._with_arguments(self._substitution())
        return self._remember(self._compound(first, two))

    def _with_arguments(self, part: Part) -> Part:
        if self._peek() != "I":
            return part
        return self._remember(Part(part.text + self._template(keep=False)))

    def _compound(self, first: str, two: str) -> Part:
        if first == "F" or two in {"Do", "DO", "Dw"}:
            return self._function_type()
        if first == "A":
            return self._array()
        if first == "M":
            self._at += 1
            owner, member = self._type().text, self._type()
            if member.is_function:
                return Part(f"{member.left}({owner}::*", f"){member.right}")
            return Part(f"{member.text} {owner}::*")
        if first == "U":
            self._at += 1
            word = self._source_name()
            arguments = self._template(keep=False) if self._peek() == "I" else ""
            return _qualified(self._type(), f" {word}{arguments}")
        if first == "u":
            self._at += 1
            return Part(self._source_name())
        if first == "D":
            return self._extended(two)
        return Part(self._name().text)

    def _extended(self, two: str) -> Part:
        self._at += 2
        if two == "Dp":
            return self._type()
        if two in {"Dt", "DT"}:
            text = self._expression()
            self._expect("E")
            return Part(f"decltype ({text})")
        if two == "DF":
            digits = self._number()
            if self._accept("b"):
                return Part("std::bfloat16_t")
            if not self._accept("x"):
                self._expect("_")
            return Part(f"_Float{digits}")
        if two == "Dv":
            size = self._number() if self._peek().isdecimal() else self._expression()
            self._expect("_")
            return Part(f"{self._type().text} __vector({size})")
        raise Unreadable

    def _function_type(self) -> Part:
        throws = ""
        if self._accept("Do"):
            throws = " noexcept"
        elif self._peek() != "F":
            raise Unreadable
        self._expect("F")
        self._accept("Y")
        result = self._type().text
        parameters = self._parameters()
        if self._peek() in {"R", "O"}:
            throws = (" &" if self._take(1) == "R" else " &&") + throws
        self._expect("E")
        return Part(f"{result} ", f"({parameters}){throws}", is_function=True)

    def _array(self) -> Part:
        self._expect("A")
        size = ""
        if self._peek().isdecimal():
            size = self._number()
        elif self._peek() != "_":
            size = self._expression()
        self._expect("_")
        element = self._type()
        return Part(f"{element.left} ", f"[{size}]{element.right}", is_function=True)


def _pointing(part: Part, sign: str) -> Part:
    if part.is_function:
        space = " " if part.right.startswith("[") else ""
        return Part(f"{part.left}({sign}", f"){space}{part.right}")
    # A reference to a reference is the one that is no rvalue.
    if sign.startswith("&") and part.left.endswith("&"):
        is_rvalue = sign == "&&" and part.left.endswith("&&")
        return Part(part.left.rstrip("&") + ("&&" if is_rvalue else "&"), part.right)
    return Part(part.left + sign, part.right)


def _qualified(part: Part, words: str) -> Part:
    if part.is_function:
        return Part(part.left, part.right + words, is_function=True)
    return Part(part.left + words, part.right)
