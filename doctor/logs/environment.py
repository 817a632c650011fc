"""Turn the output of `python -m torch.utils.collect_env`, and others like it, into facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence

from doctor.base.versions import minor, parse
from doctor.logs.other_reports import in_words_of_torch
from doctor.model.facts import Fact, FactStream, absent, present, unknown

SOURCE = "collect_env"

_KEY = re.compile(r"^[\s>*`-]{0,8}([A-Za-z][A-Za-z0-9 _/()+.?`-]{1,48}?)\s{0,24}:\s{0,4}(\S.*)?$")
_LISTED = re.compile(
    r"^[\s>]{0,8}\[(?:pip3?|conda)\]\s+([A-Za-z0-9._-]{1,80})(?:==|\s+)(\d\S{0,60})"
)
_UNMARKED = re.compile(r"^[\s>]{0,8}(PyTorch version) (\d\S{1,60})\s{0,8}$")
"""The first line of a report that somebody copied without its colon."""
_GPU = re.compile(
    r"^(?:[\s>]{0,8}GPU models and configuration\s{0,8}:)?[\s>]{0,8}GPU (\d{1,3})(?:: |：\s?)"
    r"(.{1,80}?)\s{0,8}$"
)
_NOTHING = frozenset({"n/a", "none", "no cuda", "no rocm", "no"})
_TELLTALE = ("pytorch version", "cuda used to build pytorch")
_WITH_CUDA = (
    "ubuntu",
    "debian",
    "centos",
    "rocky",
    "red hat",
    "fedora",
    "arch",
    "linux",
    "microsoft windows",
    "windows",
)
_SYSTEMS = {"windows": "windows", "macos": "macos", "mac os": "macos"}


def is_environment(lines: Sequence[str]) -> bool:
    """Say whether a text holds such a report, whatever stands around it."""
    keys = {_plain(found[1]) for line in lines if (found := _pair(line))}
    return _is_full(keys) or is_short_report(keys)


def is_short_report(keys: Collection[str]) -> bool:
    """Say whether these are the keys of the report of transformers, or of a tool that copied it."""
    named = {"pytorch version", "pytorch version (gpu?)"} & set(keys)
    return bool(named) and {"platform", "python version"} <= set(keys)


def _pair(line: str) -> re.Match[str] | None:
    """Return the key and the value of a line of a report."""
    return _KEY.match(line) or _UNMARKED.match(line)


def _plain(key: str) -> str:
    """Return a key without the quotes of Markdown."""
    return key.replace("`", "").strip().lower()


def environment_facts(lines: Sequence[str]) -> dict[str, Fact]:
    """Return the facts of the first such report in a text; empty where it holds none."""
    if not is_environment(lines):
        words = in_words_of_torch(lines)
        return facts_in_words(words) if words else {}
    return _facts(lines, is_full=_is_full({_plain(one[1]) for one in map(_pair, lines) if one}))


def facts_in_words(words: Sequence[str]) -> dict[str, Fact]:
    """Return the facts of lines that are written in the words of PyTorch's own report."""
    return _facts(words, is_full=True)


def _is_full(keys: Collection[str]) -> bool:
    return all(telltale in keys for telltale in _TELLTALE)


def _facts(lines: Sequence[str], *, is_full: bool) -> dict[str, Fact]:
    told: dict[str, str] = {}
    for line in lines:
        if found := _pair(line):
            told.setdefault(_plain(found[1]), (found[2] or "").strip())
    tellers = _TELLERS if is_full else _SHORT
    facts = dict(fact for key, tell in tellers.items() if key in told for fact in tell(told[key]))
    facts |= dict(_build(told)) if is_full else dict(_short_build(told))
    facts |= dict(_translated(facts, lines))
    facts |= dict(_gpus(lines))
    facts = dict(_no_board(facts)) | facts
    if (
        told.get("nvidia driver version", "") == "Could not collect"
        and "nvidia.gpu_names" not in facts
    ):
        facts["torch.driver_missing_in_report"] = present(True, SOURCE)
    return facts | dict(_packages(lines))


def _or_none(name: str, value: str, found: str | None) -> FactStream:
    """Yield a value, that there is none, or that the report could not collect it."""
    if found:
        yield name, present(found, SOURCE)
    elif value.lower() in _NOTHING:
        yield name, absent(SOURCE)
    else:
        yield name, unknown(f"the report says: {value[:80] or 'nothing'}", SOURCE)


def _number(text: str) -> str | None:
    found = re.search(r"\d{1,4}(?:\.\d{1,6}){1,3}", text)
    return found[0] if found else None


