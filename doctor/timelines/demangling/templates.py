"""Read the arguments of templates, and the references to earlier parts of a mangled name."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable

from doctor.timelines.demangling.cursor import MOST_ARGUMENTS, Cursor, Part, Unreadable
from doctor.timelines.demangling.tables import STANDARD_TYPES, STANDARD_WORDS

_LITERAL = re.compile(r"n?[0-9a-f]{0,64}")
_LITERAL_ENDINGS = {
    "int": "",
    "unsigned int": "u",
    "long": "l",
    "unsigned long": "ul",
    "long long": "ll",
    "unsigned long long": "ull",
}


class Templates(Cursor, ABC):
    """The productions `template-args`, `template-param` and `substitution`."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._parts: list[Part] = []
        self._arguments: list[Part] = []

    @abstractmethod
    def encoding(self) -> str:
        """Read the name of a function or variable, with the types of its parameters."""

    @abstractmethod
    def _type(self) -> Part: ...

    @abstractmethod
    def _expression(self) -> str: ...

    def _remember(self, part: Part) -> Part:
        self._parts.append(part)
        return part

    def _substitution(self) -> Part:
        self._expect("S")
        letter = self._peek()
        if letter in STANDARD_WORDS:
            self._at += 1
            full = self._peek() in {"C", "D"}
            text = f"std::{(STANDARD_TYPES if full else STANDARD_WORDS)[letter]}"
            while self._accept("B"):
                text = f"{text}[abi:{self._source_name()}]"
                self._remember(Part(text))
            return Part(text)
        index = self._sequence()
        if index >= len(self._parts):
            raise Unreadable
        return self._parts[index]

    def _sequence(self) -> int:
        """Read a number in base 36; none is 0, and 0 is 1."""
        end = self._text.find("_", self._at, self._at + 8)
        digits = self._text[self._at : end]
        if end == -1 or not re.fullmatch(r"[0-9A-Z]*", digits):
            raise Unreadable
        self._at = end + 1
        return int(digits, 36) + 1 if digits else 0

    def _template_parameter(self) -> Part:
        self._expect("T")
        if self._peek() == "L":
            raise Unreadable
        index = self._sequence()
        return self._arguments[index] if index < len(self._arguments) else Part(f"{{T{index}}}")

    def _template(self, *, keep: bool) -> str:
        self._expect("I")
        before = self._arguments
        arguments: list[Part] = []
        if keep:
            self._arguments = arguments
        while not self._accept("E"):
            if len(arguments) >= MOST_ARGUMENTS:
                raise Unreadable
            arguments.append(self._argument())
        if not keep:
            self._arguments = before
        texts = [part.text for part in arguments if part.text]
        return self._bounded(f"<{', '.join(texts)}>")

    def _argument(self) -> Part:
        self._enter()
        try:
            first = self._peek()
            if first == "L":
                return Part(self._literal())
            if self._accept("X"):
                text = self._expression()
                self._expect("E")
                return Part(text)
            if self._accept("J"):
                parts = self._many(lambda: self._argument().text)
                return Part(self._bounded(", ".join(part for part in parts if part)))
            return self._type()
        finally:
            self._depth -= 1

    def _literal(self) -> str:
        self._expect("L")
        if self._accept("_Z") or self._accept("Z"):
            text = self.encoding()
            self._expect("E")
            return text
        kind = self._type().text
        value = self._match(_LITERAL).replace("n", "-")
        self._expect("E")
        if kind == "bool" and value in {"0", "1"}:
            return "true" if value == "1" else "false"
        if kind in _LITERAL_ENDINGS:
            return value + _LITERAL_ENDINGS[kind]
        return self._bounded(f"({kind}){value}")

    def _many(self, read: Callable[[], str]) -> list[str]:
        found: list[str] = []
        while not self._accept("E"):
            if len(found) >= MOST_ARGUMENTS:
                raise Unreadable
            found.append(read())
        return found
