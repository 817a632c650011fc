"""Write the environment reports of other projects in the words of PyTorch's own.

`python -m detectron2.utils.collect_env` prints a table, MMCV's `collect_env` lines with colons, and
Lightning's `collect_env_details.py` nested lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from doctor.logs.lists import of_lists
from doctor.logs.package_names import KNOWN

_ROW = re.compile(r"^\s{0,8}([A-Za-z][\w .,$()/-]{1,40}?)(?:\s{2,40}|:\s{1,20})(\S.{0,300})$")
_GPUS = re.compile(r"^GPU (\d{1,3}(?:,\d{1,3}){0,31})$")
_RUNTIME = re.compile(r"^\s{0,8}- CUDA Runtime (\d{1,2}\.\d{1,2})\b")
_TAG = re.compile(r"\+cu(\d{1,2})(\d)(?:\s|$)")
_VERSION = re.compile(r"\d{1,4}(?:\.\d{1,6}){1,3}[\w.+]{0,30}")
_RELEASE = re.compile(r"V(\d{1,2}\.\d{1,2}\.\d{1,4})|(?:release |CUDA |cuda_)(\d{1,2}\.\d{1,2})")
_DRIVER = re.compile(r"\d{3}\.\d{2,3}(?:\.\d{2})?")
_LOGGED = re.compile(
    r"^(?:INFO:[\w.]{1,40}:|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - [\w.]{1,40} - INFO - )\s{0,4}"
)
"""What the logging of a program puts before its report."""
_PAIR = re.compile(r"'([A-Za-z][\w .]{1,40})'[:,] ?(?:'([^']{1,2000})'|(True|False))")
_RUNTIME_IN_REPR = re.compile(r"- CUDA Runtime (\d{1,2}\.\d{1,2})\b")
_WITHOUT_CUDA = re.compile(r"\bUSE_CUDA=(?:0|OFF)\b")
_REPR_LONGEST = 20_000
_SECTION = re.compile(r"^\s{0,4}\* ([A-Za-z][\w ]{1,40}):\s*$")
_ITEM = re.compile(r"^\s{1,16}- ([A-Za-z][\w .-]{0,60}):(?:\s{1,40}(\S.{0,200}))?$")
_BARE = re.compile(r"^\s{2,24}- ([A-Za-z][^:]{1,80})$")
_PACKAGES = {
    "numpy": "numpy",
    "detectron2": "detectron2",
    "torchvision": "torchvision",
    "Pillow": "pillow",
    "fvcore": "fvcore",
    "iopath": "iopath",
    "TorchVision": "torchvision",
    "MMCV": "mmcv",
    "MMEngine": "mmengine",
    "OpenCV": "opencv-python",
}
"""Rows with the release of a package, and the package."""
_SYSTEMS = {"linux": "Linux", "win32": "Microsoft Windows", "darwin": "macOS", "Darwin": "macOS"}


def in_words_of_torch(lines: Sequence[str]) -> list[str]:
    """Return the lines that PyTorch's report would have; empty where there is no such report."""
    rows: dict[str, str] = {}
    lines = [one for line in lines for one in (*_of_repr(line), line)]
    for line in (_LOGGED.sub("", line, count=1) for line in lines):
        if found := _ROW.match(line):
            rows.setdefault(found[1].strip(), found[2].strip())
    if "PyTorch" in rows and ("sys.platform" in rows or "CUDA available" in rows):
        return list(_of_table(rows, lines))
    sections = _sections(lines)
    if "CUDA" in sections and "torch" in {**sections.get("Lightning", {}), **_of(sections)}:
        return list(_of_lists(sections, lines))
    return list(of_lists(lines))


def _of_repr(line: str) -> list[str]:
    """Return the rows of a report that was printed as a dictionary of Python."""
    if "'sys.platform'" not in line:
        return []
    return [
        row.replace("\\n", "\n").splitlines()[0]
        for found in _PAIR.finditer(line[:_REPR_LONGEST])
        if (row := f"{found[1]}: {found[2] or found[3]}")
    ] + [
        *(found[0] for found in _WITHOUT_CUDA.finditer(line)),
        *("  - CUDA Runtime " + found[1] for found in _RUNTIME_IN_REPR.finditer(line)),
    ]


