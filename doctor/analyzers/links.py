"""Explain libraries that a linker does not find, and links that cannot be made.

| event | what is said of it |
| --- | --- |
| library-not-linked | which library, which package has the file for linking (lib….so, ….lib) |
| too-large-to-link | too many architectures in one library |
| wrong-machine-linked | 32-bit and 64-bit objects |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.link_recipes import BREW, folder_of_cudnn, opencv_target
from doctor.analyzers.linked_builds import gcc_of, of_crate, of_gcc, own_crate
from doctor.analyzers.machine import lines_around, system_of
from doctor.analyzers.recipes import by_system
from doctor.analyzers.unix_libraries import X64_PROMPT, unix_library
from doctor.model.events import Event, Level
from doctor.model.issues import Action, Condition, Recipe
from doctor.timelines.libraries import library

_CUDA = re.compile(
    r"^(?:cudart|cublas|cublasLt|cudnn|cufft|curand|cusolver|cusparse|nvrtc|nvToolsExt|cudadevrt"
    r"|cudart_static|cupti|nccl|nvJitLink|nppc?\w*)(?:64)?(?:_static)?$"
)
_TRITON = re.compile(r"torch/_inductor|/triton/|torch\._dynamo")
_APT = {
    "z": "zlib1g-dev",
    "ssl": "libssl-dev",
    "crypto": "libssl-dev",
    "stdc++": "g++",
    "gomp": "gcc",
    "m": "libc6-dev",
    "c": "libc6-dev",
    "aio": "libaio-dev",
    "ibverbs": "libibverbs-dev",
    "numa": "libnuma-dev",
    "openblas": "libopenblas-dev",
    "blas": "libblas-dev",
    "lapack": "liblapack-dev",
    "mpi": "libopenmpi-dev",
    "GL": "libgl-dev",
    "EGL": "libegl-dev",
    "GLEW": "libglew-dev",
    "X11": "libx11-dev",
    "sndfile": "libsndfile1-dev",
    "asound": "libasound2-dev",
    "ffi": "libffi-dev",
    "tinfo": "libncurses-dev",
    "jpeg": "libjpeg-dev",
    "png": "libpng-dev",
    "sqlite3": "libsqlite3-dev",
    "lzma": "liblzma-dev",
    "bz2": "libbz2-dev",
    "tbb": "libtbb-dev",
    "gfortran": "gfortran",
    "hdf5": "libhdf5-dev",
    "gsl": "libgsl-dev",
    "fftw3": "libfftw3-dev",
    "protobuf": "libprotobuf-dev",
    "curl": "libcurl4-openssl-dev",
    "boost_python3": "libboost-python-dev",
    "portaudio": "portaudio19-dev",
    "rdmacm": "librdmacm-dev",
    "xml2": "libxml2-dev",
    "lz4": "liblz4-dev",
    "zstd": "libzstd-dev",
    "uuid": "uuid-dev",
    "omp": "libomp-dev",
}


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of the first event of each kind."""
    done: set[str] = set()
    for event in case.of("library-not-linked", "too-large-to-link", "wrong-machine-linked"):
        if event.kind in done:
            continue
        done.add(event.kind)
        if event.kind == "library-not-linked" and not _by_triton(case, event):
            found = _library(case, event)
            names = dict.fromkeys(_name(one) for one in case.of(event.kind))
            yield _with_others(found, tuple(names)[1:6])
        elif event.kind == "too-large-to-link":
            yield _too_large(event)
        elif event.kind == "wrong-machine-linked":
            yield _machine(event)


def _by_triton(case: Case, event: Event) -> bool:
    """Say whether Triton links while a program runs: known issues tell how it finds libcuda."""
    near = lines_around(case, event, 200, 200)
    return _name(event) == "cuda" and any(_TRITON.search(line) for line in near)


def _with_others(found: Explanation, names: tuple[str, ...]) -> Explanation:
    """Return an explanation that names the other libraries of the same link as well."""
    if not names:
        return found
    one = found.detection
    title = f"{one.title} (and {', '.join(names)})"
    return msgspec.structs.replace(found, detection=msgspec.structs.replace(one, title=title))


