"""What is reported of checkpoints, trainers' GPUs, audio backends and services of a training."""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "Lightning",
        (
            Form(
                "gpus-asked-and-there",
                r"You requested [gG][pP][uU]s?: \[(?P<asked>[\d, ]{1,60})\]\s{0,60}But your "
                r"machine "
                r"only has: \[(?P<there>[\d, ]{1,60})\]",
                ("you requested gpu",),
                joined=True,
            ),
        ),
    ),
    Voice(
        "torchaudio",
        (
            Form(
                "audio-backend-other",
                r"Backend ['\"](?P<backend>\w{2,20})['\"] is not one of available backends: "
                r"\[(?P<there>[^\]\n]{1,80})\]",
                ("is not one of available backends",),
            ),
        ),
    ),
    Voice(
        "torch",
        (
            Form(
                "cudnn-finds-no-algorithm",
                r"Unable to find a valid cuDNN algorithm to run convolution",
                ("valid cudnn algorithm",),
            ),
            Form(
                "checkpoint-key-missing",
                r"KeyError: '(?P<key>state_dict|model_state_dict|model|params_ema|params"
                r"|optimizer|epoch|global_step|hyper_parameters|pytorch-lightning_version)'",
                ("keyerror: '",),
            ),
        ),
    ),
    Voice(
        "TensorRT",
        (
            Form(
                "trt-no-output",
                r"Network must have at least one output",
                ("network must have at least one",),
            ),
            Form(
                "trt-no-kernel",
                r"Could not find any implementation for node "
                r"(?P<node>[^\s)]{1,160}?)\.{0,3}(?:[\s)]|$)",
                ("any implementation for node",),
            ),
        ),
    ),
    Voice(
        "diffusers",
        (
            Form(
                "component-placeholder",
                r"component <class "
                r"'transformers\.models\.(?P<model>\w{2,40})\.[^']{1,120}Placeholder'>",
                ("placeholder'> of",),
            ),
        ),
    ),
    Voice(
        "Weights & Biases",
        (
            Form(
                "wandb-not-reached",
                r"wandb: (?:Network error|ERROR Error (?:while calling|communicating with)|"
                r"Error communicating with|W&B API key is not configured|Currently not logged)"
                r"|wandb\.errors\.(?:CommError|UsageError|Error): (?P<said>.{1,120})",
                ("wandb: ", "wandb.errors."),
                level=Level.WARNING,
            ),
        ),
    ),
    Voice(
        "pip",
        (
            Form(
                "requirement-malformed",
                r"Invalid requirement: ['\"]?(?P<requirement>[^<'\"\n][^'\"\n]{0,119})",
                ("invalid requirement: ",),
            ),
        ),
    ),
)