def _torch(value: str) -> FactStream:
    found = re.match(r"\d+\.\d+\S*", value)
    yield from _or_none("torch.version", value, found[0] if found else None)
    if value.lower() == "n/a":
        # The script of the report is run by itself where torch cannot be imported.
        yield "torch.missing_in_report", present(True, SOURCE)


def _versioned(name: str) -> Callable[[str], FactStream]:
    return lambda value: _or_none(name, value, _number(value))


def _cuda(value: str) -> FactStream:
    found = _number(value)  # 10.1.243 in reports of 2019
    yield from _or_none("torch.cuda_version", value, minor(found) if found else None)


def _toolkit(value: str) -> FactStream:
    found = _number(value)
    yield from _or_none("cuda.nvcc_version", value, found)
    yield from _or_none("cuda.version", value, minor(found) if found else None)
    if found:
        # The report asks the nvcc on PATH, which builds of extensions take as well.
        yield "cuda.selected", present(True, SOURCE)


def _system(value: str) -> FactStream:
    lower = value.lower()
    system = next((name for word, name in _SYSTEMS.items() if word in lower), "linux")
    yield "host.os", present(system, SOURCE)
    yield (
        "host.distribution",
        present(re.sub(r"\((?:x86_64|aarch64|arm64)\)$", "", value).rstrip(), SOURCE),
    )
    if machine := re.search(r"\((x86_64|aarch64|arm64)\)", value):
        yield "host.machine", present(machine[1], SOURCE)
    if named := re.match(r"(ubuntu|debian|fedora|rocky|almalinux|centos)\b", lower):
        yield "host.distribution_id", present(named[1], SOURCE)


def _compiler(value: str) -> FactStream:
    found = _number(value.rpartition(")")[2]) or _number(value)
    for name, part in (
        ("compiler.cxx_version", found),
        ("compiler.cxx_major", found.partition(".")[0] if found else None),
    ):
        yield from _or_none(name, value, part)
    if found:
        # What the report asks is `gcc`, which is what nvcc calls as well.
        yield "compiler.cxx_kind", present("gcc", SOURCE)
        yield "compiler.cuda_host_kind", present("gcc", SOURCE)
        yield "compiler.cuda_host_major", present(found.partition(".")[0], SOURCE)


def _python(value: str) -> FactStream:
    yield from _or_none("python.version", value, _number(value))
    if "64-bit" in value or "32-bit" in value:
        yield "python.bits", present(64 if "64-bit" in value else 32, SOURCE)


def _platform(value: str) -> FactStream:
    yield "host.wsl", present(True, SOURCE) if "microsoft" in value.lower() else absent(SOURCE)
    if "tegra" in value.lower():
        yield "host.jetson", present("Jetson", SOURCE)
    else:
        yield "host.jetson", absent(SOURCE)
    if machine := re.search(r"\b(x86_64|aarch64|arm64)\b", value):
        yield "host.machine", present(machine[1], SOURCE)


def _available(value: str) -> FactStream:
    if value in ("True", "Yes", "False", "No"):
        yield "torch.cuda_available", present(value in ("True", "Yes"), SOURCE)


def _short_torch(value: str) -> FactStream:
    """Yield what `2.3.0+cu121 (True)` says: the release, its build, whether a GPU is reached."""
    if not (found := re.match(r"(\d+\.\d+\.\d+)(\+(cu|rocm|xpu|cpu)[\w.]{0,12})?", value)):
        return
    yield from _torch(found[0])
    if found[3]:
        yield "torch.build", present("cuda" if found[3] == "cu" else found[3], SOURCE)
    if named := re.search(r"\((True|False)\)", value):
        yield "torch.cuda_available", present(named[1] == "True", SOURCE)


def _short_platform(value: str) -> FactStream:
    system = "linux" if value.startswith("Linux") else None
    system = "windows" if value.startswith("Windows") else system
    system = "macos" if value.startswith("macOS") else system
    if system:
        yield "host.os", present(system, SOURCE)
        yield from _platform(value)
    if found := re.search(r"glibc(\d\.\d{1,2})", value):
        yield "host.glibc", present(found[1], SOURCE)


def _gpu_type(value: str) -> FactStream:
    if value and not re.search(r"amd|radeon|intel|\bno\b|none|n/a", value, re.IGNORECASE):
        yield "nvidia.gpu_names", present([value[:80]], SOURCE)


