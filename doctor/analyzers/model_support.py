"""Explain that a program does not know a model, a tensor, an option or a feature.

| event | what is read |
| --- | --- |
| a model's architecture, or a tensor of it, is unknown | the type, the tensor; the program |
| a feature that the program has for other models only | the model's type, the feature |
| a model's file of a newer format | both releases of the format |
| an option that this release of the program has not | the program, the option |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import LINUX, code, command, newest, variables
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what a program does not know of the model or of its own options."""
    table = _TABLE
    if any(_PACKED.search(event.objects["tensor"]) for event in case.of("tensor-not-expected")):
        lines = [line[:_LONGEST] for line in case.log.lines]
        unnamed = not any(_NAMED_KIND.search(line) for line in lines)
        kind = next((found[1].lower() for line in lines if (found := _KIND.search(line))), "")
        if unnamed and kind:
            told = table["tensor-not-expected"]
            table = {**table, "tensor-not-expected": _named_quantization(told, kind)}
    yield from explained(case, table)


_PACKED = re.compile(r"\.(?:qweight|qzeros|scales|weight_packed|g_idx)$")
_NAMED_KIND = re.compile(r"quantization[= ]'?(?:awq|gptq)|--quantization|-q awq")
_KIND = re.compile(r"(?i)[-_./](awq|gptq)(?:[-_./\s'\"]|$)")
_LONGEST = 1000


def _named_quantization(told: Text, kind: str) -> Text:
    """Return a text whose first fix names the quantization that the model's name shows."""
    return told._replace(
        recipes=(
            code(
                "Tell the server how the model is quantized",
                "the command that starts the server",
                f"vllm serve <model> --quantization {kind} --dtype half",
                before="vllm serve <model>",
                note="vLLM reads it from config.json of the model, and finds it not where it lies "
                "in the part for the language model (text_config, llm_config).",
            ),
            *told.recipes,
        )
    )


_OWN_VLLM = Recipe(
    title="Take the newest vLLM, in an environment of its own",
    steps=(
        Action(run=("uv", "venv", ".venv-vllm")),
        Action(
            run=(
                *("uv", "pip", "install", "--python", ".venv-vllm"),
                *("--torch-backend=auto", "--upgrade", "vllm"),
            )
        ),
    ),
    note="In Docker: the newest tag of vllm/vllm-openai.",
)
_NEWEST_TGI = command(
    "Take the newest image",
    "docker",
    "pull",
    "ghcr.io/huggingface/text-generation-inference:latest",
    note="Name this image in the place of the older tag. The models that it serves stand in its "
    "documentation under Supported Models.",
)
_ONE_GPU = code(
    "Serve it by the general path, on one GPU",
    "the command that starts the server",
    "--num-shard 1",
    use_if=("the model fits into one GPU",),
    note="Models that TGI does not know itself run by transformers, unsharded and slower.",
)
_HELP = command(
    "See the options of the installed release",
    "<program>",
    "--help",
    ask={"program": "the program of the log"},
    look=True,
)

