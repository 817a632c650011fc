"""Libraries that a linker misses since of another gcc, or since a crate makes them itself.

gcc looks for libstdc++.so in the folder of its own release
(https://gcc.gnu.org/onlinedocs/gcc/Directory-Options.html). A build script of Rust that calls nvcc
leaves a static library behind, which no package has.
"""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.machine import lines_around, system_of
from doctor.analyzers.recipes import by_system
from doctor.model.events import Event
from doctor.model.issues import Action, Condition, Recipe

_GCC = re.compile(r"^(?:gcc|cc) \((?:Ubuntu|Debian)[^)]{0,60}\) (?P<major>\d{1,2})\.\d")
_CARGO = re.compile(r"\bcargo (?:build|install|run|test)\b|error: could not compile `")
_COMPILED = re.compile(
    r"could not compile `(?P<crate>[a-z][\w-]{1,60})`|Compiling (?P<other>[a-z][\w-]{1,60}) v\d"
)
_OF_GPU = re.compile(r"(?:cuda|kernels?|gpu|cu|hip|metal|flash\w{0,12})$")
_TOO_OLD = re.compile(r"release (?P<release>12\.[0-3]|11\.\d{1,2}),")


def gcc_of(case: Case) -> str:
    """Return the major release of the gcc of Ubuntu or Debian that the log shows."""
    found = (_GCC.match(line[:200].strip()) for line in case.log.lines)
    return next((one["major"] for one in found if one), "")


def of_gcc(event: Event, name: str, major: str) -> Explanation:
    """Explain a libstdc++ for linking, which lies in the folder of one release of gcc."""
    package = f"libstdc++-{major}-dev"
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The linker does not find the library {name}: the C++ runtime of gcc {major}",
            f"cc is gcc {major} here, which looks for libstdc++.so in its own folder alone "
            f"(/usr/lib/gcc/<machine>/{major}). The package g++ of the distribution may be another "
            "release, whose folder is another one.",
            recipes=(
                by_system(
                    f"Install the C++ library for gcc {major}, and its g++",
                    apt=(f"g++-{major}", package),
                    use_if=(Condition(fact="host.package_manager", equals="apt"),),
                ),
            ),
            name="library-not-linked",
            captures={"library": name},
        ),
    )


def own_crate(case: Case, event: Event, plain: str) -> str:
    """Return the crate whose build script makes a library of GPU code; empty where none may."""
    lines = tuple(lines_around(case, event, 80, 40))
    if not _OF_GPU.search(plain) or not any(_CARGO.search(line) for line in lines):
        return ""
    root = _OF_GPU.sub("", plain).rstrip("_-")
    found = (match for line in lines for match in _COMPILED.finditer(line))
    names = [match["crate"] or match["other"] for match in found]
    fits = (one for one in names if len(root) >= _LEAST and one.startswith(root[:_LEAST]))
    return next(fits, names[0] if names else "a crate")


_LEAST = 4


def of_crate(case: Case, event: Event, name: str, crate: str) -> Explanation:
    """Explain a library that nobody ships, since the build script of a crate makes it."""
    windows = system_of(case, event) == "windows"
    old = next((one for line in case.log.lines if (one := _TOO_OLD.search(line[:300]))), None)
    look = Recipe(
        title="Build it anew, and read what the build script and nvcc print",
        steps=(Action(run=("cargo", "clean")), Action(run=("cargo", "build", "-vv"))),
        note="Add the features of the first build. The first error of nvcc, far above the one of "
        "the linker, is the cause.",
        lasting=False,
    )
    toolkit = Recipe(
        title="Install CUDA 12.4 or newer, which takes the compiler of Visual Studio 2022 17.10, "
        "then build anew",
        note="NVIDIA's archive of toolkits has the installers. An older toolset of MSVC beside it "
        "(Visual Studio Installer, single components, v14.39) serves as well. Build in the x64 "
        "Native Tools Command Prompt.",
        steps=(Action(run=("cargo", "clean")),),
    )
    here = ""
    if windows and old:
        here = f" CUDA {old['release']} refuses the compiler of Visual Studio 2022 17.10 and newer."
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The linker does not find {name}, which the build script of {crate} makes with nvcc",
            "No package has this library: nvcc compiles the crate's own GPU code into it, and that "
            "step failed or was left out. Mostly the CUDA toolkit and the C++ compiler do not go "
            f"together.{here}",
            recipes=(toolkit, look) if windows and old else (look,),
            name="library-not-linked",
            captures={"library": name},
        ),
    )
