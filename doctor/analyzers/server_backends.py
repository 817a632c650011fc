"""Explain backends that the Triton Inference Server cannot find or load.

| event | what is said of it |
| --- | --- |
| backend-in-bucket | the library lies in a bucket, which no loader can open |
| backend-of-other-system | built for another system or processor |
| backend-not-found | the name of a platform stands in `backend`, or the image has it not |
| backend-library-missing | the folder of TensorRT-LLM's libraries is not searched |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import LINUX, code, command
from doctor.analyzers.texts import Text, explanation, objects_of
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Severity

_PLATFORMS = {
    "tensorflow_savedmodel": 'platform: "tensorflow_savedmodel"',
    "tensorflow_graphdef": 'platform: "tensorflow_graphdef"',
    "tensorrt_plan": 'platform: "tensorrt_plan"',
    "onnxruntime_onnx": 'platform: "onnxruntime_onnx"',
    "pytorch_libtorch": 'platform: "pytorch_libtorch"',
    "onnx": 'backend: "onnxruntime"',
    "torch": 'backend: "pytorch"',
    "libtorch": 'backend: "pytorch"',
}
"""What belongs into config.pbtxt for a name that is no backend's.

The platforms are those of
https://github.com/triton-inference-server/backend#backends.
"""

_OF_OTHERS = re.compile(r"_ZN?K?T?[VIS]?N?K?\d{1,2}(?:at|c10|torch|triton|tensorrt_llm|nvinfer1)")
"""Symbols of torch, Triton and TensorRT, whose releases have to fit the server's."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield why a backend of the server does not load, for the first event of each kind."""
    done: set[str] = set()
    for event in case.of(*_TABLE, "backend-not-found"):
        if event.kind not in done and not _OF_OTHERS.match(event.objects.get("symbol", "")):
            done.add(event.kind)
            text = _TABLE.get(event.kind) or _not_found(event)
            if (one := explanation(case, event, text)) is not None:
                yield one


def _not_found(event: Event) -> Text:
    name = objects_of(event).get("backend", "")
    line = _PLATFORMS.get(name)
    if line:
        field = line.partition(":")[0]
        return Text(
            "{backend} is no backend's name, and config.pbtxt has it in backend",
            "Triton takes the name in the field backend for a folder below "
            "/opt/tritonserver/backends and for a library of that name. This one is the name of a "
            f"platform or a short name, which belongs into the field {field}.",
            (
                code(
                    "Name it in the right field",
                    "config.pbtxt of the model",
                    line,
                    before=f'backend: "{name}"',
                ),
            ),
            severity=Severity.ERROR,
            precision=Precision.EXACT,
        )
    return Text(
        "The server has no backend {backend}",
        "Triton searches the folder of the model and /opt/tritonserver/backends/{backend} for "
        "libtriton_{backend}.so. Some images hold a few backends only, a build holds those that "
        "were asked for, and the name in config.pbtxt may be misspelt.",
        (
            command(
                "See which backends the image has",
                "ls",
                "/opt/tritonserver/backends",
                look=True,
                note="Inside the container. The image whose tag ends in -py3 has nearly all of "
                "them.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    )


_TABLE: dict[str, Text] = {
    "backend-in-bucket": Text(
        "The backend's library lies in a bucket ({store}://), and no loader opens such a path",
        "The server hands the path to the loader of the system, which knows files only. The "
        "server 23.12 fetched the model's folder first, and 24.07 does not.",
        (
            command(
                "Put the library into the server's own folder of backends",
                *("docker", "run", "--rm", "--gpus", "all", "-v"),
                "<folder>:/opt/tritonserver/backends/<backend>",
                "<image>",
                "tritonserver",
                "--model-repository=<repository>",
                ask={
                    "folder": "the folder on this machine with libtriton_<backend>.so",
                    "backend": "the name of the backend",
                    "image": "the image of the server",
                    "repository": "the address of the models",
                },
                note='config.pbtxt then has backend: "<backend>".',
            ),
            command(
                "Serve the models from a folder",
                *("aws", "s3", "sync", "<bucket>", "<folder>"),
                use_if=("the models lie in S3",),
                ask={
                    "bucket": "the address of the models, such as s3://models",
                    "folder": "a folder of this machine for --model-repository",
                },
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
        contradicts=("cuda/library-not-found",),
    ),
    "backend-of-other-system": Text(
        "The backend's library was built for another system or processor",
        "The server starts such a file only on the system that it was built for: a .so of Linux is "
        "no library for Windows, and one for x86-64 none for ARM. On Windows the backends are "
        "DLLs, and there are only a few of them.",
        (
            command(
                "Serve in the Linux image, which has all backends",
                *("docker", "run", "--rm", "--gpus", "all", "-v", "<folder>:/models"),
                "nvcr.io/nvidia/tritonserver:<tag>-py3",
                "tritonserver",
                "--model-repository=/models",
                ask={"folder": "the folder of the models", "tag": "a release, such as 24.08"},
                note="Under Windows by Docker Desktop and WSL 2. For Windows itself take the "
                "backends of the same release's file for Windows.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "backend-library-missing": Text(
        "{library} of TensorRT-LLM is not found by the server",
        "The libraries lie in the Python package tensorrt_llm, and the loader searches that folder "
        "only if LD_LIBRARY_PATH names it. Their number is TensorRT's, so an engine or a backend "
        "of another release asks for another one.",
        (
            Recipe(
                title="Let the loader search the folder of the package",
                note="Inside the container, before the server starts.",
                steps=(
                    Action(
                        env={
                            "LD_LIBRARY_PATH": "/usr/local/lib/python<python>/dist-packages/"
                            "tensorrt_llm/libs:/usr/local/tensorrt/lib:"
                            "/opt/tritonserver/backends/tensorrtllm"
                        }
                    ),
                ),
                ask={"python": "the release of the image's Python, such as 3.12"},
            ),
            command(
                "See where it lies",
                *("find", "/usr", "/opt", "-name", "libnvinfer_plugin_tensorrt_llm*"),
                look=True,
                note="Only the image whose tag has trtllm holds it.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "backend-symbol-missing": Text(
        "The backend needs {symbol}, and no library that it was linked with has it",
        "Where the name is the backend's own, a source file was left out of its build; where it is "
        "that of a library, this library was not handed to target_link_libraries, or lies in a "
        "folder that is not searched.",
        (
            code(
                "Link the library that has it",
                "CMakeLists.txt of the backend",
                "target_link_libraries(<backend> PRIVATE <library>)",
            ),
            command(
                "See what the library is, and what it asks for",
                "sh",
                "-c",
                'echo "$1" | c++filt; ldd -r "$2" | grep -E "not found|undefined"',
                "sh",
                "<symbol>",
                "<file>",
                ask={"symbol": "the name in the message", "file": "the library of the backend"},
                use_if=(LINUX,),
                look=True,
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
        contradicts=("tritonserver/backend-of-another-release",),
    ),
}
