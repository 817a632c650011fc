"""What analyzers ask of a case: its system, its releases, its lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case
from doctor.model.catalog import Catalog
from doctor.model.events import Event
from doctor.model.facts import value_of

_NEAR = 60
_CUDA_PATH = re.compile(r"[/\\](?:cuda[-/]|CUDA\\v|cuda_?)(\d{1,2}\.\d)\b")
_CUDA_SAID = re.compile(r"\b(?:release|CUDA compiler[^\n]{0,40}?NVIDIA) (\d{1,2}\.\d)\b")
_CONDA_PATH = re.compile(
    r"[/\\](?:mini|ana|mamba|micro)(?:conda|forge|mamba)\d?[/\\]|[/\\]envs[/\\]|/opt/conda/|conda"
)
_WINDOWS = re.compile(r"\b[A-Za-z]:\\|\.dll\b|\.pyd\b|\bWinError\b|\bMSVC\b|\bcl\.exe\b")
_MACOS = re.compile(r"\.dylib\b|/opt/homebrew/|^/Users/|\bmacosx[_-]\d|@rpath/|\bdarwin\b")


def fact_text(case: Case, fact: str) -> str:
    """Return a fact as a text, or an empty one where nothing is known of it."""
    value = value_of(case.facts, fact)
    return "" if value is None else str(value)


def system_of(case: Case, event: Event | None = None) -> str:
    """Return linux, windows or macos, or an empty text; the line of an event decides first."""
    text = event.text if event is not None else ""
    if _WINDOWS.search(text):
        return "windows"
    if _MACOS.search(text):
        return "macos"
    return case.context.os or fact_text(case, "host.os") or ("linux" if ".so" in text else "")


def lines_around(case: Case, event: Event, before: int, after: int) -> Iterator[str]:
    """Yield the lines around an event, each cut to 2000 characters."""
    start = max(0, event.at - before)
    return (line[:2000] for line in case.log.lines[start : event.at + after + 1])


def toolkit_of(case: Case, event: Event) -> str:
    """Return the release of the CUDA toolkit that speaks: 12.4; empty where nothing names it.

    The path of a header says more than the fact, which may be of another toolkit of the machine.
    """
    for text in (event.text, *lines_around(case, event, _NEAR, 8)):
        if found := _CUDA_PATH.search(text) or _CUDA_SAID.search(text):
            return found[1]
    return fact_text(case, "cuda.version")


def is_conda(case: Case, event: Event) -> bool:
    """Say whether the program ran in a conda environment."""
    return bool(
        case.context.conda
        or fact_text(case, "python.conda")
        or _CONDA_PATH.search(f"{event.text} {event.objects.get('file', '')}")
    )


def table_rows(catalog: Catalog, table: str) -> tuple[dict[str, object], ...]:
    """Return the rows of a compatibility table; none where a catalog of one's own lacks it."""
    found = catalog.tables.get(table)
    return found.rows if found is not None else ()


def excerpt(text: str, most: int = 110) -> str:
    """Return a text as a part of a title: on one line, and cut at a length."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


_PROMPT = re.compile(
    r"(?:\([\w.-]{1,40}\) ?)?(?:[\w.-]{1,40}@[\w.-]{1,60}[: ]\S{0,200}?[$#%]|[$%]"
    r"|PS [A-Z]:\\[^>\n]{0,200}>|[A-Z]:\\[^>\n]{0,200}>) ?\S"
)


def is_command(line: str) -> bool:
    """Say whether a line is a command behind a prompt."""
    return _PROMPT.match(line[:400]) is not None


def since_command(case: Case, event: Event, most: int) -> list[str]:
    """Return the lines before an event, at most so many, that the same command printed."""
    lines = list(case.log.lines[max(event.at - most, 0) : event.at])
    last = next((at for at in range(len(lines) - 1, -1, -1) if is_command(lines[at])), -1)
    return lines[last + 1 :]
