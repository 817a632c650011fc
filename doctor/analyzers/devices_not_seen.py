"""Explain that a runtime of Intel or Apple finds no GPU at all.

| event | what is said of it |
| --- | --- |
| dpcpp-no-device | Intel's compute driver is not there, or its device is closed to the user |
| metal-no-device | the process sees no GPU: ssh, a virtual machine, a sandbox |
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import LINUX, MACOS, by_system, command
from doctor.analyzers.texts import Text, explanation
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield that no GPU was found, once for each runtime."""
    for event in case.of("dpcpp-no-device"):
        yield from filter(None, [explanation(case, event, _DPCPP)])
        break
    # An empty array has many reasons in a program of macOS; here the list of GPUs is meant.
    if any("metal" in line.lower() or "mlx" in line.lower() for line in case.log.lines[:2000]):
        for event in case.of("metal-no-device"):
            yield from filter(None, [explanation(case, event, _METAL)])
            break


_DPCPP = Text(
    "Intel's runtime finds no GPU: the compute driver is not there, or the device is closed",
    "oneAPI asks Level Zero and OpenCL for GPUs, and neither lists one. The driver for graphics "
    "alone does not do: the compute driver (intel-level-zero-gpu or libze-intel-gpu1, "
    "intel-opencl-icd) has to be installed as well, and the user has to be in the group render.",
    (
        by_system(
            "Install Intel's compute driver",
            apt=("libze1", "libze-intel-gpu1", "intel-opencl-icd"),
            dnf=("oneapi-level-zero", "intel-level-zero", "intel-opencl"),
            use_if=(LINUX,),
            note="Ubuntu 22.04 and Debian 12 have no such packages; they come from Intel's own "
            "repository.",
        ),
        command(
            "Let this user open the GPU, then log in again",
            *("sh", "-c", 'usermod -a -G render "$SUDO_USER"'),
            sudo=True,
            use_if=(LINUX, "ls -l /dev/dri shows a renderD node of the group render"),
        ),
        command("See what oneAPI finds", "sycl-ls", look=True),
    ),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
)
_METAL = Text(
    "The process sees no GPU of this Mac",
    "Metal lists the GPUs of the machine, and the list is empty. So it is in a sandbox, in a "
    "virtual machine without a virtual GPU, in a job of CI, or in a session without a desktop. The "
    "program takes the first GPU without asking whether there is one.",
    (
        command(
            "See whether the Mac shows its GPU to this session",
            *("system_profiler", "SPDisplaysDataType"),
            use_if=(MACOS,),
            look=True,
            note="Run it in the same terminal. Then start the program from Terminal on the Mac "
            "itself, outside of a sandbox, a coding assistant or a virtual machine.",
        ),
    ),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
)
