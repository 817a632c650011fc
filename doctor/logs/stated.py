"""Read which releases of packages a paste states, wherever they stand in it.

People paste `pip list | grep`, `pip show`, a template of an issue ("- torch: 2.1.0"), or one line
of prose ("Python 3.8, torch 2.1.0, CUDA 12.1") before or after an error. What a program demands is
no release that is installed: requirements, commands and sentences are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from doctor.base.versions import parse
from doctor.logs.package_names import ALIASES, KNOWN, OTHER

_LONGEST = 300
_NAME = r"[A-Za-z][\w.-]{1,60}"
_RELEASE = r"\d{1,4}(?:\.\d{1,6}){1,3}[\w.+]{0,30}"
_HEAD = re.compile(r"^\s{0,8}(?:Package\s{1,60}Version\b|# Name\s{1,60}Version\b)")
_RULE = re.compile(r"^\s{0,8}(?:-{3,60}\s{1,4}-{3,60}|#\s{0,4}$)")
_ROW = re.compile(rf"^\s{{0,8}}({_NAME})\s{{1,60}}({_RELEASE})(?:\s{{1,60}}(\S{{1,60}}))?")
_FROZEN = re.compile(rf"^\s{{0,8}}({_NAME})==({_RELEASE})\s{{0,8}}$")
_LISTING = re.compile(r"\b(?:pip3?|conda|mamba|micromamba) (?:list|freeze)\b")
_SHOWN = re.compile(rf"^\s{{0,8}}Name: ({_NAME})\s{{0,8}}$")
_SHOWN_RELEASE = re.compile(rf"^\s{{0,8}}Version: ({_RELEASE})\s{{0,8}}$")
_INSTALLED = re.compile(r"Successfully installed ([\w.+ -]{3,900})")
_ONE_INSTALLED = re.compile(r"([A-Za-z][\w.-]{0,60}?)-(\d[\w.+]{0,30})(?= |$)")
_EXISTING = re.compile(rf"Found existing installation: ({_NAME}) ({_RELEASE})")
_METADATA = re.compile(r"[/\\]([A-Za-z]\w{1,60})-(\d[\w.+!]{1,40})-info\b")
_PRINTS = re.compile(r"\b([A-Za-z]\w{1,40})\.__version__")
_PRINTED = re.compile(rf"^[\s'\"]{{0,8}}({_RELEASE})[\s'\"]{{0,4}}$")
_SIGN = re.compile(
    r"Package |# Name| (?:list|freeze)\b|Name: |-info\b|installed |existing|__version__|\b[Mm]y "
    r"|\d +\| +\w|::"
)
_MINE = re.compile(rf"\b[Mm]y ({_NAME})(?: version)? is (?:v|version )?({_RELEASE})")
"""What a user writes in a sentence: "My torch version is 1.13.1"."""
_FIRST = re.compile(r"[\s>*•|`'\"-]{0,12}([A-Za-z][\w.-]{1,40})")
_WORD = re.compile(r"[A-Za-z][\w.-]{1,40}")
_TOKEN = re.compile(r"\d[\w.]{2,40}")
_LOCAL = re.compile(r"\+(?:cu\d|cpu|rocm\d|xpu|git|nv)[\w.]{0,20}")
_BESIDE = re.compile(r"\([^)]{0,80}\)|\+ ?(?:cuda|cu|rocm) ?[\d.]{1,8}|CUDA ?[\d.]{1,8}")
_MARKS = str.maketrans("", "", "*`'\"")
_PARTS = re.compile(r"[,;] ?| (?:and|with|/|\||&|\+) ")
_PARTS_MOST = 14
_BUILD = re.compile(r"cuda_?(\d{1,2})\.?(\d)(?:\D|$)")
_PAIR = re.compile(r"^\s{0,4}[A-Za-z][\w.]{0,40}=[^=\s]{1,60}\s{0,4}$")
_ANSWER = re.compile(r"=(?:True|False|None)\s{0,4}$")
_SHORTEST = 8
_OF_CONDA = frozenset({"cudatoolkit", "pytorch-mutex", "cpuonly", "pytorch-cuda"})
_DIGIT = re.compile(r"\d\.\d")
_MISSES = 2
"""Lines of another form after which a list is over."""
_COLUMNS = 5
_SUFFIX = re.compile(r"-(?:cu\d{2,3}|cuda\d{2,3}x?)$")


class Stated(NamedTuple):
    """What a line says of a package: its normalized name, its release, its build, and the line.

    `is_last` is set where an installer reports what it has just put there.
    """

    name: str
    release: str
    build: str
    at: int
    is_last: bool = False


def stated(lines: Sequence[str]) -> Iterator[Stated]:
    """Yield what the lines of a paste say of installed packages."""
    table, shown, printed = _Table(), _Next(_SHOWN_RELEASE), _Next(_PRINTED)
    for at, full in enumerate(lines):
        is_prose = _begins_with_known(full)
        is_next = table.is_open or shown.name or printed.name
        if not (is_prose or is_next or _SIGN.search(full)):
            continue
        line = full[:_LONGEST]
        if (one := table.row(line, at)) is not None:
            yield one
        if "." not in line and "Name: " not in line:
            continue
        yield from _from_programs(line, full, at)
        for below in (shown, printed):
            if (one := below.read(line, at)) is not None:
                yield one
        if found := _SHOWN.match(line):
            shown.name = found[1]
        if "__version__" in line:
            names = {found[1] for found in _PRINTS.finditer(line)}
            printed.name = names.pop() if len(names) == 1 else ""
        if is_prose and not table.is_open:
            yield from _from_prose(line, full, at)


class _Table:
    """The table of a package manager, below its header or below the command that prints it."""

    def __init__(self) -> None:
        self.is_open = False
        self._misses = 0

    def row(self, line: str, at: int) -> Stated | None:
        """Take a line, and return what it says where it is a row."""
        if _HEAD.match(line) or (("list" in line or "freeze" in line) and _LISTING.search(line)):
            self.is_open, self._misses = True, 0
        elif self.is_open:
            row = _ROW.match(line) or _FROZEN.match(line)
            if row is not None and len(line.split()) <= _COLUMNS:
                self._misses = 0
                return Stated(_normal(row[1]), row[2], _third(row), at)
            self._misses += not _RULE.match(line)
            self.is_open = self._misses <= _MISSES
        return None


class _Next:
    """A release that stands in the line below the name of its package."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.name = ""
        self._pattern = pattern

    def read(self, line: str, at: int) -> Stated | None:
        """Take a line, and return the release in it where the line above named a package."""
        name, self.name = self.name, ""
        found = self._pattern.match(line) if name else None
        return Stated(_normal(name), found[1], "", at) if found else None


