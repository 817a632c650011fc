"""Read names: scopes, functions, constructors, operators, lambdas."""

from __future__ import annotations

from doctor.timelines.demangling.cursor import MOST_ARGUMENTS, Name, Part, Unreadable
from doctor.timelines.demangling.tables import OPERATORS, SPECIAL_NAMES
from doctor.timelines.demangling.types import QUALIFIERS, WORDS, Types


class Names(Types):
    """The productions `encoding` and `name`."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._has_no_return_type = False  # the last name was a constructor, or a conversion

    def encoding(self) -> str:
        """Read the name of a function or variable, with the types of its parameters."""
        self._enter()
        try:
            if self._peek() in {"T", "G"}:
                return self._special()
            name = self._name(keeps_arguments=True)
            if self._peek() in {"", "E", "."}:
                return self._bounded(name.text)
            head = ""
            if name.takes_return_type:
                head = f"{self._type().text} "
            return self._bounded(f"{head}{name.text}({self._parameters()}){name.qualifiers}")
        finally:
            self._depth -= 1

    def _special(self) -> str:
        code = self._take(2)
        words = SPECIAL_NAMES.get(code)
        if words is None:
            self._at -= 2
            if self._accept("Tc"):
                self._offset()
                self._offset()
                return f"covariant return thunk to {self.encoding()}"
            if self._peek(2) in {"Th", "Tv"}:
                kind = "non-virtual" if self._take(2) == "Th" else "virtual"
                self._at -= 1
                self._offset()
                return f"{kind} thunk to {self.encoding()}"
            raise Unreadable
        text = self._type().text if code in {"TV", "TT", "TI", "TS", "TC"} else self._name().text
        text = f"{words} {text}"
        if code == "GR":
            self._sequence()
        elif code == "TC":
            self._number()
            self._expect("_")
            text = f"{text} in {self._type().text}"
        return self._bounded(text)

    def _offset(self) -> None:
        kind = self._take(1)
        self._number()
        self._expect("_")
        if kind == "v":
            self._number()
            self._expect("_")
        elif kind != "h":
            raise Unreadable

    def _name(self, *, keeps_arguments: bool = False) -> Name:
        self._enter()
        try:
            first = self._peek()
            if first == "N":
                return self._nested(keeps_arguments=keeps_arguments)
            if first == "Z":
                return self._local()
            is_substitution = False
            if first == "S" and self._peek(2) != "St":
                text, is_substitution = self._substitution().text, True
            elif self._accept("St"):
                text = f"std::{self._unqualified('std')}"
            else:
                text = self._unqualified("")
            if self._peek() != "I":
                return Name(text)
            if not is_substitution:
                self._remember(Part(text))
            return Name(text + self._template(keep=keeps_arguments), takes_return_type=True)
        finally:
            self._depth -= 1

    def _nested(self, *, keeps_arguments: bool) -> Name:
        self._expect("N")
        qualifiers = "".join(WORDS[letter] for letter in self._match(QUALIFIERS))
        if self._peek() in {"R", "O"}:
            qualifiers += " &" if self._take(1) == "R" else " &&"
        text, takes_return_type, count = "", False, 0
        while not self._accept("E"):
            count += 1
            if count > MOST_ARGUMENTS:
                raise Unreadable
            text, takes_return_type, known = self._prefix(text, keeps_arguments, takes_return_type)
            if not known and self._peek() != "E":
                self._remember(Part(text))
        return Name(self._bounded(text), takes_return_type, qualifiers)

    def _prefix(self, text: str, keep: bool, takes: bool) -> tuple[str, bool, bool]:
        """Read one more part of a nested name.

        Return the name, whether it takes a return type, and whether it was remembered before.
        """
        first = self._peek()
        if first == "I":
            if not text:
                raise Unreadable
            takes = not self._has_no_return_type
            return self._bounded(text + self._template(keep=keep)), takes, False
        if first == "S" and not text:
            if self._accept("St"):
                return "std", False, True
            return self._substitution().text, False, True
        if first == "T" and not text:
            return self._template_parameter().text, False, False
        if first == "D" and self._peek(2) in {"Dt", "DT"} and not text:
            return self._type().text, False, True
        if first == "M":
            self._at += 1
            return text, takes, True
        part = self._unqualified(text)
        return self._bounded(f"{text}::{part}" if text else part), False, False

    def _unqualified(self, scope: str) -> str:
        self._accept("L")  # internal linkage
        is_converting = False
        first, two = self._peek(), self._peek(2)
        if first.isdecimal():
            text = self._source_name()
            if text.startswith("_GLOBAL__N"):
                text = "(anonymous namespace)"
        elif two in {"Ul", "Ut"}:
            text = self._unnamed()
        elif first == "C" and two[1:] in {"1", "2", "3", "4", "5", "I"}:
            if two == "CI":
                self._at += 1
                self._take(2)
                self._type()
            else:
                self._at += 2
            text = _last_word(scope)
        elif first == "D" and two[1:] in {"0", "1", "2", "4", "5"}:
            self._at += 2
            text = f"~{_last_word(scope)}"
        elif two == "DC":
            self._at += 2
            text = f"[{', '.join(self._many(self._source_name))}]"
        else:
            is_converting = two == "cv"
            text = self._operator()
        self._has_no_return_type = is_converting or first in {"C", "D"}
        while self._accept("B"):
            text = f"{text}[abi:{self._source_name()}]"
        return text

    def _unnamed(self) -> str:
        kind = self._take(2)
        types = f"({self._parameters()})" if kind == "Ul" else ""
        if types:
            self._expect("E")
        number = int(self._number()) + 2 if self._peek().isdecimal() else 1
        self._expect("_")
        return f"{{lambda{types}#{number}}}" if types else f"{{unnamed type#{number}}}"

    def _operator(self) -> str:
        code = self._take(2)
        if code == "cv":
            return f"operator {self._type().text}"
        if code == "li":
            return f'operator""{self._source_name()}'
        if code not in OPERATORS:
            raise Unreadable
        sign = OPERATORS[code]
        return f"operator{' ' if sign[0].isalpha() else ''}{sign}"

    def _local(self) -> Name:
        self._expect("Z")
        arguments = self._arguments
        function = self.encoding()
        self._arguments = arguments if arguments else self._arguments
        self._expect("E")
        if self._accept("s"):
            text = f"{function}::string literal"
        else:
            if self._accept("d"):
                if self._peek() != "_":
                    self._number()
                self._expect("_")
            name = self._name(keeps_arguments=True)
            self._discriminator()
            return Name(
                self._bounded(f"{function}::{name.text}"), name.takes_return_type, name.qualifiers
            )
        self._discriminator()
        return Name(self._bounded(text))

    def _discriminator(self) -> None:
        if self._accept("__"):
            self._number()
            self._expect("_")
        elif self._peek() == "_" and self._peek(2)[1:].isdecimal():
            self._at += 2


def _last_word(text: str) -> str:
    """Return the last name of a scope, without the arguments of its template."""
    depth, end = 0, len(text)
    if text.endswith(">"):
        for place in range(len(text) - 1, -1, -1):
            depth += (text[place] == ">") - (text[place] == "<")
            if not depth:
                end = place
                break
    text = text[:end]
    depth = 0
    for place in range(len(text) - 1, 0, -1):
        depth += (text[place] in ">)}") - (text[place] in "<({")
        if not depth and text[place - 1 : place + 1] == "::":
            return text[place + 1 :].partition("[abi:")[0]
    return text.partition("[abi:")[0]
