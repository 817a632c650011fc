"""Explain why a compiler stopped: the first error counts, what follows comes from it.

| class | what the compiler says |
| --- | --- |
| language standard | `#error C++17 or later`, `'optional' is not a member of 'std'` |
| host compiler of nvcc | `unsupported GNU version`, gcc's own headers refused, `STL1002` |
| architecture | `Unsupported gpu architecture`, `Value 'sm_…' is not defined` |
| device code | `identifier "__hmul" is undefined`, a header of CUDA that another nvcc reads |
| memory | `Killed signal terminated program cc1plus`, `'cicc' died due to signal 9`, `C1060` |
| crash | `internal compiler error`, `C1001`, `'ptxas' died due to signal 11` |
| options | `unrecognized command-line option`, `Unknown option`, `D8021` |
| of the compiler | `__builtin_…`, `M_PI` with Visual C++ |
| platform | `localtime_r`, `unistd.h`, `ssize_t` with Visual C++ |
| headers and names | `X.h: No such file`, `'AT_CHECK' was not declared`, `has no member` |
| warnings | `[-Werror=…]`, `[-W…]` behind an error |
| anything else | by the file that holds the error: of torch, the toolkit, the package |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.compilers.architectures import architecture
from doctor.analyzers.compilers.builtins import builtin
from doctor.analyzers.compilers.device_names import device_name
from doctor.analyzers.compilers.hosts import host_compiler
from doctor.analyzers.compilers.names import header_or_name
from doctor.analyzers.compilers.options import option
from doctor.analyzers.compilers.places import by_place
from doctor.analyzers.compilers.refused_hosts import refused_host
from doctor.analyzers.compilers.resources import resources
from doctor.analyzers.compilers.standards import standard
from doctor.analyzers.compilers.warnings import warning
from doctor.analyzers.kernel_modules import is_module_source
from doctor.model.events import Event

_MOST = 3
_RULES: tuple[Callable[[Case, Event], Explanation | None], ...] = (
    resources,
    standard,
    refused_host,
    host_compiler,
    builtin,
    device_name,
    architecture,
    option,
    header_or_name,
    warning,
)


_OF_OPENCV = re.compile(r"error: \(-\d{1,3}[:)]")
"""A check of OpenCV, which names its own source and a number as compilers do."""
_OF_MLIR = re.compile(r"\.py$|\.(?:mlir|ttir|ttgir|llir)$")
"""Sources of kernels: the compilers of Triton and XLA report in the form of C++ compilers."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of the first error of each class."""
    first: Event | None = None
    classes: set[str] = set()
    others = {event.at for event in case.of("ptxas-lacks-gpu", "ptx-too-new", "sources-too-old")}
    for event in case.of("compile-error"):
        if event.at in others or _OF_OPENCV.search(event.text):
            continue
        if _OF_MLIR.search(event.objects.get("file", "")) or is_module_source(case, event):
            continue
        first = first or event
        found = next((one for rule in _RULES if (one := rule(case, event))), None)
        if found is None or found.detection.id in classes:
            continue
        classes.add(found.detection.id)
        yield found
        if len(classes) == _MOST:
            return
    if first is not None and not classes and (found := by_place(case, first)):
        yield found
