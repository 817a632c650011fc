"""Read how a program failed, and say whether it came further than another time.

A change that lets a program pass the line where it stopped is a part of the cure, also where the
program stops again later on.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

_FRAME = re.compile(r'^\s{0,200}File "([^"\n]{1,1000})", line (\d{1,9})')
_BEGIN = "Traceback (most recent call last)"
_LINES, _LONGEST, _ERROR_LINES, _CHAIN_LINES = 20_000, 2000, 20, 100
_ERRS = re.compile(r"\b(?:error|ERROR|[A-Z]?\w{0,60}Error|fatal|FATAL)\b:?")
_VARYING = re.compile(r"0x[0-9a-fA-F]{1,32}|\d{1,40}")
_NOTICE = re.compile(
    r"^\s{0,80}-{5,200}\s{0,80}$|has removed its internal frames"
    r"|ProcessGroup\w{1,20}\.cpp:\d+\] Warning: WARNING: destroy_process_group\(\) was not called"
)
"""What JAX and torch write below a traceback: on its frames, on what was not ended."""
_RANK = re.compile(r"^(?:\[(?:rank|default|Rank )\d{1,6}\]:|INTERNALERROR>)\s?")
"""What torch, torchrun and pytest write in front of each line of a process."""
_TEST_FRAME = re.compile(r"^(\S[^\n:]{0,1000}\.py):(\d{1,9}): ")
_TEST_SAYS = re.compile(r"^E {1,40}(\S.{0,2000})")
_TEST_TITLE = re.compile(r"^_{3,200} .{1,300} _{3,200}$")
_TEST_END = "___ the end ___"
"""How pytest shows a traceback: https://docs.pytest.org/en/stable/how-to/output.html"""
_SITE = re.compile(r"[/\\](?:site|dist)-packages[/\\](\w[\w.-]{0,100})")


class Frame(NamedTuple):
    """A place in a traceback."""

    path: str
    line: int

    @property
    def top(self) -> str:
        """Return the first folder or module below site-packages, empty elsewhere."""
        found = _SITE.search(self.path)
        return found[1].removesuffix(".py") if found else ""

    @property
    def place(self) -> str:
        """Return the path below site-packages, else the whole one.

        Where paths are relative, as in pytest, each copy of an environment has another one.
        """
        found = _SITE.search(self.path)
        return self.path[found.start() :] if found else self.path


class Failure(NamedTuple):
    """How a program failed: the frames of its last traceback, of all of them, and its message.

    `chain` has the messages of all tracebacks: the last one may hide the cause.
    """

    frames: tuple[Frame, ...]
    every: tuple[Frame, ...]
    error: str
    chain: str

    @property
    def mark(self) -> tuple[str, str]:
        """Return what tells one failure from another: the innermost file, and the message."""
        inner = self.frames[-1].place if self.frames else ""
        return inner, _VARYING.sub("", self.error)


def failure_of(text: str) -> Failure:
    """Return the last failure that an output shows; of several tests, that of the first one."""
    every_line = text.splitlines()[-_LINES:]
    lines = telling([_RANK.sub("", line[:_LONGEST]) for line in every_line])
    if (of_test := of_first_test(text)) is not None:
        return of_test
    last: list[Frame] = []
    every: list[Frame] = []
    after = 0
    for number, line in enumerate(lines):
        if _BEGIN in line:
            last = []
        elif found := _FRAME.match(line):
            frame = Frame(found[1], int(found[2]))
            last.append(frame)
            every.append(frame)
            after = number + 1
    rest = [line for line in lines[after:] if line.strip()]
    # Below the last frame lies its source. The details of a message may be indented as well.
    first = next((number for number, line in enumerate(rest) if line[:1] != " "), len(rest))
    said = [line.strip() for line in rest[first:]]
    if not last:
        said = _errors(said[-_ERROR_LINES:]) or said[-1:]
    flush = [line for line in lines if line.strip() and not line.startswith(" ")]
    return Failure(
        tuple(last),
        tuple(every),
        " ".join(said[:_ERROR_LINES])[:_LONGEST],
        " ".join(flush[-_CHAIN_LINES:]),
    )


def _errors(lines: Sequence[str]) -> list[str]:
    """Return the lines that speak of an error, and what follows one that ends with a colon."""
    before = ["", *lines]
    return [
        line
        for line, above in zip(lines, before, strict=False)
        if _ERRS.search(line) or (above.endswith(":") and _ERRS.search(above))
    ]


def of_first_test(text: str) -> Failure | None:
    """Return the first failure that pytest shows, None where it shows none."""
    return next(of_tests(text), None)


def of_tests(text: str) -> Iterator[Failure]:
    """Yield the failures that pytest shows, one of each test."""
    frames: list[Frame] = []
    said: list[str] = []
    lines = (one[:_LONGEST] for one in text.splitlines()[-_LINES:])
    for line in (*lines, _TEST_END):
        if _TEST_TITLE.match(line):
            if frames and said:
                error = " ".join(said[:_ERROR_LINES])[:_LONGEST]
                yield Failure(tuple(frames), tuple(frames), error, " ".join(said[:_CHAIN_LINES]))
            frames, said = [], []
        elif found := _TEST_SAYS.match(line):
            said.append(found[1])
        elif found := _TEST_FRAME.match(line):
            frames.append(Frame(found[1], int(found[2])))


def telling(lines: Sequence[str]) -> list[str]:
    """Return lines without notices about frames that are not shown."""
    return [line for line in lines if not _NOTICE.search(line)]


def came_further(before: Failure, after: Failure, moved: Collection[str] = ()) -> bool:
    """Say whether a failing program came further than before.

    `moved` are the modules of the packages that moved in between: their lines cannot be compared,
    and a failure that speaks of one of them was brought by the move.
    """
    if before.mark == after.mark:
        return False
    lines = _lines_apart(before, after, moved)
    return lines > 0 if lines else not any(_speaks_of(after, name) for name in moved)


def is_detour(before: Failure, after: Failure, moved: Collection[str] = ()) -> bool:
    """Say whether a change brought another failure, and the program did not stop earlier.

    Nobody can tell yet whether that is the next fault, or one that the change brought.
    """
    return before.mark != after.mark and _lines_apart(before, after, moved) >= 0


def is_another(before: Failure, after: Failure, *words: str) -> bool:
    """Say whether a failure is another one, and its message has none of some words."""
    named = any(_speaks_of(after, word) for word in words)
    return before.mark[1] != after.mark[1] and not named


def misses(failure: Failure, module: str) -> bool:
    """Say whether a failure asks for a module, or for a part of a package with that name."""
    name = re.escape(module)
    return bool(
        re.search(rf"No module named ['\"](?:\w{{1,200}}\.){{0,20}}{name}['\"]", failure.error)
        or re.search(rf"cannot import name ['\"]{name}['\"]", failure.error)
    )


def _lines_apart(before: Failure, after: Failure, moved: Collection[str]) -> int:
    """Return how many lines further the later failure is, where their ways part; 0: unknown."""
    for one, other in zip(before.frames, after.frames, strict=False):
        if one.place != other.place or other.top in moved:
            break
        if one.line != other.line:
            return other.line - one.line
    return 0


def _speaks_of(failure: Failure, name: str) -> bool:
    inner = failure.frames[-1].top if failure.frames else ""
    return inner == name or re.search(rf"\b{re.escape(name)}\b", failure.error) is not None
