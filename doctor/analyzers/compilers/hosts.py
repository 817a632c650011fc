"""nvcc and the host compiler behind it: nvcc reads its headers, so it has to know its release."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.machine import fact_text, lines_around, table_rows, toolkit_of
from doctor.analyzers.recipes import LINUX, WINDOWS
from doctor.base.patterns import compile_pattern
from doctor.base.versions import parse
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_REFUSED = (
    r"unsupported (?P<kind>GNU|clang) version! (?:gcc|clang) versions? (?:later than|must be less "
    r"than) (?P<most>\d{1,2})"
)
_MSVC = (
    r"unsupported Microsoft Visual Studio version! Only the versions between (?P<least>20\d\d) and "
    r"(?P<most>20\d\d)"
)
_STL = r"STL1002: Unexpected compiler version, expected CUDA (?P<wanted>\d{1,2}\.\d) or newer"
_STL_HOST = (
    r"STL1\d{3}: Unexpected compiler version, expected "
    r"(?P<wanted>MSVC [\d.]{3,8}|Clang \d{1,2}) or newer"
)
_HEADER = re.compile(
    r"(?:/usr/(?:local/)?(?:include/c\+\+|lib/gcc/[\w-]{1,40})/(?P<release>\d{1,2})(?:\.[\d.]{1,8})?/"
    r"|/(?:include/c\+\+|lib/gcc/[\w-]{1,60})/(?P<other>\d{1,2})(?:\.[\d.]{1,8})?/)"
)
_MISREAD = re.compile(
    r"parameter packs not expanded|wrong number of template arguments|not a return-statement"
)
"""What gcc says of its own headers after an nvcc that does not know them has rewritten them."""
_LIBC = re.compile(
    r"/usr/include/(?:[\w-]{1,40}-gnu/)?(?:bits|sys)/|/usr/include/(?:stdlib|math)\.h"
)
_VC = re.compile(r"[/\\]VC[/\\]Tools[/\\]MSVC[/\\](?P<release>14\.\d\d)")
_UNKNOWN = (
    r"is undefined|parameter packs not expanded with|type name is not allowed|expected an? "
    r"|attribute|not recognized|user-defined literal|invalid"
)


def host_compiler(case: Case, event: Event) -> Explanation | None:
    """Explain why nvcc and the host compiler do not go together."""
    message = event.objects.get("message", "")
    if match := compile_pattern(_REFUSED).search(message):
        return _refused(case, event, match.groups["kind"], match.groups["most"])
    if match := compile_pattern(_MSVC).search(message):
        return _visual_studio(event, match.groups["least"], match.groups["most"])
    if match := compile_pattern(_STL).search(message):
        return _stl(case, event, match.groups["wanted"])
    if match := compile_pattern(_STL_HOST).search(message):
        return _old_visual_studio(event, match.groups["wanted"])
    file = event.objects.get("file", "")
    if "_M_set_sharable" in message and "without object" in message:
        return _copied_strings(case, event)
    reads = event.speaker == "nvcc" and compile_pattern(_UNKNOWN).search(message)
    if not reads and not _MISREAD.search(message):
        return None
    if (found := _HEADER.search(file)) or _LIBC.search(file):
        return _headers(case, event, (found["release"] or found["other"]) if found else "")
    return None


def _copied_strings(case: Case, event: Event) -> Explanation:
    """Explain the fault of nvcc 10.0 and 10.1.105 with the strings of the old C++ ABI.

    It breaks basic_string.tcc of each gcc; NVIDIA mended it in update 1 of CUDA 10.1.
    """
    toolkit = toolkit_of(case, event)
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("cuda/extension-compile-failed",),
        detection=detection(
            event,
            f"A fault of nvcc{f' of CUDA {toolkit}' if toolkit else ' 10.0 and 10.1.105'}: it "
            "cannot read gcc's basic_string.tcc (_M_set_sharable)",
            "Neither the package nor gcc is to blame. CUDA 10.1 Update 1 (10.1.168) and later can "
            "read the header.",
            recipes=(newer_toolkit("10.2"),),
            name="host-compiler-too-new",
        ),
    )


def _refused(case: Case, event: Event, kind: str, most: str) -> Explanation:
    name = "gcc" if kind == "GNU" else "clang"
    toolkit = toolkit_of(case, event)
    here = _host_release(case, event, name)
    title = (
        f"nvcc{f' of CUDA {toolkit}' if toolkit else ''} refuses {name}"
        f"{f' {here}' if here else ''}: it takes {name} up to {most}"
    )
    later = _toolkit_for(case, name, here) if here else ""
    cause = (
        f"nvcc compiles the host part with {name} and reads its headers, so each CUDA release has "
        f"a newest {name}. "
        + (f"CUDA {later} is the first that takes {name} {here}." if later else "")
    ).strip()
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            title,
            cause,
            recipes=older(name, most),
            name="host-compiler-too-new",
            captures={"most": most},
        ),
    )


def older(name: str, most: str) -> tuple[Recipe, ...]:
    """Return the recipes for an older host compiler."""
    program = "g++" if name == "gcc" else "clang++"
    package = f"{program}-{most}" if name == "gcc" else f"clang-{most}"
    return (
        Recipe(
            title=f"Have nvcc take {program}-{most}",
            use_if=(f"{program}-{most} is installed", LINUX),
            steps=(Action(env={"NVCC_PREPEND_FLAGS": f"-ccbin {program}-{most}"}),),
        ),
        Recipe(
            title="Install that compiler first, then build with it",
            use_if=(LINUX, "the distribution still has this release"),
            steps=(
                Action(system={"apt": (package,)}),
                Action(env={"NVCC_PREPEND_FLAGS": f"-ccbin {program}-{most}"}),
            ),
        ),
    )


def newer_toolkit(later: str) -> Recipe:
    """Return the recipe for a toolkit that reads the headers of this system."""
    which = f"CUDA {later} or newer" if later else "a CUDA release as new as this system"
    return Recipe(
        title=f"Build with {which}",
        use_if=(LINUX,),
        steps=(Action(env={"CUDA_HOME": "<toolkit>", "CUDACXX": "<toolkit>/bin/nvcc"}),),
        ask={"toolkit": f"the folder of {which}, such as /usr/local/cuda-{later or '12.8'}"},
        note="An nvcc in /usr/bin is the distribution's own, and mostly old. NVIDIA's packages put "
        "theirs below /usr/local.",
    )


def _host_release(case: Case, event: Event, name: str) -> str:
    for line in lines_around(case, event, 40, 40):
        if name == "gcc" and (found := _HEADER.search(line)):
            return found["release"] or found["other"] or ""
    if fact_text(case, "compiler.cuda_host_kind") == name:
        return fact_text(case, "compiler.cuda_host_major")
    return ""


def _toolkit_for(case: Case, name: str, release: str) -> str:
    """Return the first CUDA release whose nvcc takes this release of a host compiler.

    Empty for an older one than the table begins with: an earlier toolkit may take it as well.
    """
    for number, row in enumerate(table_rows(case.catalog, f"cuda-{name}")):
        newest = str(row.get("newest", ""))
        if newest.isdigit() and release.isdigit() and int(newest) >= int(release):
            return str(row.get("cuda", "")) if number else ""
    return ""


def newest_for(case: Case, name: str, toolkit: str) -> str:
    """Return the newest release of a host compiler that a toolkit takes; empty if unknown."""
    for row in table_rows(case.catalog, f"cuda-{name}"):
        if row.get("cuda") == toolkit:
            return str(row.get("newest", ""))
    return ""


def _headers(case: Case, event: Event, release: str) -> Explanation | None:
    toolkit = toolkit_of(case, event)
    release = release or _host_release(case, event, "gcc")
    newest = newest_for(case, "gcc", toolkit)
    accepted = release and newest and int(release) <= int(newest)
    if accepted and "_Float" not in event.text:
        return None  # then the error is another one
    what = f"gcc {release}" if release else "this system (glibc or gcc)"
    known_toolkit = f"nvcc of CUDA {toolkit}" if toolkit else "This nvcc"
    later = _toolkit_for(case, "gcc", release) if release else ""
    title = f"{known_toolkit} cannot read the headers of {what}"
    cause = (
        "The error stands in a header of the host compiler or of the C library, not in the sources "
        "of the package: they use what this nvcc does not know yet. "
        + (f"It takes gcc up to {newest}. " if newest else "")
        + (f"CUDA {later} is the first that takes gcc {release}." if later else "")
    ).strip()
    recipes = (*(older("gcc", newest) if newest else ()), newer_toolkit(later))
    return Explanation(
        event=event,
        precision=Precision.EXACT if release and newest else Precision.FAMILY,
        detection=detection(event, title, cause, recipes=recipes, name="host-compiler-too-new"),
    )


def _visual_studio(event: Event, least: str, most: str) -> Explanation:
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"This nvcc takes Visual Studio {least} to {most}, and another one is used",
            "nvcc compiles the host part with cl.exe, the first on PATH, or the one of the prompt "
            "that was opened. A newer Visual Studio needs a newer CUDA toolkit, or an older set of "
            "build tools beside it.",
            recipes=(
                Recipe(
                    title=f"Open the prompt of the build tools of Visual Studio {most}, and build "
                    "there",
                    use_if=(f"the build tools of Visual Studio {most} are installed",),
                    note="Several releases can be installed side by side. Its name in the Start "
                    "menu is x64 Native Tools Command Prompt.",
                    steps=(Action(run=("where", "cl")),),
                    lasting=False,
                ),
                Recipe(
                    title="Have nvcc take the compiler although it is too new",
                    use_if=(WINDOWS,),
                    steps=(Action(env={"NVCC_APPEND_FLAGS": "-allow-unsupported-compiler"}),),
                    lasting=False,
                    safe=False,
                ),
            ),
            name="host-compiler-too-new",
        ),
    )


def _stl(case: Case, event: Event, wanted: str) -> Explanation:
    toolkit = toolkit_of(case, event)
    older = parse(toolkit) if toolkit else None
    least = parse(wanted)
    here = f", and this is {toolkit}" if older and least and older < least else ""
    found = _VC.search(event.text)
    msvc = (
        f"The headers of Visual C++ {found['release']}"
        if found
        else "The headers of this Visual C++"
    )
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{msvc} need CUDA {wanted} or newer{here}",
            "The standard library of Visual C++ checks the compiler that reads it (STL1002), and "
            "nvcc of this toolkit is older than it expects. Older build tools (MSVC v142, or a "
            "14.3x of an earlier date) work with it, a newer toolkit as well.",
            recipes=(
                Recipe(
                    title=f"Install CUDA {wanted} or newer, and build with it",
                    use_if=("torch is built for this CUDA release as well",),
                    steps=(
                        Action(
                            env={
                                "CUDA_HOME": "<toolkit>",
                            }
                        ),
                    ),
                    ask={"toolkit": f"the folder of the toolkit of CUDA {wanted} or newer"},
                ),
            ),
            name="host-compiler-too-new",
        ),
    )


def _old_visual_studio(event: Event, wanted: str) -> Explanation:
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The compiler is older than the headers that it reads: they expect {wanted}",
            "Two installations of Visual C++ are mixed: INCLUDE leads to the headers of the newer "
            "one, and cl.exe is the older. A prompt of one installation sets both.",
            recipes=(
                Recipe(
                    title="See which compilers are on PATH, and open the prompt of one",
                    steps=(Action(run=("where", "cl")),),
                    lasting=False,
                ),
            ),
            name="host-compiler-mixed",
        ),
    )
