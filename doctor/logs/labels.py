"""Write labelled lines of any tool or template in the words of PyTorch's own report.

Read are `label: value`, the headings of issue forms with the value below, two columns, the banner
of Ultralytics, the head of `python -m xformers.info` and the last line of `nvcc -V`. Only labels
with one meaning count: "CUDA version" may be the driver's, the toolkit's or torch's, so it says
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.logs.package_names import KNOWN

_LONGEST = 400
_MOST = 4000
_MARKS = str.maketrans({"*": "", "`": "", "'": "", '"': "", "：": ":"})
_BEFORE = " \t>#•|+-"
_SEPARATOR = re.compile(r":|={1,2}|\s\.{2,40}\s")
_LABEL_LONGEST = 80
_EXAMPLE = re.compile(r"\s{0,4}\((?:e\.g|i\.e|use command)[^()]{0,60}\)", re.IGNORECASE)
_COLUMNS = re.compile(r"^\s{0,8}([A-Za-z][\w ]{1,24}?)\s{2,30}(\S.{0,200})$")
_BARE = re.compile(
    r"^[\s•-]{0,8}(python|pytorch|torch|tensorflow) v?(\d[\w.+]{1,40})\s{0,8}$", re.IGNORECASE
)
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s{1,4}(\S.{1,60}?)\s{0,8}$")
_BANNER = re.compile(
    r"^\S{0,4}\s?(?:Ultralytics|YOLOv5) .{0,40}?Python-(\d[\w.]{2,12}) torch-(\d[\w.+]{2,40})"
    r"(?: (?:CUDA:\d \(([^,)]{3,60}))?|$)"
)
_CHECKED = re.compile(
    r"^\s{0,4}([A-Za-z][\w-]{1,40})\s{1,20}[✅❌] (\d[\w.+]{1,30})(?=[<>=!,\s]|$)"
)
_XFORMERS = re.compile(r"^\s{0,8}xFormers (\d[\w.+]{2,40})\s{0,8}$")
_NVCC = re.compile(r"Cuda compilation tools, release \d{1,2}\.\d{1,2}, V(\d[\d.]{2,12})")
_RELEASE = re.compile(r"[vV]?(\d{1,4}(?:\.\d{1,6}){1,3}[\w.+]{0,30})")
_NAMED = re.compile(
    r"^(?:tf|tensorflow|pytorch|torch|python)(?:-gpu)?(?:[ -]|==)?v?(?=\d)", re.IGNORECASE
)
_NVIDIA = re.compile(
    r"nvidia|geforce|tesla|quadro|titan|[rg]tx ?\d|\d [rg]tx|\b[ahlvtp]\d{2,3}\b", re.IGNORECASE
)
_BARE_CARD = re.compile(
    r"(?:nvidia )?(?:geforce )?([rg]tx)?[ -]?([1-9]0[5-9]0|16[56]0)[ -]?(ti)?[ -]?(super)?"
    r"(?= ?(?:$|[(,;:.]|x ?\d|\d{1,2} ?gb|laptop))",
    re.IGNORECASE,
)
"""A GeForce as people write it: `3060ti`, `RTX3090`."""
_SYSTEM = re.compile(
    r"windows|linux|ubuntu|debian|centos|fedora|rocky|red hat|mac ?os|darwin", re.IGNORECASE
)
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "PyTorch version",
        re.compile(r"(?:py)?torch(?:\.__version__|\.version|[ _]version)?|.{0,6}torch版本"),
    ),
    ("CUDA used to build PyTorch", re.compile(r"torch\.version\.cuda|torch.{0,8}cuda版本")),
    (
        "tensorflow",
        re.compile(
            r"tensorflow(?: version)?(?: \(use command below\))?|tf(?:\.version\.\w{1,20})?"
        ),
    ),
    ("Python version", re.compile(r"python(?:[ _]version)?|python版本")),
    ("OS", re.compile(r"os|operating system|os platform and distribution|platform|系统")),
    (
        "GPU",
        re.compile(
            r"gpu(?: models?(?: and (?:memory|configuration))?| name| type|\.name)?|gpus|gpu名称"
            r"|显卡|name|device"
            r"|(?:my )?(?:video|graphics?)[ -]?card(?: model| name)?"
        ),
    ),
    ("Nvidia driver version", re.compile(r"(?:nvidia |gpu )?driver(?: version)?")),
)


def of_labels(lines: Sequence[str]) -> list[str]:
    """Return the lines that PyTorch's report would have, one of each kind: the first."""
    found: dict[str, str] = {}
    for key, value in _told(lines[:_MOST]):
        found.setdefault(key, value)
    return [f"{key}{value}" for key, value in found.items()]


