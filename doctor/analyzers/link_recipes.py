"""How a build links a library of CUDA: by gcc, by Visual C++, or by Rust.

cargo reads `cargo:rustc-link-*` lines of a build script and `rustflags` of .cargo/config.toml
(https://doc.rust-lang.org/cargo/reference/build-scripts.html, .../config.html).
"""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.machine import lines_around, system_of
from doctor.analyzers.recipes import LINUX, code, command, variables
from doctor.model.events import Event
from doctor.model.issues import Recipe

_RUST = re.compile(
    r"\brustc\b|linking with `|\.rlib\b|\brcgu\.o\b|\bcargo (?:build|run|install|test)\b|Compiling "
)
_FEATURES = re.compile(r"--features[= ]([\"']?)([\w,/ -]{1,120}?)\1(?=\s--|\s*$|\s[^\w,/-])")
_WINDOWS_TOOLKIT = r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\<version>"
_ASK_VERSION = {"version": "the folder of the installed toolkit, as v12.8"}


BREW = {
    "hdf5": "hdf5",
    "omp": "libomp",
    "gomp": "gcc",
    "gfortran": "gcc",
    "openblas": "openblas",
    "ssl": "openssl@3",
    "crypto": "openssl@3",
    "jpeg": "jpeg-turbo",
    "png": "libpng",
    "ffi": "libffi",
    "sndfile": "libsndfile",
    "portaudio": "portaudio",
    "protobuf": "protobuf",
    "gsl": "gsl",
    "fftw3": "fftw",
    "tbb": "tbb",
    "zstd": "zstd",
    "lz4": "lz4",
    "mpi": "open-mpi",
    "xml2": "libxml2",
    "intl": "gettext",
}
"""The formula of Homebrew that brings a library for linking."""


def opencv_target(event: Event, name: str) -> Explanation:
    """Return the explanation of a target of OpenCV's own build that is no library.

    OpenCV 2.4 and 3 write it into OpenCVConfig.cmake, and FindCUDA gives it a meaning only where
    the shared CUDA runtime is linked.
    """
    return explanation(
        event,
        f"{name} is a name inside OpenCV's CMake files, and no library",
        "This OpenCV was built with CUDA, and names the CUDA runtime so. CMake knows what it is "
        "only where the shared runtime of CUDA is linked.",
        (
            command(
                "Configure again with the shared CUDA runtime, in an empty folder",
                *("cmake", "-B", "build-anew", "-DCUDA_USE_STATIC_CUDA_RUNTIME=OFF"),
            ),
        ),
        name="library-not-linked",
    )


def is_rust(case: Case, event: Event) -> bool:
    """Say whether rustc asks for a link."""
    return any(_RUST.search(line) for line in lines_around(case, event, 30, 2))


def device_libraries(event: Event, name: str) -> Explanation:
    """Return the explanation of a function of ROCm's device libraries that a link lacks."""
    return explanation(
        event,
        f"ROCm's compiler and its device libraries are of two releases: no {name}",
        "clang asks the device libraries (amdgcn/bitcode) for it in each kernel. Those that it "
        "found are older than the compiler, or lie in another folder than it looks into: packages "
        "of the distribution beside AMD's, or two releases in /opt.",
        (
            command(
                "See which ROCm each package is of",
                "sh",
                "-c",
                "ls -d /opt/rocm*; (dpkg -l; rpm -qa; pacman -Q) 2>/dev/null | grep -iE "
                "'rocm-device-libs|rocm-llvm|hip-dev|comgr|hipcc'",
                use_if=(LINUX,),
                look=True,
                note="All of them have to be of one release: remove the others, and install that "
                "release again, whole.",
            ),
            variables(
                "Name the device libraries of the compiler's own ROCm",
                {"HIP_DEVICE_LIB_PATH": "/opt/rocm/amdgcn/bitcode", "ROCM_PATH": "/opt/rocm"},
                use_if=(LINUX, "the compiler is /opt/rocm/llvm/bin/clang"),
                note="Configure again in an empty folder.",
            ),
        ),
        name="rocm-of-two-releases",
    )


