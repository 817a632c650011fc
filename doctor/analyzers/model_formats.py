"""Explain failures of formats of models and their runtimes: ONNX, OpenVINO, Keras."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import LINUX, code, command
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what a runtime reports of a model's file and of its inputs."""
    yield from explained(case, _TABLE)


_TABLE: dict[str, Text] = {
    "onnx-file-broken": Text(
        "{file} is no ONNX model, or not a whole one",
        "It is a pointer of git-lfs, an error page, a download that broke off, or another format.",
        (
            command("See its size", "ls", "-lL", "{log.file}", use_if=(LINUX,), look=True),
            command(
                "Fetch the files that the repository's pointers stand for",
                "git",
                "lfs",
                "pull",
                use_if=("it is a clone, and the file is a few hundred bytes long",),
            ),
        ),
        precision=Precision.EXACT,
    ),
    "onnx-input-shape": Text(
        "The model wants {wanted} in dimension {axis} of {input}, and was given {given}",
        "The sizes of the inputs were written into the model when it was exported.",
        (
            code(
                "Give the input the size of the model",
                "before the call of run",
                "image = cv2.resize(image, (width, height))  # as in session.get_inputs()[0].shape",
            ),
            code(
                "Export it with sizes that may change",
                "the export",
                'torch.onnx.export(model, x, "model.onnx", dynamic_axes={"input": '
                '{2: "height", 3: "width"}})',
                use_if=("you export the model yourself",),
            ),
        ),
        precision=Precision.EXACT,
    ),
    "onnx-providers-not-named": Text(
        "onnxruntime-gpu wants to know which devices to use",
        "Since 1.9 a session of a GPU build has to name them.",
        (
            code(
                "Name the devices, the best first",
                "the call that makes the session",
                'InferenceSession(path, providers=["CUDAExecutionProvider", '
                '"CPUExecutionProvider"])',
                before="InferenceSession(path)",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "onnx-opset": Text(
        "The operator {operator} has no ONNX form in opset {opset}",
        "A newer opset, or the newer exporter of torch, has more of them.",
        (
            code(
                "Export with a newer opset",
                "the export",
                "torch.onnx.export(model, args, path, opset_version=18)",
                before="torch.onnx.export(model, args, path, opset_version={log.opset})",
            ),
            code(
                "Use the exporter that is built on torch.export",
                "the export",
                "torch.onnx.export(model, args, path, dynamo=True)",
                use_if=("torch is 2.6 or newer",),
            ),
        ),
        precision=Precision.EXACT,
    ),
    "keras-file-of-other-generation": Text(
        "The file was saved by another generation of Keras: {what}",
        "Keras 3, which TensorFlow 2.16 and newer bring, and Keras 2 write files that the other "
        "one does not read.",
        (
            Recipe(
                title="Read it with Keras 2, beside this TensorFlow",
                use_if=("the file was saved by TensorFlow 2.15 or older",),
                steps=(
                    Action(install=("tf-keras",), options=(Option.HOLD_TORCH,)),
                    Action(env={"TF_USE_LEGACY_KERAS": "1"}),
                ),
                note="tf-keras has to be of TensorFlow's own minor release.",
            ),
            Recipe(
                title="Read it with Keras 3",
                use_if=("the file was saved by TensorFlow 2.16 or newer",),
                steps=(Action(install=("tensorflow>=2.16",), options=(Option.UPGRADE,)),),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "keras-file-newer": Text(
        "The file was saved by Keras 3, and Keras 2 reads it: {what}",
        "TensorFlow 2.16 and newer bring Keras 3, which writes what Keras 2 does not know.",
        (
            Recipe(
                title="Read it with Keras 3",
                steps=(Action(install=("tensorflow>=2.16",), options=(Option.UPGRADE,)),),
                note="Remove TF_USE_LEGACY_KERAS where it is set, and import keras instead of "
                "tf_keras.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "openvino-npu": Text(
        "The driver of the NPU does not compile this model: {what}",
        "The compiler for the NPU is a part of its driver. It refuses operators and sizes that it "
        "does not know, and each release knows more; sizes that may change are refused as well.",
        (
            code(
                "Install the newest driver of the NPU",
                "Windows: intel.com, Intel NPU Driver; Linux: the releases of "
                "intel/linux-npu-driver",
                "then remove the folder of OpenVINO's cache, and run once more",
            ),
            code(
                "Fix the sizes of the inputs, and see whether GPU or CPU compile it",
                "before the model is compiled",
                'model.reshape([1, 3, 640, 640])\ncore.compile_model(model, "GPU")',
                before='core.compile_model(model, "NPU")',
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "openvino-no-gpu": Text(
        "OpenVINO finds no GPU",
        "It reaches Intel GPUs by OpenCL: the driver's part for computing is missing, the user may "
        "not open /dev/dri, or the container was not given it.",
        (
            command(
                "Install Intel's driver for computing",
                "apt-get",
                "install",
                "-y",
                "intel-opencl-icd",
                "clinfo",
                use_if=(LINUX, "the system is Ubuntu or Debian"),
                sudo=True,
                note="Then clinfo -l has to list the GPU. The user belongs into the group render; "
                "a container needs --device /dev/dri.",
            ),
            code(
                "Compute on the processor",
                "the call that compiles the model",
                'core.compile_model(model, "CPU")',
                before='core.compile_model(model, "GPU")',
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "openvino-buffer-too-large": Text(
        "One tensor of {bytes} bytes is larger than the GPU's driver allows ({limit} bytes)",
        "Intel's driver limits a single allocation to about 4 GiB.",
        (
            code(
                "Make the tensor smaller",
                "the program",
                "a smaller batch, a shorter context, or a smaller image",
            ),
            Recipe(
                title="Take the newest OpenVINO, which splits more of them",
                steps=(Action(install=("openvino",), options=(Option.UPGRADE,)),),
            ),
        ),
        precision=Precision.EXACT,
    ),
}
