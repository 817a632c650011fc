"""Symbols of Python, glibc and libstdc++."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.machine import fact_text, system_of
from doctor.analyzers.recipes import LINUX
from doctor.analyzers.undefined_symbols.embedded import EVERY_PYTHON, embedded
from doctor.analyzers.undefined_symbols.owners import distribution_at, file_name, short
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe, Snippet
from doctor.timelines.c_library import symbol_version

_TAG = re.compile(r"\.(?:cpython-|cp)(?P<major>3)(?P<minor>\d{1,2})t?[-.]")
_FOLDER = re.compile(r"[/\\]python(3\.\d{1,2})[/\\]|[/\\]Python3(\d{2})[/\\]")
_GLIBC = {
    "__isoc23_": "2.38",
    "arc4random": "2.36",
    "__libc_start_call_main": "2.34",
    "strlcpy": "2.38",
    "strlcat": "2.38",
    "__libc_single_threaded": "2.32",
    "fcntl64": "2.28",
    "__memmove_chk": "2.3",
}
GONE = re.compile(r"__(?:pow|exp|log|exp2|log2|log10|acos|asin|atan2|sqrt|fmod)f?_finite$")


def of_python(case: Case, event: Event, path: str, symbol: str) -> Explanation:
    """Explain a symbol of Python itself."""
    file = file_name(path)
    tag = _TAG.search(file)
    built = f"{tag['major']}.{tag['minor']}" if tag else ""
    here = fact_text(case, "python.minor") or ".".join(
        fact_text(case, "python.version").split(".")[:2]
    )
    folder = _FOLDER.search(path)
    if not here and folder:
        here = folder[1] or f"3.{folder[2]}"
    differs = bool(built and here and built != here)
    if not differs and EVERY_PYTHON.match(symbol) and (built or folder):
        return embedded(event, file, symbol, built or here)
    title = (
        f"{file} was built for Python {built}, and Python {here} runs"
        if differs
        else f"{file} was built for another Python: {short(symbol)} is missing"
    )
    return Explanation(
        event=event,
        precision=Precision.EXACT if differs else Precision.FAMILY,
        contradicts=("*/*other-torch*", "*/built-for-another-torch"),
        detection=detection(
            event,
            title,
            f"{short(symbol)} belongs to Python itself. Names with an underscore in front come and "
            "go with each Python release, and some exist only in a Python that was built as a "
            "shared library. The package has to be installed for the Python that runs it.",
            recipes=_for_this_python(path),
            name="built-for-other-python",
        ),
    )


_OWN_BUILD = Recipe(
    title="Build it again with the Python that runs it",
    use_if=("the file was built in the project's own folder",),
    steps=(
        Action(run=("{python.executable|python}", "setup.py", "build_ext", "--inplace", "--force")),
    ),
    note="Run it in the folder of the project's setup.py.",
)


def _for_this_python(path: str) -> tuple[Recipe, ...]:
    """Return what makes a compiled file fit the Python that loads it."""
    package = distribution_at(path)
    again = Recipe(
        title=f"Install {package or 'the package'} again with the Python that runs it",
        steps=(
            Action(
                install=(
                    f"{package}=={{package.{package}.version|<release>}}"
                    if package
                    else "<package>==<release>",
                ),
                options=(Option.REINSTALL, Option.NO_DEPS, Option.NO_CACHE),
            ),
        ),
        ask={
            **({} if package else {"package": "the package of the file"}),
            "release": "the release that is installed",
        },
    )
    installed = "site-packages" in path or "dist-packages" in path
    return (again,) if installed else (_OWN_BUILD, again)


def of_libc(event: Event, path: str, symbol: str) -> Explanation | None:
    """Explain a symbol of the C library."""
    file = file_name(path)
    name, _, version = symbol.partition(", version ")
    if version == "GLIBC_PRIVATE":
        return _two_libcs(event, file, name)
    if GONE.match(name):
        return _finite(event, file, name)
    wanted = next((release for start, release in _GLIBC.items() if name.startswith(start)), "")
    found = symbol_version(version or f"GLIBC_{wanted}") if version or wanted else None
    wanted = wanted or version.removeprefix("GLIBC_")
    if found is None:
        return None
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("*/*other-torch*", "*/built-for-another-torch"),
        detection=detection(
            event,
            f"{file} needs glibc {wanted} for {name}, and the system is older",
            f"It was compiled on a newer system. The first systems with glibc {wanted} or newer: "
            f"{', '.join(found.row.systems)}. glibc belongs to the operating system, and neither "
            "pip nor conda replaces it.",
            recipes=(
                Recipe(
                    title="Work on a newer system, or in a container with one",
                    snippet=Snippet(
                        where="the first line of the Dockerfile",
                        after="FROM nvidia/cuda:12.8.1-devel-ubuntu24.04",
                    ),
                ),
                Recipe(
                    title="Compile it on this system",
                    use_if=("the package is there in source",),
                    steps=(
                        Action(
                            install=("<package>",),
                            options=(
                                *(Option.REINSTALL, Option.NO_DEPS, Option.NO_CACHE),
                                *(Option.NO_BINARY, Option.NO_BUILD_ISOLATION),
                            ),
                        ),
                    ),
                    ask={"package": "the package of the file, with its release: name==release"},
                ),
            ),
            name="c-library-too-old",
        ),
    )


def _two_libcs(event: Event, file: str, name: str) -> Explanation:
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"Two C libraries are mixed: {file} asks for {name} of another glibc",
            "GLIBC_PRIVATE names fit only the very glibc that they were built with. "
            "LD_LIBRARY_PATH leads to the libraries of another system, or a container was given "
            "those of the host.",
            recipes=(
                Recipe(
                    title="Start without LD_LIBRARY_PATH",
                    use_if=(
                        (
                            "LD_LIBRARY_PATH names a folder with a libc.so.6, or /lib of another "
                            "system"
                        ),
                    ),
                    steps=(Action(env={"LD_LIBRARY_PATH": ""}),),
                ),
            ),
            name="two-c-libraries",
        ),
    )


def _finite(event: Event, file: str, name: str) -> Explanation:
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{file} was compiled on a system before glibc 2.31: {name} is gone",
            "The option -ffast-math used these names until glibc 2.31 took them away. A static "
            "library in it is that old; it has to be compiled again on this system.",
            recipes=(
                Recipe(
                    title="Compile the package on this system",
                    steps=(
                        Action(
                            install=("<package>",),
                            options=(
                                *(Option.REINSTALL, Option.NO_DEPS),
                                *(Option.NO_CACHE, Option.NO_BINARY),
                            ),
                        ),
                    ),
                    ask={"package": "the package of the file, with its release: name==release"},
                    note="Or take another release of it, whose wheel was made elsewhere.",
                ),
            ),
            name="built-for-older-c-library",
        ),
    )


_BASE = re.compile(r"_ZTVN10__cxxabiv1|__gxx_personality_v0|_ZdlPv$|_Znwm$|_ZSt\d|_ZNSt8ios_base")
"""Names that each libstdc++ of the last fifteen years has."""


def _not_linked(event: Event, path: str, symbol: str) -> Explanation:
    file = file_name(path)
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{file} was linked without the C++ standard library: {short(symbol)} is missing",
            "Each libstdc++ has this name. The file was linked by a C compiler (gcc, cc, nvcc with "
            "a C linker) in the place of g++, so that it does not ask for libstdc++ at all.",
            recipes=(
                Recipe(
                    title="Load libstdc++ beforehand",
                    use_if=(LINUX,),
                    steps=(Action(env={"LD_PRELOAD": "libstdc++.so.6"}),),
                    lasting=False,
                ),
                Recipe(
                    title="Build it again, linked with the C++ library",
                    use_if=("it is built from its sources",),
                    steps=(
                        Action(
                            install=("<package>",),
                            options=(
                                *(Option.REINSTALL, Option.NO_DEPS, Option.NO_CACHE),
                                *(Option.NO_BINARY, Option.NO_BUILD_ISOLATION),
                            ),
                            env={"LDFLAGS": "-lstdc++"},
                        ),
                    ),
                    ask={"package": "the folder of its sources, or its name"},
                ),
            ),
            name="cxx-library-not-linked",
        ),
    )


_NEW_ABI = re.compile(r"_Z\w{0,20}N?K?St\w{0,300}(?:B5cxx11|7__cxx11)")
"""Names of the C++ library that came with GCC 5 and its second form of strings."""
_CONDA_FOLDER = re.compile(r"(?i)[/\\](?:ana|mini|mamba)?(?:conda|forge)\d?[/\\]|[/\\]envs[/\\]")


def _older_than_gcc_5(case: Case, event: Event, path: str, symbol: str) -> Explanation:
    package = distribution_at(path)
    conda = bool(_CONDA_FOLDER.search(path)) or bool(fact_text(case, "python.conda"))
    newer = Recipe(
        title="Give conda's environment a newer libstdc++",
        steps=(
            Action(
                run=(
                    *("conda", "install", "-p", "{python.conda|<environment>}"),
                    *("-c", "conda-forge", "libstdcxx-ng", "libgcc-ng"),
                )
            ),
        ),
        ask={"environment": "the folder of the conda environment"},
    )
    again = Recipe(
        title="Compile the package again with conda's own compiler",
        note="The cache of pip holds the wheel of the other compiler, and is passed over.",
        steps=(
            Action(
                run=(
                    *("conda", "install", "-p", "{python.conda|<environment>}"),
                    *("-c", "conda-forge", "gxx_linux-64"),
                )
            ),
            Action(
                install=(package or "<package>",),
                options=(Option.REINSTALL, Option.NO_DEPS, Option.NO_CACHE, Option.NO_BINARY),
            ),
        ),
        ask={
            "environment": "the folder of the conda environment",
            **({} if package else {"package": "the package of the file"}),
        },
    )
    beforehand = Recipe(
        title="Load the libstdc++ of the system beforehand",
        use_if=(LINUX, "the package was compiled on this system"),
        steps=(Action(env={"LD_PRELOAD": "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"}),),
        lasting=False,
    )
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("*/*other-torch*", "*/built-for-another-torch"),
        detection=detection(
            event,
            f"{file_name(path)} was compiled by a newer g++ than the libstdc++ that was loaded: "
            f"{short(symbol)} is missing",
            "The name came with GCC 5 and its new form of strings (GLIBCXX_3.4.21). A process "
            "loads one libstdc++, and an Anaconda brings its own, which is older here than the "
            "compiler of the system that built the file.",
            recipes=(newer, again, beforehand) if conda else (beforehand, newer),
            name="cxx-library-too-old",
        ),
    )


def of_libstdcxx(case: Case, event: Event, path: str, symbol: str) -> Explanation | None:
    """Explain a symbol of the C++ standard library."""
    file = file_name(path)
    if system_of(case, event) == "macos":
        return Explanation(
            event=event,
            detection=detection(
                event,
                f"{file} needs a newer macOS: {short(symbol)} is missing in its C++ library",
                "libc++ is part of macOS, and the file was built for a newer release. A release of "
                "the package for this macOS, or a newer macOS, is the way.",
                name="macos-too-old",
            ),
        )
    version = symbol.partition(", version ")[2]
    found = symbol_version(version) if version else None
    if found is None and _NEW_ABI.match(symbol):
        return _older_than_gcc_5(case, event, path, symbol)
    if found is None:
        return _not_linked(event, path, symbol) if _BASE.match(symbol) else None
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{file} needs {version} (gcc {found.row.compiler}), and an older libstdc++ was loaded",
            "A process loads one libstdc++, the first that is found; a newer one also runs what "
            "older ones ran. In a conda environment it is conda's own.",
            recipes=(
                Recipe(
                    title="Start without LD_LIBRARY_PATH, which may lead to the older copy",
                    use_if=("LD_LIBRARY_PATH names a folder with a libstdc++.so.6",),
                    steps=(Action(env={"LD_LIBRARY_PATH": ""}),),
                ),
            ),
            name="cxx-library-too-old",
        ),
    )
