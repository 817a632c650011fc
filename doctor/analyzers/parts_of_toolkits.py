"""Explain a toolkit that lacks a part of its own, and builds that are not handed its folder.

| event | what is said of it |
| --- | --- |
| rocm-part-missing | hipcc of the distribution beside AMD's ROCm, or a ROCm without its tools |
| home-of-library-missing | the option of ONNX Runtime's build that is missing, with the folder |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import LINUX, code, command
from doctor.model.events import Event
from doctor.model.facts import value_of

_INVALID = re.compile(r"(?P<name>\w{3,20}_home)='(?P<folder>[^']{0,200})' valid=False")
_HOMES = {
    "cuda_home": "/usr/local/cuda",
    "cudnn_home": "/usr/lib/x86_64-linux-gnu",
    "tensorrt_home": "/usr/lib/x86_64-linux-gnu",
    "rocm_home": "/opt/rocm",
    "openvino_home": "/opt/intel/openvino",
    "qnn_home": "/opt/qcom/aistack/qairt",
}
"""Where the packages of each product put it, on Ubuntu."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of the first event of each kind."""
    for kind, rule in (("rocm-part-missing", _rocm), ("home-of-library-missing", _home)):
        if (event := next(case.of(kind), None)) is not None:
            yield rule(case, event)


def _rocm(case: Case, event: Event) -> Explanation:
    wsl = bool(value_of(case.facts, "host.wsl")) or case.context.wsl
    usecase = "--usecase=wsl,rocm" if wsl else "--usecase=rocm"
    distribution = any("/usr/bin//hipcc" in line for line in case.log.lines[:4000])
    return explanation(
        event,
        f"ROCm is not whole: {event.objects['file'][:120]} is missing",
        (
            "hipcc in /usr/bin is the distribution's, and it looks for AMD's ROCm in /opt/rocm. "
            if distribution
            else "A program of ROCm calls it and does not find it. "
        )
        + "Packages of the distribution and of AMD exclude each other, and a part of the latter "
        "was left out or removed.",
        (
            command(
                "Install AMD's ROCm whole",
                *("amdgpu-install", "-y", usecase, "--no-dkms"),
                sudo=True,
                use_if=(LINUX, "the package amdgpu-install of AMD is installed"),
                note="Take the distribution's hipcc away afterwards, where /usr/bin/hipcc is not "
                "AMD's. "
                + (
                    "AMD's guide for the Radeon under WSL names the release and its torch."
                    if wsl
                    else "--no-dkms leaves the driver's module as it is."
                ),
            ),
            command(
                "See which packages bring hipcc and the other tools",
                "sh",
                "-c",
                "dpkg -S /usr/bin/hipcc /opt/rocm/bin/* 2>&1 | head -20",
                use_if=(LINUX,),
                look=True,
            ),
        ),
        name="rocm-not-whole",
    )


def _home(case: Case, event: Event) -> Explanation:
    below = case.log.lines[event.at : event.at + 4]
    invalid = [match["name"] for line in below for match in _INVALID.finditer(line[:1000])]
    named = [one for one in (event.objects.get("one"), event.objects.get("two")) if one]
    names = [one for one in invalid or named if one in _HOMES]
    option = " ".join(f"--{one} {_HOMES[one]}" for one in names)
    return explanation(
        event,
        f"The build wants the folder of {' and '.join(one[:-5] for one in names)}"
        f" ({', '.join('--' + one for one in names)})",
        "Each library has an option of its own, since they are installed apart; a folder without "
        "the headers counts as missing.",
        (
            code(
                "Add what is missing to the command",
                "the call of build.sh or build.bat",
                option,
                note="These are the folders of NVIDIA's packages on Ubuntu. From an archive of "
                "cuDNN it is the folder that holds include and lib; on Windows the toolkit's own "
                "folder where cuDNN was copied into it.",
            ),
        ),
        name="home-of-library-missing",
    )
