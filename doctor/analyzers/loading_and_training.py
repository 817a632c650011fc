"""Explain what is reported of checkpoints, GPUs of a trainer, audio backends and services."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import code, command, variables
from doctor.analyzers.texts import Text, explained
from doctor.model.events import Level
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Severity

_SOUND = " The installation is sound."


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what is wrong with a file, a setting of a trainer, or a service."""
    failed = any(
        event.level is Level.FAILURE and event.kind != "exception" for event in case.events
    )
    for one in explained(case, _TABLE):
        if one.event.kind == "wandb-not-reached" and failed:
            continue  # the program failed for something else
        yield one


_TABLE: dict[str, Text] = {
    "gpus-asked-and-there": Text(
        "The trainer asks for the GPUs {asked}, and sees {there} alone",
        "The process sees fewer GPUs than it asks for: CUDA_VISIBLE_DEVICES, the scheduler (Slurm, "
        "Ray's resources_per_trial) or the container gives it these. The numbers count from 0 "
        "among "
        "those that are visible.",
        (
            code(
                "Ask for as many as are there",
                "the program",
                "Trainer(accelerator='gpu', devices='auto')",
                before="Trainer(gpus=2)",
                note="To have more, ask the scheduler for them: --gpus of Slurm or Docker, "
                "resources_per_trial of Ray.",
            ),
            command("See which GPUs are there", "nvidia-smi", "-L", look=True),
        ),
        precision=Precision.EXACT,
        severity=Severity.ERROR,
    ),
    "audio-backend-other": Text(
        "torchaudio has no backend {backend} here: it has {there}",
        "sox_io exists on Linux and macOS only, and a backend is there where its library is: "
        "soundfile where the package soundfile is installed, ffmpeg where FFmpeg's libraries are.",
        (
            code(
                "Take one that is there",
                "the call that sets the backend",
                'torchaudio.set_audio_backend("soundfile")',
                before='torchaudio.set_audio_backend("{log.backend}")',
                note="Since torchaudio 2.1 the call does nothing: take it out. Where a package "
                "makes it, such as an older speechbrain, update that package.",
            ),
            Recipe(
                title="Install soundfile, where it is not",
                steps=(Action(install=("soundfile",)),),
            ),
        ),
        precision=Precision.EXACT,
        severity=Severity.ERROR,
    ),
    "cudnn-finds-no-algorithm": Text(
        "cuDNN finds no way to compute a convolution, mostly since the GPU's memory is full",
        "cuDNN tries its algorithms, and each wants working memory. With little left all of them "
        "fail. The same words come where torch's build has no code for the GPU.",
        (
            code(
                "Take a smaller batch or picture",
                "the settings of the program",
                "batch_size = 4",
                before="batch_size = 16",
            ),
            command("See who holds the GPU's memory", "nvidia-smi", look=True),
            code(
                "Compute without trying algorithms",
                "the start of the program",
                "torch.backends.cudnn.benchmark = False",
            ),
        ),
        severity=Severity.ERROR,
    ),
    "trt-no-output": Text(
        "TensorRT builds an empty network: the ONNX file was not parsed, or has no output marked",
        "The parser stopped before the end, and the program built what was there. Its own errors "
        "say at which operator or release of ONNX; programs that do not print them fail here."
        + _SOUND,
        (
            command(
                "Have TensorRT's own program parse the file: it names the operator",
                *("trtexec", "--onnx=<model>", "--verbose"),
                ask={"model": "the path of the .onnx file"},
                look=True,
                note="In a program: if not parser.parse(data): print(parser.get_error(0)).",
            ),
            code(
                "Export it again for the ONNX that this TensorRT reads",
                "the call of torch.onnx.export",
                "torch.onnx.export(model, x, path, opset_version=11, dynamo=False)",
                note="TensorRT 7 reads operators up to 11, TensorRT 8 up to 13 to 17. onnxsim "
                "takes out operators that it does not know.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "checkpoint-key-missing": Text(
        "The checkpoint has no entry {key}",
        "Programs save checkpoints in different forms: the weights alone, or a dict with the "
        "weights under state_dict, model or params. This file is of another program or of another "
        "state of it, or is a configuration." + _SOUND,
        (
            code(
                "See what the file holds, and take the weights from there",
                "where the checkpoint is loaded",
                "print(checkpoint.keys())\n"
                'state = checkpoint.get("state_dict", checkpoint.get("model", checkpoint))',
                before='state = checkpoint["{log.key}"]',
            ),
        ),
    ),
    "component-placeholder": Text(
        "transformers has an empty stand-in for a part of {model}: a package that it needs is "
        "missing",
        "transformers puts a placeholder in the place of a class whose package is not installed; "
        "tokenizers such as T5's need sentencepiece.",
        (
            Recipe(
                title="Install what such tokenizers need, and start Python again",
                steps=(Action(install=("sentencepiece", "protobuf")),),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "wandb-not-reached": Text(
        "Weights & Biases is not reached, or nobody is logged in",
        "The training wants to log to wandb's server.",
        (
            variables("Log into files alone", {"WANDB_MODE": "offline"}),
            variables("Do without wandb", {"WANDB_DISABLED": "true"}),
        ),
    ),
    "requirement-malformed": Text(
        "pip cannot read the requirement {requirement}",
        "A requirement is a name and clauses such as ==1.2. A blank in a release, a single =, an "
        "address without a name and conda's builds are none. pip 24.1 also refuses releases that "
        "are no versions (1.0.dev0-abc, 2.0.*.1).",
        (
            code(
                "Correct the line",
                "the file or command that holds it",
                "name==1.2.3",
                before="{log.requirement}",
            ),
            Recipe(
                title="Use the last pip that took such releases, where it stands in a package",
                steps=(Action(install=("pip<24.1",)),),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
}
