"""Explain errors of configuration by what CMake's modules, and projects, say in them.

| message | what is said of it |
| --- | --- |
| does not appear to contain CMakeLists.txt | the folder, or the archive, that was taken |
| Couldn't find CUDA library root | an nvcc beside which libdevice is missing |
| Failed to detect a default CUDA architecture | nvcc compiled no first program |
| None of the provided CUDA architectures is supported | no nvcc, or one of another time |
| Unknown CMake command | the package that defines it |
| loading 'build.ninja' (ninja) | CMake did not write the build folder |

The sources are CMakeDetermineCUDACompiler.cmake and the modules of the packages that are named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import distinct
from doctor.analyzers.recipes import LINUX, by_system, command, variables
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_BELOW = 8
_UNKNOWN = re.compile(r"Unknown CMake command \"(?P<command>\w{2,60})\"")
_ARCHITECTURES = re.compile(
    r"None of the provided CUDA architectures \(\{?(?P<wanted>[\d;, ]{2,80})\}?\) is supported"
)
_BY_CONDA = re.compile(r"conda|/envs/")
_NVCC = variables(
    "Name nvcc of the whole toolkit, and configure again in an empty folder",
    {"CUDACXX": "/usr/local/cuda/bin/nvcc", "PATH": "/usr/local/cuda/bin:$PATH"},
    use_if=(LINUX, "the file /usr/local/cuda/bin/nvcc exists"),
    note="which nvcc shows the one that is found now.",
)


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what the first errors of a configuration mean."""
    for event in distinct(case, "configure-error", most=4):
        below = case.log.lines[event.at : event.at + _BELOW]
        text = " ".join(" ".join(line[:400] for line in below).split())
        for rule in (
            _no_sources,
            _library_root,
            _default_architecture,
            _architectures,
            _unknown,
            _asks,
        ):
            if (found := rule(case, event, text)) is not None:
                yield found
                return
    for event in distinct(case, "build-not-configured", most=1):
        yield _not_configured(event)


def _not_configured(event: Event) -> Explanation:
    """Explain a build folder without the file that CMake, or Meson, writes for ninja."""
    return explanation(
        event,
        "The build folder is not configured: it has no build.ninja",
        "ninja builds what CMake or Meson has written. That step was not run in this folder, ended "
        "with an error above, or wrote Makefiles.",
        (
            command(
                "Configure the folder for ninja, and build again",
                *("cmake", "-S", ".", "-B", "build", "-G", "Ninja"),
                use_if=("the current folder has CMakeLists.txt", "no error of CMake stands above"),
                note="Then: cmake --build build",
            ),
        ),
        exact=False,
    )


_NO_SOURCES = re.compile(
    r"source directory \"?(?P<folder>[^\"\n]{1,300}?)\"? does not appear to contain CMakeLists\.txt"
)
_UNPACKED = re.compile(
    r"[/\\]pip-(?:install|build|req-build)-[^/\\]{1,40}[/\\](?P<name>[A-Za-z][\w.-]{0,60})"
)


def _no_sources(case: Case, event: Event, text: str) -> Explanation | None:
    """Explain a folder without CMakeLists.txt: the wrong one, or an archive that lacks it."""
    del case
    found = _NO_SOURCES.search(text)
    if found is None:
        return None
    if (unpacked := _UNPACKED.search(found["folder"])) is not None:
        name = re.sub(r"_[0-9a-f]{32}$", "", unpacked["name"])
        return explanation(
            event,
            f"The archive of {name} that pip unpacked holds no CMakeLists.txt: it cannot be built",
            "It was published without the sources that its build needs. The project's repository "
            "has them; often they lie in a folder below the first one.",
            (
                command(
                    f"Install {name} from its repository",
                    *("{python.executable}", "-m", "pip", "install", "git+<repository>"),
                    ask={
                        "repository": f"the address of {name}'s repository; where setup.py lies in "
                        "a folder, append #subdirectory= and its name"
                    },
                ),
            ),
            name="sources-without-cmake",
        )
    return explanation(
        event,
        f"CMake was started for {found['folder']}, which holds no CMakeLists.txt",
        "The command was started in another folder than the project's, the path is misspelled, or "
        "a submodule of git was not fetched and its folder is empty.",
        (
            command(
                "Fetch the submodules, then configure again",
                *("git", "submodule", "update", "--init", "--recursive"),
                use_if=("the folder belongs to a clone of git, and is empty",),
            ),
            command(
                "Name the folder of the project that holds CMakeLists.txt",
                *("cmake", "-S", "<project>", "-B", "<project>/build"),
                ask={"project": "the folder with the project's CMakeLists.txt"},
            ),
        ),
        name="sources-without-cmake",
    )


