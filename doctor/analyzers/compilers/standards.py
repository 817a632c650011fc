"""The language standard: sources that need a newer C++ than the build asks for.

Which release of a compiler takes which flag: https://gcc.gnu.org/projects/cxx-status.html and the
release notes of nvcc (C++14 from 9.0, C++17 from 11.0, C++20 from 12.0).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.machine import lines_around
from doctor.analyzers.recipes import LINUX
from doctor.base.patterns import compile_pattern
from doctor.model.events import Event
from doctor.model.issues import Action, Condition, Recipe, Snippet

_DEMANDS = (
    r"C\+\+ ?(?P<standard>11|14|17|20|23) or later compatible compiler is required"
    r"|[Yy]ou need (?:at least )?C\+\+ ?(?P<need>11|14|17|20) to (?:compile|use)"
    r"|requires at least C\+\+ ?(?P<least>11|14|17|20)"
    r"|support for the ISO C\+\+ (?P<year>2011|2014|2017|2020) standard"
    r"|C\+\+ ?(?P<compiler>11|14|17|20) (?:compiler )?(?:is )?required"
    r"|(?:needs|requires) (?:a )?C\+\+(?P<other>11|14|17|20)\b"
    r"|C\+\+ versions less than C\+\+(?P<below>11|14|17|20) are not supported"
)
_LIBRARY = (
    r"[‘'\"](?P<name>\w{2,30})[’'\"] (?:is not a member of|in namespace) [‘'\"]std[’'\"]"
    r"|namespace \"std\" has no (?:class |template |actual )?(?:template )?member "
    r"[‘'\"](?P<member>\w{2,30})[’'\"]"
    r"|no (?:member|template|type) named '(?P<clang>\w{2,30})' in namespace 'std'"
)
_TOO_OLD = r"too old version of GCC\. We need GCC (?P<gcc>\d{1,2})"
_FLAG = (
    r"unrecognized command[- ]line option [‘'\"]-std=(?:c|gnu)\+\+(?P<standard>\d\w)"
    r"|Value 'c\+\+(?P<nvcc>\d\w)' is not defined for option 'std'"
    r"|invalid value '(?:c|gnu)\+\+(?P<clang>\d\w)' in '-std="
)
_SINCE = {
    "17": "any any_cast apply bool_constant byte clamp conjunction conjunction_v disjunction "
    "disjunction_v filesystem is_convertible_v is_enum_v is_floating_point_v is_integral_v "
    "is_invocable is_invocable_r is_invocable_v is_same_v invoke_result invoke_result_t "
    "is_base_of_v nullopt optional pmr shared_mutex string_view variant void_t as_const "
    "is_arithmetic_v is_void_v negation not_fn scoped_lock",
    "20": "span bit_cast remove_cvref_t remove_cvref type_identity_t ranges jthread barrier "
    "source_location format popcount endian identity countl_zero countr_zero has_single_bit",
    "14": "make_unique enable_if_t decay_t conditional_t remove_reference_t index_sequence "
    "make_index_sequence integer_sequence index_sequence_for exchange remove_cv_t result_of_t",
}
_NAMES = {name: standard for standard, names in _SINCE.items() for name in names.split()}
_BUILD_FLAG = re.compile(r"[-/]std[=:](?:c|gnu)\+\+(\d[\dxyza])(?![\w+])")
_DRAFTS = {"0x": "11", "1y": "14", "1z": "17", "2a": "20", "2b": "23"}
_GCC = {"11": "4.7", "14": "5", "17": "8", "20": "10"}
_GCC_DEFAULT = "gcc takes C++14 from release 6 on and C++17 from release 11 on if no flag is given."
_NVCC = {"14": "9.0", "17": "11.0", "20": "12.0"}


def standard(case: Case, event: Event) -> Explanation | None:
    """Explain an error that comes from the language standard of the build."""
    message = event.objects.get("message", "")
    if match := compile_pattern(_TOO_OLD).search(message):
        return _old_compiler(event, match.groups["gcc"])
    if match := compile_pattern(_FLAG).search(message):
        return _unknown_flag(event, match.groups)
    if match := compile_pattern(_DEMANDS).search(message):
        wanted = next(value for value in match.groups.values() if value)[-2:]
        return _too_low(case, event, wanted, "")
    if match := compile_pattern(_LIBRARY).search(message):
        name = next(value for value in match.groups.values() if value)
        if (wanted := _NAMES.get(name, "")) and _is_lower(_flag(case, event), wanted):
            return _too_low(case, event, wanted, name)
    return None


def _is_lower(flag: str, wanted: str) -> bool:
    """Say whether a flag is surely lower; a name of std is also missing where `#include` is."""
    return bool(flag) and int(flag) < int(wanted)


def _flag(case: Case, event: Event) -> str:
    """Return the standard that the build asks for, in two digits: the last flag wins."""
    found = [flag for line in _commands(case, event) for flag in _BUILD_FLAG.findall(line)]
    flag = _DRAFTS.get(found[-1], found[-1]) if found else ""
    return flag if flag.isdigit() else ""


def _commands(case: Case, event: Event) -> Iterator[str]:
    return (line for line in lines_around(case, event, 400, 0) if "std" in line)


def _too_low(case: Case, event: Event, wanted: str, name: str) -> Explanation:
    flag = _flag(case, event)
    where = _whose(event)
    lower = _is_lower(flag, wanted)
    what = f"the name std::{name}, which {where} use, is" if name else f"{where} are"
    title = (
        f"The build compiles as C++{flag}, and {where} need C++{wanted}"
        if lower
        else f"{where[0].upper()}{where[1:]} need C++{wanted}, and the compiler works with less"
    )
    cause = (
        f"{what[0].upper()}{what[1:]} written for C++{wanted}. "
        + (
            f"The build passes -std=c++{flag}, mostly from its setup.py or CMakeLists.txt, which "
            "is older than these headers. "
            if lower
            else f"The build passes no flag for it, or the compiler is too old. {_GCC_DEFAULT} "
        )
        + "All further errors come from it."
    )
    recipes = (
        Recipe(
            title=f"Have the build ask for C++{wanted}",
            note="A newer release of the package may have done it already.",
            snippet=Snippet(
                where="the flags in the setup.py, or the CMakeLists.txt, of the package",
                before=f"-std=c++{flag or '14'}",
                after=f"-std=c++{wanted}",
            ),
        ),
    )
    return Explanation(
        event=event,
        precision=Precision.EXACT if lower else Precision.FAMILY,
        detection=detection(event, title, cause, recipes=recipes, name="cxx-standard"),
    )


def _whose(event: Event) -> str:
    text = f"{event.objects.get('file', '')} {event.objects.get('message', '')}"
    if re.search(r"torch[/\\]include|PyTorch|ATen|c10", text):
        return "the headers of torch"
    if re.search(r"cccl|cub|thrust|CUB|Thrust|libcu\+\+", text):
        return "the headers of CUDA's CCCL (CUB, Thrust, libcu++)"
    return "the sources"


def _old_compiler(event: Event, gcc: str) -> Explanation:
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"gcc is too old for the headers of torch: they need gcc {gcc} or later",
            f"torch's headers check the compiler and refuse one before gcc {gcc}. The build takes "
            "the first gcc on PATH, or what CC and CXX name. Older systems keep a newer gcc beside "
            "it (gcc-toolset, devtoolset), and conda brings one.",
            recipes=NEWER_GCC,
            name="compiler-too-old",
        ),
    )


def _unknown_flag(event: Event, groups: Mapping[str, str]) -> Explanation:
    nvcc = groups.get("nvcc") or ""
    wanted = nvcc or groups.get("standard") or groups.get("clang") or ""
    wanted = _DRAFTS.get(wanted, wanted)
    if nvcc:
        since = _NVCC.get(wanted, "")
        title = f"This nvcc does not know C++{wanted}"
        cause = (
            f"nvcc compiles C++{wanted} from CUDA {since} on, and this toolkit is older. "
            if since
            else f"This nvcc is older than C++{wanted}. "
        ) + (
            "Often it is not the toolkit that was meant: `nvcc --version` shows the one on PATH, "
            "and CUDA_HOME decides for torch's builds."
        )
        return Explanation(
            event=event,
            precision=Precision.EXACT if since else Precision.FAMILY,
            detection=detection(event, title, cause, recipes=SEE_NVCC, name="compiler-too-old"),
        )
    since = _GCC.get(wanted, "")
    return Explanation(
        event=event,
        precision=Precision.EXACT if since else Precision.FAMILY,
        detection=detection(
            event,
            f"The C++ compiler is too old: it does not know -std=c++{wanted}",
            (f"gcc takes this flag from release {since} on. " if since else "")
            + "The build takes the first compiler on PATH, or what CC and CXX name. Older systems "
            "keep a newer gcc beside it (gcc-toolset, devtoolset), and conda brings one.",
            recipes=NEWER_GCC,
            name="compiler-too-old",
        ),
    )


_GXX = "gxx=<release>"
SEE_NVCC = (
    Recipe(
        title="See which nvcc the build finds, and which torch it builds for",
        note="Set CUDA_HOME to the toolkit of the release that torch was built with.",
        steps=(
            Action(run=("nvcc", "--version")),
            Action(run=("{python.executable}", "-c", "import torch; print(torch.version.cuda)")),
        ),
        lasting=False,
    ),
)
NEWER_GCC = (
    Recipe(
        title="Build with a newer compiler that is installed",
        use_if=(LINUX,),
        note="nvcc has to accept it as well: each CUDA release has a newest gcc.",
        steps=(Action(env={"CC": "gcc-<release>", "CXX": "g++-<release>"}),),
        ask={"release": "the release of a gcc that is installed, such as 11"},
    ),
    Recipe(
        title="Take a newer compiler from conda-forge",
        use_if=(Condition(fact="python.conda", present=True), LINUX),
        steps=(
            Action(
                run=(
                    "conda",
                    "install",
                    "-p",
                    "{python.conda}",
                    "-c",
                    "conda-forge",
                    "gxx=<release>",
                )
            ),
        ),
        ask={"release": "the release of gcc, such as 11"},
    ),
)
