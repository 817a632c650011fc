"""Headers that are not there, and names of C++ that came or went (matrices/headers, cpp-names)."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.compilers.gone_names import (
    NEWER_SOURCES,
    explain_name,
    older_torch,
    row_of,
    sources_ahead,
)
from doctor.analyzers.compilers.own_headers import (
    SUBMODULES,
    not_compiled,
    of_sources,
    unknown_header,
)
from doctor.analyzers.compilers.standards import NEWER_GCC
from doctor.analyzers.machine import fact_text, lines_around
from doctor.analyzers.recipes import LINUX, MACOS, by_system
from doctor.base.patterns import compile_pattern
from doctor.base.versions import parse
from doctor.model.events import Event
from doctor.model.issues import Action, Condition, Recipe, Snippet
from doctor.timelines.headers import Header, header, torch_releases

_MISSING = (
    r"(?P<gcc>[\w./+-]{1,200}):\s?No such file or directory"
    r"|'(?P<clang>[\w./+-]{1,200})' file not found"
    r"|cannot open source file \"(?P<nvcc>[\w./+-]{1,200})\""
    r"|Cannot open include file"
    r": [‘'\"“](?P<cl>[\w./\\+-]{1,200})[’'\"”]"
)
_NAME = (
    r"[‘'\"](?P<plain>[\w:]{2,120})[’'\"] (?:was not declared in this scope|does not name a type"
    r"|has not been declared)"
    r"|identifier \"(?P<edg>[\w:]{2,120})\" is undefined"
    r"|(?:class|struct|namespace) \"(?P<scope>[\w:]{2,120})(?:<[^\"]{0,200})?\" has no (?:actual )?"
    r"member \"(?P<member>\w{2,120})\""
    r"|[‘'\"](?:const )?(?:class |struct )?(?P<class>[\w:]{2,120})(?:<[^’'\"]{0,200})?[’'\"] "
    r"has no member named [‘'\"](?P<of_class>\w{2,120})[’'\"]"
    r"|[‘'](?P<item>\w{2,120})[’'] is not a member of [‘'](?P<of>[\w:]{2,120})"
    r"|no (?:member|type|template) named '(?P<clang_member>\w{2,120})' in "
    r"(?:namespace )?'(?P<clang_scope>[\w:]{2,120})"
    r"|use of undeclared identifier '(?P<clang>[\w:]{2,120})'"
    r"|'(?P<cl>[\w:]{2,120})': (?:identifier not found|undeclared identifier)"
    r"|'(?P<cl_member>\w{2,120})': is not a member of '(?P<cl_scope>[\w:]{2,120})"
    r"|^(?P<template>\w{2,60}) is not a template"
)
_SCOPES = {
    "member": "scope",
    "of_class": "class",
    "item": "of",
    "clang_member": "clang_scope",
    "cl_member": "cl_scope",
}
_OF_STANDARD = {
    **dict.fromkeys(("optional", "variant", "any", "string_view"), ("17", "7")),
    **dict.fromkeys(("filesystem", "charconv", "execution"), ("17", "8")),
    **dict.fromkeys(("span", "concepts", "ranges", "bit", "numbers", "compare"), ("20", "10")),
    **dict.fromkeys(("barrier", "latch", "semaphore", "source_location"), ("20", "11")),
    **dict.fromkeys(("format", "expected"), ("20", "13")),
}
"""Headers of the C++ standard library: their standard, and the first gcc with them
(https://gcc.gnu.org/onlinedocs/libstdc++/manual/status.html)."""
_SOURCES = (".cpp", ".cc", ".c", ".cu", ".cxx", ".S", ".o", ".a", ".so", ".txt", ".py")


def header_or_name(case: Case, event: Event) -> Explanation | None:
    """Explain a header that is not there, or a name that came or went."""
    message = event.objects.get("message", "")
    if match := compile_pattern(_MISSING).search(message):
        name = next(value for value in match.groups.values() if value).replace("\\", "/")
        if name in _OF_STANDARD:
            return _standard_header(event, name)
        if "." not in name and "/" not in name:
            return None
        return _source(case, event, name) if name.endswith(_SOURCES) else _header(case, event, name)
    if match := compile_pattern(_NAME).search(message):
        groups = {key: value for key, value in match.groups.items() if value}
        for key, name in groups.items():
            if key in _SCOPES.values():
                continue
            scope = groups.get(_SCOPES.get(key, ""), "")
            if (row := row_of(name, scope)) is not None:
                return explain_name(case, event, name, row)
    return sources_ahead(case, event)


def _standard_header(event: Event, name: str) -> Explanation:
    standard, gcc = _OF_STANDARD[name]
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The C++ compiler is too old: <{name}> came with gcc {gcc}",
            f"<{name}> is a header of the C++ standard library (C++{standard}). The build takes "
            "the first compiler on PATH, or what CC and CXX name.",
            recipes=NEWER_GCC,
            name="compiler-too-old",
        ),
    )


