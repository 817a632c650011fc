"""Deduce what a pasted environment implies: the build of torch, WSL 1, a Python under Rosetta."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from doctor.base.versions import in_range, minor, public
from doctor.logs.built_beside import built_beside
from doctor.logs.labels import labelled
from doctor.logs.listed_requirements import SOURCE as _SOURCE
from doctor.logs.listed_requirements import compared_requirements
from doctor.logs.unowned import unowned
from doctor.model.facts import Fact, State, absent, present, value_of

_LONGEST = 400
_OF_CUDA = re.compile(r"package\.nvidia-(cuda-runtime|cublas)-cu\d{2}\.version")
_KERNEL = re.compile(r"\bLinux-(\d[\w.]{2,20}-\d{1,6}-Microsoft)-", re.IGNORECASE)
_AVAILABLE = re.compile(
    r"(?:cuda\.is_available\(\)|cuda[ _](?:is[ _])?available)\W{1,8}(?P<same>True|False)\b"
    r"|cuda\.is_available\(\)",
    re.IGNORECASE,
)
_ANSWER = re.compile(r"^\W{0,6}(True|False)\W{0,3}$")
_JAX = re.compile(r"\bjax\.devices(?:\(\))?\W.{0,60}\[\W{0,2}(CpuDevice|TFRT_CPU)")
_PIP_LIST = re.compile(r"^Package\s+Version\b|\bpip3? (?:list|freeze|show)\b")
_TORCH_ROW = re.compile(r"^torch(?:==|\s+)\d[\d.]{2,12}\s*$")
_EXPRESSION = re.compile(r"torch\.version\.cuda\W{0,4}$")
_CUDA = re.compile(r"^\W{0,2}(\d{1,2}\.\d{1,2}|None)\W{0,2}$")
_NO_RUNTIME = re.compile(r"^\W{0,4}No CUDA runtime is found, using CUDA_HOME")
_DRIVER = re.compile(
    r"\bdriver(?: version)?(?: is)?[ :=]{1,3}v?(\d{3}\.\d{2,3}(?:\.\d{2})?)\b", re.IGNORECASE
)
_SHORT = 60
_NVIDIA = re.compile(
    r"\b(?:(?:NVIDIA )?(?:GeForce )?[RG]TX [1-9]\d{2,3}(?: ?Ti\b)?(?: SUPER\b)?(?! Ada)"
    r"|(?:NVIDIA |Tesla )(?:[AHV][12]00|B200|T4|L40?S?|P100|K80))(?![\w-])",
    re.IGNORECASE,
)
_APPLE = re.compile(r"\bApple M\d\b")
_INTEL = re.compile(r"\bmacOS-[\d.]{2,8}-x86_64|\bosx-64\b|\bPython \d.{0,40}\bx86_64\b")
_CARD = re.compile(
    r"\b(?:(?:RX|AMD) (90[67])\d|(?:RX|AMD) (\d\d)\d\d|(MI\d)\d\d?[05][XA]?)(?:XTX?|GRE)?\b"
)
_CARDS = {
    "68": "gfx1030",
    "69": "gfx1030",
    "67": "gfx1031",
    "66": "gfx1032",
    "65": "gfx1032",
    "79": "gfx1100",
    "78": "gfx1101",
    "77": "gfx1101",
    "76": "gfx1102",
    "MI1": "gfx908",
    "MI2": "gfx90a",
    "MI3": "gfx942",
    "907": "gfx1201",
    "906": "gfx1200",
}
"""Chips by the beginning of a card's number (AMD's table of GPU specifications)."""
_OF_PROCESSORS = frozenset(
    {"gfx902", "gfx909", "gfx90c", "gfx1013", "gfx1033", "gfx1035", "gfx1036", "gfx1037"}
    | {"gfx1103", "gfx1150", "gfx1151", "gfx1152"}
)
_CARD_LABELS = frozenset({"gpu", "gpus", "显卡", "graphics card", "video card"})
_CHIP = re.compile(r"\b(gfx\d{3,4}[a-f]?)\b")
_ARCHITECTURES = re.compile(r"\[(['\"]?gfx\w{2,8}['\"]?,[\w'\", :+-]{4,600})\]")
"""What `torch.cuda.get_arch_list()` prints: the chips that torch has code for, and no cards."""
_VARIABLES_SHOWN = re.compile(r"\b(?:env|printenv|set)\s?\|\s?e?grep\b.{0,40}\bhsa", re.IGNORECASE)
"""A command that prints each variable of AMD's runtime; what it does not print is not set."""
_OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"


