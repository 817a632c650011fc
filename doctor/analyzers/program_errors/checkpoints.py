"""What is said of a checkpoint of another model, or of one that was saved by parts."""

from __future__ import annotations

from doctor.analyzers.case import Precision
from doctor.analyzers.recipes import code, command
from doctor.analyzers.texts import Text
from doctor.model.scales import Severity

EMPTY_CHECKPOINT = Text(
    "The checkpoint holds empty tensors: {parameter} is [0] there, [{model}] here",
    "DeepSpeed ZeRO-3 divides each parameter over the ranks, and what one rank holds of it looks "
    "empty. The weights were saved without gathering them first, so this file has none. Loading it "
    "with ignore_mismatched_sizes would give an untrained model.",
    (
        command(
            "Put the weights together from the folder of DeepSpeed's checkpoint",
            "{python.executable}",
            "zero_to_fp32.py",
            ".",
            "pytorch_model.bin",
            use_if=("the current folder is the checkpoint's, with zero_to_fp32.py in it",),
        ),
        code(
            "Gather the weights when the model is saved",
            "the DeepSpeed settings, below zero_optimization",
            '"stage3_gather_16bit_weights_on_model_save": true',
            note="Then save with trainer.save_model, or model.save_pretrained(folder, "
            "state_dict=accelerator.get_state_dict(model)). What was saved empty has to be trained "
            "again where no folder of DeepSpeed's checkpoint is left.",
        ),
    ),
    precision=Precision.EXACT,
    severity=Severity.ERROR,
    contradicts=("torch/checkpoint-other-names",),
)
OTHER_MODEL = Text(
    (
        "The checkpoint is of another model: {parameter} is [{file}] there, [{model}] here",
        "The checkpoint is of another model: the shape of {parameter} differs",
    ),
    "The model was made with other settings than the file: another size or variant, or another "
    "number of tokens. Layers inside the model differ, so leaving them out would leave it "
    "untrained. The installation is sound.",
    (
        code(
            "Make the model with the settings that the checkpoint was trained with",
            "the place that makes the model",
            "config = AutoConfig.from_pretrained(checkpoint)\nmodel = Model(config)",
            before="model = Model(other_config)",
            note="For an adapter (LoRA) the base model and r have to be those of its training.",
        ),
    ),
    precision=Precision.EXACT,
    contradicts=("torch/checkpoint-other-names",),
)