def _source(case: Case, event: Event, name: str) -> Explanation | None:
    if event.objects.get("file"):
        return None
    if name.endswith(".o"):
        return not_compiled(event, name)
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"The build compiles {name}, and the file is not there",
            "The list of sources names a file that the folder does not have: the archive of the "
            "release was packed without it, a checkout lacks its submodules, or the command ran in "
            "another folder. The compiler and CUDA have no part in it.",
            recipes=of_sources(name, checkout=_in_place(case, event)),
            name="source-missing",
        ),
    )


_IN_PLACE = re.compile(r"\bsetup\.py\"? (?:build|develop|install)|\brunning build_ext\b")
_BY_PIP = re.compile(r"pip-(?:install|req-build|build-env)-|Building wheel|builds-v0")


def _in_place(case: Case, event: Event) -> bool:
    """Say whether somebody builds a folder with setup.py, and not pip an archive."""
    near = [line[:500] for line in lines_around(case, event, 60, 10)]
    return any(map(_IN_PLACE.search, near)) and not any(map(_BY_PIP.search, near))


def _header(case: Case, event: Event, name: str) -> Explanation:
    found = header(name)
    here = fact_text(case, "torch.release")
    if found is None:
        return unknown_header(case, event, name)
    if found.gone_from_torch:
        return _gone_header(case, event, found, here)
    row = found.row
    what = row.what if row is not None else "torch"
    means = row.means if row is not None else ""
    check = row.check if row is not None else ""
    too_new = _newer_than(found, here)
    title = (
        f"{name} came with torch {found.torch[0]}, and torch {here} is older"
        if too_new
        else f"{name} is not found: a header of {what}"
    )
    cause = " ".join(
        part
        for part in (
            means or "The compiler searched its include folders and did not find the header.",
            f"Look at: {check}" if check else "",
        )
        if part
    )
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            title,
            cause,
            recipes=_bring(found, what),
            name="header-missing",
            captures={"header": name},
        ),
    )


def _newer_than(found: Header, here: str) -> bool:
    first = parse(found.torch[0]) if found.torch else None
    installed = parse(here) if here else None
    begins = bool(found.torch) and found.torch[0] != torch_releases()[0]
    return bool(begins and first and installed and installed < first)


def _gone_header(case: Case, event: Event, found: Header, here: str) -> Explanation:
    last = found.torch[-1]
    row = found.row
    instead = (row.instead or row.check) if row is not None else ""
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"torch {last} was the last with {found.name}"
            + (f", and torch {here} is here" if here else ""),
            f"The sources are written for torch {last} or older: {found.name} is torch's own and "
            "gone, so that no package of the system brings it. "
            + (f"{instead} " if instead else "")
            + "A newer release of the package knows this torch; otherwise the sources need a "
            "change.",
            recipes=_for_gone(case, found.name, last),
            name="header-missing",
            captures={"header": found.name},
        ),
    )