_SHORT: Mapping[str, Callable[[str], FactStream]] = {
    "pytorch version (gpu?)": _short_torch,
    "pytorch version": _short_torch,
    "python version": _python,
    "platform": _short_platform,
    "gpu type": _gpu_type,
    "nvidia driver version": _versioned("nvidia.driver_version"),
    **{
        f"{name} version": _versioned(f"package.{name.replace('_', '-')}.version")
        for name in (
            *("transformers", "accelerate", "safetensors", "huggingface_hub", "datasets", "peft"),
            *("trl", "deepspeed", "bitsandbytes", "vllm"),
        )
    },
}
"""What the report of transformers (`transformers env`) and its copies list, by lower-case keys."""
_TELLERS: Mapping[str, Callable[[str], FactStream]] = {
    "pytorch version": _torch,
    "cuda used to build pytorch": _cuda,
    "rocm used to build pytorch": _versioned("torch.hip_version"),
    "os": _system,
    "gcc version": _compiler,
    "cmake version": _versioned("build.cmake"),
    "libc version": _versioned("host.glibc"),
    "python version": _python,
    "python platform": _platform,
    "is cuda available": _available,
    "cuda runtime version": _toolkit,
    "nvidia driver version": _versioned("nvidia.driver_version"),
    "vllm version": _versioned("package.vllm.version"),
}


def _build(told: Mapping[str, str]) -> FactStream:
    """Yield what torch was built for, where the report leaves no doubt."""
    version, rocm = told.get("pytorch version", ""), told.get("rocm used to build pytorch", "")
    local = version.partition("+")[2]
    if _number(rocm) or local.startswith("rocm"):
        yield "torch.build", present("rocm", SOURCE)
    elif local.startswith(("xpu", "cpu")):
        yield "torch.build", present(local[:3], SOURCE)
    elif _number(cuda := told.get("cuda used to build pytorch", "")):
        yield "torch.build", present("cuda", SOURCE)
    elif (
        _number(version)
        and cuda in ("None", "Could not collect")
        and told.get("os", "").lower().startswith(_WITH_CUDA)
    ):
        # torch was imported and names no CUDA; older releases of the report wrote None so, and that
        # they could not collect it.
        yield "torch.build", present("cpu", SOURCE)
        yield "torch.cuda_version", absent(SOURCE)
    if local.startswith(("cu", "rocm", "xpu", "cpu")):
        # Only wheels say what they were built for behind a plus; conda's packages and one's own
        # builds do not.
        yield "package.torch.installer", present("pip", SOURCE)


def _short_build(told: Mapping[str, str]) -> FactStream:
    """Yield what torch was built for, where its release alone says so."""
    for key in ("pytorch version", "pytorch version (gpu?)"):
        version = told.get(key, "").partition(" ")[0]
        if version.partition("+")[2].startswith(("cpu", "xpu", "rocm")):
            yield from _build({"pytorch version": version})


_APPLE = re.compile(r"\bApple M\d")


def _translated(facts: Mapping[str, Fact], lines: Sequence[str]) -> FactStream:
    """Say whether the interpreter is for Intel on a Mac with an Apple chip."""
    names = {name: fact.value for name, fact in facts.items()}
    intel = names.get("host.os") == "macos" and names.get("host.machine") == "x86_64"
    if intel and any(_APPLE.search(line) for line in lines):
        yield "host.rosetta", present(True, SOURCE)


_BOARD = re.compile(r"orin|xavier|thor|tegra|jetson|nvgpu|\bnano\b", re.IGNORECASE)


def _no_board(facts: Mapping[str, Fact]) -> FactStream:
    """Say that the machine is no Jetson, where it names a GPU that is no part of one.

    Reports of 2019 and 2020 have no row for the platform.
    """
    names = facts["nvidia.gpu_names"].value if "nvidia.gpu_names" in facts else None
    if names and not any(_BOARD.search(str(name)) for name in names):
        yield "host.jetson", absent(SOURCE)


def _gpus(lines: Sequence[str]) -> FactStream:
    names = {int(found[1]): found[2] for line in lines if (found := _GPU.match(line))}
    if names:
        yield "nvidia.gpu_names", present([names[number] for number in sorted(names)], SOURCE)
        yield "nvidia.gpu_count", present(len(names), SOURCE)


def _packages(lines: Sequence[str]) -> FactStream:
    """Yield the packages that the report lists.

    It lists a few dozen, so that others are unknown.
    """
    for found in filter(None, map(_LISTED.match, lines)):
        name = re.sub(r"[._-]+", "-", found[1]).lower()
        if parse(found[2].partition("+")[0]) is not None and name != "torch":
            yield f"package.{name}.version", present(found[2], SOURCE)
