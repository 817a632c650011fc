"""Read what a pasted text says of CUDA without saying whose it is, and that torch is PyPI's.

"CUDA: 12.1" may be the driver's limit, the toolkit's release or that of torch. The tables of the
catalog know which of them is possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from doctor.base.versions import in_range
from doctor.logs.labels import labelled
from doctor.model.facts import Fact, absent, present, value_of

SOURCE = "the pasted text"
_LONGEST = 400
_LABEL = re.compile(
    r"(?:(?:installed )?cuda(?: ?(?:/|and|&) ?cudnn)?(?: toolkit)?|cudnn)(?: version)?"
    r"|execution provider library version|cuda ?版本|cuda ?/ ?cudnn ?版本"
)
_CUDA = re.compile(
    r"(?:^|\bcuda\b|cuda(?=\d))[\s:=v-]{0,6}(?:version[\s:]{0,4})?(\d{1,2}\.\d)", re.IGNORECASE
)
_CUDNN = re.compile(
    r"(?:cudnn[\s:=v-]{0,6}(?:version[\s:]{0,4})?|^[^/]{1,30}/ ?v?)(\d\d?\.\d)", re.IGNORECASE
)
_ROW = re.compile(
    r"^[\s>*•-]{0,8}(cuda|cudnn)(?: version)?[:=\s]{1,4}v?(\d{1,2}\.\d)", re.IGNORECASE
)
_OF_CONDA = re.compile(
    r"^\s{0,8}- (?:[\w-]{1,30}::)?pytorch={1,2}(\d[\d.]{2,12})(?:=\S{1,60})?\s*$"
)
_OF_PIP = re.compile(r"^\s{2,12}- torch==(\d[\d.]{2,12}(?:\+\w{1,20})?)\s*$")
_CUDNN_PACKAGE = re.compile(r"package\.nvidia-cudnn-cu\d\d\.version")
_HOME = re.compile(r"^\s{0,8}CUDA_HOME(?:\s{1,40}|\s{0,4}[:=]\s{0,4})(:?/[\w./:-]{1,200})\s{0,8}$")
_BOARD = re.compile(
    r"orin|xavier|thor\b|tegra|jetson|jetpack|nvgpu|\bnano\b|l4t|aarch64|arm64", re.IGNORECASE
)
_ASKS = re.compile(r"(?:pytorch-cuda|cudatoolkit)={1,2}(\d{1,2}\.\d)|/whl/cu(\d\d)(\d)\b")
_INSTALLED = re.compile(
    r"how (?:did )?you install(?:ed)?(?: pytorch)?.{0,40}|install(?:ed)?(?: by| with| via)?"
)
_PIP = re.compile(r"(?:using )?pip3?\b")
_LISTED = re.compile(r"^Package\s+Version\b|\bpip3? (?:list|freeze|show)\b")
_ELSEWHERE = re.compile(
    r"download\.pytorch\.org|--(?:extra-)?index-url|\bconda (?:install|list|env)|:\s{1,4}conda\b"
    r"|docker|nvcr\.io",
    re.IGNORECASE,
)
_MANY = 40
"""Packages of a list that is not cut: pip's torch brings NVIDIA's packages since 1.13."""


def unowned(lines: Sequence[str], facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return what a text names of CUDA, and whether its torch is the build that PyPI serves."""
    text = [line[:_LONGEST] for line in lines]
    found: dict[str, Fact] = {"text.source": present(SOURCE, SOURCE)}
    named: dict[str, set[str]] = {"cuda": set(), "cudnn": set()}
    for what, release in _named(text):
        named[what].add(release)
    listed = {str(value_of(facts, name)) for name in facts if _CUDNN_PACKAGE.fullmatch(name)}
    generations = {one.partition(".")[0] for one in named["cudnn"] | listed}
    if len(generations) == 1:
        found["text.cudnn_generation"] = present(generations.pop(), SOURCE)
    homes = {home[1] for line in text if (home := _HOME.match(line))}
    asked = {one[1] or f"{one[2]}.{one[3]}" for line in text for one in _ASKS.finditer(line)}
    for name, values in (
        ("cuda_home", homes),
        ("asked_cuda", asked),
        ("cuda_version", named["cuda"]),
    ):
        if len(values) == 1:
            found[f"text.{name}"] = present(values.pop(), SOURCE)
    if twice := _twice(text):
        found["text.torch_twice"] = present(twice, SOURCE)
    if not any(map(_BOARD.search, text)):
        found["host.jetson"] = absent(SOURCE)
    if _has_plain_torchvision(facts):
        found["package.torchvision.local"] = present("cpu", SOURCE)
    if value_of(facts, "nvidia.gpu_names") or value_of(facts, "nvidia.gpu_present"):
        found["text.names_gpu"] = present(True, SOURCE)
    if _is_of_pypi(text, facts):
        found["text.torch_of_pypi"] = present(True, SOURCE)
        found["package.torch.installer"] = present("pip", SOURCE)
    return found