def _library_root(case: Case, event: Event, text: str) -> Explanation | None:
    del case
    if "Couldn't find CUDA library root" not in text:
        return None
    return explanation(
        event,
        "CMake found nvcc, and no CUDA toolkit around it (the folder nvvm/libdevice is missing)",
        "The first nvcc on PATH is a copy, a link, or a package that holds the compiler alone. The "
        "whole toolkit mostly lies in /usr/local/cuda, and CMake asks CUDACXX before PATH.",
        (
            _NVCC,
            by_system(
                "Install the toolkit of the distribution, with libdevice",
                apt=("nvidia-cuda-toolkit",),
                use_if=(LINUX, "no toolkit of NVIDIA is installed"),
            ),
        ),
        name="toolkit-not-whole",
        exact=True,
    )


def _default_architecture(case: Case, event: Event, text: str) -> Explanation | None:
    if "Failed to detect a default CUDA architecture" not in text:
        return None
    silent = any(
        "No such file or directory" in line
        for line in case.log.lines[max(event.at - 6, 0) : event.at + _BELOW]
    )
    return explanation(
        event,
        "nvcc compiled no first program for CMake, so that no architecture was found",
        "CMake has nvcc compile a small file for its oldest architecture. "
        + (
            "nvcc did not start one of its parts (No such file or directory): the host compiler is "
            "not on PATH, or this nvcc is a part of no whole toolkit."
            if silent
            else "What nvcc printed stands below the words Compiler output: mostly a host compiler "
            "that is too new for it, or none."
        ),
        (
            _NVCC,
            command(
                "See nvcc's own error",
                "sh",
                "-c",
                "which nvcc g++; echo 'int main() {}' > /tmp/one.cu; nvcc -v /tmp/one.cu "
                "-o /tmp/one",
                use_if=(LINUX,),
                look=True,
            ),
        ),
        name="cmake-cuda-compiler-broken",
        exact=silent,
    )


def _architectures(case: Case, event: Event, text: str) -> Explanation | None:
    match = _ARCHITECTURES.search(text)
    if match is None:
        return None
    none = any(
        "CUDA is needed to check" in line or re.search(r"CUDA supported archs:\s*$", line)
        for line in case.log.lines
    )
    wanted = match["wanted"].strip("; ")
    return explanation(
        event,
        "CMake finds no nvcc, so that it knows none of the architectures"
        if none
        else f"This nvcc knows none of the architectures that the project names: {wanted}",
        "The project asks nvcc which architectures it knows. The driver and torch come without "
        "nvcc, and the folder of the toolkit is mostly not on PATH."
        if none
        else "They came with a later CUDA, or an earlier one dropped them: 13 begins with 7.5, 12 "
        "with 5.0, and 12.0 (RTX 50) came with 12.8.",
        (_NVCC,) if none else (_name_architecture(),),
        name="cmake-cuda-compiler-missing" if none else "architecture-unknown",
        contradicts=("cmake/cuda-compiler-not-found",) if none else (),
    )


def _name_architecture() -> Recipe:
    return command(
        "Name the architecture of the GPU",
        "cmake",
        "-B",
        "build",
        "-DCMAKE_CUDA_ARCHITECTURES=<architecture>",
        ask={"architecture": "the compute capability without the point, as 86 for 8.6"},
    )


_OPTION = re.compile(
    r"[\s'\"`(](?P<option>-D ?[A-Z][A-Z0-9_a-z]{2,60})(?P<value>=[^\s'\"`;,)]{1,80})?"
)
_ASKS = re.compile(
    r"\b(?:[Pp]lease|[Pp]ass|[Ss]et|[Uu]se|[Ss]pecify|[Dd]efine|[Aa]dd|[Pp]rovide|[Dd]isable|[Ee]nable"
    r"|[Tt]ry|[Bb]uild with|[Cc]onfigure with|[Rr]un cmake)\b"
)
_REQUIRES = re.compile(
    r"(?P<asks>[A-Z][A-Z0-9]{1,20}_[A-Z0-9_]{2,50}) (?:requires|needs|depends on) "
    r"(?P<wanted>[A-Z][A-Z0-9]{1,20}_[A-Z0-9_]{2,50})(?:=ON| to be (?:ON|enabled|set))?\.?"
)
_SENTENCE = re.compile(r"(?<=[.!?;]) {1,4}(?=[A-Z`'\"(-])")
_REFUSED = re.compile(r"sudo|curl |wget |token|password|VERIFY|verify|insecure|INSECURE")


