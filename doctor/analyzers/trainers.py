"""Explain failures of libraries for training: DeepSpeed, accelerate, Lightning, PEFT, TRL."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.inventory import frames, package_of
from doctor.analyzers.recipes import code, command
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what a library for training reports of its settings and of the model."""
    yield from explained(case, _TABLE)
    yield from _architectures(case)


def _architectures(case: Case) -> Iterator[Explanation]:
    """Yield that a model is unknown, by the table in which its type is looked up."""
    for found in case.of("exception"):
        if not (key := _KEY.search(found.text)):
            continue
        event = msgspec.structs.replace(found, kind="model-key-missing", objects={"key": key[1]})
        inner = next(frames(case, event), "")
        before = "".join(case.log.lines[max(0, event.at - 3) : event.at + _AT])
        alone = case._replace(events=(event,))
        if event.objects["key"] == "model_type" and any(one in before for one in _LOADERS):
            yield from explained(alone, {event.kind: _NO_TYPE})
        elif package_of(inner) == "transformers" and "configuration_auto" in inner:
            yield from explained(alone, {event.kind: _ARCHITECTURE})


_KEY = re.compile(r"\bKeyError: '([a-z][a-z0-9_]{2,40})'")
_AT = 6
_LOADERS = ("mlx_lm", "mlx_vlm", "transformers", "configuration_auto")
_NO_TYPE = Text(
    "config.json of the model names no model_type: it is no model of this loader",
    "The folder holds a model of another kind (speech, images, an adapter), or its config.json is "
    "not the whole one. transformers and mlx_lm choose the code of a model by that key.",
    (
        command(
            "See what config.json names",
            "{python.executable}",
            "-m",
            "json.tool",
            "<folder>/config.json",
            ask={"folder": "the folder of the model"},
            look=True,
            note="A model of speech or of images needs the package that its page names, such as "
            "mlx-audio or mflux. If the file is not whole, download the model again.",
        ),
    ),
    precision=Precision.EXACT,
)


