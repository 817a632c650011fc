"""Read the context of a log."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

from doctor.base.patterns import compile_pattern
from doctor.events.context import Context
from doctor.events.normal import LONGEST
from doctor.events.reading import events_of
from doctor.events.signs import PLACES, Sign
from doctor.events.signs_of_work import WORK
from doctor.model.events import Level
from doctor.model.facts import Fact, absent, present
from doctor.model.observation import Log

_SIGNS = (*PLACES, *WORK)
_TRIES = 300
"""Lines that are searched for one sign."""
_FOUND = 30
"""Different values of one sign."""
_LONGEST = 300
_TOOLS = frozenset(
    {"pip", "uv", "conda", "mamba", "poetry", "cargo", "rustc", "cmake", "ninja", "make", "nvcc"}
    | {"MSVC", "the C++ compiler", "the linker", "apt", "git", "Docker", "setuptools"}
)
"""Speakers of events that install or build."""
_COMPILERS = frozenset({"the C++ compiler", "nvcc", "ptxas", "MSVC", "ninja", "the linker"})
_EXAMPLE = re.compile(r"\(?\be\.g\.?[^)\n:]{1,80}\)?(?=[*_`\s]{0,4}:)")
_CREDENTIALS = re.compile(r"//[^/@\s]{1,200}@")
_UNIX = "unix"
"""What a sign says that leaves open whether it is Linux or macOS."""


class _Signs(NamedTuple):
    """The automaton for the words of all signs, and which signs each word calls."""

    automaton: Any
    called: tuple[tuple[int, ...], ...]


_SOURCE = "log"
_IDS = {"red hat": "rhel", "rocky": "rocky", "amazon": "amzn", "arch": "arch", "pop!_os": "pop"}
_MANAGERS = {
    "apt": ("ubuntu", "debian", "linux", "pop"),
    "dnf": ("fedora", "centos", "rocky", "almalinux", "rhel", "amzn", "oracle"),
    "pacman": ("arch", "manjaro"),
    "zypper": ("opensuse",),
    "apk": ("alpine",),
}
"""Which package manager each distribution has; "linux" begins the name of Linux Mint."""


class _Read(NamedTuple):
    """The log that was read last, and what was found in it."""

    log: Log
    context: Context
    values: Mapping[str, list[str]]


_last: list[_Read] = []


@lru_cache(maxsize=1)
def _signs() -> _Signs:
    import ahocorasick_rs  # only logs are read with it

    called: dict[str, list[int]] = {}
    for number, sign in enumerate(_SIGNS):
        for word in sign.words:
            called.setdefault(word, []).append(number)
    return _Signs(
        ahocorasick_rs.BytesAhoCorasick(
            [word.encode() for word in called],
            implementation=ahocorasick_rs.Implementation.ContiguousNFA,
        ),
        tuple(tuple(numbers) for numbers in called.values()),
    )


def context_of(log: Log) -> Context:
    """Return what a log shows of where it was printed.

    A thread may show several machines; what they do not have in common stays empty.
    """
    return _read(log).context


def surrounding_facts(log: Log) -> dict[str, Fact]:
    """Return the facts that the context of a log shows."""
    _, context, values = _read(log)
    shown: dict[str, Any] = {
        "host.os": context.os,
        "host.machine": context.machine,
        "host.container": next(iter(values["container"]), ""),
        "host.wsl": context.wsl,
        "host.jetson": next(iter(values["jetson"]), ""),
        "python.conda": next(iter(values["conda"]), ""),
        **_distribution_facts(context),
        **_installer_facts(context),
        **{f"{name}.gpu_present": name in context.vendors for name in ("nvidia", "amd", "intel")},
    }
    facts = {name: present(value, _SOURCE) for name, value in shown.items() if value}
    if context.vendors == ("nvidia",) and len(context.gpus) == 1 and _is_only_gpu(log, context):
        facts["nvidia.gpu_names"] = present(list(context.gpus), _SOURCE)
    if context.os in ("windows", "macos") and not context.container:
        facts["host.container"] = absent(_SOURCE)  # containers run Linux
    if context.vendors and "nvidia" not in context.vendors:
        # A log that names another vendor's GPU and none of NVIDIA's asks for no build for CUDA.
        facts["nvidia.gpu_present"] = absent(_SOURCE)
    return facts


def _is_only_gpu(log: Log, context: Context) -> bool:
    """Say whether no line names a second GPU behind the one that it names first."""
    patterns = [sign.pattern for sign in WORK if sign.about == "gpus"]
    (name,) = context.gpus
    rests = (line[:LONGEST].partition(name)[2] for line in log.lines if name in line)
    return not any(
        (found := compile_pattern(pattern).search(rest)) is not None
        and found.groups.get("value", "") not in name
        for rest in rests
        for pattern in patterns
    )


def _installer_facts(context: Context) -> dict[str, str]:
    """Return that uv installs here, where it reports and neither pip nor conda does."""
    installers = {"pip", "uv", "conda", "mamba", "poetry"} & {*context.tools}
    return {"python.installer": "uv", "python.uv": "uv"} if installers == {"uv"} else {}


def _distribution_facts(context: Context) -> dict[str, str]:
    """Return what a log shows of its distribution, and the package manager that follows from it."""
    name = context.distribution.lower()
    found = re.match(r"[a-z!_]{1,20}", name)
    if found is None or context.os not in ("linux", ""):
        return {}
    own = next((id for start, id in _IDS.items() if name.startswith(start)), found[0])
    version = re.search(r"\d[\d.]{0,8}$", name)
    manager = next((one for one, ids in _MANAGERS.items() if own in ids), "")
    return {
        "host.distribution": context.distribution,
        "host.distribution_id": own,
        "host.distribution_version": version[0] if version else "",
        "host.package_manager": manager,
    }


def _read(log: Log) -> _Read:
    if not _last or _last[0].log is not log:
        values = _values(log.lines)
        _last[:] = [_Read(log, _context(log, values), values)]
    return _last[0]


def _context(log: Log, found: Mapping[str, list[str]]) -> Context:
    events = events_of(log)
    speakers = {event.speaker for event in events}
    compiled = any(event.speaker in _COMPILERS and event.level is Level.FAILURE for event in events)
    tools = dict.fromkeys([*found["tools"], *sorted(speakers & _TOOLS)])
    distributions = _distributions(found["distribution"])
    on_linux = found["wsl"] or "apt" in speakers
    return Context(
        os=_system(found["os"])
        or ("linux" if not found["os"] and (distributions or on_linux) else ""),
        distribution=_only(distributions),
        shell=_only(found["shell"]),
        machine=_only(found["machine"]),
        container=bool(found["container"]),
        wsl=bool(found["wsl"]),
        jetson=bool(found["jetson"]),
        conda=bool(found["conda"]),
        notebook=bool(found["notebook"]),
        vendors=tuple(sorted(found["vendors"])),
        gpus=tuple(found["gpus"]),
        tools=tuple(tools),
        commands=tuple(found["commands"]),
        indexes=tuple(_addresses(found["indexes"])),
        built_from_source=compiled or bool(found["built_from_source"]),
    )


def _values(lines: Sequence[str]) -> Mapping[str, list[str]]:
    """Return the values that lines show of each field of the context, in their order."""
    signs = _signs()
    lines = [_without_example(line[:LONGEST]) for line in lines]
    encoded = [line.encode("utf-8", "replace").lower() for line in lines]
    starts = list(accumulate((len(line) + 1 for line in encoded), initial=0))
    tried = [0] * len(_SIGNS)
    last = [-1] * len(_SIGNS)
    found: dict[str, dict[str, None]] = {sign.about: {} for sign in _SIGNS}
    for word, start, _ in signs.automaton.find_matches_as_indexes(
        b"\n".join(encoded), overlapping=True
    ):
        for number in signs.called[word]:
            if tried[number] >= _TRIES:
                continue
            at = bisect_right(starts, start) - 1
            if last[number] == at:
                continue
            tried[number], last[number] = tried[number] + 1, at
            sign = _SIGNS[number]
            values = found[sign.about]
            if len(values) < _FOUND and not (sign.value and sign.value in values):
                value = _value(sign, lines[at][:LONGEST])
                if value:
                    values[value] = None
    return {about: list(values) for about, values in found.items()}


def _without_example(line: str) -> str:
    """Return a line without the example in a form's label: "OS (e.g., Ubuntu 16.04): macOS"."""
    return _EXAMPLE.sub(" ", line, count=1) if "e.g" in line else line


