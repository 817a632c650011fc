"""Explain a CUDA library that is not found in a container on a Jetson.

Images for a Jetson up to JetPack 4 hold no CUDA: NVIDIA's runtime mounts the board's own libraries,
by lists of the board's release (https://github.com/dusty-nv/jetson-containers). So an image of a
later release finds nothing, and `docker build` without that runtime as the default neither.
"""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.docker_builds import is_image_build
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import code, command
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_LIBRARY = re.compile(
    r"lib(?:curand|cufft|cudnn|cublas|cublasLt|cudart|cusolver|cusparse|nvToolsExt|nvinfer)\.so"
)
_IMAGE = re.compile(r"(?:l4t|pytorch|tensorflow|ml)[\w-]{0,20}[:-]r(3[2-6])\.(\d{1,2})")
_BOARD = re.compile(r"# R(3[2-6]) \(release\), REVISION: (\d{1,2})|\bL4T R?(3[2-6])\.(\d{1,2})")
_JETPACK = re.compile(r"\b(?:JetPack:? |nvidia-jetpack\W{1,3})(\d)\.(\d)|^Version: (\d)\.(\d)")
_GENERATIONS = {"4": "32", "5": "35", "6": "36"}
_MINORS = {"4.2": "2", "4.3": "3", "4.4": "4", "4.5": "5", "4.6": "6"}
"""The minor release of L4T 32 that belongs to a JetPack 4."""
_BOARDS = re.compile(
    r"(?i)\bjetson|xavier|\btx[12]\b|l4t|\btegra|jetpack|jetson.?nano|\borin\b|deepstream-l4t"
)
_BUILDS = re.compile(
    r"The command '/bin/sh -c|docker(?:-compose| compose)? build\b"
    r"|ERROR: failed to solve|docker_build_\w{1,30}\.sh"
)
_LINES = 2000


def of_jetson(case: Case, event: Event, name: str) -> Explanation | None:
    """Explain why a container on a Jetson lacks one of the board's libraries; None elsewhere."""
    if not (_LIBRARY.search(name) or _LIBRARY.search(event.text)):
        return None
    lines = [line[:300] for line in case.log.lines[:_LINES]]
    if not any(_BOARDS.search(line) for line in lines):
        return None
    image, board = _image(lines), _board(lines)
    if image and board and not _fits(image, board):
        return _other_release(event, image, board)
    if any(_BUILDS.search(line) for line in lines) or is_image_build(case):
        return _built_without_runtime(event)
    return None


def _image(lines: list[str]) -> tuple[int, int] | None:
    found = next(filter(None, map(_IMAGE.search, lines)), None)
    return (int(found[1]), int(found[2])) if found else None


def _board(lines: list[str]) -> tuple[int, int] | None:
    """Return the release of L4T on the board; the minor one is 99 where only JetPack is named."""
    for line in lines:
        if found := _BOARD.search(line):
            return int(found[1] or found[3]), int(found[2] or found[4])
    is_jetpack = any("nvidia-jetpack" in line for line in lines)
    for line in lines:
        found = _JETPACK.search(line)
        if found and (found[1] or is_jetpack):
            one, two = found[1] or found[3], found[2] or found[4]
            if one in _GENERATIONS:
                return int(_GENERATIONS[one]), int(_MINORS.get(f"{one}.{two}", "99"))
    return None


def _fits(image: tuple[int, int], board: tuple[int, int]) -> bool:
    """Say whether the board's lists of libraries serve an image; 34 and 35 are one generation."""
    same = {34: 35}.get(image[0], image[0]) == {34: 35}.get(board[0], board[0])
    # Between R32.4 and R32.7 CUDA 10.2 is the same; R32.1 to R32.3 have CUDA 10.0.
    return same and not (image[0] == 32 and (image[1] >= 4) != (board[1] >= 4))


def _other_release(event: Event, image: tuple[int, int], board: tuple[int, int]) -> Explanation:
    there = f"r{board[0]}" + (f".{board[1]}" if board[1] != 99 else "")
    before_images = board[0] == 32 and board[1] < 4
    update = (
        Recipe(
            title="Bring the board to JetPack 4.6 (R32.7), and take an image with the tag r32.7.1",
            note="NVIDIA publishes images with torch since R32.4. SDK Manager, or the image for "
            "the SD card, brings the new release; an update by apt stays within one.",
            steps=(Action(run=("head", "-n", "1", "/etc/nv_tegra_release")),),
        ),
    )
    return explanation(
        event,
        f"The image is for L4T r{image[0]}.{image[1]}, and the board runs {there}",
        "The container takes the CUDA libraries of the board, so the image has to be for the "
        f"board's release. This one asks for {event.objects.get('library', 'libraries')} of "
        "another CUDA or from another folder.",
        update
        if before_images
        else (
            Recipe(
                title=f"Take the tag of the same image that begins with {there}",
                steps=(Action(run=("docker", "pull", "<image>")),),
                ask={
                    "image": f"the image with a tag for {there}, such as "
                    + _TAGS.get(board[0], "that of the board's release")
                },
                note="head -n 1 /etc/nv_tegra_release on the board shows its exact release.",
            ),
        ),
        name="jetson-image-of-other-release",
        contradicts=("jetson/libraries-not-visible", "cuda/library-not-found"),
    )


_TAGS = {
    32: "nvcr.io/nvidia/l4t-pytorch:r32.7.1-pth1.10-py3 on JetPack 4.6",
    35: "nvcr.io/nvidia/l4t-pytorch:r35.2.1-pth2.0-py3 on JetPack 5.1",
    36: "dustynv/l4t-pytorch:r36.4.0 on JetPack 6.1",
}


DEFAULT_RUNTIME = code(
    "Make NVIDIA's runtime the default for the steps of docker build",
    "/etc/docker/daemon.json of the machine that builds",
    '{"default-runtime": "nvidia", "runtimes": {"nvidia": '
    '{"path": "nvidia-container-runtime", "runtimeArgs": []}}}',
    note="Keep what else stands in the file. Then: sudo systemctl restart docker, and build again "
    "with DOCKER_BUILDKIT=0, since BuildKit takes no other runtime.",
)


def _built_without_runtime(event: Event) -> Explanation:
    return explanation(
        event,
        "docker build runs without NVIDIA's runtime, which lends the Jetson's CUDA libraries",
        "On a Jetson the CUDA libraries come from the board, by NVIDIA's runtime. docker run takes "
        "it with --runtime nvidia, and docker build has no such option: it takes the default.",
        (
            DEFAULT_RUNTIME,
            command(
                "See which runtime is the default",
                *("docker", "info", "--format", "{{.DefaultRuntime}}"),
                look=True,
            ),
        ),
        name="jetson-build-without-runtime",
        contradicts=("jetson/libraries-not-visible", "cuda/library-not-found"),
    )