_TABLE: dict[str, Text] = {
    "tgi-model-unknown": Text(
        (
            "This release of TGI does not know models of type {type}",
            "This release of TGI does not know the model's architecture, and so cannot shard it",
        ),
        "TGI has its own code for the models that it shards. One that it does not know falls back "
        "to transformers, which runs on one GPU only: the model is newer than the image, or is not "
        "served at all.",
        (_NEWEST_TGI, _ONE_GPU),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "tensor-not-in-file": Text(
        "The file of the model has no tensor {tensor}, which TGI asks for",
        "The names in the file are not those of the architecture as this release of TGI writes it: "
        "a newer or changed model, a quantized one served without --quantize, or an adapter "
        "(LoRA) without its base model.",
        (
            _NEWEST_TGI,
            code(
                "Name the way in which the model is quantized",
                "the command that starts the server",
                "--quantize gptq",
                use_if=("the model is quantized: gptq, awq, eetq, bitsandbytes, fp8",),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "architecture-unsupported": Text(
        "This release does not know the architecture {type}",
        "Each release serves a list of architectures. A model that came out later needs a newer "
        "release of the server.",
        (
            newest("sglang", title="Take the newest SGLang", use_if=("the program is SGLang",)),
            newest("lmdeploy", title="Take the newest LMDeploy", use_if=("it is LMDeploy",)),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "tensor-not-expected": Text(
        "The checkpoint has a tensor that this release does not expect: {tensor}",
        "The names in the checkpoint are not those of the model's code. The model is newer than "
        "the program, is quantized in a way that the program has not for this model, or holds "
        "merged or split layers (fine-tuned and then saved by another tool).",
        (
            _OWN_VLLM,
            code(
                "Serve the variant that is not quantized",
                "the command that starts the server",
                "vllm serve <the original model, not its -bnb-4bit, -AWQ or -GPTQ variant>",
                use_if=("the checkpoint is quantized",),
            ),
        ),
        severity=Severity.ERROR,
    ),
    "model-without-feature": Text(
        "{type} has no {feature} in this release",
        "vLLM writes each model by itself, and not every model has every feature.",
        (
            _OWN_VLLM,
            code(
                "Start it without the feature",
                "the command that starts the server",
                "vllm serve <model>",
                before="vllm serve <model> --quantization bitsandbytes --enable-lora",
                note="For LoRA: merge the adapter into the model (peft: merge_and_unload). For "
                "quantization: take the AWQ, GPTQ or FP8 variant of the model.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "length-above-model": Text(
        "--max-model-len {asked} is more than the {limit} tokens that the model was made for",
        "config.json of the model ({key}) sets the limit. Above it the answers become wrong.",
        (
            Recipe(
                title="Ask for the length that the model has",
                steps=(Action(run=("vllm", "serve", "<model>", "--max-model-len", "{log.limit}")),),
                ask={"model": "the name or folder of the model"},
            ),
            variables(
                "Allow the longer length in spite of it",
                {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"},
                use_if=("the model's card says that it is made for it, by rope scaling",),
            ),
        ),
        precision=Precision.EXACT,
    ),
    "quantization-of-other-kind": Text(
        "--quantization names another way than the one in which the model is stored",
        "quantization_config in config.json has no {keys}: the model is not quantized, or in "
        "another way. vLLM reads the way from the model itself.",
        (
            code(
                "Leave the option away",
                "the command that starts the server",
                "vllm serve <model>",
                before="vllm serve <model> --quantization awq",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "model-place-unknown": Text(
        "vLLM finds no model at {place}",
        "It is neither a folder with config.json nor a name on the Hub that can be reached. In a "
        "container the folder has to be mounted; GGUF files are named by the file itself.",
        (
            command(
                "See what the program sees there",
                "sh",
                "-c",
                "ls -l '<place>' '<place>'/config.json",
                use_if=(LINUX,),
                ask={"place": "the folder of the model, inside the container"},
                look=True,
                note="With Docker: -v /folder/of/the/model:/models and --model /models.",
            ),
            command(
                "Log in to the Hub, for a private or gated model",
                *("hf", "auth", "login"),
                use_if=("the name is one of the Hub and is gated or private",),
            ),
        ),
        precision=Precision.EXACT,
    ),
    "ray-node-without-gpu": Text(
        "Ray has no GPU on the node on which vLLM starts",
        "Ray counted {what} when it started: it was started where no GPU was visible, in a "
        "container without GPUs, or on a head node without one.",
        (
            command(
                "Start Ray again where nvidia-smi shows the GPUs, and name them",
                "sh",
                "-c",
                "nvidia-smi -L && ray stop && ray start --head --num-gpus=<gpus>",
                use_if=(LINUX,),
                ask={"gpus": "the number of GPUs of this node"},
                note="On each further node: ray start --address=<head>:6379. For GPUs of one node "
                "vLLM needs no Ray: --distributed-executor-backend mp.",
            ),
            command("See what Ray has", "ray", "status", look=True),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "platform-without-ray": Text(
        "vLLM runs as {platform} here, and found no GPU",
        "vLLM took the platform {platform}: torch is a build without CUDA, or the driver's NVML "
        "does not answer (a container without GPUs, WSL, a broken driver).",
        (
            command(
                "See whether the driver and torch see the GPU",
                "sh",
                "-c",
                "nvidia-smi -L; python3 -c 'import torch; print(torch.__version__, "
                "torch.cuda.is_available())'",
                use_if=(LINUX,),
                look=True,
            ),
            _OWN_VLLM,
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "kernel-asks-newer-gpu": Text(
        "Marlin, the kernel for {type}, does not run on compute capability {capability}",
        "Marlin needs Ampere (80) or newer; newer releases of vLLM also serve Turing (75). Older "
        "GPUs have other kernels for AWQ and GPTQ.",
        (
            _OWN_VLLM,
            code(
                "Take the kernel for older GPUs",
                "the command that starts the server",
                "--quantization gptq --dtype float16",
                use_if=("the model is stored as GPTQ; for AWQ: --quantization awq",),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "architectures-not-named": Text(
        "config.json of the model names no architecture, or is not there",
        "The folder holds the weights in the format of Mistral (params.json, consolidated.*), an "
        "adapter, or another model than one of language.",
        (
            Recipe(
                title="Read the model in the format of Mistral",
                use_if=("the model has a params.json",),
                shown=(r"(?i)mistral|ministral|magistral|devstral|voxtral|pixtral",),
                steps=(
                    Action(
                        run=(
                            *("vllm", "serve", "<model>", "--tokenizer-mode", "mistral"),
                            *("--config-format", "mistral", "--load-format", "mistral"),
                        )
                    ),
                ),
                ask={"model": "the model's name on the hub, or its folder"},
                note="A model that is newer than vLLM needs the newest vLLM as well.",
            ),
            _OWN_VLLM,
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "lora-keys-not-matched": Text(
        (
            "The web UI does not know the kind of LoRA that {file} is (it has {part})",
            "{file} is a LoRA for another model, or of a kind that the web UI does not know",
        ),
        "LoCon, LoHa and LoKr change more layers than a plain LoRA. The web UI loads them since "
        "1.5, and an older one needs an extension. A LoRA for another family of models (SDXL, "
        "Flux) does not match at all.",
        (
            command(
                "Bring the web UI up to date",
                "git",
                "pull",
                use_if=("the current folder is the web UI's clone",),
                note="Take the extension a1111-sd-webui-locon out afterwards.",
            ),
        ),
        severity=Severity.WARNING,
    ),
    "option-unknown": Text(
        (
            "{program} of this release has no option {option}",
            "This release of the program has no option {option}",
        ),
        "The option came with another release, was renamed or removed, or belongs to another "
        "command of the program.",
        (
            _HELP,
            Recipe(
                title=_OWN_VLLM.title,
                use_if=("the program is vLLM, and the option is one of its newest",),
                shown=(r"(?i)\bvllm\b.{0,40}unrecognized arg",),
                steps=_OWN_VLLM.steps,
            ),
        ),
    ),
    "option-value-unknown": Text(
        "{value} is no value of {option} in this release",
        "The line goes on with the values that the installed release knows. A value from newer "
        "documentation needs a newer release.",
        (_HELP,),
    ),
}