def _twice(text: Sequence[str]) -> list[str]:
    """Return the two releases of torch that a file asks of conda and of pip, if they differ."""
    ours = {one[1] for line in text if (one := _OF_CONDA.match(line))}
    pips = {one[1] for line in text if (one := _OF_PIP.match(line))}
    alike = ours & {one.partition("+")[0] for one in pips}
    return [*ours, *pips] if len(ours) == len(pips) == 1 and not alike else []


def _named(text: Sequence[str]) -> Iterator[tuple[str, str]]:
    for label, value in labelled(text):
        if _LABEL.fullmatch(label):
            if label.startswith("cudnn"):
                if release := re.match(r"v?(\d\d?\.\d)", value):
                    yield "cudnn", release[1]
                continue
            if release := _CUDA.search(value):
                yield "cuda", release[1]
            if "cudnn" in (label + value).lower() and (release := _CUDNN.search(value)):
                yield "cudnn", release[1]
    for line in text:
        if found := _ROW.match(line):
            yield found[1].lower(), found[2]


def _has_plain_torchvision(facts: Mapping[str, Fact]) -> bool:
    """Say whether torchvision is PyPI's for Windows beside a torch from an index of PyTorch.

    PyPI's wheels for Windows are for the processor; those of the indexes name their build.
    """
    torch = str(value_of(facts, "torch.version") or "")
    torchvision = str(value_of(facts, "package.torchvision.version") or "+")
    windows = value_of(facts, "host.os") == "windows"
    return windows and "+cu" in torch and "+" not in torchvision and not _conda(facts)


def _conda(facts: Mapping[str, Fact]) -> bool:
    return bool(value_of(facts, "python.conda"))


def _is_of_pypi(text: Sequence[str], facts: Mapping[str, Fact]) -> bool:
    """Say whether pip took torch from PyPI for Linux on x86-64, as far as the text shows."""
    torch = str(value_of(facts, "torch.version") or "")
    arm = value_of(facts, "host.machine") in ("aarch64", "arm64") or value_of(facts, "host.jetson")
    linux = value_of(facts, "host.os") == "linux" or "package.triton.version" in facts
    conda = _conda(facts) or value_of(facts, "host.container")
    if not torch or "+" in torch or arm or not linux or conda:
        return False
    if any(map(_ELSEWHERE.search, text)):
        return False
    packages = [name for name in facts if name.startswith("package.")]
    bare = not any(name.startswith("package.nvidia-") for name in packages)
    if len(packages) > _MANY and bare and in_range(torch, introduced="1.13") is True:
        return False
    listed = any(map(_LISTED.search, text)) or sum("==" in line for line in text) > 1
    return listed or any(
        _INSTALLED.fullmatch(label) and _PIP.match(value.lower().strip())
        for label, value in labelled(text)
    )