def implied(lines: Sequence[str], facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return the facts that a description implies and does not state in so many words."""
    text = [line[:_LONGEST] for line in lines]
    found = {
        **_console(text),
        **_wheel(text, facts),
        **_cuda_of_packages(facts),
        **_driver(text),
        **_card(text, facts),
        **_kernel(text),
        **_availability(text),
        **_jax(text, facts),
        **_amd(text, {**facts, **_amd_present(text, facts)}),
        **_rosetta(text),
        **_linux(facts),
    }
    found = {name: fact for name, fact in found.items() if not _is_known(name, facts)}
    named = unowned(lines, {**facts, **found})
    found |= {name: fact for name, fact in named.items() if not _is_known(name, facts)}
    beside = built_beside(text, {**facts, **found})
    found |= {name: fact for name, fact in beside.items() if not _is_known(name, facts)}
    return found | compared_requirements({**facts, **found})


def _is_known(name: str, facts: Mapping[str, Fact]) -> bool:
    return name in facts and facts[name].state is not State.UNKNOWN


def _console(text: Sequence[str]) -> dict[str, Fact]:
    """Read what a console of Python printed below `torch.version.cuda`."""
    values = {
        found[1]
        for line, after in itertools.pairwise(text)
        if _EXPRESSION.search(line) and (found := _CUDA.match(after))
    }
    if len(values) != 1:
        return {}
    cuda = values.pop()
    if cuda == "None":
        return {"torch.cuda_version": absent(_SOURCE)}
    return {
        "torch.cuda_version": present(cuda, _SOURCE),
        "torch.build": present("cuda", _SOURCE),
    }


def _wheel(text: Sequence[str], facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Say that pip installed torch, and which build PyPI has for Windows: that for the processor.

    A list of pip shows the suffix of every wheel from an index of PyTorch.
    """
    listed = any(map(_PIP_LIST.search, text)) or sum("==" in line for line in text) > 1
    torch = str(value_of(facts, "torch.version") or "")
    if not torch or not listed or value_of(facts, "python.conda"):
        return {}
    found = {"package.torch.installer": present("pip", _SOURCE)}
    plain = any(map(_TORCH_ROW.match, text)) and "+" not in torch
    if (
        plain
        and value_of(facts, "host.os") == "windows"
        and not value_of(facts, "torch.cuda_version")
    ):
        found["torch.build"] = present("cpu", _SOURCE)
    return found


def _cuda_of_packages(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Take torch for a build for CUDA where the packages stand beside it that PyPI's requires.

    Its wheels for Linux without a suffix are builds for CUDA, and require NVIDIA's packages since
    torch 1.13. The builds for the processor and for ROCm name themselves behind a plus.
    """
    torch = value_of(facts, "torch.version")
    if torch is None or "+" in str(torch):
        return {}
    releases = {
        found[1]: str(value_of(facts, name))
        for name in facts
        if (found := _OF_CUDA.fullmatch(name)) and value_of(facts, name)
    }
    if not releases:
        return {}
    built = {"torch.build": present("cuda", _SOURCE)}
    if "cuda-runtime" in releases:  # cuBLAS has numbers of its own since CUDA 11
        built["torch.cuda_version"] = present(minor(releases["cuda-runtime"]), _SOURCE)
    return built


def _driver(text: Sequence[str]) -> dict[str, Fact]:
    """Read the driver that a sentence, or a value about something else, names beside it."""
    names = {found[1] for line in text for found in _DRIVER.finditer(line)}
    return {"nvidia.driver_version": present(names.pop(), _SOURCE)} if len(names) == 1 else {}


def _card(text: Sequence[str], facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Read the only GeForce or data centre card that a short text names, wherever it stands."""
    if len(text) > _SHORT or value_of(facts, "amd.gpu_present"):
        return {}
    names = {" ".join(found[0].split()) for line in text for found in _NVIDIA.finditer(line)}
    return {"nvidia.gpu_names": present([names.pop()], _SOURCE)} if len(names) == 1 else {}


def _kernel(text: Sequence[str]) -> dict[str, Fact]:
    """Read the kernel of WSL from Python's `platform.platform()`."""
    names = {found[1] for line in text if (found := _KERNEL.search(line))}
    return {"host.kernel": present(names.pop(), _SOURCE)} if len(names) == 1 else {}


def _availability(text: Sequence[str]) -> dict[str, Fact]:
    """Read what `torch.cuda.is_available()` answered, in the same line or in the next."""
    said = set()
    for number, line in enumerate(text):
        if found := _AVAILABLE.search(line):
            answer = found["same"] or ""
            if not answer and number + 1 < len(text) and (own := _ANSWER.match(text[number + 1])):
                answer = own[1]
            said.add(answer.lower())
    said.discard("")
    if not said and any(map(_NO_RUNTIME.search, text)):
        # torch.utils.cpp_extension writes it where a toolkit is there, and no GPU in reach.
        return {
            "torch.cuda_available": present(False, _SOURCE),
            "torch.no_runtime_in_report": present(True, _SOURCE),
        }
    if len(said) != 1:
        return {}
    return {"torch.cuda_available": present(said.pop() == "true", _SOURCE)}


def _jax(text: Sequence[str], facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Read that JAX lists the processor alone."""
    if value_of(facts, "package.jaxlib.version") is None or not any(map(_JAX.search, text)):
        return {}
    return {"jax.devices": present(["cpu:0"], _SOURCE)}


def _linux(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Read the system from NVIDIA's NCCL, which PyPI has for Linux alone.

    Up to 2.8 torch asks for it on x86-64 alone.
    """
    if value_of(facts, "package.nvidia-nccl-cu12.version") is None:
        return {}
    torch = str(value_of(facts, "torch.version") or "")
    intel = bool(torch) and in_range(public(torch), introduced=None, fixed="2.9") is True
    machine = {"host.machine": present("x86_64", _SOURCE)} if intel else {}
    return {"host.os": present("linux", _SOURCE), **machine}


def _rosetta(text: Sequence[str]) -> dict[str, Fact]:
    """Read that a Python for Intel runs on a Mac with an Apple chip."""
    apple = any(map(_APPLE.search, text))
    if not apple or not any(map(_INTEL.search, text)):
        return {}
    return {
        "host.os": present("macos", _SOURCE),
        "host.machine": present("x86_64", _SOURCE),
        "host.rosetta": present(True, _SOURCE),
    }


def _amd_present(text: Sequence[str], facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Read that a label names a card of AMD by its number, without its family."""
    cards = any(
        label in _CARD_LABELS and value.startswith("AMD ") and _CARD.search(value)
        for label, value in labelled(text)
    )
    known = _is_known("amd.gpu_present", facts)
    return {} if known or not cards else {"amd.gpu_present": present(True, _SOURCE)}


def _amd(text: Sequence[str], facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Read the cards of a machine that shows AMD's GPUs and none of NVIDIA's.

    The graphics of a processor is no reason for a build for ROCm.
    """
    if value_of(facts, "amd.gpu_present") is not True or value_of(facts, "nvidia.gpu_present"):
        return {}
    compiled = [found[1] for line in text if (found := _ARCHITECTURES.search(line))]
    text = [_ARCHITECTURES.sub("", line) for line in text]
    cards = (next(filter(None, one)) for line in text for one in _CARD.findall(line))
    chips = dict.fromkeys(
        chip
        for chip in (
            *(found for line in text for found in _CHIP.findall(line)),
            *(_CARDS[card] for card in cards if card in _CARDS),
        )
        if chip not in _OF_PROCESSORS
    )
    gpus = {"amd.gpus": present([{"gfx": chip} for chip in chips], _SOURCE)} if chips else {}
    return {
        "amd.gpu_present": present(True, _SOURCE),
        "nvidia.gpu_present": absent(_SOURCE),
        **gpus,
        **_no_override(text),
        **_of_torch(compiled),
    }


def _of_torch(compiled: Sequence[str]) -> dict[str, Fact]:
    """Read what torch is built for, where a text shows one such list."""
    if len(set(compiled)) != 1:
        return {}
    chips = re.findall(r"gfx[\w-]+", compiled[0])
    return {"torch.arch_list": present(chips, _SOURCE), "torch.build": present("rocm", _SOURCE)}


def _no_override(text: Sequence[str]) -> dict[str, Fact]:
    """Read that no variable gives the GPU another name, where a text shows all of them."""
    shown = any(map(_VARIABLES_SHOWN.search, text)) and not any(_OVERRIDE in one for one in text)
    return {f"env.{_OVERRIDE}": absent(_SOURCE)} if shown else {}
