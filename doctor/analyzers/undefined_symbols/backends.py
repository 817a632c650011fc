"""Symbols of what other vendors put beside torch: a namespace says whose a symbol is.

torch_npu exports c10_npu, at_npu and torch_npu; Ascend's CANN exports functions that begin with
acl and Hccl, and its package nnal (ATB) exports atb, AsdOps and Mki. None of them is in the data
of the wheels.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.analyzers.case import Explanation, Precision, detection
from doctor.analyzers.recipes import LINUX
from doctor.analyzers.undefined_symbols.owners import file_name, short
from doctor.base.patterns import compile_pattern
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe

_ASCEND = "/usr/local/Ascend"
_INSIDE = re.compile(r"[/\\](?:site|dist)-packages[/\\]([A-Za-z]\w{0,60})")


class _Backend(NamedTuple):
    """Whose a symbol is: how it begins, the name, its package on PyPI, and its own files."""

    begins: str
    name: str
    package: str
    own: str


_BACKENDS = (
    _Backend(r"_ZNK?(?:7c10_npu|6at_npu|9torch_npu)", "torch_npu", "torch-npu", "torch_npu"),
    _Backend(r"_ZNK?9torch_mlu", "torch_mlu", "", "torch_mlu"),
    _Backend(r"_ZNK?9torch_xla", "torch_xla", "torch-xla", "torch_xla"),
    _Backend(r"_ZNK?(?:3atb|6AsdOps|3Mki)", "ATB of nnal", "", "nnal"),
    _Backend(r"(?:acl(?:rt|nn|op|mdl|prof|dvpp)?[A-Z]|Hccl[A-Z])\w", "CANN", "", "ascend-toolkit"),
)


def of_backend(event: Event, path: str, symbols: tuple[str, ...]) -> Explanation | None:
    """Explain a symbol that another vendor's library should export; None where it is not such."""
    found = next(
        (one for one in _BACKENDS if compile_pattern(f"^(?:{one.begins})").search(symbols[0])), None
    )
    if found is None or found.own in path:
        return None
    symbol, file = short(symbols[0]), file_name(path)
    cause = (
        f"The symbol belongs to {found.name}, which pip does not install: the file is built for "
        "another release of it than is loaded, or the variables of the shell lead to another "
        "release or to the build for the other C++ ABI. Reinstallation of torch does not help."
        if found.name in _OF_ASCEND
        else f"The symbol belongs to {found.name}, and the installed release lacks it: the file "
        "was built against another one. Another Python or the same wheel again does not help."
    )
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("*/built-for-other-torch", "*/undefined-symbol*"),
        detection=detection(
            event,
            f"{file} was built for another {found.name} than is loaded, which lacks {symbol}",
            cause,
            recipes=_OF_ASCEND.get(found.name) or _of_wheels(found, path),
            name="symbol-of-another-backend",
            captures={"symbol": symbol, "symbol_file": file},
        ),
    )


def _of_wheels(found: _Backend, path: str) -> tuple[Recipe, ...]:
    """Return how a file and the plugin of torch come together: the plugin first, then the file."""
    inside = _INSIDE.search(path)
    name = inside[1] if inside else "the package of the file"
    fitting = Recipe(
        title=f"Install the {found.package} that the file was built against",
        note=f"Each release of {found.package} is for one torch, which pip installs with it; the "
        "number of a post release (2.1.0.post8) counts as well.",
        steps=(Action(install=(f"{found.package}==<release>",)),),
        ask={
            "release": f"the release that the requirements or the Dockerfile of {name} name, such "
            "as 2.3.1"
        },
    )
    rebuilt = Recipe(
        title=f"Build the file again, against the {found.name} that is installed",
        note="Delete the folder build of its sources first.",
        steps=(
            Action(
                install=("<sources>",),
                options=(
                    Option.REINSTALL,
                    Option.NO_DEPS,
                    Option.NO_CACHE,
                    Option.NO_BUILD_ISOLATION,
                ),
            ),
        ),
        ask={"sources": f"the folder with the sources of {name}"},
    )
    return (fitting, rebuilt) if found.package else (rebuilt,)


def _variables(*scripts: str) -> tuple[Action, ...]:
    return tuple(Action(run=(script,), source=True) for script in scripts)


_TOOLKIT = f"{_ASCEND}/ascend-toolkit/set_env.sh"
_IMAGE = Recipe(
    title="Take an image in which the driver's toolkit, nnal and torch_npu are of one release",
    note="Its documentation names the options for the devices (--device=/dev/davinci0 and others).",
    steps=(Action(run=("docker", "pull", "<image>")),),
    ask={
        "image": "the image of the program, such as quay.io/ascend/vllm-ascend with the tag of the "
        "release, or quay.io/ascend/cann"
    },
)
_OF_ASCEND: dict[str, tuple[Recipe, ...]] = {
    "ATB of nnal": (
        Recipe(
            title="Install the nnal of the CANN that this torch_npu is for, and take its variables",
            use_if=(LINUX,),
            note="The script looks at the C++ ABI of the installed torch, so torch and torch_npu "
            "come first. The release notes of torch_npu name its CANN; a daily build of torch_npu "
            "wants a newer one than the release before it.",
            steps=(
                Action(run=("bash", "<installer>", "--install"), sudo=True),
                *_variables(_TOOLKIT, f"{_ASCEND}/nnal/atb/set_env.sh"),
            ),
            ask={
                "installer": "the file Ascend-cann-nnal_….run from hiascend.com, of the same "
                "release as CANN"
            },
        ),
        _IMAGE,
    ),
    "CANN": (
        Recipe(
            title="Install the CANN that this torch_npu is for, and take its variables",
            use_if=(LINUX,),
            note="The release notes of torch_npu name its CANN.",
            steps=(
                Action(run=("bash", "<installer>", "--install"), sudo=True),
                *_variables(_TOOLKIT),
            ),
            ask={"installer": "the file Ascend-cann-toolkit_….run from hiascend.com"},
        ),
        _IMAGE,
    ),
}
"""By the name: a toolkit of the system, whose release the variables of the shell choose."""
