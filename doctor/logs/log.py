"""Find in a log the facts of its machine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from doctor.base.literals import required_literals
from doctor.events.surroundings import surrounding_facts
from doctor.logs.environment import environment_facts
from doctor.logs.interpreters import interpreter_of
from doctor.logs.pythons import python_of
from doctor.logs.stated import Stated, built_for, releases
from doctor.model.facts import Fact, present
from doctor.model.observation import Log

_PREFIX = re.compile(
    r"^(?:\d{4}-\d\d-\d\dT[\d:.]{8,20}Z? ?|\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,\d]{0,8}\]? ?"
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d{1,6})?\]? "
    r"|#\d{1,4} \d{1,5}\.\d{1,4} |[\w.-]{1,40}\s{1,8}\| |(?:> ?){1,4})"
)
_TELLS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        r"NVIDIA-SMI\s+[\d.]{1,16}\s+Driver Version:\s+([\d.]{1,16})\s+CUDA Version:\s+(\d+\.\d+)",
        ("nvidia.driver_version", "nvidia.cuda_version"),
    ),
    (
        r"Cuda compilation tools, release (\d+\.\d+), V(\d[\d.]{1,12})",
        ("cuda.version", "cuda.nvcc_version"),
    ),
    (
        (
            r"detected CUDA version \((\d+\.\d+)\) mismatches the version that was used to "
            r"compile\s*PyTorch \((\d+\.\d+)\)"
        ),
        ("cuda.version", "torch.cuda_version"),
    ),
    (r"\btorch\.__version__\s{0,4}[=:]{1,2}\s{0,4}['\"]?(\d[\w.+]{2,40})", ("torch.version",)),
    (
        # Not Intel's extension for PyTorch, whose release is its own.
        (
            r"(?:\A|\n|[^r\n][ \t>*`-]|\n[ \t>*`-])[Pp]y[Tt]orch version(?: \(GPU\?\))?: "
            r"(\d[\w.+]{2,40})"
        ),
        ("torch.version",),
    ),
    (r"PyTorch \S{1,40} with CUDA \S{1,12} \(you have (\d[\w.+]{2,40})\)", ("torch.version",)),
    (
        r"incompatible torch version (\d[\w.+]{2,40}) for torchao version (\d[\w.+]{2,40})",
        ("torch.version", "package.torchao.version"),
    ),
    (r"\bbut you have torch (\d[\w.+]{2,40}) which is", ("torch.version",)),
    (r"[/\\]torch-(\d[\w.+]{2,40})\.dist-info", ("torch.version",)),
    (r"\bxformers version: (\d[\w.+]{2,40})", ("package.xformers.version",)),
    (r"`?transformers`? version: (\d[\w.+]{2,40})", ("package.transformers.version",)),
    (r"\bvLLM (?:API server )?version:? v?(\d[\w.+]{2,40})", ("package.vllm.version",)),
    (r"LLM engine \(v(\d[\w.+]{2,40})\)", ("package.vllm.version",)),
    (r"[/\\]python(3\.\d{1,2})[/\\](?:site|dist)-packages", ("python.minor",)),
    (r"\bPython (?:version: )?(3\.\d{1,2}\.\d{1,2})\b", ("python.version",)),
    (r"\bgcc \([^)\n]{1,60}\) (\d+\.\d+\.\d+)", ("compiler.cxx_version",)),
    (
        r"\bflash_attn-(\d[\w.]{2,20})\+cu\d{2,3}torch(\d+\.\d+)cxx11abi(TRUE|FALSE)-cp",
        (
            "package.flash-attn.version",
            "package.flash-attn.wheel_torch",
            "package.flash-attn.wheel_abi",
        ),
    ),
    (r"\brustc (\d+\.\d+\.\d+) \(", ("rust.rustc",)),
    (r"(?:Compiling|Checking) candle-core v(\d[\w.-]{1,20})", ("crate.candle-core.version",)),
    (
        r"(?:Compiling|Checking) candle-flash-attn v(\d[\w.-]{1,20})",
        ("crate.candle-flash-attn.version",),
    ),
    (r"(?:Compiling|Checking) cudarc v(\d[\w.-]{1,20})", ("crate.cudarc.version",)),
)
_CAPABILITY = re.compile(
    r"(?:with CUDA capability sm_(?=\d{2,3} is not compatible)"
    r"|\bttg?\.target = \"cuda:(?=\d{2,3}\")"
    r"|which is of (?:cuda|compute) capability(?: \(CC\))? )(\d{1,2}?)\.?(\d)\b"
)
_ARCHS = re.compile(
    r"PyTorch install(?:ation)? supports CUDA capabilities ((?:(?:sm|compute)_\d{2,3}[af]? "
    r"?){1,40})"
)
_GPU = re.compile(
    r"(?:^\|\s{1,6}\d{1,2}\s{1,4}|\bGPU \d{1,2}: |\bDevice: cuda:\d{1,2} )(NVIDIA "
    r"[A-Za-z][\w -]{2,40}?)(?: ?\.\.\.|\s{2}| \(| : |$)"
)
_OF_BUILD = re.compile(r"(?:pip-build-env-|builds-v0)[^\s\"']{1,200}[/\\]torch[/\\]")
_LONGEST = 2000

WORDS = frozenset(
    [
        "with CUDA capability sm_",
        '.target = "cuda:',
        "supports CUDA capabilities ",
        *(text for pattern, _ in _TELLS for text in required_literals(pattern)),
    ]
)
"""What the lines hold that a log's facts are read from."""


