"""Explain packages that apt does not find, by where Debian, Ubuntu, NVIDIA and AMD keep them.

| the name | what is said of it |
| --- | --- |
| a toolkit or a driver of NVIDIA's, on Debian | the component non-free of Debian's source |
| cuda-*, libcudnn9, libnvinfer | NVIDIA's own source |
| rocm*, hip*, amdgpu-dkms | AMD's own source |
| python3.12, g++-7 | a release that this distribution does not have |
| libgl1-mesa-glx, libasound2, python-pip | the name of today |
| anything else | the lists of packages, which an image comes without |

Sources: packages.debian.org, packages.ubuntu.com, and NVIDIA's and AMD's guides of installation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import LINUX, by_system, command
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_LONGEST = 2000
_MISSING = re.compile(
    r"\bE: (?:Unable to locate package (?P<located>[a-z0-9][\w.+-]{1,80})"
    r"|Package '(?P<offered>[a-z0-9][\w.+-]{1,80})' has no installation candidate)"
)
_NON_FREE = re.compile(
    r"nvidia-(?:cuda-toolkit|cuda-dev|cudnn|driver|smi|kernel-dkms|detect|modprobe|settings)\b"
    r"|firmware-(?:amd-graphics|misc-nonfree)$|libcuda1$|intel-mkl"
)
_OF_NVIDIA = re.compile(
    r"cuda(?:-|$)|libcudnn\d|libnvinfer|libnvonnxparsers|tensorrt|libnccl|datacenter-gpu-manager"
    r"|libcu(?:blas|fft|rand|solver|sparse|sparselt|dss)|libnpp|libnvjpeg|libnvjitlink"
    r"|nvidia-fabricmanager|cudnn"
)
_OF_AMD = re.compile(r"rocm|hip(?:cc|blas|fft|sparse|-)|amdgpu|miopen|rccl|rocblas|hsa-")
_PYTHON = re.compile(r"python(3\.\d{1,2})(?:-(?:venv|dev|distutils|full|minimal|tk))?$")
_COMPILER = re.compile(r"(?:gcc|g\+\+|gfortran|clang)-(\d{1,2})$")
_RENAMED = {
    "libgl1-mesa-glx": "libgl1",
    "libegl1-mesa": "libegl1",
    "libgles2-mesa": "libgles2",
    "libasound2": "libasound2t64",
    "libglib2.0-0": "libglib2.0-0t64",
    "libgtk-3-0": "libgtk-3-0t64",
    "libtinfo5": "libtinfo6",
    "libncurses5": "libncurses6",
    "libncurses5-dev": "libncurses-dev",
    "libtbb2": "libtbbmalloc2",
    "python": "python-is-python3",
    "python-pip": "python3-pip",
    "python-dev": "python3-dev",
    "python-tk": "python3-tk",
    "python-setuptools": "python3-setuptools",
    "python-numpy": "python3-numpy",
    "python-opencv": "python3-opencv",
    "python3-distutils": "python3-setuptools",
    "libopenblas-base": "libopenblas0",
    "libjasper-dev": "libopenjp2-7-dev",
    "libpng12-dev": "libpng-dev",
    "libjpeg8-dev": "libjpeg-dev",
    "libqt4-dev": "qtbase5-dev",
    "qt5-default": "qtbase5-dev",
    "netcat": "netcat-openbsd",
    "libav-tools": "ffmpeg",
}
"""Packages that newer releases of Debian and Ubuntu dropped, and what serves in their place."""
_DEBIAN = re.compile(r"deb\.debian\.org|security\.debian\.org|\bDebian\b|\bbookworm\b|\btrixie\b")


def explain(case: Case) -> Iterator[Explanation]:
    """Yield why apt does not find a package, for the first of each log."""
    for event in case.of("apt-error"):
        found = _MISSING.search(event.text[:_LONGEST])
        if found is None:
            continue
        name = found["located"] or found["offered"]
        yield _of(case, event, name)
        return


def _of(case: Case, event: Event, name: str) -> Explanation:
    if _NON_FREE.match(name):
        return _non_free(case, event, name)
    if _OF_NVIDIA.match(name):
        return _elsewhere(
            event,
            name,
            "NVIDIA",
            _source_of_nvidia(name),
            "The distribution has no package of this name: NVIDIA's own source has it.",
        )
    if _OF_AMD.match(name):
        return _elsewhere(
            event,
            name,
            "AMD",
            (),
            "AMD's own source has it. AMD's guide of installation sets that source up by "
            "amdgpu-install, for certain releases of Ubuntu, Debian and RHEL.",
        )
    if python := _PYTHON.match(name):
        return _python(event, name, python[1])
    if compiler := _COMPILER.match(name):
        return _compiler(event, name, compiler[1])
    if instead := _RENAMED.get(name):
        return _renamed(event, name, instead)
    return _any(event, name)


def _say(event: Event, title: str, cause: str, *recipes: Recipe, exact: bool = True) -> Explanation:
    return explanation(event, title, cause, recipes, name="package-not-in-apt", exact=exact)


_UPDATE = Recipe(
    title="Fetch the lists of packages, then install again",
    use_if=(LINUX,),
    steps=(Action(run=("apt-get", "update"), sudo=True),),
    note="In a Dockerfile both stand in one step: RUN apt-get update && apt-get install -y …",
)


_MORE = "contrib non-free non-free-firmware"


def _non_free(case: Case, event: Event, name: str) -> Explanation:
    debian = any(_DEBIAN.search(line[:_LONGEST]) for line in case.log.lines)
    component = "non-free" if debian else "multiverse" if name.startswith("nvidia-cuda") else ""
    source = "/etc/apt/sources.list.d/debian.sources"
    recipes = (
        (
            Recipe(
                title="Add Debian's components contrib and non-free, then install again",
                use_if=(LINUX,),
                steps=(
                    Action(
                        run=(
                            *("sed", "-i", "-E"),
                            f"s/^Components: main.*/Components: main {_MORE}/",
                            source,
                        ),
                        sudo=True,
                    ),
                    Action(run=("apt-get", "update"), sudo=True),
                ),
                note=f"In a Dockerfile both stand before the installation. Where {source} is "
                "missing, the words contrib and non-free go to the end of each line of "
                "/etc/apt/sources.list. An image of nvidia/cuda brings the toolkit as well.",
            ),
        )
        if debian
        else (_UPDATE,)
    )
    where = f"the component {component}" if component else "a component that is off here"
    return _say(
        event,
        f"apt does not find {name}: it lies in {where}",
        "Free software alone stands in the sources of an image of Debian; what belongs to NVIDIA "
        "is in non-free, which has to be named."
        if debian
        else "Ubuntu keeps it in multiverse or restricted, and an image comes without the lists.",
        *recipes,
        exact=debian,
    )


def _source_of_nvidia(name: str) -> tuple[Recipe, ...]:
    ring = "cuda-keyring_1.1-1_all.deb"
    return (
        Recipe(
            title=f"Set NVIDIA's source up, then install {name}",
            use_if=(LINUX,),
            steps=(
                Action(
                    run=(
                        *("curl", "-fsSLO"),
                        f"https://developer.download.nvidia.com/compute/cuda/repos/<system>/{ring}",
                    )
                ),
                Action(run=("dpkg", "-i", ring), sudo=True),
                Action(run=("apt-get", "update"), sudo=True),
                Action(system={"apt": (name,)}),
            ),
            ask={
                "system": "such as ubuntu2204/x86_64, ubuntu2404/x86_64 or debian12/x86_64; "
                "wsl-ubuntu/x86_64 in WSL, and sbsa in the place of x86_64 on an ARM server"
            },
            note="That source has releases of CUDA that came out for this distribution: where the "
            "package is older, take another number. A Jetson has a source of its own.",
        ),
    )


def _elsewhere(
    event: Event, name: str, owner: str, recipes: tuple[Recipe, ...], cause: str
) -> Explanation:
    return _say(event, f"apt does not find {name}: {owner}'s source is missing", cause, *recipes)


def _python(event: Event, name: str, minor: str) -> Explanation:
    return _say(
        event,
        f"This distribution has no Python {minor} ({name})",
        "Each release of Debian and Ubuntu has one Python. uv fetches any other into the user's "
        "folder, and deadsnakes has others for Ubuntu.",
        command(
            f"Make an environment with Python {minor} by uv",
            *("uv", "venv", "--python", minor, f".venv-{minor}"),
        ),
        Recipe(
            title=f"Take {name} from deadsnakes",
            use_if=(LINUX, "this is Ubuntu"),
            steps=(
                Action(run=("add-apt-repository", "-y", "ppa:deadsnakes/ppa"), sudo=True),
                Action(system={"apt": (name,)}),
            ),
        ),
    )


def _compiler(event: Event, name: str, major: str) -> Explanation:
    family = name.partition("-")[0].replace("+", ".")
    recipes = (
        ()
        if name.startswith("clang")
        else (
            command(
                f"Take gcc {major} from conda-forge",
                *("conda", "install", "-y", "-c", "conda-forge", f"gxx={major}"),
                use_if=("conda is installed",),
            ),
        )
    )
    return _say(
        event,
        f"This distribution has no {name}",
        "Each release of Debian and Ubuntu has a few compilers, and drops the old ones. "
        "apt-cache search shows which there are.",
        *recipes,
        command(
            "See which compilers there are",
            *("apt-cache", "search", "--names-only", f"^{family}-"),
            look=True,
        ),
    )


def _renamed(event: Event, name: str, instead: str) -> Explanation:
    return _say(
        event,
        f"This distribution no longer has {name}: {instead} takes its place",
        "Newer releases of Debian and Ubuntu dropped or renamed the package.",
        by_system(f"Install {instead}", apt=(instead,)),
        _UPDATE,
    )


def _any(event: Event, name: str) -> Explanation:
    return _say(
        event,
        f"apt does not know {name}",
        "Images of Docker come without the lists of packages. Else the component universe is off, "
        "or this release of the distribution has another name for it.",
        _UPDATE,
        command("See which packages have such a name", "apt-cache", "search", name, look=True),
        exact=False,
    )
