"""Explain crates of Rust whose build scripts find no CUDA toolkit.

| crate | where it looks |
| --- | --- |
| find_cuda_helper (cust, optix) | CUDA_PATH, CUDA_ROOT, CUDA_TOOLKIT_ROOT_DIR |
| cuda-sys, rustacuda, tch's and others' | CUDA_LIBRARY_PATH, CUDA_PATH |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import distinct
from doctor.analyzers.recipes import LINUX, WINDOWS, code, command, fitting, variables
from doctor.model.issues import Recipe

_NO_TOOLKIT = re.compile(
    r"(?i)(?:could(?: not|n't)|can(?:not|'t)|unable to|failed to) (?:find|locate)"
    r"(?: a| the| any)? cuda(?: toolkit)?"
    r"(?: installation| sdk| path| root| librar(?:y|ies)|$|['\".])"
)
_CRATE = re.compile(r"custom build command for `(?P<name>[\w-]{1,60}) v?(?P<release>[\d.]{1,20})")


def explain(case: Case) -> Iterator[Explanation]:
    """Yield why a build script stops."""
    for event in distinct(case, "panic", most=3):
        if not _NO_TOOLKIT.search(event.objects.get("message", "")[:300]):
            continue
        above = case.log.lines[max(event.at - 40, 0) : event.at + 1]
        match = next((one for line in reversed(above) if (one := _CRATE.search(line[:400]))), None)
        crate = match["name"] if match else "A crate"
        yield explanation(
            event,
            f"{crate} finds no CUDA toolkit: it asks CUDA_PATH and the usual folders",
            "The driver alone has no compiler and no headers. The toolkit has, and its installer "
            "sets CUDA_PATH on Windows; a console that was open before does not know it yet.",
            fitting(case, (*_TOOLKIT, _WITHOUT)),
            name="toolkit-missing",
        )
        return


_TOOLKIT: tuple[Recipe, ...] = (
    command(
        "Install NVIDIA's CUDA toolkit, and build in a new console",
        *("winget", "install", "--exact", "--id", "Nvidia.CUDA"),
        use_if=(WINDOWS, "no toolkit is installed"),
        note="It is the newest one; an old crate may need the CUDA of its time (NVIDIA's CUDA "
        "Toolkit Archive).",
    ),
    Recipe(
        title="Name the toolkit that is installed",
        use_if=(WINDOWS, "a toolkit is installed"),
        steps=variables(
            "", {"CUDA_PATH": r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\<version>"}
        ).steps,
        ask={"version": "the folder of the installed toolkit, as v12.8"},
    ),
    variables(
        "Name the toolkit, after it is installed",
        {"CUDA_PATH": "/usr/local/cuda", "CUDA_ROOT": "/usr/local/cuda"},
        use_if=(LINUX,),
        note="sudo apt install nvidia-cuda-toolkit brings the one of Debian and Ubuntu, in /usr.",
    ),
)
_WITHOUT = code(
    "Leave the part for NVIDIA's GPUs out",
    "the command of cargo",
    "cargo build --release --no-default-features",
    before="cargo build --release",
    use_if=("the machine has no NVIDIA GPU",),
    note="Add the features and packages that are wanted; those for CUDA are mostly called cuda.",
)