def _third(row: re.Match[str]) -> str:
    return (row[3] or "") if row.re is _ROW else ""


def _from_programs(line: str, full: str, at: int) -> Iterator[Stated]:
    """Yield what installers and the names of metadata say."""
    if ("|" in line or "::" in line) and (planned := _planned(line)):
        name, release, build = planned
        if _is_known(name) or name in _OF_CONDA:
            yield Stated(name, release, build, at, is_last=True)
    if "-info" in line and (found := _METADATA.search(line)):
        yield Stated(_normal(found[1]), found[2].rpartition(".")[0], "", at)
    if "y " in line and (found := _MINE.search(line)) and _is_known(_normal(found[1])):
        yield Stated(_normal(found[1]), found[2].rstrip("."), "", at)
    if "installed " in line and (found := _INSTALLED.search(full)):
        for one in _ONE_INSTALLED.finditer(found[1]):
            yield Stated(_normal(one[1]), one[2], "", at, is_last=True)
    elif "existing" in line and (found := _EXISTING.search(line)):
        yield Stated(_normal(found[1]), found[2], "", at)


def _planned(line: str) -> tuple[str, str, str] | None:
    """Read a row of conda's plan: `torch-1.12.1 | py3_cpu_0`, or `x::torch-1.12.1-py3_cpu_0`."""
    before, bar, after = line.partition("|")
    if bar:
        words, builds = before.split(), after.split()
        whole = f"{words[0]}-{builds[0]}" if len(words) == 1 and builds else ""
    else:
        rest = line.partition("::")[2].split()
        whole = rest[0] if rest else ""
    parts = whole.rsplit("-", 2)
    if len(parts) != 3 or not re.fullmatch(_RELEASE, parts[1]) or not parts[0][:1].isalpha():
        return None
    return _normal(parts[0]), parts[1], parts[2]