def _for_gone(case: Case, name: str, last: str) -> tuple[Recipe, ...]:
    """Return what helps sources with a header that is gone.

    Where no installer speaks, they lie in a folder and can be changed.
    """
    port, older = _ported(name), older_torch(last)
    if port and not {"pip", "uv", "poetry"} & set(case.context.tools):
        return (*port, *older, NEWER_SOURCES)
    return (NEWER_SOURCES, *port, *older)


def _ported(name: str) -> tuple[Recipe, ...]:
    """Return what replaces THC in sources of one's own."""
    if not name.startswith(("THC/", "TH/")):
        return ()
    return (
        Recipe(
            title="Port the sources to ATen",
            use_if=("you can change the sources",),
            snippet=Snippet(
                where="the sources that include it",
                before="#include <THC/THC.h>\nTHCState_getCurrentStream(state)\n"
                "THCudaCheck(cudaGetLastError())",
                after="#include <ATen/cuda/CUDAContext.h>\n#include <c10/cuda/CUDAException.h>\n"
                "at::cuda::getCurrentCUDAStream()\nC10_CUDA_CHECK(cudaGetLastError())",
            ),
        ),
    )


def _in_usual_place(name: str) -> Recipe:
    return Recipe(
        title="Show every compiler the headers of the toolkit in /usr/local/cuda",
        use_if=(LINUX, f"/usr/local/cuda/include/{name} exists"),
        steps=(
            Action(
                env={
                    "CUDA_HOME": "/usr/local/cuda",
                    "CPATH": "/usr/local/cuda/include",
                    "LIBRARY_PATH": "/usr/local/cuda/lib64",
                }
            ),
        ),
        note="Start the build again in the same shell. Without that file, install a whole toolkit "
        "first (the package cuda-toolkit of NVIDIA).",
    )


_WHOLE_TOOLKIT = Recipe(
    title="Build with a whole CUDA toolkit of the release that torch was built with",
    use_if=("one is installed",),
    steps=(Action(env={"CUDA_HOME": "<toolkit>"}),),
    ask={"toolkit": "its folder, such as /usr/local/cuda-12.8"},
)


_BESIDE_TOOLKIT = ("NCCL", "cuDNN", "CUTLASS")
"""What NVIDIA's toolkit does not bring."""


def _bring(found: Header, what: str) -> tuple[Recipe, ...]:
    packages = found.row.packages if found.row is not None else None
    if packages is None:
        return ()
    recipes = []
    of_nvidia = any(name.startswith(("nvidia-", "torch")) for name in packages.pip)
    apart = found.row is not None and found.row.what in _BESIDE_TOOLKIT
    if (packages.apt or packages.dnf) and (apart or not of_nvidia):
        recipes.append(
            by_system(
                f"Install the headers of {what} with the system's package manager",
                apt=packages.apt,
                dnf=packages.dnf,
                use_if=(),
            )
        )
    if packages.brew:
        recipes.append(
            Recipe(
                title=f"Install {what} with Homebrew",
                use_if=(MACOS,),
                steps=(Action(run=("brew", "install", *packages.brew)),),
            )
        )
    if packages.conda:
        recipes.append(
            Recipe(
                title=f"Install the headers of {what} from conda-forge",
                use_if=(Condition(fact="python.conda", present=True),),
                steps=(
                    Action(
                        run=(
                            *("conda", "install", "-p", "{python.conda}", "-c", "conda-forge"),
                            packages.conda[0],
                        )
                    ),
                ),
            )
        )
    if found.row is not None and "ubmodule" in f"{found.row.means} {found.row.check}":
        recipes.insert(0, SUBMODULES)
    if of_nvidia and "torch" not in packages.pip and not apart:
        recipes = [_in_usual_place(found.name), *recipes, _WHOLE_TOOLKIT]
    return tuple(recipes)