def _name(event: Event) -> str:
    objects = event.objects
    name = objects.get("library") or objects.get("name") or objects.get("other")
    return (name or objects.get("file", "")).rstrip(":")


def _library(case: Case, event: Event) -> Explanation:
    name = _name(event)
    plain = name.removesuffix(".lib")
    if re.fullmatch(r"python3\d{0,2}", plain):
        return _python(event, name)
    if plain == "cuda":
        return _driver(event)
    if plain.startswith("opencv_dep_"):
        return opencv_target(event, name)
    if system_of(case, event) == "windows" and (found := unix_library(event, name)):
        return found
    if _CUDA.match(plain):
        return _toolkit(case, event, name, plain)
    known = library(f"lib{plain}.so")
    what = f": {known.what}" if known is not None else ""
    apt = _APT.get(plain, "")
    system = system_of(case, event)
    if not apt and known is None and (crate := own_crate(case, event, plain)):
        return of_crate(case, event, name, crate)
    if plain == "stdc++" and (found_gcc := gcc_of(case)):
        return of_gcc(event, name, found_gcc)
    linux = system in ("linux", "")
    brew = BREW.get(plain, "") if system == "macos" else ""
    return Explanation(
        event=event,
        precision=Precision.EXACT if apt else Precision.FAMILY,
        detection=detection(
            event,
            f"The linker does not find the library {name}{what}",
            "A linker needs the file without a version behind .so (lib….so), or the .lib on "
            "Windows. Packages for running programs mostly lack it; the package for developers "
            "has it. Or the library is there, and its folder is not among those that are searched "
            "(-L, LIBRARY_PATH, LIB).",
            recipes=(
                (
                    by_system(
                        f"Install {apt}, which has the file for linking",
                        apt=(apt,),
                        use_if=(Condition(fact="host.package_manager", equals="apt"),),
                    ),
                )
                if apt and linux
                else _by_homebrew(brew)
                if brew
                else ()
            ),
            name="library-not-linked",
            captures={"library": name},
        ),
    )


def _by_homebrew(formula: str) -> tuple[Recipe, ...]:
    folder = f"/opt/homebrew/opt/{formula}"
    return (
        Recipe(
            title=f"Install {formula} with Homebrew, and give the build its folder",
            steps=(
                Action(run=("brew", "install", formula)),
                Action(
                    env={
                        "LDFLAGS": f"-L{folder}/lib",
                        "CPPFLAGS": f"-I{folder}/include",
                        f"{formula.partition('@')[0].upper().replace('-', '_')}_DIR": folder,
                    }
                ),
            ),
            note="On a Mac with an Intel processor the folder lies in /usr/local/opt. Start the "
            "build again in the same shell. A package of conda-forge brings it ready built.",
        ),
    )


def _driver(event: Event) -> Explanation:
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            "The linker does not find libcuda, the library of the NVIDIA driver",
            "A machine without a driver, such as docker build, has none. The CUDA toolkit brings a "
            "stub for linking in lib64/stubs, and conda's in targets/x86_64-linux/lib/stubs. Under "
            "WSL the library lies in /usr/lib/wsl/lib.",
            recipes=(
                Recipe(
                    title="Let the linker search the folder of the stub",
                    use_if=("the toolkit lies in /usr/local/cuda",),
                    note="For linking only; a program that loads the stub finds no GPU.",
                    steps=(Action(env={"LIBRARY_PATH": "/usr/local/cuda/lib64/stubs"}),),
                ),
            ),
            name="library-not-linked",
        ),
    )