def _value(sign: Sign, line: str) -> str:
    match = compile_pattern(sign.pattern).search(line)
    if match is None:
        return ""
    return sign.value or match.groups.get("value", "")[:_LONGEST].strip(" .,:")


def _system(shown: Sequence[str]) -> str:
    """Return the system that all signs agree with.

    A path under /usr may be one of a Mac, and never one of Windows.
    """
    exact = set(shown) - {_UNIX}
    if len(exact) != 1:
        return "linux" if not exact and shown else ""
    (system,) = exact
    return "" if system == "windows" and _UNIX in shown else system


def _distributions(shown: Iterable[str]) -> list[str]:
    """Return distributions in one spelling: `ubuntu2204` and `Ubuntu 22.04` are one."""
    found: dict[str, None] = {}
    for text in shown:
        ubuntu = re.match(r"[Uu]buntu[- ]?(\d\d)\.?(\d\d)", text)
        found[f"Ubuntu {ubuntu[1]}.{ubuntu[2]}" if ubuntu else text] = None
    return list(found)


def _only(shown: Sequence[str]) -> str:
    """Return what is shown where it is one thing."""
    return shown[0] if len(shown) == 1 else ""


def _addresses(shown: Iterable[str]) -> list[str]:
    """Return the addresses of indexes, without credentials."""
    found = (
        _CREDENTIALS.sub("//", part.strip(" '\"`,")) for text in shown for part in text.split(", ")
    )
    return list(dict.fromkeys(one for one in found if one))