def without_prefixes(lines: Sequence[str]) -> tuple[str, ...]:
    """Strip the prefixes that CI systems, containers and quotations put before lines.

    Line numbers stay.
    """
    return tuple(_PREFIX.sub("", line, count=1) for line in lines)


def log_facts(log: Log) -> dict[str, Fact]:
    """Return what a log tells of its machine.

    Where it tells two values of one thing, it tells nothing of it.
    """
    lines = log.lines
    text = "\n".join(line[:_LONGEST] for line in lines)
    facts = {
        name: _only(log, text, values)
        for name, values in _versions_in(text).items()
        if len(values) == 1
    }
    capabilities = sorted(
        {
            f"{found[1]}.{found[2]}"
            for line in lines
            for found in _CAPABILITY.finditer(line[:_LONGEST])
        }
    )
    if capabilities:
        facts["nvidia.capabilities"] = present(capabilities, "log")
    archs = {
        tuple(found[1].split()) for line in lines for found in _ARCHS.finditer(line[:_LONGEST])
    }
    if len(archs) == 1:
        facts |= {
            "torch.arch_list": present(list(archs.pop()), "log"),
            "torch.build": present("cuda", "log"),
        }
    if names := list(
        dict.fromkeys(
            found[1].strip()
            for line in lines
            if "NVIDIA " in line
            for found in _GPU.finditer(line[:_LONGEST])
        )
    ):
        facts["nvidia.gpu_names"] = present(names, "log")
    facts = {**surrounding_facts(log), **facts}
    if {"cuda.version", "torch.cuda_version"} <= facts.keys() and facts[
        "cuda.version"
    ].source == facts["torch.cuda_version"].source:
        # Both stand in torch's own sentence about a build that has just been tried with this
        # toolkit.
        facts |= {"torch.build": present("cuda", "log"), "cuda.selected": present(True, "log")}
    facts = {**_stated(log, text), **facts}
    if _OF_BUILD.search(text) and "torch.__version__" in text:
        # pip's own build environment holds another torch, and its build script prints that one.
        for name in ("torch.version", "torch.build", "torch.cuda_version"):
            facts.pop(name, None)
    return {**build_in_release(facts), **facts} | environment_facts(lines)


def build_in_release(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return the build of torch that its release ends in, `+cpu` or `+cu126`."""
    torch = facts.get("torch.version")
    if torch is None:
        return {}
    build, cuda = built_for(Stated("torch", str(torch.value), "", 0))
    named = {"torch.build": build, "torch.cuda_version": cuda}
    return {name: present(value, torch.source) for name, value in named.items() if value}


def _stated(log: Log, text: str) -> dict[str, Fact]:
    """Return the releases of packages and of Python that a log shows in any form."""
    facts: dict[str, Fact] = {}
    for name, one in releases(log.lines).items():
        source = f"log, line {log.number(one.at)}"
        fact = "torch.version" if name == "torch" else f"package.{name}.version"
        facts[fact] = present(one.release, source)
        if name == "torch":
            build, cuda = built_for(one)
            if build:
                facts["torch.build"] = present(build, source)
            if cuda:
                facts["torch.cuda_version"] = present(cuda, source)
    if path := interpreter_of(log.lines, text):
        facts["python.executable"] = present(path, "log")
    if python := python_of(text):
        facts["python.minor"] = present(python, "log")
        facts["python.version"] = present(python, "log")
    return facts


def _only(log: Log, text: str, values: dict[str, int]) -> Fact:
    ((value, start),) = values.items()
    return present(
        {"TRUE": True, "FALSE": False}.get(value, value),
        f"log, line {log.number(text.count(chr(10), 0, start))}",
    )


def _versions_in(text: str) -> dict[str, dict[str, int]]:
    """Return the values that a text tells of each thing, two at most, with the place of each.

    A sentence may go on in the next line.
    """
    seen: dict[str, dict[str, int]] = {}
    for pattern, names in _TELLS:
        for found in (
            re.finditer(pattern, text)
            if any(word in text for word in required_literals(pattern))
            else ()
        ):
            for name, value in zip(names, found.groups(), strict=True):
                values = seen.setdefault(name, {})
                if len(values) < 2:
                    values.setdefault(value, found.start())
    return seen