def _from_prose(line: str, full: str, at: int) -> Iterator[Stated]:
    """Yield the packages of a line that lists nothing but releases."""
    if len(full) > _LONGEST or len(line) < _SHORTEST or not _DIGIT.search(line):
        return
    text = line.strip()
    parts = [text] if text.startswith("|") else [one for one in _PARTS.split(text) if one.strip()]
    if len(parts) > _PARTS_MOST:
        return
    named = [one for one in map(_item, parts) if one is not None]
    known = [(name, release) for name, release in named if _is_known(name)]
    others = sum(1 for name, _ in named if name in OTHER)
    if known and (len(known) + others == len(parts) or _is_printed(parts)):
        yield from (Stated(name, release, "", at) for name, release in known)


def _is_printed(parts: Sequence[str]) -> bool:
    """Say whether a program prints values of its own: `torch=2.1.0 | cuda_available=False`."""
    return len(parts) > 1 and all(map(_PAIR.match, parts)) and any(map(_ANSWER.search, parts))


def _item(part: str) -> tuple[str, str] | None:
    """Return the name and the release of an item that says nothing else."""
    text = part.translate(_MARKS).strip(" \t>•|-")
    word = _WORD.match(text)
    if word is None:
        return None
    rest = text[word.end() :].strip()
    for start in ("Library", "version", "Version"):
        rest = rest.removeprefix(start).lstrip()
    if rest[:1] in (":", "=", "|", "v"):
        rest = rest[1:].lstrip(" \t").removeprefix("v")
    release = _TOKEN.match(rest)
    if release is None or "." not in release[0]:
        return None
    local = _LOCAL.match(rest, release.end())
    behind = rest[local.end() if local else release.end() :].strip(" .|")
    if behind and not _BESIDE.fullmatch(behind):
        return None
    return _normal(word[0]), release[0].rstrip(".") + (local[0] if local else "")


def _begins_with_known(line: str) -> bool:
    """Say whether the first word of a line is a name that a list of releases begins with."""
    word = _FIRST.match(line)
    return word is not None and _is_listed(word[1])


@lru_cache(maxsize=4096)
def _is_listed(word: str) -> bool:
    name = _normal(word)
    return name in OTHER or _is_known(name)


def _is_known(name: str) -> bool:
    return name in KNOWN or _SUFFIX.sub("", name) in KNOWN


def _normal(name: str) -> str:
    plain = re.sub(r"[._ -]+", "-", name).lower()
    return ALIASES.get(plain, plain)


def releases(lines: Sequence[str]) -> dict[str, Stated]:
    """Return the only release that a paste states of each package.

    Where it states two, the one that was installed last counts, and otherwise none of them.
    """
    found: dict[str, list[Stated]] = {}
    for one in stated(lines):
        if parse(one.release.partition("+")[0]) is not None:
            found.setdefault(one.name, []).append(one)
    return {name: best for name, every in found.items() if (best := _one(every)) is not None}


def _one(every: Sequence[Stated]) -> Stated | None:
    last = next((one for one in reversed(every) if one.is_last), None)
    if last is not None:
        return last
    public = {one.release.partition("+")[0] for one in every}
    fullest = max(every, key=lambda one: (len(one.release), bool(one.build)))
    return fullest if len(public) == 1 else None


def built_for(one: Stated) -> tuple[str, str]:
    """Return the build of torch and its CUDA release, as far as its release says them."""
    local = one.release.partition("+")[2]
    if local.startswith(("cpu", "xpu")):
        return local[:3], ""
    if local.startswith("rocm"):
        return "rocm", ""
    if found := re.match(r"cu(\d{1,2})(\d)(?!\d)", local):
        return "cuda", f"{found[1]}.{found[2]}"
    if found := _BUILD.search(one.build):
        return "cuda", f"{found[1]}.{found[2]}"
    return ("cpu", "") if re.search(r"(?:^|_)cpu(?:_|$)", one.build) else ("", "")
