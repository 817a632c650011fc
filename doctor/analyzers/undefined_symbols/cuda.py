"""Symbols of the CUDA libraries: which library is too old, and what stands before the right one."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.machine import fact_text, table_rows
from doctor.analyzers.undefined_symbols.owners import file_name, short
from doctor.base.versions import parse
from doctor.model.events import Event
from doctor.model.issues import Action, Condition, Option, Recipe
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
        return _driver(case, event, path, symbol)
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


_RELEASE = re.compile(r"libcuda\.so\.(\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b")
"""The driver's library under its full name, which a stub of a toolkit does not have."""
_NEWER = (
    Recipe(
        title="Install a newer NVIDIA driver, then restart",
        use_if=(
            Condition(fact="host.distribution_id", equals="ubuntu"),
            Condition(fact="host.container", absent=True),
            Condition(fact="host.wsl", absent=True),
        ),
        note="Elsewhere take the newest driver for this GPU from the distribution or from NVIDIA. "
        "In a container the driver is the host's.",
        steps=(Action(run=("ubuntu-drivers", "install"), sudo=True, reboot=True),),
        verify=("nvidia-smi",),
    ),
)


def _driver(case: Case, event: Event, path: str, symbol: str) -> Explanation:
    """Explain a function that the driver's libcuda does not have."""
    file = file_name(path)
    named = _RELEASE.search(file)
    release = named[1] if named else fact_text(case, "nvidia.driver_version")
    served = _served(case, release)
    does = f" It serves CUDA {served} at most." if served else ""
    if named:
        title = f"The NVIDIA driver {release} is too old: its libcuda does not have {short(symbol)}"
        cause = f"The program needs a function that came with a newer driver.{does}"
    else:
        title = f"{file} asks the driver's libcuda.so.1 for {short(symbol)}, which it does not have"
        here = f" The driver here is {release}.{does}" if release else ""
        cause = (
            "The NVIDIA driver is older than the file needs, or another libcuda.so.1 was loaded "
            "than the driver's: the stub of a toolkit (lib64/stubs), or the copy of another "
            f"release in a container. nvidia-smi shows the driver.{here}"
        )
    look = Recipe(
        title="See which driver runs, and which CUDA release it serves",
        steps=(Action(run=("nvidia-smi",)),),
        note="Then install the newest driver for this GPU from the distribution or from NVIDIA.",
        lasting=False,
    )
    return Explanation(
        event=event,
        precision=Precision.EXACT if named else Precision.FAMILY,
        detection=detection(
            event,
            title,
            cause,
            recipes=(*_NEWER, look) if named or release else (look, *_NEWER),
            name="driver-library-too-old",
        ),
    )


def _served(case: Case, release: str) -> str:
    """Return the newest CUDA before 12 that a driver serves: 10.1 for 418.74.

    From CUDA 12 on a driver of a generation serves all of it, so that the table names no last one.
    """
    driver = parse(release) if release else None
    found = ""
    for row in table_rows(case.catalog, "cuda-driver") if driver else ():
        cuda, needs = row.get("cuda"), row.get("driver")
        if isinstance(cuda, dict) and isinstance(needs, dict) and driver is not None:
            first = parse(str(needs.get("from", "")))
            if first is not None and first <= driver:
                found = str(cuda.get("from", ""))
    return found if found.startswith(("9.", "10.")) else ""
