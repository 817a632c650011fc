"""Warnings that a compiler takes as errors: it prints the name of the switch behind the message.

`[-Wname]` behind an error is one that is an error by default, as clang 16 and GCC 14 began to have
them; `[-Werror=name]` and `[-Werror,-Wname]` come from -Werror
(https://gcc.gnu.org/gcc-14/porting_to.html, https://clang.llvm.org/docs/DiagnosticsReference.html).
"""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.checkouts import other_state
from doctor.analyzers.findings import explanation
from doctor.analyzers.machine import excerpt
from doctor.analyzers.recipes import variables
from doctor.model.events import Event

_SWITCH = re.compile(
    r"\[(?:-Werror=(?P<gcc>[a-z][\w+-]{2,60})|-Werror,-W(?P<all>[a-z][\w+-]{2,60})"
    r"|-W(?P<default>[a-z][\w+-]{2,60}))\]\s*$"
)
_LINT = re.compile(r"^(?:no-|all$|extra$|pedantic)")


def warning(case: Case, event: Event) -> Explanation | None:
    """Explain an error that a switch turns into a warning."""
    if event.speaker not in ("the C++ compiler", "nvcc"):
        return None
    match = _SWITCH.search(event.text)
    if match is None:
        return None
    name = match["gcc"] or match["all"] or match["default"]
    if _LINT.match(name):
        return None
    by_default = match["default"] is not None
    flag = f"-Wno-error={name}"
    return explanation(
        event,
        f"The compiler takes a warning as an error ({name}): "
        + excerpt(event.objects.get("message", ""), 90).partition(" [-W")[0],
        (
            "Newer compilers stop at it, older ones only warned. The sources are older than this "
            "compiler."
            if by_default
            else "The build asks for -Werror, so that each warning of a newer compiler stops it."
        ),
        (
            variables(
                "Let the compiler warn again, and build in an empty folder",
                {"CFLAGS": flag, "CXXFLAGS": flag},
                note=f"CMake and setuptools read them. For HIP and CUDA sources: "
                f'-DCMAKE_HIP_FLAGS="{flag}", or -Xcompiler {flag}. A newer release of the package '
                "needs it no longer.",
            ),
            *other_state(case)[:1],
        ),
        name="warning-as-error",
    )