def linked(case: Case, event: Event, flag: str, *, is_driver: bool) -> tuple[Recipe, ...]:
    """Return what adds a library of CUDA to the link of an event."""
    windows = event.speaker.endswith("MSVC") or system_of(case, event) == "windows"
    if is_rust(case, event):
        folder = "/lib/x64" if windows else "/lib64/stubs" if is_driver else "/lib64"
        root = "CUDA_PATH" if windows else "CUDA_HOME"
        return (
            code(
                f"Have cargo link {flag}",
                "build.rs, beside Cargo.toml",
                "fn main() {\n"
                f'    let toolkit = std::env::var("{root}").expect("no {root}");\n'
                f'    println!("cargo:rustc-link-search=native={{}}{folder}", toolkit);\n'
                f'    println!("cargo:rustc-link-lib=dylib={flag}");\n}}',
                note="Where a crate of an index should have asked for it, a newer release of that "
                "crate does.",
            ),
        )
    if windows:
        return (
            code(
                f"Hand {flag}.lib to the linker",
                "the link command, or Linker, Input, Additional Dependencies of the project",
                f'/LIBPATH:"{_WINDOWS_TOOLKIT}\\lib\\x64" {flag}.lib',
                note="CMake does it with find_package(CUDAToolkit) and "
                f"target_link_libraries(<target> PRIVATE CUDA::{flag}). <version> is the folder of "
                "the installed toolkit, as v12.8.",
            ),
        )
    return (
        code(
            f"Link lib{flag}",
            "the link command: libraries stand behind the objects that use them",
            f"-L/usr/local/cuda/lib64{'/stubs' if is_driver else ''} -l{flag}",
        ),
    )


def without_cudnn(case: Case) -> tuple[Recipe, ...]:
    """Return the recipe that leaves cuDNN out of a build of Rust."""
    for line in case.log.lines[:2000]:
        match = _FEATURES.search(line[:1000])
        names = re.split(r"[, ]+", match[2]) if match else []
        if "cudnn" in names:
            rest = ",".join(one for one in names if one != "cudnn")
            return (
                code(
                    "Build without cuDNN, which makes convolutions faster and is not needed",
                    "the command of cargo",
                    f"--features {rest}" if rest else "(no --features)",
                    before=f"--features {','.join(names)}",
                ),
            )
    return (
        code(
            "Build without cuDNN, which makes convolutions faster and is not needed",
            "the features in Cargo.toml",
            'features = ["cuda"]',
            before='features = ["cuda", "cudnn"]',
        ),
    )


def folder_of_cudnn(case: Case, event: Event) -> tuple[Recipe, ...]:
    """Return what leads a linker on Windows to cudnn.lib."""
    beside = command(
        "Put cuDNN's libraries beside those of the toolkit, where builds search",
        "robocopy",
        r"<cudnn>\lib\x64",
        _WINDOWS_TOOLKIT + r"\lib\x64",
        "cudnn*.lib",
        ask={
            "cudnn": "the folder of the unpacked cuDNN",
            **_ASK_VERSION,
        },
        note="In a console of the administrator. Older archives have lib without x64. The "
        "folder bin of cuDNN has to be on PATH when the program runs.",
    )
    if not is_rust(case, event):
        return (beside,)
    search = code(
        "Give rustc the folder that holds cudnn.lib",
        ".cargo/config.toml of the project; write your own folder",
        '[target.x86_64-pc-windows-msvc]\nrustflags = ["-L", "native=D:/cudnn/lib/x64"]',
        note="It has to be the folder with the file itself, not the one above it.",
    )
    return search, beside


def cudnn_8(case: Case, event: Event, name: str) -> Explanation:
    """Return the explanation of a function that only cuDNN 8 has."""
    rust = is_rust(case, event)
    return explanation(
        event,
        f"The sources are written for cuDNN 8, which has {name}; the link finds no cuDNN, or 9",
        "cuDNN 9 joined the halves for training and inference, and took this function away. "
        "A newer release of what is built knows cuDNN 9.",
        (
            *(without_cudnn(case) if rust else ()),
            code(
                "Take cuDNN 8.9 for the CUDA that is here, and build again",
                "the cuDNN that is unpacked beside the toolkit",
                "cuDNN 8.9",
                before="cuDNN 9",
                note="NVIDIA's cuDNN archive has it. On Windows its folders bin, include and "
                "lib go into those of the toolkit.",
            ),
        ),
        name="library-not-linked",
    )
