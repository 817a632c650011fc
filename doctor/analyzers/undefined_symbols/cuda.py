"""Symbols of the CUDA libraries: which library is too old, and what stands before the right one."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.machine import fact_text
from doctor.analyzers.undefined_symbols.owners import file_name, short
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.timelines.symbols import exporters

_NAMES = {
    "cudart": "the CUDA runtime (libcudart)",
    "cublas": "cuBLAS",
    "cudnn": "cuDNN",
    "cufft": "cuFFT",
    "curand": "cuRAND",
    "cusolver": "cuSOLVER",
    "cusparse": "cuSPARSE",
    "cusparselt": "cuSPARSELt",
    "nvjitlink": "nvJitLink",
    "nvrtc": "NVRTC",
    "nccl": "NCCL",
    "nvshmem": "NVSHMEM",
    "cupti": "CUPTI",
    "nvidia driver": "the NVIDIA driver (libcuda.so.1)",
}
KEYS = frozenset(_NAMES)
_PACKAGES = {
    "cudart": "nvidia-cuda-runtime",
    "cublas": "nvidia-cublas",
    "cudnn": "nvidia-cudnn",
    "cufft": "nvidia-cufft",
    "curand": "nvidia-curand",
    "cusolver": "nvidia-cusolver",
    "cusparse": "nvidia-cusparse",
    "cusparselt": "nvidia-cusparselt",
    "nvjitlink": "nvidia-nvjitlink",
    "nvrtc": "nvidia-cuda-nvrtc",
    "nccl": "nvidia-nccl",
    "nvshmem": "nvidia-nvshmem",
    "cupti": "nvidia-cuda-cupti",
}
_NUMBERED = re.compile(r"__nvJitLink\w{1,60}?_(\d{2})_(\d{1,2})")
_SYSTEM = re.compile(r"^(?:/usr)?/lib(?:64)?/|^/usr/local/|^/opt/(?!conda)")
_PYTHON = re.compile(r"[/\\](?:site|dist)-packages[/\\]")


def of_cuda(case: Case, event: Event, path: str, key: str, symbol: str) -> Explanation:
    """Explain a symbol of a CUDA library that the copy which was loaded does not export."""
    file = file_name(path)
    name = _NAMES[key]
    if key == "nvidia driver":
        return _driver(event, file, symbol)
    since = _since(key, symbol)
    title = f"{file} asks {name} for {short(symbol)}, and an older {key} was loaded"
    if since:
        title = f"{file} needs {name} {since}, and an older one was loaded"
    mixed = key == "cudnn" and _SYSTEM.match(path)
    where = (
        f"{path} is the system's copy, and the rest of {name} was loaded from another folder, "
        "mostly torch's own package: two releases are mixed in one process. "
        if mixed
        else f"{short(symbol)} belongs to {name}. A process loads one copy of it, and the one that "
        "came first is older than the file needs. "
    )
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            title,
            where
            + "LD_LIBRARY_PATH is searched before NVIDIA's pip packages, and whatever was loaded "
            "earlier in the process counts first: a toolkit in /usr/local/cuda, a system package, "
            "or another Python package.",
            recipes=_recipes(case, key, path, event.text),
            name="cuda-libraries-mixed",
            captures={"symbol": short(symbol)},
        ),
    )


def _since(key: str, symbol: str) -> str:
    """Return the first release that has a symbol: 12.4 of its name, or from the data."""
    if found := _NUMBERED.search(symbol):
        return f"of CUDA {found[1]}.{found[2]} or newer"
    span = exporters(symbol)
    if span is None or span.package != key or not span.is_latest or span.is_earliest:
        return ""
    return f"{span.first} or newer"


_LAST_CUDNN_7 = Recipe(
    title="Put cuDNN 7.6.5, the last 7, before the older one",
    note="NVIDIA has an archive of it for each CUDA release, and conda has cudnn=7.6.5.",
    steps=(Action(env={"LD_LIBRARY_PATH": "<folder>:$LD_LIBRARY_PATH"}),),
    ask={"folder": "the folder lib64 of cuDNN 7.6.5 for the CUDA of the package"},
)


def _recipes(case: Case, key: str, path: str, text: str) -> tuple[Recipe, ...]:
    if "libcudnn.so.7" in text and "/torch/" not in text:
        return (_LAST_CUDNN_7,)  # no package of that time but torch brought one
    recipes = [
        Recipe(
            title="Start without LD_LIBRARY_PATH, so that the package's own copy is loaded",
            use_if=("LD_LIBRARY_PATH names a CUDA toolkit or another copy",),
            steps=(Action(env={"LD_LIBRARY_PATH": ""}),),
        )
    ]
    cuda = fact_text(case, "torch.cuda_version")
    torch = fact_text(case, "torch.release")
    if torch and _PYTHON.search(path):
        recipes.append(
            Recipe(
                title=f"Install the libraries again that torch {torch} asks for",
                steps=(Action(install=("torch=={torch.release}",), options=(Option.REINSTALL,)),),
                note="Take the index that torch came from, or a build without CUDA may follow.",
            )
        )
    tag = f"-cu{cuda.partition('.')[0]}" if cuda and int(cuda.partition(".")[0]) < 13 else ""
    package = f"{_PACKAGES[key]}{tag}"
    recipes.append(
        Recipe(
            title=f"See which {package} is installed, and which one torch asks for",
            steps=(Action(run=("{python.executable}", "-m", "pip", "check")),),
            lasting=False,
        )
    )
    return tuple(recipes)


def _driver(event: Event, file: str, symbol: str) -> Explanation:
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{file} asks the driver's libcuda.so.1 for {short(symbol)}, which it does not have",
            "The NVIDIA driver is older than the file needs, or another libcuda.so.1 was loaded "
            "than the driver's: the stub of a toolkit (lib64/stubs), or the copy of another "
            "release in a container. nvidia-smi shows the driver.",
            recipes=(
                Recipe(
                    title="See which driver runs, and which CUDA release it serves",
                    steps=(Action(run=("nvidia-smi",)),),
                    lasting=False,
                ),
            ),
            name="driver-library-too-old",
        ),
    )