_ARCHITECTURE = Text(
    "This transformers does not know the architecture {key}",
    "The model is newer than the installed transformers.",
    (
        Recipe(
            title="Take the newest transformers",
            steps=(Action(install=("transformers",), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
        ),
    ),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
)

_TABLE: dict[str, Text] = {
    "batch-sizes-differ": Text(
        "DeepSpeed: train_batch_size {whole} is not {micro} * {steps} * {world}",
        "train_batch_size has to be the batch of a GPU, times the steps that are accumulated, "
        "times the number of processes. The last is {world} here, and the settings were made for "
        "another number.",
        (
            code(
                "Let DeepSpeed compute it",
                "the configuration of DeepSpeed",
                '"train_batch_size": "auto",\n"train_micro_batch_size_per_gpu": "auto",\n'
                '"gradient_accumulation_steps": "auto"',
                use_if=("the Trainer of transformers or accelerate starts DeepSpeed",),
            ),
            code(
                "Leave train_batch_size out, and name the other two",
                "the configuration of DeepSpeed",
                '"train_micro_batch_size_per_gpu": {log.micro},\n'
                '"gradient_accumulation_steps": {log.steps}',
                before='"train_batch_size": {log.whole}',
            ),
        ),
        precision=Precision.EXACT,
    ),
    "zero-ranks-differ": Text(
        "ZeRO-3: the ranks do not compute the same part of the model at the same time",
        "Each parameter is gathered by all ranks together. Here one rank runs another path: it "
        "evaluates or saves alone, has fewer batches, or chooses other experts.",
        (
            code(
                "Call the model on every rank, and as often",
                "the loop that evaluates or generates",
                "for batch in loader:  # on all ranks\n    model(**batch)\n"
                "if is_main_process:\n    print(results)",
                before="if is_main_process:\n    model(**batch)",
                note="generate() needs synced_gpus=True, and the last batches need drop_last=True.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "zero-in-flight": Text(
        "ZeRO-3 gathered parameters that the step did not use",
        "It gathers ahead in the order of the first step. A step with another order or fewer "
        "modules, as in generate(), evaluation or a mixture of experts, leaves some behind; older "
        "releases of DeepSpeed stop there.",
        (
            Recipe(
                title="Take the newest DeepSpeed",
                steps=(
                    Action(install=("deepspeed",), options=(Option.UPGRADE, Option.HOLD_TORCH)),
                ),
            ),
            code(
                "Gather nothing ahead",
                "the configuration of DeepSpeed, in zero_optimization",
                '"stage3_prefetch_bucket_size": 0',
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "zero-empty-parameter": Text(
        "ZeRO-3 divides a parameter that another one shares, or that was divided already",
        "The model makes or replaces a parameter after it was divided: tied or resized embeddings, "
        "or weights that the program initializes itself.",
        (
            Recipe(
                title="Take the newest transformers and DeepSpeed",
                steps=(
                    Action(
                        install=("transformers", "deepspeed"),
                        options=(Option.UPGRADE, Option.HOLD_TORCH),
                    ),
                ),
            ),
            code(
                "Divide the optimizer's state and the gradients only",
                "the configuration of DeepSpeed",
                '"zero_optimization": {"stage": 2}',
                before='"zero_optimization": {"stage": 3}',
                use_if=("the model fits into the memory of one GPU",),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "no-sync-with-zero": Text(
        "no_sync() cannot be used with ZeRO stage 2 or 3",
        "These stages divide the gradients over the ranks in each step, and no_sync would keep "
        "them whole. accelerate calls it while it accumulates gradients.",
        (
            Recipe(
                title="Take the newest accelerate and transformers, which leave it out for ZeRO",
                steps=(
                    Action(
                        install=("accelerate", "transformers"),
                        options=(Option.UPGRADE, Option.HOLD_TORCH),
                    ),
                ),
            ),
            Recipe(
                title="Go back to a DeepSpeed that does not check it",
                use_if=("something pins accelerate or transformers",),
                steps=(Action(install=("deepspeed<0.16",), options=(Option.HOLD_TORCH,)),),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "world-not-divisible": Text(
        "{world} processes cannot be divided into groups of {parts} ({what})",
        "The sizes of tensor, pipeline and context parallelism together have to divide the number "
        "of processes.",
        (
            code(
                "Start a multiple of that number, or make the groups smaller",
                "the command",
                "torchrun --nproc-per-node {log.parts} ...",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "parallel-group-twice": Text(
        "The groups for parallel work ({what}) are made a second time in one process",
        "Two engines, two trainers, or a second call in one process. The first one's groups are "
        "still there.",
        (
            code(
                "Give the groups back before the second start",
                "between the two",
                "from vllm.distributed.parallel_state import destroy_model_parallel\n"
                "destroy_model_parallel()",
                use_if=("the program is vLLM",),
            ),
            code(
                "Give the groups back before the second start",
                "between the two",
                "from megatron.core import parallel_state\nparallel_state.destroy_model_parallel()",
                use_if=("the program uses Megatron",),
            ),
        ),
        precision=Precision.EXACT,
    ),
    "quantized-on-other-device": Text(
        "The quantized model lies on another GPU than the one that trains it",
        "A model in 8 or 4 bits stays where it was loaded. Without a device_map, or with "
        '"auto", it lies on GPU 0 or on several.',
        (
            code(
                "Load it on the GPU of the process",
                "the call that loads the model",
                "from accelerate import PartialState\n"
                'Model.from_pretrained(name, device_map={"": PartialState().process_index})',
                before='Model.from_pretrained(name, device_map="auto")',
            ),
        ),
        precision=Precision.EXACT,
    ),
    "quantized-model-spills": Text(
        "The GPU has no room for the whole quantized model",
        "accelerate would put the rest of it into the memory of the machine, which a quantized "
        "model does not allow by default. Another process may hold the GPU's memory.",
        (
            command("See what is free on the GPU", "nvidia-smi", look=True),
            code(
                "Put the whole model on one GPU",
                "the call that loads the model",
                'device_map={"": 0}',
                before='device_map="auto"',
                use_if=("the model fits into the GPU's memory",),
            ),
            code(
                "Let the rest lie in the machine's memory",
                "the quantization config",
                "BitsAndBytesConfig(load_in_8bit=True, llm_int8_enable_fp32_cpu_offload=True)",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "half-precision-needs-gpu": Text(
        "fp16 needs a GPU, and torch shows none to this program",
        "The program asks for half precision. torch is a build for the processor, the driver is "
        "missing, or the machine has no GPU.",
        (
            command(
                "See whether torch reaches a GPU",
                "{python.executable}",
                "-c",
                "import torch; print(torch.__version__, torch.version.cuda, "
                "torch.cuda.is_available())",
                look=True,
                note="None in the middle is a build for the processor: install torch from an "
                "index such as https://download.pytorch.org/whl/cu128.",
            ),
            code(
                "Train in single precision",
                "the arguments of the trainer",
                "fp16=False",
                before="fp16=True",
                use_if=("there is no GPU", "a Mac or an Intel GPU takes bf16=True"),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "half-precision-weights": Text(
        "The weights that are trained are float16, and the scaler wants them in float32",
        "Mixed precision keeps the weights in float32 and computes in float16. Here the model was "
        "loaded in float16 itself.",
        (
            code(
                "Train the adapter's weights in float32",
                "before the trainer",
                "for p in model.parameters():\n"
                "    if p.requires_grad:\n"
                "        p.data = p.data.float()",
                use_if=("adapters (LoRA) are trained",),
            ),
            code(
                "Use bfloat16, which needs no scaler",
                "the arguments of the trainer",
                "bf16=True",
                before="fp16=True",
                use_if=("the GPU is Ampere or newer",),
            ),
            code(
                "Load the model in float32",
                "the call that loads the model",
                "torch_dtype=torch.float32",
                before="torch_dtype=torch.float16",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "generator-on-device": Text(
        (
            "torch.Generator is on {found}, and the tensors want one on {wanted}",
            "This torch makes no random numbers on {device} with a Generator of its own",
        ),
        "The generator and the tensor have to be of one kind of device; older releases of torch "
        "have none for MPS and XPU.",
        (
            code(
                "Make the numbers on the processor, then move them",
                "the line that makes the generator",
                'generator = torch.Generator("cpu").manual_seed(seed)\n'
                'x = torch.randn(shape, generator=generator, device="cpu").to(device)',
                before="generator = torch.Generator(device).manual_seed(seed)",
            ),
            code(
                "Choose random numbers of the processor in the application",
                "the settings: source of random numbers (RNG, noise)",
                "CPU",
                before="GPU",
                use_if=("the application has such a setting",),
            ),
        ),
        precision=Precision.EXACT,
    ),
    "notebook-strategy": Text(
        "The strategy {strategy} cannot start its processes from a notebook",
        "It starts the script once more for each GPU, and a notebook is none.",
        (
            code(
                "Use the strategy for notebooks",
                "the call of Trainer",
                'Trainer(strategy="ddp_notebook")',
                before='Trainer(strategy="{log.strategy}")',
            ),
        ),
        precision=Precision.EXACT,
    ),
}
