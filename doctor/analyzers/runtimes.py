"""Explain what a runtime lacks for the device, the file or the toolkit that it was given.

| event | what is read |
| --- | --- |
| an operator of torch without a backend | whose operator, and which kind of tensors |
| a model's file that is not there | the file |
| a CUDA toolkit that cudarc does not know | its release, older or newer than the list |
| kernels of candle that nvcc refuses | the GPU's compute capability |
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.recipes import LINUX, UNIX, by_system, code, command
from doctor.analyzers.texts import Text, explained
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity

_OLDEST = (11, 4)
"""The oldest CUDA that cudarc binds (its Cargo.toml names the features)."""
_AMPERE = 80


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what a runtime lacks."""
    yield from explained(case, _TABLE)
    for event in list(case.of("operator-without-backend"))[:1]:
        yield _operator(event)
    for event in list(case.of("cudarc-toolkit-unknown"))[:1]:
        if (found := _toolkit(event)) is not None:
            yield found
    for event in list(case.of("kernels-not-compiled"))[:1]:
        if (found := _kernels(event)) is not None:
            yield found


_TABLE: dict[str, Text] = {
    "onnx-file-not-there": Text(
        "ONNX Runtime finds no file {file}",
        "A relative name counts from the folder in which the program was started. The file was not "
        "downloaded, not exported, or lies elsewhere. The installation is sound.",
        (
            code(
                "Name the file by its full path",
                "before the call that makes the session",
                "import os\npath = os.path.abspath(path)\nassert os.path.isfile(path), path",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "process-group-twice": Text(
        "The program starts the default process group a second time",
        "init_process_group ran before in this process: twice in the program, or in the program "
        "and in a trainer (Lightning, accelerate, DeepSpeed) that does it itself.",
        (
            code(
                "Start it only where nobody did",
                "the call of init_process_group",
                "if not torch.distributed.is_initialized():\n"
                "    torch.distributed.init_process_group(...)",
                before="torch.distributed.init_process_group(...)",
                note="In a library's code: call fit() and test() in two runs, or update it.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "protobuf-older-than-code": Text(
        "The installed protobuf is older than the code that was generated for it",
        "The _pb2 files of a package ask for a name that protobuf has since 3.12; another copy of "
        "protobuf may stand before the right one on the search path.",
        (
            Recipe(
                title="Take a protobuf of the line that serves old and new code",
                steps=(
                    Action(
                        install=("protobuf>=3.12,<3.21",),
                        options=(Option.UPGRADE, Option.REINSTALL),
                    ),
                ),
            ),
            command(
                "See which protobuf is imported",
                "{python.executable}",
                "-c",
                "import google.protobuf as p; print(p.__version__, p.__file__)",
                look=True,
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "trtllm-attention-unsupported": Text(
        "TensorRT-LLM has no fused attention kernel for this GPU",
        "The fused kernels of the context phase exist for compute capability 7.0, 8.0, 8.6, 8.9, "
        "9.0 and, in newer releases, 10.0 and 12.0. An older GPU (T4 is 7.5) builds without them, "
        "and a newer one needs a newer TensorRT-LLM.",
        (
            command(
                "See the compute capability",
                "nvidia-smi",
                "--query-gpu=name,compute_cap",
                "--format=csv",
                look=True,
            ),
            code(
                "Build the engine without fused attention",
                "the command that builds the engine",
                "trtllm-build --context_fmha disable ...",
                note="In releases before 0.8: leave --enable_context_fmha away.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "trtllm-engine-of-other-release": Text(
        "The engine was built by another release of TensorRT-LLM than the one that loads it",
        "A plugin wrote its settings into the engine, and this release reads another number of "
        "bytes. An engine runs only with the release that built it.",
        (
            command(
                "See the release that is here; then build the engine again with it",
                "{python.executable}",
                "-c",
                "import tensorrt_llm; print(tensorrt_llm.__version__)",
                note="For Triton, build it inside the image that serves it.",
                look=True,
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "sycl-not-initialized": Text(
        "The SYCL runtime finds no Level Zero driver that it can start ({code})",
        "Either the package of Intel's compute driver (Level Zero and its loader) is missing or "
        "older than the runtime, or the user may not open /dev/dri.",
        (
            by_system(
                "Install Intel's compute driver",
                apt=("libze1", "libze-intel-gpu1", "intel-opencl-icd"),
                note="Intel's repository for Ubuntu has the newest.",
            ),
            command(
                "See which devices the runtime finds",
                "sycl-ls",
                note="It should show [level_zero:gpu]. The groups of the user have to have render "
                "(id -nG).",
                look=True,
            ),
        ),
        severity=Severity.ERROR,
    ),
}


def _operator(event: Event) -> Explanation:
    """Explain an operator that a backend does not have."""
    operator, backend = event.objects["operator"], event.objects["backend"]
    package = operator.partition("::")[0]
    if package not in ("aten", "prims", "c10d", "quantized", "torch"):
        cause = (
            f"The operator belongs to {package}. Its installed build holds no part for {backend}: "
            "it was built without, or for another torch."
        )
        recipes: tuple[Recipe, ...] = ()
    else:
        cause = (
            f"This release of torch has the operator for other devices or layouts, not for "
            f"{backend}. The line lists the backends that have it."
        )
        after = "x = x.to_dense()" if backend.startswith("Sparse") else 'x = x.to("cpu")'
        recipes = (
            code(
                "Make the tensor dense, or compute this step on the processor"
                if backend.startswith("Sparse")
                else "Compute this step on the processor",
                "before the call that the traceback shows last",
                after,
                note="A program with an option for the device runs with cpu."
                if backend.endswith("MPS")
                else "",
            ),
        )
        if "Quantized" in backend:
            recipes = (
                code(
                    "Run the quantized model where it was made for",
                    "where the model goes to a device",
                    'model = model.to("cpu")',
                    note="torch.ao.quantization makes models for the processor only.",
                ),
            )
    return Explanation(
        event=event,
        precision=Precision.EXACT if recipes else Precision.FAMILY,
        detection=detection(
            event,
            f"{operator} does not exist for {backend} in the installed build",
            cause,
            recipes=recipes,
            severity=Severity.ERROR,
            name="operator-without-backend",
        ),
    )


def _toolkit(event: Event) -> Explanation | None:
    """Explain a toolkit that is older than all that cudarc knows."""
    number = int(event.objects["number"])
    release = (number // 1000, number % 1000 // 10)
    if release > (12, 8):
        return None  # the list of the known issue says which cudarc has it
    shown = f"{release[0]}.{release[1]}"
    newer = command(
        "Take the newest cudarc of the same line",
        "cargo",
        "update",
        "-p",
        "cudarc",
        note="Where Cargo.lock holds two copies, name the one that stops (cudarc@0.11.1).",
    )
    other = (
        Recipe(
            title="Put the nvcc of a newer toolkit first",
            use_if=(LINUX, "a newer toolkit is in /usr/local/cuda"),
            steps=(
                Action(
                    env={
                        "CUDA_ROOT": "/usr/local/cuda",
                        "CUDA_PATH": "/usr/local/cuda",
                        "PATH": "/usr/local/cuda/bin:$PATH",
                    }
                ),
            ),
        ),
        command(
            "See which nvcc is found, and which toolkits are there",
            "sh",
            "-c",
            "which -a nvcc; ls -d /usr/local/cuda*",
            use_if=(UNIX,),
            note="A package of the distribution (nvidia-cuda-toolkit) puts an old nvcc into "
            "/usr/bin.",
            look=True,
        ),
    )
    too_old = release < _OLDEST
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("candle/cudarc-unknown-cuda",),
        detection=detection(
            event,
            f"cudarc found the nvcc of CUDA {shown}, "
            + ("which no release of it knows" if too_old else "which this release does not know"),
            "cudarc asks the first nvcc on PATH for its release, and has bindings from "
            f"{_OLDEST[0]}.{_OLDEST[1]} on."
            + (" Another, newer toolkit may be installed beside that one." if too_old else ""),
            recipes=other if too_old else (newer, *other[:1]),
            name="cudarc-toolkit",
        ),
    )


def _kernels(event: Event) -> Explanation | None:
    """Explain kernels of candle that need a newer GPU."""
    chip, crate = int(event.objects["chip"]), event.objects["crate"]
    if not crate.startswith("candle-flash-attn") or chip >= _AMPERE:
        return None
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{crate} does not compile for sm_{chip}: it needs compute capability 8.0",
            "The kernels of FlashAttention use instructions and types (bf16, cp.async) that came "
            f"with Ampere. The GPU, or CUDA_COMPUTE_CAP, is {chip // 10}.{chip % 10}.",
            recipes=(
                command(
                    "Build without FlashAttention",
                    "cargo",
                    "build",
                    "--release",
                    "--no-default-features",
                    "--features",
                    "cuda",
                    use_if=("the crate's feature for FlashAttention is called flash-attn",),
                    note="Leave flash-attn out of --features, and out of Cargo.toml.",
                ),
            ),
            name="flash-attention-needs-ampere",
        ),
    )
