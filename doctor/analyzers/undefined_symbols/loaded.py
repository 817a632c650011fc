"""Symbols that ld.so or dyld does not find when a file is loaded."""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.machine import fact_text
from doctor.analyzers.recipes import LINUX, variables
from doctor.analyzers.undefined_symbols.backends import of_backend
from doctor.analyzers.undefined_symbols.builds import built_with_other
from doctor.analyzers.undefined_symbols.cuda import KEYS, of_cuda
from doctor.analyzers.undefined_symbols.owners import file_name, library_of, owner, short
from doctor.analyzers.undefined_symbols.system import GONE, of_libc, of_libstdcxx, of_python
from doctor.analyzers.undefined_symbols.torch import is_part_of_torch, of_torch
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe

OTHER_TORCH = (
    "*/built-for-other-torch",
    "*/built-for-another-torch",
    "*/*other-torch*",
    "*/undefined-symbol*",
    "cuda/extension-for-other-torch",
)
_GPU = re.compile(r"cuda|cutlass|gpu|sm_?\d\d|hip|rocm|marlin|nvfp4|mxfp4|kernel|fp8|_cu_?", re.I)
_CPU = re.compile(r"cpu|avx|amx|omp|neon|vnni", re.I)


class MissingSymbols(NamedTuple):
    """The symbols that one file asks for in vain: their first event, its path, the symbols."""

    event: Event
    path: str
    symbols: tuple[str, ...]

    @property
    def file(self) -> str:
        """Return the name of the file, or words for one that the log does not name."""
        return file_name(self.path)


def explain_symbols(case: Case, missing: MissingSymbols) -> Explanation | None:
    """Explain the missing symbols of one file."""
    owners = [owner(symbol) for symbol in missing.symbols]
    event, path, symbols = missing
    if GONE.match(symbols[0]):
        return of_libc(event, path, symbols[0])
    if library_of(symbols[0]) == _BLAS:
        return _of_blas(missing)
    if "torch" in owners or (not any(owners) and is_part_of_torch(path)):
        of = tuple(one for one, whose in zip(symbols, owners, strict=True) if whose == "torch")
        return of_torch(case, event, path, of or symbols)
    first = owners[0]
    if first in KEYS:
        return of_cuda(case, event, path, first, symbols[0])
    if first == "python":
        return of_python(case, event, path, symbols[0])
    if first == "glibc":
        return of_libc(event, path, symbols[0])
    if first == "c++ standard library":
        return of_libstdcxx(case, event, path, symbols[0])
    if first:
        return _of_library(case, missing, library_of(symbols[0]) or first)
    if not missing.path:
        return None  # nobody knows which file asks
    return of_backend(event, path, symbols) or _own(case, missing)


_BLAS = "BLAS or LAPACK"


def _of_blas(missing: MissingSymbols) -> Explanation:
    symbol = short(missing.symbols[0])
    return Explanation(
        event=missing.event,
        precision=Precision.EXACT,
        contradicts=OTHER_TORCH,
        detection=detection(
            missing.event,
            f"{missing.file} needs a BLAS with LAPACK, and none that has {symbol} was loaded",
            f"{symbol} is a function of linear algebra. This build does not bring it (torch for "
            "Jetson and ARM, own builds), and the library of the system is missing, or is a plain "
            "BLAS without LAPACK.",
            recipes=(
                Recipe(
                    title="Install OpenBLAS, which has both",
                    use_if=(LINUX,),
                    steps=(
                        Action(
                            system={
                                "apt": ("libopenblas-dev", "liblapack3"),
                                "dnf": ("openblas", "lapack"),
                            }
                        ),
                    ),
                ),
                _see_loaded("See which BLAS the file loads", missing),
            ),
            name="linear-algebra-missing",
            captures={"symbol": symbol},
        ),
    )


def _see_loaded(title: str, missing: MissingSymbols) -> Recipe:
    """Return the recipe that lists the libraries which the loader finds for a file."""
    return Recipe(
        title=title,
        steps=(Action(run=("ldd", missing.path or "<file>")),),
        ask={} if missing.path else {"file": "the file that fails to load"},
        lasting=False,
    )


def _loaded_first(name: str, symbol: str) -> tuple[Recipe, ...]:
    """Return the recipe that loads a library which the file was not linked with."""
    library = {"openmp": "libgomp.so.1", "mpi": "libmpi.so"}.get(name, "")
    if name == "mpi" and "3MPI" in symbol:
        library = "libmpi_cxx.so"
    if not library or (name == "openmp" and not symbol.startswith("GOMP_")):
        return ()
    note = {
        "openmp": "libgomp comes with gcc: apt install libgomp1, or conda install libgomp.",
        "mpi": "It has to be the MPI that the file was built with. A build from sources finds it "
        "by itself with CC=mpicc and CXX=mpicxx; the published wheels need none.",
    }
    return (
        variables(
            f"Load {library} before the file, which was not linked with it",
            {"LD_PRELOAD": library},
            use_if=(LINUX,),
            note=note[name],
        ),
    )