def _asks(case: Case, event: Event, text: str) -> Explanation | None:
    """Restate the option that a project's own message asks for: -DNAME, and its value if named."""
    del case, text
    message = " ".join(event.objects.get("message", "").split())[:600]
    if event.objects.get("command") != "message" or _REFUSED.search(message):
        return None
    if pair := _REQUIRES.fullmatch(message):
        message = f"Please set -D{pair['wanted']}=ON, since {pair['asks']} requires it"
    for sentence in _SENTENCE.split(message):
        option = _OPTION.search(" " + sentence)
        if option is None or not _ASKS.search(sentence):
            continue
        name, value = option["option"].replace(" ", ""), (option["value"] or "")[1:].rstrip(".")
        plain = re.fullmatch(r"[\w./+-]{1,60}", value) is not None
        recipe = command(
            f"Configure again with {name}, as the message asks",
            *("cmake", "-B", "build", f"{name}={value if plain else '<value>'}"),
            ask={} if plain else {"value": f"what the message asks for: {sentence[:160]}"},
            note="The options that the first call had stay in the call. Where pip runs CMake, the "
            "option goes into CMAKE_ARGS.",
        )
        return Explanation(
            event=event,
            precision=Precision.ADVICE,
            detection=detection(
                event,
                f"CMake stops, and the project asks for {name}: {sentence[:160]}",
                "The message names its cure itself: an option of the call that configures.",
                recipes=(recipe,),
                name="own-advice",
            ),
        )
    return None


_COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("rocm_", "rocm-cmake", "rocm-cmake"),
    ("pybind11_", "pybind11", "pybind11-dev"),
    ("nanobind_", "nanobind", ""),
    ("protobuf_generate", "Protocol Buffers", "libprotobuf-dev"),
    ("ament_", "ROS 2", ""),
    ("rosidl_", "ROS 2", ""),
    ("catkin_", "ROS", ""),
    ("pkg_check_module", "pkg-config", "pkg-config"),
    ("pkg_search_module", "pkg-config", "pkg-config"),
    ("qt5_", "Qt", "qtbase5-dev"),
    ("qt_", "Qt", "qtbase5-dev"),
    ("corrosion_", "Corrosion", ""),
    ("CPMAddPackage", "CPM.cmake", ""),
    ("rapids_", "rapids-cmake", ""),
)
"""How the commands of a package begin, the package, and its name for apt."""
_SINCE = {
    "FetchContent_MakeAvailable": "3.14",
    "FetchContent_Declare": "3.11",
    "cmake_path": "3.20",
    "Python_add_library": "3.12",
    "Python3_add_library": "3.12",
    "add_link_options": "3.13",
    "target_link_options": "3.13",
    "target_link_directories": "3.13",
    "add_compile_definitions": "3.12",
    "target_precompile_headers": "3.16",
    "cmake_language": "3.18",
    "file_real_path": "3.19",
    "cmake_host_system_information": "3.0",
    "block": "3.25",
}
"""Commands of CMake itself, and the release that brought each (cmake-commands(7))."""


def _unknown(case: Case, event: Event, text: str) -> Explanation | None:
    del case
    match = _UNKNOWN.search(text)
    if match is None:
        return None
    name = match["command"]
    if since := _SINCE.get(name):
        return explanation(
            event,
            f"This CMake is older than {since}, which brought {name}",
            "The first cmake on PATH counts, and a distribution's is mostly older. PyPI has the "
            "newest one as a package.",
            (
                Recipe(
                    title=f"Install CMake {since} or newer, and configure in an empty folder",
                    steps=(Action(install=(f"cmake>={since},<4",)),),
                ),
            ),
            name="cmake-too-old",
        )
    known = next(((what, apt) for start, what, apt in _COMMANDS if name.startswith(start)), None)
    if known is None:
        return None
    what, apt = known
    pip = {"pybind11": "pybind11", "nanobind": "nanobind"}.get(what, "")
    recipes = []
    if apt:
        recipes.append(by_system(f"Install {what}", apt=(apt,)))
    if pip:
        recipes.append(
            Recipe(
                title=f"Install {pip} into this Python, with its files for CMake",
                steps=(Action(install=(pip,)),),
                note=f"Then -D{pip}_DIR=$(python -m {pip} --cmake"
                f"{'dir' if pip == 'pybind11' else '_dir'}) leads CMake to it.",
            )
        )
    return explanation(
        event,
        f"{name} is a command of {what}, which CMake did not load",
        f"{what} is not installed, the project does not look for it (find_package), or a git "
        "submodule that holds it is empty.",
        tuple(recipes)
        or (
            command(
                f"Fetch the submodules, if the project holds {what} in one",
                *("git", "submodule", "update", "--init", "--recursive"),
            ),
        ),
        name="cmake-command-unknown",
    )
