"""Explain programs that were left behind by what they use, and the reverse.

| event | what is said of it |
| --- | --- |
| autograd-function-old | torch 1.5 wants a static forward |
| torch-legacy-gone | torch 1.0 took torch.legacy away |
| mps-tensor-empty | an operator of MPS that does not take an empty tensor |
| rust-cuda-not-found | where bindgen_cuda looks for the toolkit |
| trt-opset-too-new | opset 13 moved an attribute that TensorRT 7 reads |
| wsl-driver-too-new | Docker lacks a library of the newer driver for Windows |
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import LINUX, code, command, variables
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield which side was left behind, and how both meet again."""
    wsl = case.context.wsl or any("WSL" in line or "wsl" in line for line in case.log.lines[:2000])
    for one in explained(case, _TABLE):
        if one.event.kind != "wsl-driver-too-new" or wsl:
            yield one


def _old_torch(release: str, python: str) -> Recipe:
    """Return the recipe for an environment with an old torch and the Python that it wants."""
    folder = "torch-" + release
    make = ("conda", "create", "--yes", "--name", folder, f"python={python}", "pip")
    return Recipe(
        title=f"Run the program in an environment of its own with torch {release}",
        steps=(
            Action(run=make),
            Action(
                run=(
                    "conda",
                    "run",
                    "--name",
                    folder,
                    "python",
                    "-m",
                    "pip",
                    "install",
                    f"torch=={release}",
                )
            ),
        ),
        note="That torch has code for GPUs up to the generation of its time: an RTX 30 or newer "
        "needs a newer torch, and so changed sources.",
    )


_TABLE: dict[str, Text] = {
    "autograd-function-old": Text(
        "The program defines an autograd.Function in the way that torch 1.5 took away",
        "Until torch 1.4 such a class could keep its state in an object, with forward(self, …). "
        "Since 1.5 forward and backward are static, take ctx as their first argument, and the "
        "class is called by apply.",
        (
            code(
                "Make forward and backward static, and call the class by apply",
                "the file that defines the class, and where it is called",
                "@staticmethod\n"
                "def forward(ctx, x):\n"
                "    ctx.save_for_backward(x)\n"
                "    …\n"
                "y = Operation.apply(x)",
                before="def forward(self, x):\n"
                "    self.save_for_backward(x)\n"
                "    …\n"
                "y = Operation()(x)",
                note="What was handed to the constructor becomes an argument of forward, and "
                "backward returns None for it.",
            ),
            _old_torch("1.4.0", "3.7"),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "torch-legacy-gone": Text(
        "torch 1.0 took torch.legacy away, the modules of Lua's Torch",
        "The program was written for torch 0.4 or older. Nothing in later releases takes the place "
        "of torch.legacy.nn.",
        (
            _old_torch("0.4.1", "3.6"),
            Recipe(
                title="Read only the tensors of a .t7 file, by a package that needs no old torch",
                use_if=("the program reads a file of Lua's Torch (.t7)",),
                steps=(Action(install=("torchfile",)),),
                note="torchfile.load gives its objects as dictionaries of NumPy arrays.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "mps-tensor-empty": Text(
        "An operator on MPS got a tensor without elements, and this torch has no code for that",
        "CPU and CUDA return an empty result there. On MPS many operators checked for it only in "
        "later releases, so a slice or a mask that selects nothing ends the program.",
        (
            code(
                "Leave the empty tensor out, or compute it on the CPU",
                "where the traceback ends",
                "result = layer(x) if x.numel() else x.new_zeros(shape)",
                before="result = layer(x)",
            ),
            variables(
                "Compute on the CPU where the program takes the device by itself",
                {"ACCELERATE_USE_CPU": "true"},
                use_if=("the program uses accelerate or the Trainer",),
                lasting=False,
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "rust-cuda-not-found": Text(
        "The build of the CUDA kernels does not find the CUDA toolkit",
        "bindgen_cuda looks at CUDA_PATH, CUDA_ROOT and CUDA_TOOLKIT_ROOT_DIR, then in /usr, "
        "/usr/local/cuda, /opt/cuda and C:/Program Files/NVIDIA GPU Computing Toolkit, for "
        "include/cuda.h. The driver alone does not bring that file.",
        (
            variables(
                "Name the folder of the toolkit, and build again",
                {"CUDA_ROOT": "/usr/local/cuda", "CUDA_PATH": "/usr/local/cuda"},
                use_if=(LINUX, "include/cuda.h lies below /usr/local/cuda"),
            ),
            command(
                "Find the toolkit",
                *("find", "/usr", "/opt", "-name", "cuda.h", "-not", "-path", "*/linux/*"),
                use_if=(LINUX,),
                look=True,
                note="The folder above include is the one to name. Where nothing is found, install "
                "the CUDA toolkit.",
            ),
            code(
                "Build without CUDA",
                "the command that builds the program",
                "cargo build --release",
                before="cargo build --release --features cuda",
                use_if=("the machine has no NVIDIA GPU",),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "trt-opset-too-new": Text(
        "The ONNX file has a newer opset than this TensorRT reads: {attribute} is an input there",
        "Opset 13 made {attribute} of Squeeze, Unsqueeze, ReduceSum and Split an input. The parser "
        "of TensorRT 7 looks for the attribute that opset 12 and older have.",
        (
            code(
                "Export the model with opset 11",
                "the export of the model",
                'torch.onnx.export(model, args, "model.onnx", opset_version=11)',
                note="With tf2onnx: python -m tf2onnx.convert … --opset 11.",
            ),
            code(
                "Read it by TensorRT 8 or newer",
                "the machine that builds the engine",
                "TensorRT 8.0 or newer; on a Jetson JetPack 4.6 or newer",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
        contradicts=("failure/ended-by-sigabrt",),
    ),
    "wsl-driver-too-new": Text(
        "Docker hands an incomplete driver into the container (cuInit: CUDA_ERROR_NOT_FOUND)",
        "Under WSL the container gets the libraries of the driver for Windows, file by file. "
        "A newer driver has more files than an older Docker Desktop or container toolkit knows, so "
        "the driver in the container lacks a part of itself. nvidia-smi works all the same.",
        (
            command(
                "Update Docker Desktop, and start WSL anew",
                *("wsl.exe", "--shutdown"),
                note="Update Docker Desktop first (Settings, Software updates). Where Docker runs "
                "in the distribution itself, update nvidia-container-toolkit there.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
}
