"""Explain programs that ask for a GPU while an image is built, where none is visible.

`docker build` runs its steps without GPUs unless the daemon's default runtime is NVIDIA's
(https://docs.docker.com/build/). Extensions of torch ask the GPU for its architecture unless
TORCH_CUDA_ARCH_LIST names some (torch/utils/cpp_extension.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import LINUX, code, command, variables
from doctor.model.events import Event

_STEP = re.compile(
    r"^\s{0,8}#\d{1,3} (?:\d{1,5}\.\d{1,3} |\[)|^\s{0,8}=> (?:\[|ERROR)|^ ?> \[[^\]]{1,60}\] RUN "
    r"|^\s{0,8}Step \d{1,3}/\d{1,3} : |^ ---> (?:Running in|Using cache|[0-9a-f]{12})"
    r"|\bbuildx? (?:failed|build)\b|executor failed running \[/bin/sh -c"
    r"|process \"/bin/sh -c [^\"]{1,600}\" did not complete"
)
_ARCHITECTURES = re.compile(r"_get_cuda_arch_flags|cpp_extension\.py")
_NO_DRIVER = re.compile(
    r"Found no NVIDIA driver|No CUDA GPUs are available|IndexError: list index out of range"
    r"|libcuda\.so\.1: cannot open shared object"
)
_RUNS = ("executor failed running [", 'process "/bin/sh -c ', "The command '/bin/sh -c ")
_KILLED = re.compile(r"(?:exit code:|non-zero code:|exit status) 137\b")
_ABOVE = 30


def is_image_build(case: Case) -> bool:
    """Say whether a log has a step of `docker build` in it."""
    return any(_STEP.search(line[:400]) for line in case.log.lines)


def explain(case: Case) -> Iterator[Explanation]:
    """Yield that a step of an image was killed, or that a build sees no GPU."""
    for event in case.events:
        if _KILLED.search(event.text) and any(one in event.text for one in _RUNS):
            yield _out_of_memory(event)
            break
    for event in case.events:
        if not _NO_DRIVER.search(event.text):
            continue
        above = case.log.lines[max(event.at - _ABOVE, 0) : event.at + 1]
        asks = any(_ARCHITECTURES.search(line[:400]) for line in above)
        in_image = is_image_build(case)
        if asks:
            yield _extension(event)
            return
        if in_image and "IndexError" not in event.text:
            yield _image(event)
            return


def _out_of_memory(event: Event) -> Explanation:
    return explanation(
        event,
        "A step of the image was killed (137), mostly since Docker's memory ran out",
        "137 is 128 and signal 9. pip reads a wheel such as torch whole into memory where it "
        "caches it, and compilers of CUDA take several GiB each.",
        (
            code(
                "Have pip keep no copy in its cache, which takes less memory",
                "the Dockerfile",
                "RUN pip install --no-cache-dir -r requirements.txt",
                before="RUN pip install -r requirements.txt",
            )
            if "pip install" in event.text
            else code(
                "Let the step compile with one job",
                "the Dockerfile, before the step",
                "ENV MAX_JOBS=1 CMAKE_BUILD_PARALLEL_LEVEL=1 CARGO_BUILD_JOBS=1",
                use_if=("the step compiles",),
            ),
            code(
                "Give Docker Desktop more memory",
                "Settings, Resources, Memory; with WSL 2 the file .wslconfig in the user's folder",
                "[wsl2]\nmemory=12GB",
                use_if=("Docker Desktop runs the build",),
                note="wsl --shutdown ends WSL, and the new limit holds from its next start on.",
            ),
        ),
        name="step-killed",
        contradicts=("failure/ended-by-sigkill",),
    )


def _extension(event: Event) -> Explanation:
    return explanation(
        event,
        "An extension is built where no GPU is visible, and no architecture is named for it",
        "torch asks the GPU for its compute capability unless TORCH_CUDA_ARCH_LIST names some. "
        "While an image is built, and on a login node, there is none.",
        (
            variables(
                "Name the architectures of the GPUs that it will run on",
                {"TORCH_CUDA_ARCH_LIST": "7.5;8.0;8.6"},
                note="In a Dockerfile: a line ENV before the step. Take out what the CUDA toolkit "
                "does not know yet (8.0 came with 11.0, 8.6 with 11.1, 8.9 with 11.8), and add "
                "FORCE_CUDA=1 where setup.py asks torch.cuda.is_available().",
            ),
            _RUNTIME,
        ),
        name="no-gpu-while-building",
        contradicts=("torch/no-nvidia-driver", "torch/cuda-arch-list-empty"),
    )


def _image(event: Event) -> Explanation:
    return explanation(
        event,
        "The image is built without GPUs: docker build gives its steps none",
        "The driver comes into a container when it is started (docker run --gpus all), not into "
        "the steps of a Dockerfile. A step here computes on the GPU, or loads the driver's "
        "library.",
        (
            code(
                "Move what needs the GPU to the start of the container",
                "the Dockerfile",
                "CMD python program.py",
                before="RUN python program.py",
                note="Downloads and exports can run on the processor in the step: choose the "
                "device by torch.cuda.is_available().",
            ),
            _RUNTIME,
        ),
        name="no-gpu-while-building",
        contradicts=("torch/no-nvidia-driver",),
    )


_RUNTIME = command(
    "Let Docker give each step the GPUs, where a step cannot do without",
    *("nvidia-ctk", "runtime", "configure", "--runtime=docker", "--set-as-default"),
    sudo=True,
    use_if=(LINUX, "the host has an NVIDIA GPU and the NVIDIA Container Toolkit"),
    note="Restart Docker afterwards (systemctl restart docker), and build with DOCKER_BUILDKIT=0: "
    "BuildKit does not use the default runtime.",
)