def labelled(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the label of each line in lower case, the heading of a form included, and its value."""
    heading = ""
    for full in lines[:_MOST]:
        line = full[:_LONGEST].translate(_MARKS).rstrip()
        if found := _HEADING.match(line):
            heading = found[1]
        elif line.strip():
            pair = (heading, line.strip()) if heading else _pair(line)
            heading = ""
            if pair:
                yield _plain(pair[0]), pair[1]


def _plain(label: str) -> str:
    """Return a label in lower case, without the example that a form gives behind it."""
    return " ".join(_EXAMPLE.sub("", label).lower().split())


def _pair(line: str) -> tuple[str, str] | None:
    """Return the label and the value of a line."""
    if (found := _SEPARATOR.search(line)) and line[found.end() :].strip():
        label = line[: found.start()].strip(_BEFORE)
        return (label, line[found.end() :].strip()) if len(label) <= _LABEL_LONGEST else None
    columns = _COLUMNS.match(line)
    return (columns[1], columns[2]) if columns else None


def _told(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the beginning of a line of PyTorch's report, which names its kind, and the rest."""
    heading = ""
    for full in lines:
        line = full[:_LONGEST].translate(_MARKS).rstrip()
        if found := _HEADING.match(line):
            heading = found[1]
            continue
        if line.strip():
            if heading:
                yield from _of(heading, line.strip())
                heading = ""
            yield from _of_line(line)


def _of_line(line: str) -> Iterator[tuple[str, str]]:
    if banner := _BANNER.match(line):
        yield from _of("python", banner[1])
        yield from _of("torch", banner[2])
        yield from _of("gpu", banner[3] or "")
    elif found := _CHECKED.match(line):
        yield from _of(found[1], found[2])
    elif found := _XFORMERS.match(line):
        yield "[pip3] xformers==", found[1]
    elif found := _NVCC.search(line):
        yield "CUDA runtime version: ", found[1]
    elif pair := _pair(line):
        yield from _of(*pair)
    elif found := _BARE.match(line):
        yield from _of(found[1], found[2])


def _of(label: str, value: str) -> Iterator[tuple[str, str]]:
    """Yield what a label and its value say, where the value is of the kind that the label names."""
    name = _plain(label)
    kind = next((kind for kind, pattern in _KINDS if pattern.fullmatch(name)), "")
    release = _RELEASE.match(_NAMED.sub("", value))
    if kind == "GPU":
        yield from _of_gpu(value)
    elif kind == "OS":
        if _SYSTEM.search(value):
            yield "OS: ", value[:80]
    elif kind == "tensorflow":
        if release:
            yield "[pip3] tensorflow==", release[1]
    elif kind:
        if release:
            yield f"{kind}: ", release[1]
    elif release and (package := re.sub(r"[._ -]+", "-", name.removesuffix(" version"))) in KNOWN:
        yield f"[pip3] {package}==", release[1]


def _of_gpu(value: str) -> Iterator[tuple[str, str]]:
    model = re.sub(r"^cuda:\d{1,2} ", "", value)
    if card := _BARE_CARD.match(model):
        yield "GPU 0: ", _geforce(card)
    elif _NVIDIA.search(value):
        yield "GPU 0: ", re.split(r" : |,|\(", model)[0].strip()[:60]


def _geforce(card: re.Match[str]) -> str:
    """Return the name of a GeForce as NVIDIA writes it, from its series, number and endings."""
    series = (card[1] or ("gtx" if card[2].startswith("1") else "rtx")).upper()
    ends = (" Ti" if card[3] else "") + (" SUPER" if card[4] else "")
    return f"NVIDIA GeForce {series} {card[2]}{ends}"