def _available(rows: Mapping[str, str]) -> str:
    """Return what a table says of the GPU: that it is available, or not."""
    return rows.get("GPU available", "") or rows.get("CUDA available", "")


def _of_table(rows: Mapping[str, str], lines: Sequence[str]) -> Iterator[str]:
    torch = rows["PyTorch"].partition(" ")[0]
    runtime = next((found[1] for line in lines if (found := _RUNTIME.match(line))), "")
    without = any(_WITHOUT_CUDA.search(line) for line in lines)
    yield from _torch(torch, "None" if without and not runtime else runtime, _available(rows))
    if system := _SYSTEMS.get(rows.get("sys.platform", "")):
        yield f"OS: {system}"
    if found := _VERSION.search(rows.get("Python", "")):
        yield f"Python version: {found[0]}"
    if found := _RELEASE.search(rows.get("CUDA compiler", rows.get("NVCC", ""))):
        yield f"CUDA runtime version: {next(filter(None, found.groups()))}"
    driver = rows.get("Driver version") or rows.get("CUDA Driver Version", "")
    if found := _DRIVER.match(driver):
        yield f"Nvidia driver version: {found[0]}"
    if (gcc := rows.get("GCC", "")) and (found := _VERSION.search(gcc.rpartition(")")[2])):
        yield f"GCC version: {found[0]}"
    yield from _gpus_and_packages(rows)


def _gpus_and_packages(rows: Mapping[str, str]) -> Iterator[str]:
    for name, value in rows.items():
        if numbers := _GPUS.match(name):
            for number in numbers[1].split(","):
                yield f"GPU {number}: {value.partition(' (arch=')[0]}"
        elif found := _VERSION.match(value):
            package = _PACKAGES.get(name, name.replace("_", "-").lower())
            if name in _PACKAGES or package in KNOWN:
                yield f"[pip3] {package}=={found[0]}"


def _torch(version: str, cuda: str, available: str) -> Iterator[str]:
    yield f"PyTorch version: {version}"
    if tag := _TAG.search(version):
        cuda = f"{tag[1]}.{tag[2]}"
    if cuda:
        yield f"CUDA used to build PyTorch: {cuda}"
    if available:
        yield f"Is CUDA available: {'True' if available.startswith(('Yes', 'True')) else 'False'}"


def _sections(lines: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the items of each part of Lightning's report."""
    found: dict[str, dict[str, str]] = {}
    part: dict[str, str] | None = None
    for line in lines:
        if head := _SECTION.match(line):
            part = found.setdefault(head[1], {})
        elif part is not None and (item := _ITEM.match(line)):
            part.setdefault(item[1], (item[2] or "").strip())
    return found


def _of(sections: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    return sections.get("Packages", {})


def _of_lists(sections: Mapping[str, Mapping[str, str]], lines: Sequence[str]) -> Iterator[str]:
    packages = {**_of(sections), **sections.get("Lightning", {})}
    cuda = sections["CUDA"]
    yield from _torch(
        packages["torch"], _number(cuda.get("version", "")), cuda.get("available", "")
    )
    system = sections.get("System", {})
    if name := _SYSTEMS.get(system.get("OS", ""), system.get("OS", "")):
        yield f"OS: {name}"
    if found := _VERSION.search(system.get("python", "")):
        yield f"Python version: {found[0]}"
    for number, name in enumerate(_names(lines)):
        yield f"GPU {number}: {name}"
    for name, value in packages.items():
        if name != "torch" and (found := _VERSION.match(value)):
            yield f"[pip3] {name}=={found[0]}"


def _number(value: str) -> str:
    return value if _VERSION.fullmatch(value) else ""


def _names(lines: Sequence[str]) -> Iterator[str]:
    """Yield the GPUs, which stand below "- GPU:" without a colon of their own."""
    inside = False
    for line in lines:
        if inside and (name := _BARE.match(line)):
            if not name[1].startswith("None"):
                yield name[1].strip()
        else:
            inside = line.strip() == "- GPU:"
