"""The normal form of a line of a log: without what others put around it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from doctor.events.translations import ENGLISH

LONGEST = 2000
"""Characters of a line that are read."""
_LAYERS = 8
"""Prefixes that are taken off one line."""
_RANK = re.compile(
    r"\[rank\d{1,5}\]: ?|\[\d{1,4},\d{1,5}\]<std(?:err|out)>: ?|\[default\d{1,4}\]: ?"
    r"|\((?:[^()\s]{1,80}(?:\(\))? )?pid=\d{1,9}(?:, ip=[\da-fA-F.:]{1,45})?\) ?"
    r"|[ ]{0,3}\d{1,4}: (?=\S)"
)
"""Which process of many printed a line: torchrun, mpirun, vLLM and Ray, `srun --label`."""
_PREFIX = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.]{8,20}(?:Z|[+-]\d\d:?\d\d)?:? ?"
    r"|\[?\d{4}[-/]\d\d[-/]\d\d[ T|]\d\d:\d\d:\d\d[.,\d]{0,10}(?: ?[+-]\d{4})?\]?:? ?"
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d{1,6})?\]?:? "
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d [\w.-]{1,64} "
    r"[\w./@-]{1,64}(?:\[\d{1,9}\])?: "
    r"|\[ {0,8}\d{1,9}\.\d{6}\] "
    r"|(?:TRACE|DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})? "
    r"\[?[\w./-]{1,120}:\d{1,6}\] ?"
    r"|\[?[EWIF](?:\d{4,6}|) ?\d\d:\d\d:\d\d\.\d{3,9} {1,8}(?:\d{1,9} {1,4})?[\w./-]{1,200}"
    r":\d{1,6}\] ?|[EWIF] [\w./-]{1,200}:\d{1,6}\] ?"
    r"|std(?:err|out) [FP] | {0,8}cargo:warning="
    r"|#\d{1,4} (?:\d{1,5}\.\d{1,4} )?| {0,3}\d{1,5}\.\d{3,4} | {0,3}=> =?>? ?# "
    r"|[\w.-]{1,40}\s{1,8}\| |(?:> ?){1,4}| {0,8}[│┃║] ?| {0,8}\|\s"
    r"| {0,8}(?:╰─[▶>] ?|× |├─[▶>] ?)|E {3,8}(?=\S)"
)
"""Time stamps, CI, journals, levels of loggers, glog, containerd, build scripts of Rust, `docker
build`, Docker Compose, Markdown quotes, boxes of rich, the trees of pip and uv, and pytest."""
_BOX = re.compile(r"\s{0,200}[│┃║]\s{0,8}$")
_GLOG_ERROR = re.compile(r"\[?[EF](?:\d{4,6})? ")
"""How a line of glog begins that reports an error; nothing else in it may say so."""
_PROGRESS = re.compile(r"(?:it/s|s/it)[^\]\n]{0,80}\] ?")
_MILD = re.compile(
    r"^[^\w\[]{0,4}(?:\[(?:W|WARN|WARNING|INFO|I|DEBUG|W\d{4} [^\]]{1,200})\]|WARN(?:ING)?\b"
    r"|warning:|INFO\b|DEBUG\b|[WI] [\w./-]{1,200}:\d{1,6}\])"
    r"|\b(?:[A-Z][A-Za-z]{1,40})?Warning: |^\S{1,200}: warning[: ]|\blevel=(?:warning|info|debug)\b"
    r"|\s(?:WARN|WARNING|INFO|DEBUG)\s|^\[?[WI]\d{4} \d\d:\d\d|(?:^|\s)[WI] tensorflow/"
    r"|\d: [WI] (?:external|tensorflow)/|Exception ignored in"
)
_GOES_ON = re.compile(
    r"\((?:ignored|optional|skipped|non-fatal|not fatal)\)"
    r"|\b(?:skipping|ignoring (?:it|this)|(?:fall(?:s|ing)?|fell) ?back|safely ignored?"
    r"|(?:is|are) optional|can be ignored|continuing without|proceeding without|going on without"
    r"|(?:plugin|plug-in|backend|module|component|support) will not be (?:used|available))\b",
    re.IGNORECASE,
)
"""What a line says of a part that its program does without."""
_SUPPOSED = re.compile(
    r"\W{0,4}(?:If|When|In case|Should) you (?:get|see|run into|encounter|face|hit|have) "
    r"[^\n]{0,160}\berrors?\b"
)
_TITLE = re.compile(
    r"(?:HEAD is now at|Previous HEAD position was|\[[\w./-]{1,100}(?: \(root-commit\))?) "
    r"[0-9a-f]{7,40}\b"
    r"|\*? {0,4}(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40} (?:\([^)\n]{1,200}\) )?[A-Za-z\[]"
)
"""A commit and its title, as git prints both; the title speaks of errors that were mended."""
_FIELDS = ("log", "message", "msg", "error", "err", "text", "textPayload", "MESSAGE")
_MARKS = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201a": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u201e": '"',
        "«": '"',
        "»": '"',
        "\u2032": "'",
        "\u00b4": "'",
        "\u00a0": " ",
        "\u202f": " ",
        "\u3000": " ",
        "\uff1a": ":",
        "\uff08": "(",
        "\uff09": ")",
        "\u2013": "-",
        "…": "...",
    }
)


class NormalLine(NamedTuple):
    """A line without prefixes and frames, and the process that printed it ("" where unnamed)."""

    text: str
    process: str


def folded(lines: Sequence[str]) -> list[str]:
    """Return lines with plain quotes, English words, and no space before a colon.

    The number of lines stays; each is cut to 2,000 characters.
    """
    body = "\n".join(line[:LONGEST].replace("\n", " ") for line in lines)
    if not body.isascii():
        body = body.translate(_MARKS)
    body = body.replace(" :", ":")
    for english, others in ENGLISH.items():
        for foreign in others:
            if foreign in body:
                body = body.replace(foreign, english)
    return body.split("\n")


def normal(line: str) -> NormalLine:
    """Return a line, folded already, without prefixes, frames and progress bars."""
    process, is_error = "", False
    if line.lstrip()[:2] == '{"':
        line = _message(line)
    if '\\"' in line:
        line = line.replace('\\"', '"')
    for _ in range(_LAYERS):
        if found := _RANK.match(line):
            process = process or found[0].strip(" :")
        elif not (found := _PREFIX.match(line)):
            break
        else:
            is_error = is_error or _GLOG_ERROR.match(found[0]) is not None
        line = line[found.end() :]
    if line[-1:] in "│┃║" and line:
        line = _BOX.sub("", line[-LONGEST:], count=1)
    if "it/s" in line or "s/it" in line:
        line = _behind_progress(line)
    if is_error:
        line = f"error: {line}"
    return NormalLine(line.replace("##[error]", "error: ").replace("::error::", "error: "), process)


def has_prefix(line: str) -> bool:
    """Say whether a line begins with the time, the level or the process of a record."""
    return bool(_RANK.match(line) or _PREFIX.match(line))


def is_supposed(line: str) -> bool:
    """Say whether a line speaks of an error that somebody may get, and reports none."""
    return _SUPPOSED.match(line[:LONGEST]) is not None


def is_title(line: str) -> bool:
    """Say whether git printed a line to name a commit by its title."""
    return _TITLE.match(line[:LONGEST]) is not None


def goes_on(line: str) -> bool:
    """Say whether a line says itself that its program goes on without what it misses."""
    return _GOES_ON.search(line[:LONGEST]) is not None


def is_mild(line: str) -> bool:
    """Say whether a line, folded already, calls itself a warning or less."""
    # NCCL reports its errors as warnings.
    return "NCCL WARN" not in line and _MILD.search(line[:LONGEST]) is not None


def _behind_progress(line: str) -> str:
    end = 0
    for found in _PROGRESS.finditer(line[:LONGEST]):
        end = found.end()
    return line[end:] if line[end:].strip() else line


def _message(line: str) -> str:
    """Return the message of a line of JSON, else the line."""
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(record, dict):
        return line
    parts = [str(record[name]) for name in _FIELDS if isinstance(record.get(name), str)]
    return " ".join(parts).replace("\n", " ")[:LONGEST] or line
