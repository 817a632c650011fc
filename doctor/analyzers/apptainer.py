"""Explain a library of the host's driver that Apptainer puts into an older image."""

from __future__ import annotations

from doctor.analyzers.case import Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import code, command
from doctor.model.events import Event


def host_library_in_image(event: Event, number: str) -> Explanation:
    """Return that the image has an older glibc than a library which --nv brings from the host.

    The option binds the libraries that etc/nvliblist.conf lists, those of OpenGL included:
    https://apptainer.org/docs/user/main/gpu.html#library-search-options.
    """
    file = event.objects.get("file", "").rpartition("/")[2]
    return explanation(
        event,
        f"--nv brings {file} of the host into the image, and it needs glibc {number}",
        "Apptainer binds the driver's libraries of the host into the container. Those of CUDA do "
        "with an old glibc; those of OpenGL (libGL, libGLX, libGLdispatch, libEGL, libOpenGL) come "
        "from the host's distribution and need its glibc, which the image does not have.",
        (
            command(
                "Have NVIDIA's own tool choose the libraries",
                *("apptainer", "exec", "--nv", "--nvccli", "<image>", "<command>"),
                ask={"image": "the file of the image", "command": "the command in the container"},
                use_if=("nvidia-container-cli is installed on the host",),
                note="It brings the driver's files only, and leaves OpenGL to the image.",
            ),
            code(
                "Build the image on a distribution with that glibc",
                "the definition of the image",
                "From: ubuntu:24.04",
            ),
            command(
                "Hide the host's copies, where the image has its own OpenGL",
                *("apptainer", "exec", "--nv", "--env"),
                "LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu:/usr/lib64:/.singularity.d/libs",
                "<image>",
                "<command>",
                ask={"image": "the file of the image", "command": "the command in the container"},
            ),
        ),
        name="host-library-in-image",
        contradicts=("python/c-library-too-old",),
    )