def _toolkit(case: Case, event: Event, name: str, plain: str) -> Explanation:
    apart = plain in ("cudnn", "nccl")
    windows = system_of(case, event) == "windows"
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The linker does not find {name}, a library of CUDA",
            (
                f"The CUDA toolkit comes without {plain}: it is a package of its own, and the one "
                "for developers has the file for linking. "
                if apart
                else "It belongs to the CUDA toolkit, in the folder lib64 (Windows: lib\\x64). "
            )
            + "NVIDIA's pip packages have only names with a version (….so.12), which a linker does "
            "not take; a toolkit of conda keeps its libraries in lib.",
            recipes=folder_of_cudnn(case, event)
            if windows and plain == "cudnn"
            else (
                Recipe(
                    title="Let the linker search the folder of the toolkit",
                    use_if=("the toolkit has the file",),
                    steps=(Action(env={"LIBRARY_PATH": "<folder>", "CUDA_HOME": "<toolkit>"}),),
                    ask={
                        "folder": "the folder of the library, such as /usr/local/cuda/lib64",
                        "toolkit": "the folder of the toolkit, such as /usr/local/cuda",
                    },
                ),
            ),
            name="library-not-linked",
            captures={"library": name},
        ),
    )


def _python(event: Event, name: str) -> Explanation:
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The linker does not find {name}, the import library of Python",
            "It lies in the folder libs of a whole Python. Portable Pythons (ComfyUI's "
            "python_embeded, the embeddable package) come without libs and include, and a virtual "
            "environment has them in its base Python only.",
            recipes=(
                Recipe(
                    title="Copy libs and Include from a whole Python of the same release",
                    use_if=("this Python is an embedded one",),
                    note="The same minor release, from python.org; both folders go beside "
                    "python.exe.",
                    steps=(
                        Action(
                            run=(
                                "{python.executable}",
                                "-c",
                                "import sys; print(sys.version, sys.prefix)",
                            )
                        ),
                    ),
                    lasting=False,
                ),
            ),
            name="library-not-linked",
        ),
    )


def _apple(event: Event, have: str, need: str) -> Explanation:
    event = msgspec.structs.replace(event, level=Level.FAILURE)  # what fails is what it left out
    file = event.objects["file"].rpartition("/")[2]
    homebrew = "/usr/local" if have == "x86_64" else "/opt/homebrew"
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("mps/interpreter-for-intel",),
        detection=detection(
            event,
            f"{file} is built for {have}, and the link makes {need}",
            "A Mac can run both kinds, and a program is of one. The file comes from an old build "
            f"folder, from a compiler that was called for {have}, or from a Homebrew or a Python "
            f"of that kind ({homebrew}). The names that the linker lacks then are those of the "
            "file that it ignored.",
            recipes=(
                Recipe(
                    title=f"Compile all of it for {need}, in an empty build folder",
                    steps=(
                        Action(
                            env={
                                "ARCHFLAGS": f"-arch {need}",
                                "CFLAGS": f"-arch {need}",
                                "CMAKE_OSX_ARCHITECTURES": need,
                            }
                        ),
                    ),
                    note=f"Remove the old build folder first. A library that stays {have} has to "
                    f"be installed for {need}.",
                ),
                Recipe(
                    title="See for which processors the file is built",
                    steps=(Action(run=("lipo", "-info", event.objects["file"])),),
                    lasting=False,
                ),
            ),
            name="wrong-machine-linked",
        ),
    )


def _too_large(event: Event) -> Explanation:
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            "The library becomes too large to link: parts of it are more than 2 GiB apart",
            "Code for each GPU architecture adds to a library, and x86-64 code reaches 2 GiB in "
            "each direction. Fewer architectures make it small enough.",
            recipes=(
                Recipe(
                    title="Compile for the GPUs that are used alone",
                    steps=(Action(env={"TORCH_CUDA_ARCH_LIST": "<capability>"}),),
                    ask={"capability": "the compute capability of the GPU, such as 8.6"},
                ),
            ),
            name="too-large-to-link",
        ),
    )


def _machine(event: Event) -> Explanation:
    objects = event.objects
    have = objects.get("have") or objects["have2"]
    need = objects.get("need") or objects["need2"]
    if event.speaker == "the linker":
        return _apple(event, have, need)
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The link mixes {have} and {need}: the prompt of Visual Studio is one for another "
            "processor",
            "The compiler of the shell makes code for another processor than the libraries, mostly "
            "32 bits (x86) beside a 64-bit Python. The x64 Native Tools Command Prompt has the "
            "right one.",
            recipes=(X64_PROMPT,),
            name="wrong-machine-linked",
        ),
    )
