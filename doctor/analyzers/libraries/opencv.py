"""Explain a CUDA library that OpenCV's module cv2 does not find.

No opencv-python on PyPI is built with CUDA (https://github.com/opencv/opencv-python), so a cv2
that asks for a library of CUDA was built by somebody for one machine: mostly for a Jetson, whose
CUDA and driver come from the board, by NVIDIA's runtime.
"""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.docker_builds import is_image_build
from doctor.analyzers.findings import explanation
from doctor.analyzers.libraries.frameworks import asking_package
from doctor.analyzers.libraries.jetson import DEFAULT_RUNTIME
from doctor.analyzers.recipes import LINUX, command
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_CUDA = re.compile(
    r"lib(?:cublas|cublasLt|cudart|cudnn|cufft|curand|cusolver|cusparse|npp\w{1,6}|nvcuvid"
    r"|nvidia-encode)\w{0,20}\.so"
)
_DRIVER = re.compile(r"lib(?:cuda|nvcuvid|nvidia-encode)\.so")
_TRACE = re.compile(r"^\s{0,8}(?:#\d{1,3} [\d.]{1,8} )?\+ python3? -c ")
"""A script that shows its commands (sh -x) and tests what it installed, as image builds do."""


def of_opencv(case: Case, event: Event, name: str) -> Explanation | None:
    """Explain a library of CUDA or of the driver that cv2 asks for; None where another asks."""
    driver = bool(_DRIVER.match(name))
    if not (driver or _CUDA.match(name)) or asking_package(case, event) != "cv2":
        return None
    built = is_image_build(case) or any(_TRACE.match(line[:200]) for line in case.log.lines)
    if driver and not built:
        return None  # the known issue on the driver's libraries asks the machine
    where = "the driver" if driver else "the CUDA toolkit of the machine that it was built for"
    return explanation(
        event,
        f"cv2 is a build with CUDA, and {name} is not "
        + ("visible while the image is built" if built else "found"),
        f"No opencv-python of pip has CUDA: this cv2 was built for one machine, and {name} comes "
        f"from {where}. On a Jetson both come from the board: NVIDIA's runtime lends them to a "
        "container, and docker build takes the default runtime only. opencv-python from pip would "
        "put a cv2 without CUDA in its place.",
        (
            *((DEFAULT_RUNTIME,) if built else (_START, _TOOLKIT)),
            *((_BASE,) if built and not driver else ()),
        ),
        name="opencv-without-cuda-library",
        contradicts=(
            *("cuda/library-not-found", "cuda/driver-library-missing"),
            *("jetson/libraries-not-visible", "failure/no-gpu-while-building"),
        ),
    )


_START = command(
    "Start the container with NVIDIA's runtime",
    *("docker", "run", "--rm", "--runtime", "nvidia", "<image>"),
    *("python3", "-c", "import cv2; print(cv2.cuda.getCudaEnabledDeviceCount())"),
    use_if=(LINUX, "it runs in a container"),
    ask={"image": "the image of the program"},
)
_TOOLKIT = Recipe(
    title="Let the loader search the toolkit's folder",
    use_if=(LINUX, "/usr/local/cuda/lib64 holds the library"),
    note="Of several toolkits take the folder with the release in its name.",
    steps=(Action(env={"LD_LIBRARY_PATH": "/usr/local/cuda/lib64:$LD_LIBRARY_PATH"}),),
)
_BASE = command(
    "Start the Dockerfile FROM an image that has this CUDA",
    *("docker", "pull", "<base>"),
    use_if=("the machine is no Jetson",),
    ask={"base": "the tag of nvidia/cuda with this CUDA and -cudnn-devel or -cudnn-runtime"},
)