def _of_library(case: Case, missing: MissingSymbols, name: str) -> Explanation:
    symbol = short(missing.symbols[0])
    return Explanation(
        event=missing.event,
        contradicts=OTHER_TORCH,
        detection=detection(
            missing.event,
            f"{missing.file} asks {name} for {symbol}, and the copy that was loaded lacks it",
            f"{symbol} belongs to {name}. The loader found a copy of another release than the file "
            "was built for, or none that is linked. Conda environments, LD_LIBRARY_PATH and the "
            "system can each have a copy, and the first one that is loaded counts.",
            recipes=(
                *built_with_other(case, missing.event, name, missing.symbols[0]),
                *_loaded_first(name, missing.symbols[0]),
                Recipe(
                    title="Start without LD_LIBRARY_PATH, which may lead to another copy",
                    use_if=("LD_LIBRARY_PATH is set",),
                    steps=(Action(env={"LD_LIBRARY_PATH": ""}),),
                ),
                _see_loaded("See which copies the file loads", missing),
            ),
            name="symbol-of-another-library",
            captures={"symbol": symbol},
        ),
    )


def _own(case: Case, missing: MissingSymbols) -> Explanation:
    symbol = short(missing.symbols[0])
    more = len(missing.symbols) - 1
    others = f" and {more} more" if more else ""
    about_gpu = bool(_GPU.search(symbol)) and not _CPU.search(symbol)
    part = "its GPU code" if about_gpu else "a part of its sources"
    left_out = (
        "Such a part is left out if the build finds no nvcc, if torch was a CPU build, or if the "
        "list of architectures (TORCH_CUDA_ARCH_LIST) lacks the one that it is written for. "
        if about_gpu
        else "A source file is missing in the list of the build, or a macro left the function out. "
    )
    if _is_of_c_library(missing):
        return _of_wrapped_library(missing, symbol, others)
    return Explanation(
        event=missing.event,
        precision=Precision.EXACT,
        contradicts=OTHER_TORCH,
        detection=detection(
            missing.event,
            f"{missing.file} lacks {symbol}{others}, its own: it was built without {part}",
            f"No release of torch and no CUDA library exports {symbol}: it is the package's own. "
            "One part calls it, and the part that has it was not compiled or not linked. "
            f"{left_out}Another torch does not help, and neither does the same build again.",
            recipes=_rebuild(case, about_gpu),
            name="own-symbol-missing",
            captures={"symbol": symbol, "symbol_file": missing.file},
        ),
    )


_OF_C = re.compile(r"[A-Za-z][a-z0-9]{1,20}_[a-z0-9_]{2,60}")


def _is_of_c_library(missing: MissingSymbols) -> bool:
    """Say whether symbols look like functions of a library of C that a Python module wraps.

    Such a library puts its name before each of its functions: emu_cpu_new of libemu, in pylibemu.
    """
    for symbol in missing.symbols:
        prefix = symbol.partition("_")[0]
        # In the library itself (libown.so lacks own_start) a part of its own sources is missing.
        at = missing.file.lower().find(f"lib{prefix}")
        if at < 1 or not _OF_C.fullmatch(symbol):
            return False
    return True


def _of_wrapped_library(missing: MissingSymbols, symbol: str, others: str) -> Explanation:
    name = f"lib{symbol.partition('_')[0]}"
    return Explanation(
        event=missing.event,
        contradicts=OTHER_TORCH,
        detection=detection(
            missing.event,
            f"{missing.file} asks {name} for {symbol}{others}, and the {name} that was loaded "
            "lacks it",
            f"{missing.file} wraps the library {name}. The copy that the loader found is older "
            "than the headers it was built with, or it was not linked at all.",
            recipes=(
                _see_loaded(f"See which {name} the file loads", missing),
                Recipe(
                    title=f"Build the Python module again, after {name} was brought up to date",
                    note=f"Remove older copies of {name} first, as those of the distribution.",
                    steps=(
                        Action(
                            install=("<package>",),
                            options=(*_ANEW, Option.NO_BINARY),
                        ),
                    ),
                    ask={"package": "the package of the module, with its release: name==release"},
                ),
            ),
            name="symbol-of-another-library",
            captures={"symbol": symbol},
        ),
    )


_ANEW = (Option.REINSTALL, Option.NO_DEPS, Option.NO_CACHE)
"""Options that write a package once more, and nothing beside it."""


def _rebuild(case: Case, about_gpu: bool) -> tuple[Recipe, ...]:
    package = {"package": "the package of the file, with its release: name==release"}
    wheel = Recipe(
        title="Take a published wheel of the package instead of the build",
        use_if=("the package publishes wheels for this torch and CUDA",),
        steps=(
            Action(
                install=("<package>",),
                options=_ANEW,
            ),
        ),
        ask=package,
    )
    if not about_gpu:
        anew = Recipe(
            title="Build it anew from the project's newest sources, in a clean folder",
            use_if=("it is built from its sources",),
            note="Run it in the folder of setup.py. A build folder of an earlier state keeps what "
            "was compiled from it.",
            steps=(
                Action(run=("rm", "-rf", "build")),
                Action(
                    install=(".",),
                    options=_ANEW,
                ),
            ),
        )
        return (wheel, anew)
    clean = Recipe(
        title="Build it in a clean folder, with nvcc and the architecture of the GPU",
        use_if=("it is built from its sources",),
        note="`python -c 'import torch; print(torch.version.cuda)'` must print a release of CUDA.",
        steps=(
            Action(
                install=("<package>",),
                options=(*_ANEW, Option.NO_BUILD_ISOLATION),
                env={"FORCE_CUDA": "1", "TORCH_CUDA_ARCH_LIST": "<capability>"},
            ),
        ),
        ask={
            "package": "the folder of its sources, or its name",
            "capability": fact_text(case, "gpu.arch_list")
            or "the compute capability of the GPU, such as 8.6",
        },
    )
    return wheel, clean
