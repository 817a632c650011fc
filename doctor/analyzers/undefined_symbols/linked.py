"""Names that a linker does not find (`undefined reference to`, LNK2019, `referenced from:`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.checkouts import once_more
from doctor.analyzers.link_recipes import cudnn_8, device_libraries, linked
from doctor.analyzers.machine import lines_around
from doctor.analyzers.recipes import by_system
from doctor.analyzers.undefined_symbols.builds import OF_VISUAL_STUDIO
from doctor.analyzers.undefined_symbols.msvc import newer_msvc, of_newer_msvc
from doctor.analyzers.undefined_symbols.owners import library_of
from doctor.model.events import Event
from doctor.model.issues import Action, Condition, Recipe, Snippet
from doctor.timelines.c_library import symbol_version
from doctor.timelines.symbols import owner_of

_FLAGS = {
    "cudart": "cudart",
    "cublas": "cublas",
    "cudnn": "cudnn",
    "cufft": "cufft",
    "curand": "curand",
    "cusolver": "cusolver",
    "cusparse": "cusparse",
    "nvrtc": "nvrtc",
    "nccl": "nccl",
    "nvjitlink": "nvJitLink",
    "nvidia driver": "cuda",
}
_TORCH = re.compile(
    r"^(?:const )?(?:at|c10|c10d|torch|caffe2)::|_ZN?K?(?:2at|3c10|5torch|6caffe2)"
    r"|__(?:cdecl|vectorcall) (?:at|c10|c10d|torch|caffe2)::"
)
"""Symbols of torch: as they are read, as GCC and Clang name them, and as MSVC prints them."""
_STRING = re.compile(r"std::__cxx11::|std::basic_string|std::string")
_DEVICE_LINK = re.compile(r"__cudaRegisterLinkedBinary|__fatbinwrap_")
_DEVICE_RUNTIME = re.compile(r"cuda_device_runtime")
_NEEDED = re.compile(
    r"warning: (?P<needed>lib[\w.+-]{1,80}), needed by (?P<by>\S{1,200}), not found"
)
_VERSIONED = re.compile(r"@{1,2}(GLIBC_[\d.]{3,8}|GLIBCXX_[\d.]{3,10}|CXXABI_[\d.]{3,10})")
_FORTRAN = re.compile(r"[a-z]\w{3,8}_$")
"""A function of BLAS or LAPACK: some wheels of torch export these as well."""
_CUBLAS_LT = re.compile(r"^_?cublasLt")


def unresolved(case: Case) -> Iterator[Explanation]:
    """Yield one explanation for all names of one owner that a linker does not find."""
    if any(event.speaker == "the linker" for event in case.of("wrong-machine-linked")):
        return  # the names are those of the file that the linker left out
    groups: dict[str, list[tuple[Event, str]]] = {}
    for event in case.of("undefined-reference"):
        symbol = event.objects.get("readable") or event.objects.get("symbol") or ""
        symbol = symbol or event.objects.get("plain", "")
        if symbol:
            groups.setdefault(_owner(symbol), []).append((event, symbol))
    for owner, found in list(groups.items())[:3]:
        explanation = _needed(case, found) or _explain(case, owner, found)
        if explanation is not None:
            yield explanation


def _owner(symbol: str) -> str:
    if found := _VERSIONED.search(symbol):
        return found[1]
    plain = (
        symbol.removeprefix("__imp_").removeprefix("_") if symbol.startswith("__imp") else symbol
    )
    if _TORCH.search(plain):
        return "torch"
    return library_of(plain) if _FORTRAN.match(plain) else owner_of(plain) or library_of(plain)


def _explain(case: Case, owner: str, found: list[tuple[Event, str]]) -> Explanation | None:
    event, symbol = found[0]
    if of_newer_msvc(symbol):
        return newer_msvc(case, event, symbol)
    name = symbol if len(symbol) <= 90 else f"{symbol[:89]}…"
    if _DEVICE_LINK.search(symbol):
        return _device_link(event, symbol)
    if owner.startswith(("GLIBC", "CXXABI")):
        return _newer_library(event, owner)
    if owner == "torch":
        return _torch(event, name, [one for _, one in found])
    if owner in _FLAGS:
        flag = "cublasLt" if _CUBLAS_LT.match(symbol) else _FLAGS[owner]
        return _not_linked(case, event, name, flag)
    if owner == "ROCm's device libraries":
        return device_libraries(event, name)
    if owner == "c++ standard library":
        return _standard_library(event, name)
    if owner == "glibc":
        version = symbol_version("GLIBC_2.38") if "__isoc23" in symbol else None
        return _newer_library(event, "GLIBC_2.38") if version else None
    if owner:
        return _other_library(event, name, owner)
    return _own(case, event, name, len(found))


def _needed(case: Case, found: list[tuple[Event, str]]) -> Explanation | None:
    """Explain names that lack because a library that the linked one needs is not found."""
    event, _ = found[0]
    for line in lines_around(case, event, 40, 0):
        match = _NEEDED.search(line)
        if match is None or not any(match["by"].rpartition("/")[2] in one.text for one, _ in found):
            continue
        needed, by = match["needed"], match["by"].rpartition("/")[2]
        driver = bool(_OF_DRIVER.search(needed))
        return Explanation(
            event=event,
            precision=Precision.EXACT,
            detection=detection(
                event,
                f"{by} needs {needed}, which the linker does not find; the names below are its own",
                "The linker follows the libraries that a library needs. This one is not in the "
                "folders that it searches: it is not installed, or its folder is unknown to it."
                + (
                    " It belongs to the NVIDIA driver of that very release: parts of two drivers "
                    "are mixed, or a part was removed."
                    if driver
                    else ""
                ),
                recipes=(
                    Recipe(
                        title=f"See whether {needed} is on this machine, and where",
                        steps=(Action(run=("find", "/usr", "/opt", "-name", f"{needed}*")),),
                        note=(
                            "If it is there, put its folder into LD_LIBRARY_PATH for the build, or "
                            "give the linker -Wl,-rpath-link=<its folder>. If not, install "
                            + (
                                "the NVIDIA driver again, all of its packages in one release."
                                if driver
                                else "the package that brings it."
                            )
                        ),
                        lasting=False,
                    ),
                ),
                name="library-of-library-not-found",
            ),
        )
    return None


_OF_DRIVER = re.compile(r"^lib(?:nvidia-|cuda\.so|nvcuvid)")


def _device_link(event: Event, symbol: str) -> Explanation:
    runtime = bool(_DEVICE_RUNTIME.search(symbol))
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            "The link lacks CUDA's device runtime (cudadevrt)"
            if runtime
            else "The device code was compiled in parts (-rdc=true) and never linked by nvcc",
            "nvcc's separate compilation leaves the GPU code of each file open. A step of nvcc's "
            "own (-dlink) joins it before the usual link, and where kernels start kernels it needs "
            "libcudadevrt. The GPU and the driver play no part.",
            recipes=(
                Recipe(
                    title="Link the device code, with the device runtime",
                    snippet=Snippet(
                        where="the CMakeLists.txt, for the target of the message",
                        after="set_target_properties(<target> PROPERTIES\n"
                        "    CUDA_SEPARABLE_COMPILATION ON CUDA_RESOLVE_DEVICE_SYMBOLS ON)\n"
                        "target_link_libraries(<target> PRIVATE CUDA::cudadevrt CUDA::cudart)",
                    ),
                    note="find_package(CUDAToolkit) defines both libraries. A Makefile links with "
                    "nvcc in the place of g++, or runs nvcc -dlink before and adds -lcudadevrt "
                    "-lcudart.",
                    ask={"target": "the target that is linked"},
                ),
            ),
            name="device-code-not-linked",
        ),
    )


def _newer_library(event: Event, version: str) -> Explanation:
    found = symbol_version(version)
    sysroot = next((one for one in found.row.conda if "sysroot" in one), "") if found else ""
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The linker's C library is older than a library that it links: it lacks {version}",
            f"A library was compiled on a system with {version}, and the linker works with an "
            "older C library. conda's compilers bring one of their own (sysroot), which is old on "
            "purpose; the libraries of the system do not fit it.",
            recipes=(
                (
                    Recipe(
                        title=f"Install the newer C library for conda's compilers ({sysroot})",
                        use_if=("conda's compiler links", "x86-64"),
                        steps=(
                            Action(
                                run=(
                                    *("conda", "install", "-p", "{python.conda|<environment>}"),
                                    *("-c", "conda-forge", sysroot),
                                )
                            ),
                        ),
                        ask={"environment": "the folder of the conda environment"},
                    ),
                )
                if sysroot
                else ()
            ),
            name="linker-c-library-too-old",
        ),
    )


def _torch(event: Event, name: str, symbols: list[str]) -> Explanation:
    strings = any(_STRING.search(symbol) for symbol in symbols)
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"The linker finds no {name} in torch's libraries",
            (
                "The names hold std::string, which has two forms since GCC 5 (C++11 ABI): the "
                "sources are compiled with another one than this libtorch. torch up to 2.6 from "
                "PyPI has the old one (_GLIBCXX_USE_CXX11_ABI=0), from 2.7 on the new one. "
                if strings
                else "The headers are of another torch than the libraries, or a library of torch "
                "(c10, torch_cpu, torch_cuda, torch_python) is not among those that are linked. "
            )
            + "CMake projects take both from torch.utils.cmake_prefix_path.",
            recipes=(
                *((OF_VISUAL_STUDIO,) if event.speaker.endswith("MSVC") else ()),
                Recipe(
                    title="Let CMake take torch from the Python that runs",
                    use_if=("CMake builds it",),
                    steps=(
                        Action(
                            run=(
                                *("{python.executable}", "-c"),
                                (
                                    "import torch; print(torch.utils.cmake_prefix_path, "
                                    "torch.compiled_with_cxx11_abi())"
                                ),
                            )
                        ),
                    ),
                    note="Its first word is the value of CMAKE_PREFIX_PATH.",
                    lasting=False,
                ),
            ),
            name="torch-not-linked",
        ),
    )


_OF_CUDNN_8 = re.compile(r"^cudnn(?:Adv|Cnn|Ops)(?:Infer|Train)VersionCheck$")
"""cuDNN 9 joined the two halves of each library, and has no function of these names."""


def _not_linked(case: Case, event: Event, name: str, flag: str) -> Explanation:
    is_driver = flag == "cuda"
    file = f"{flag}.lib" if event.speaker.endswith("MSVC") else f"lib{flag}"
    if _OF_CUDNN_8.match(name):
        return cudnn_8(case, event, name)
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The link lacks {file}, which has {name}",
            f"The sources call {name}, and {file} is not among the libraries of the link "
            "command, or a copy of an older release was found first."
            + (
                " Without a driver, as in docker build, the toolkit's stub in lib64/stubs serves "
                "the linker."
                if is_driver
                else ""
            ),
            recipes=linked(case, event, flag, is_driver=is_driver),
            name="library-not-linked",
        ),
    )


def _standard_library(event: Event, name: str) -> Explanation:
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"The link lacks the C++ standard library, or one that is new enough, for {name}",
            "Either a C compiler links C++ objects (gcc instead of g++), or an object was compiled "
            "by a newer gcc than the libstdc++ that is linked: conda's compiler and the system's "
            "are mixed.",
            name="cxx-library-not-linked",
        ),
    )


_DEVELOPERS: dict[str, tuple[str, str, str, str]] = {
    "BLAS or LAPACK": ("libopenblas-dev", "openblas-devel", "openblas", "openblas"),
    "libffi": ("libffi-dev", "libffi-devel", "libffi", "ffi"),
    "OpenSSL": ("libssl-dev", "openssl-devel", "openssl", "ssl"),
    "zlib": ("zlib1g-dev", "zlib-devel", "zlib", "z"),
    "zstd": ("libzstd-dev", "libzstd-devel", "zstd", "zstd"),
    "libjpeg": ("libjpeg-dev", "libjpeg-turbo-devel", "libjpeg-turbo", "jpeg"),
    "libpng": ("libpng-dev", "libpng-devel", "libpng", "png"),
    "HDF5": ("libhdf5-dev", "hdf5-devel", "hdf5", "hdf5"),
    "MPI": ("libopenmpi-dev", "openmpi-devel", "openmpi", "mpi"),
    "libnuma": ("libnuma-dev", "numactl-devel", "libnuma", "numa"),
    "libibverbs": ("libibverbs-dev", "rdma-core-devel", "rdma-core", "ibverbs"),
    "protobuf": ("libprotobuf-dev", "protobuf-devel", "libprotobuf", "protobuf"),
    "OpenCV": ("libopencv-dev", "opencv-devel", "libopencv", "opencv_core"),
    "TBB": ("libtbb-dev", "tbb-devel", "tbb-devel", "tbb"),
    "fmt": ("libfmt-dev", "fmt-devel", "fmt", "fmt"),
}
"""Packages for apt, dnf and conda-forge with the link names of libraries, and one such name."""


def _for_developers(owner: str) -> tuple[Recipe, ...]:
    """Return what brings a library to the linker."""
    if owner not in _DEVELOPERS:
        return ()
    apt, dnf, conda, flag = _DEVELOPERS[owner]
    return (
        by_system(
            f"Install {owner} for developers, then configure and build in an empty folder",
            apt=(apt,),
            dnf=(dnf,),
            note=f"Makefiles of your own link it by -l{flag}, behind the objects that use it.",
        ),
        Recipe(
            title=f"Install {owner} from conda-forge, then build in an empty folder",
            use_if=(Condition(fact="python.conda", present=True),),
            steps=(
                Action(
                    run=("conda", "install", "-p", "{python.conda}", "-c", "conda-forge", conda)
                ),
            ),
        ),
    )


def _other_library(event: Event, name: str, owner: str) -> Explanation:
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"The linker does not find {name}, which belongs to {owner}",
            f"{owner} is not among the libraries of the link command, stands before the objects "
            "that use it, or is there in another release than its headers.",
            recipes=_for_developers(owner),
            name="library-not-linked",
        ),
    )


def _own(case: Case, event: Event, name: str, number: int) -> Explanation:
    more = f" and {number - 1} more" if number > 1 else ""
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"The linker does not find {name}{more}",
            "The name belongs to no library that doctor knows, so it is the package's own or one "
            "of its dependencies': a source file was not compiled, or the library that has it is "
            "not in the link command. Old objects in the build folder do the same after an update.",
            recipes=once_more(case),
            name="name-not-linked",
        ),
    )
