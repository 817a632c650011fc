"""Say what a numbered error means: of CUDA, HIP, Level Zero, loaders, shells and systems.

The tables lie in `matrices/codes`, one for each kind. They are read when a code is first looked up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

import msgspec

from doctor.catalog.reference import load_tables
from doctor.model.reference import CodeRow, CodeTable, Fault

_LONGEST = 20_000
"""Characters of a text that are searched: a message, not a log."""
_MOST = 20
_ALONE = 4
"""A text of so many words is sure without a word that names its kind."""
_FIRST = ("cuda", "cuda-driver", "hip", "cudnn", "cublas", "nccl")
"""The kinds that come first where several print one text."""
_ONE_NUMBERING = {"cuda-driver": "cuda"}
_SYSTEM_KINDS = {"macos": {"errno": "errno-macos"}, "windows": {"os-error": "winerror"}}
_NUMBER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})")
_TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,100}")
_WORD = re.compile(r"[a-z0-9_']{1,60}")


class Code(NamedTuple):
    """One numbered error: its kind, its row and the title of its table."""

    kind: str
    title: str
    row: CodeRow

    @property
    def number(self) -> int:
        """Return the number in the header."""
        return self.row.number

    @property
    def name(self) -> str:
        """Return the name in the header."""
        return self.row.name

    @property
    def text(self) -> str:
        """Return what the library prints; empty where it prints its name alone."""
        return self.row.text

    @property
    def means(self) -> str:
        """Return what the error means for a machine; empty for rare codes."""
        return self.row.means

    @property
    def check(self) -> str:
        """Return what to look at first; empty for rare codes."""
        return self.row.check

    @property
    def fault(self) -> Fault | None:
        """Return where the cause lies."""
        return self.row.fault

    @property
    def sticky(self) -> bool:
        """Whether the process can use the device no more."""
        return self.row.sticky


class Mention(NamedTuple):
    """A code that a text names: where, and by its `name`, its `number` or its `text`."""

    code: Code
    start: int
    end: int
    by: str


class _Index(NamedTuple):
    numbers: Mapping[tuple[str, int], Code]
    names: Mapping[str, tuple[Code, ...]]
    texts: Mapping[tuple[str, ...], tuple[tuple[tuple[str, ...], tuple[Code, ...]], ...]]
    context: Mapping[str, tuple[str, ...]]
    plain: frozenset[str]


def kinds() -> tuple[str, ...]:
    """Return the kinds of codes: `cuda`, `cublas`, `winerror`, `signal` and so on."""
    return tuple(load_tables("codes", CodeTable))


def code(kind: str, which: int | str) -> Code | None:
    """Return the code of a kind by its number, its name or its text; None for an unknown one.

    A number may be a text in decimal or hexadecimal notation, and negative where a 32-bit number
    is printed with a sign. An exit status may be the negative number of a signal (as Python
    prints it) or an NTSTATUS (as Windows does).
    """
    if isinstance(which, str):
        which = which.strip()[:_LONGEST]
        if not _NUMBER.fullmatch(which):
            return _by_words(kind, which)
        which = int(which, 0) if "x" in which.lower() else int(which)
    return _by_number(kind, which)


def _by_number(kind: str, number: int) -> Code | None:
    numbers = _index().numbers
    if kind == "exit":
        return _of_exit(number)
    found = numbers.get((kind, number))
    if found is None and -(1 << 31) <= number < 0:
        return numbers.get((kind, number & 0xFFFFFFFF))
    return found


def _of_exit(number: int) -> Code | None:
    numbers = _index().numbers
    unsigned = number & 0xFFFFFFFF
    if unsigned >= 0x80000000 and ("ntstatus", unsigned) in numbers:
        return numbers["ntstatus", unsigned]
    if -64 <= number < 0:  # subprocess.Popen.returncode
        number = 128 - number
    return numbers.get(("exit", number))


def _by_words(kind: str, which: str) -> Code | None:
    index = _index()
    for found in index.names.get(which.lower(), ()):
        if found.kind == kind:
            return found
    words = tuple(_WORD.findall(which.lower()))
    for others, codes in index.texts.get(words[:2], ()):
        if others == words:
            return next((found for found in codes if found.kind == kind), None)
    return None


def codes_in(text: str, system: str = "") -> tuple[Mention, ...]:
    """Return the codes that a message names, in their order in it, each once.

    `system` is linux, macos or windows where it is known: numbers of errno differ. A bare number
    counts only beside a word that says its kind. A short text, such as "out of memory", counts
    only in a message that names the kind, or if it is the whole message.
    """
    text = text[:_LONGEST]
    found = [*_names_in(text), *_numbers_in(text, system), *_texts_in(text)]
    seen: set[tuple[str, int]] = set()
    kept: list[Mention] = []
    covered = 0  # a short text within a longer one is a part of it
    for mention in sorted(found, key=lambda one: (one.start, -one.end)):
        kind = mention.code.kind
        key = _ONE_NUMBERING.get(kind, kind), mention.code.number
        if key not in seen and mention.end > covered:
            seen.add(key)
            kept.append(mention)
        covered = max(covered, mention.end)
    return tuple(kept[:_MOST])


def _names_in(text: str) -> Iterator[Mention]:
    names = _index().names
    for token in _TOKEN.finditer(text):
        if not (codes := names.get(token[0].lower(), ())):
            continue
        likely = _most_likely(codes, text)
        if _is_name(token[0], likely, text):
            yield Mention(likely, token.start(), token.end(), "name")
    for word in _ENDED.finditer(text):
        if found := code("signal", _ENDED_BY[word["word"]]):
            yield Mention(found, word.start("word"), word.end("word"), "name")


def _is_name(token: str, likely: Code, text: str) -> bool:
    """Whether a token that is spelt like a name is one: FAILED is, beside a word of Slurm."""
    if "_" in token or not (token.isupper() or token.istitle() or token.islower()):
        return True
    return token in (likely.name, *likely.row.also) and (
        likely.kind in {"signal", "errno"} or _speaks_of(likely.kind, text.lower())
    )


_ENDED_BY = {"Killed": "SIGKILL", "Aborted": "SIGABRT", "Terminated": "SIGTERM", "Hangup": "SIGHUP"}
_ENDED = re.compile(
    r"(?m)^(?:[^\n:]{0,60}: line \d{1,6}: {1,6}\d{1,7} )?"
    r"(?P<word>Killed|Aborted|Terminated|Hangup)(?=[ \t.(]{0,10}$| {2,30}| \(core dumped\))"
)
"""What a shell prints of a process that a signal ended."""

_SPOKEN: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "exit",
        re.compile(
            r"(?i)\b(?:exit[ _-]?(?:code|status)|return[ _-]?code|exited with(?: code| status)?"
            r"|exitcode|returncode|rc)\b[\"'()]{0,2}[ :=]{0,3}(?:of |is |was )?"
            r"(?P<number>-?(?:0x[0-9a-f]{1,8}|\d{1,10}))\b"
        ),
    ),
    ("signal", re.compile(r"(?i)\bsignal[ :=]{1,3}(?P<number>\d{1,2})\b")),
    ("errno", re.compile(r"(?i)\berrno[ :=]{1,3}(?P<number>\d{1,3})\b")),
    ("os-error", re.compile(r"(?i)\bos error (?P<number>\d{1,5})\b")),
    (
        "winerror",
        re.compile(
            r"(?i)(?:\bwinerror|\bloadlibrary\w{0,3} failed with error|\bgetlasterror\(?\)?"
            r"|\bwith error code|\bsystem error)[ :=]{1,3}(?P<number>\d{1,5})\b"
        ),
    ),
    (
        "ntstatus",
        re.compile(r"(?i)(?P<number>\b0xc[0-9a-f]{7}\b|\b322[0-9]{7}\b|-107[0-9]{7}\b)"),
    ),
    (
        "xid",
        re.compile(r"(?i)\bxid ?(?:\(pci:[0-9a-f:.]{1,20}\))?[ :]{1,3}(?P<number>\d{1,3})\b"),
    ),
    (
        "opencl",
        re.compile(r"(?i)(?:\bnative api returns: |\bopencl error[ :]{1,3})(?P<number>-\d{1,4})\b"),
    ),
    ("ur", re.compile(r"(?i)\bnative api returns: (?P<number>\d{1,10})\b")),
    ("level-zero", re.compile(r"(?i)(?P<number>\b0x7[08f][0-9a-f]{6}\b)")),
    (
        "",
        re.compile(
            r"(?i)\b(?P<kind>cuda|cublas|cudnn|cufft|cusparse|cusolver|curand|nccl|nvrtc|nvml|hip"
            r"|rocblas|hipblas|miopen)(?:lt| driver| runtime)?(?: api)?[ _]?"
            r"(?:error|failure|status|result)(?:_t)?(?: code)?[ :=(]{1,3}(?P<number>\d{1,5})\b"
        ),
    ),
)
"""How messages speak of a number, by kind; the last pattern names its kind itself."""


def _numbers_in(text: str, system: str) -> Iterator[Mention]:
    others = _SYSTEM_KINDS.get(system, {})
    for kind, pattern in _SPOKEN:
        for match in pattern.finditer(text):
            name = kind or match["kind"].lower()
            name = others.get(name, "errno" if name == "os-error" else name)
            if found := code(name, match["number"]):
                yield Mention(found, match.start(), match.end(), "number")


def _texts_in(text: str) -> Iterator[Mention]:
    index, lower = _index(), text.lower()
    if len(lower) != len(text):  # a letter of another script grew, and every offset with it
        lower = "".join(small if len(small := sign.lower()) == 1 else sign for sign in text)
    places = list(_WORD.finditer(lower))
    words = tuple(place[0] for place in places)
    for at in range(len(words)):
        for wanted, codes in index.texts.get(words[at : at + 2], ()):
            if words[at : at + len(wanted)] != wanted:
                continue
            likely = _most_likely(codes, lower)
            if _counts(likely, wanted, words, lower):
                end = places[at + len(wanted) - 1].end()
                yield Mention(likely, places[at].start(), end, "text")


def _counts(likely: Code, wanted: tuple[str, ...], words: tuple[str, ...], lower: str) -> bool:
    return (
        len(wanted) >= _ALONE
        or likely.kind in _index().plain
        or words == wanted
        or _speaks_of(likely.kind, lower)
    )


def _most_likely(codes: tuple[Code, ...], text: str) -> Code:
    """Return the code whose kind the text names, or else the first."""
    if len(codes) == 1:
        return codes[0]
    lower = text.lower()
    return next((found for found in codes if _speaks_of(found.kind, lower)), codes[0])


def _speaks_of(kind: str, lower: str) -> bool:
    return any(word in lower for word in _index().context[kind])


@cache
def _index() -> _Index:
    tables = load_tables("codes", CodeTable)
    order = [*(kind for kind in _FIRST if kind in tables), *(k for k in tables if k not in _FIRST)]
    numbers: dict[tuple[str, int], Code] = {}
    names: dict[str, list[Code]] = {}
    texts: dict[tuple[str, ...], list[Code]] = {}
    for kind in order:
        other = tables.get(tables[kind].like)
        for plain_row in tables[kind].rows:
            row = _completed(plain_row, other) if other else plain_row
            found = Code(kind, tables[kind].title, row)
            for number in (row.number, *row.numbers):
                numbers.setdefault((kind, number), found)
            for spelling in (row.name, row.text, *row.also):
                if _TOKEN.fullmatch(spelling):
                    names.setdefault(spelling.lower(), []).append(found)
                elif len(words := tuple(_WORD.findall(spelling.lower()))) > 1:
                    texts.setdefault(words, []).append(found)
    by_start: dict[tuple[str, ...], list[tuple[tuple[str, ...], tuple[Code, ...]]]] = {}
    for words in sorted(texts, key=len, reverse=True):
        by_start.setdefault(words[:2], []).append((words, tuple(texts[words])))
    return _Index(
        numbers,
        {name: tuple(codes) for name, codes in names.items()},
        {start: tuple(rows) for start, rows in by_start.items()},
        {kind: tables[kind].context for kind in order},
        frozenset(kind for kind in order if tables[kind].plain),
    )


def _completed(row: CodeRow, other: CodeTable) -> CodeRow:
    """Return a row with the text and the meaning that a similar table gives the same error."""
    like = [each for each in other.rows if each.name == row.name]
    like = like or [each for each in other.rows if each.number == row.number]
    if not like:
        return row
    row = msgspec.structs.replace(row, text=row.text or like[0].text)
    if row.means:
        return row
    return msgspec.structs.replace(
        row,
        means=like[0].means,
        check=like[0].check,
        fault=like[0].fault,
        sticky=like[0].sticky,
    )
