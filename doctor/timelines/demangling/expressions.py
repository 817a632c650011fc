"""Read expressions, which stand in the types of templates; the common ones are enough."""

from __future__ import annotations

import re
from abc import abstractmethod

from doctor.timelines.demangling.tables import OPERATORS
from doctor.timelines.demangling.templates import Templates

_QUALIFIERS = re.compile(r"r?V?K?")
_TYPE_OPERATORS = {"st": "sizeof", "at": "alignof", "ti": "typeid"}
_EXPRESSION_OPERATORS = {
    "sz": "sizeof",
    "az": "alignof",
    "te": "typeid",
    "nx": "noexcept",
    "sZ": "sizeof...",
}
_CASTS = {
    "sc": "static_cast",
    "dc": "dynamic_cast",
    "cc": "const_cast",
    "rc": "reinterpret_cast",
}


class Expressions(Templates):
    """The production `expression`."""

    @abstractmethod
    def _unqualified(self, scope: str) -> str: ...

    def _expression(self) -> str:
        self._enter()
        try:
            return self._bounded(self._expression_here())
        finally:
            self._depth -= 1

    def _expression_here(self) -> str:  # noqa: C901, PLR0912 - one branch for each production
        first, two = self._peek(), self._peek(2)
        if first == "L":
            return self._literal()
        if first == "T":
            return self._template_parameter().text
        if two in {"fp", "fL"}:
            return self._parameter()
        if two == "sr":
            self._at += 2
            scope = self._type().text
            name = self._unqualified(scope)
            return f"{scope}::{name}" + (self._template(keep=False) if self._peek() == "I" else "")
        if two in {"st", "at", "ti"}:
            self._at += 2
            return f"{_TYPE_OPERATORS[two]} ({self._type().text})"
        if two in {"sz", "az", "te", "nx", "sZ", "sP"}:
            self._at += 2
            if two == "sP":
                return f"sizeof...({', '.join(self._many(lambda: self._argument().text))})"
            return f"{_EXPRESSION_OPERATORS[two]} ({self._expression()})"
        if two in {"sc", "dc", "cc", "rc"}:
            self._at += 2
            return f"{_CASTS[two]}<{self._type().text}>({self._expression()})"
        if two in {"cl", "tl", "il", "cv"}:
            return self._call(two)
        if two in {"dt", "pt"}:
            self._at += 2
            return f"{self._expression()}{'.' if two == 'dt' else '->'}{self._member()}"
        if two == "sp":
            self._at += 2
            return f"{self._expression()}..."
        if two == "gs":
            self._at += 2
            return f"::{self._expression()}"
        if two in OPERATORS:
            return self._operation(two)
        return self._member()

    def _member(self) -> str:
        if self._peek(2) in {"on", "dn"}:
            self._at += 2
        if self._peek() in {"T", "L"} or self._peek(2) == "fp":
            return self._expression()
        name = self._unqualified("")
        return name + (self._template(keep=False) if self._peek() == "I" else "")

    def _parameter(self) -> str:
        if self._take(2) == "fL":
            self._number()
            self._expect("p")
        self._match(_QUALIFIERS)
        if self._accept("T"):
            return "this"
        number = int(self._number()) + 2 if self._peek().isdecimal() else 1
        self._expect("_")
        return f"{{parm#{number}}}"

    def _call(self, two: str) -> str:
        self._at += 2
        if two == "cl":
            head = self._expression()
            return f"{head}({', '.join(self._many(self._expression))})"
        if two == "il":
            return f"{{{', '.join(self._many(self._expression))}}}"
        head = self._type().text
        if two == "tl":
            return f"{head}{{{', '.join(self._many(self._expression))}}}"
        if self._accept("_"):
            return f"({head})({', '.join(self._many(self._expression))})"
        return f"({head})({self._expression()})"

    def _operation(self, two: str) -> str:
        self._at += 2
        sign = OPERATORS[two]
        if two in {"ps", "ng", "ad", "de", "co", "nt", "pp", "mm"}:
            if two in {"pp", "mm"}:
                self._accept("_")
            return f"{sign}({self._expression()})"
        first, second = self._expression(), self._expression()
        if two == "ix":
            return f"({first})[{second}]"
        if two == "qu":
            return f"({first}) ? ({second}) : ({self._expression()})"
        return f"({first}) {sign} ({second})"
