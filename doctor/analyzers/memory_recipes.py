"""What needs less memory of the GPU, by the program that ran out of it.

The program is known by what it prints: vLLM its engine, ComfyUI its nodes, a trainer its steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from doctor.analyzers.case import Case
from doctor.analyzers.recipes import code, command, variables
from doctor.model.events import Event
from doctor.model.issues import Recipe

_LONGEST = 600
_SEARCHED = 20_000
_STEPS = re.compile(
    r"(?:\b|\|)\s?(?P<done>\d{2,8})/\d{2,8} \[|\[?[Ii]ter(?:ation)? (?P<iter>\d{2,8})\b"
)
_LONG_RUN = 500
"""Steps after which memory that was enough all the time tells of growth."""
_DATA_PARALLEL = re.compile(r"[/\\]nn[/\\]parallel[/\\](?:data_parallel|parallel_apply)\.py")
_LOADED = re.compile(r"[Mm]odel (?:loading took|weights take) (?P<size>[\d.]{1,10}) ?Gi?B")
_TOO_LONG = re.compile(
    r"longer than the specified maximum sequence length .{0,60}\((\d{3,7}) > (\d{3,7})\)"
)


class _Program(NamedTuple):
    """A program: the signs of it in a log, and what it can be told to take less."""

    signs: re.Pattern[str]
    recipes: Callable[[Case], tuple[Recipe, ...]]


def less_memory(case: Case, event: Event) -> tuple[Recipe, ...]:
    """Return what makes the program that failed take less memory, the most telling first."""
    lines = _lines(case)
    near = case.log.lines[max(event.first, 0) : event.at] if event.first >= 0 else lines
    first: tuple[Recipe, ...] = ()
    if any(_DATA_PARALLEL.search(line) for line in near):
        first = (_DISTRIBUTED,)
    if _grew(lines):
        first = (*first, _WATCH)
    found = _program(lines)
    return (*first, *(found.recipes(case) if found else (LESS_AT_ONCE,)))


def _lines(case: Case) -> list[str]:
    return [line[:_LONGEST] for line in case.log.lines[:_SEARCHED]]


def _first(pattern: re.Pattern[str], case: Case) -> re.Match[str] | None:
    return next(filter(None, map(pattern.search, _lines(case))), None)


def _program(lines: list[str]) -> _Program | None:
    return next((one for one in _PROGRAMS if any(one.signs.search(line) for line in lines)), None)


def is_known(case: Case) -> bool:
    """Say whether a log shows which program ran out of memory."""
    return _program(_lines(case)) is not None


def has_grown(case: Case) -> bool:
    """Say whether so many steps fitted before that memory must have grown."""
    return _grew(_lines(case))


def _grew(lines: list[str]) -> bool:
    steps = [
        int(match["done"] or match["iter"])
        for line in lines
        for match in _STEPS.finditer(line)
        if "it/s" in line or "s/it" in line or match["iter"]
    ]
    return max(steps, default=0) >= _LONG_RUN


def weights_fill(case: Case, capacity: int) -> str:
    """Return what the model takes alone, in GiB, where that is nearly the whole GPU."""
    found = _first(_LOADED, case)
    if found is None or not capacity:
        return ""
    return found["size"] if float(found["size"]) * (1 << 30) > 0.85 * capacity else ""


LESS_AT_ONCE = code(
    "Use less memory at once",
    "the settings of the program",
    "batch_size=1",
    before="batch_size=16",
    note="A shorter sequence, half precision, a quantized model, gradient checkpointing and "
    "fewer layers on the GPU (n_gpu_layers) help as well.",
)
_DISTRIBUTED = command(
    "Start one process for each GPU: with nn.DataParallel the first GPU holds what all compute",
    *("torchrun", "--nproc-per-node=gpu", "<script>"),
    ask={"script": "the training program, with its options"},
    note="A trainer falls back to nn.DataParallel where it sees several GPUs and was started by "
    "python alone. CUDA_VISIBLE_DEVICES=0 leaves it one GPU.",
)
_WATCH = code(
    "Find what grows from step to step",
    "the loop over the steps",
    "total += loss.item()  # not the tensor: it keeps the whole graph of the step\n"
    "print(step, torch.cuda.memory_allocated() >> 20, 'MiB')",
    before="total += loss",
    note="The earlier steps did fit. Lists of tensors that are not detached, pictures kept on the "
    "GPU, and points or tokens that become more are usual.",
)
_QUANTIZED = code(
    "Take a smaller or quantized model",
    "the command that starts vLLM",
    "--model <the same model in AWQ, GPTQ or a smaller size>",
    note="The weights have to leave a few GiB for the cache and for compiling.",
)
_OFFLOAD = code(
    "Keep a part of the weights in the machine's memory",
    "the command that starts vLLM",
    "--cpu-offload-gb 4",
    note="In Python: LLM(..., cpu_offload_gb=4). It is slower. With two GPUs, "
    "--tensor-parallel-size 2 divides the model.",
)
_FEWER_TEXTS = code(
    "Let vLLM serve fewer and shorter texts at once",
    "the command that starts vLLM",
    "--max-num-seqs 16 --max-model-len 8192",
    note="In Python: LLM(..., max_num_seqs=16, max_model_len=8192).",
)


def _vllm(case: Case) -> tuple[Recipe, ...]:
    loaded = _first(_LOADED, case)
    compiling = any("_inductor" in line for line in case.log.lines[:_SEARCHED])
    if loaded and (compiling or float(loaded["size"]) > 8):
        return (_QUANTIZED, _OFFLOAD, _FEWER_TEXTS)
    return (_FEWER_TEXTS, _QUANTIZED, _OFFLOAD)


def _comfyui(case: Case) -> tuple[Recipe, ...]:
    decoding = any(re.search(r"VAE ?Decode|vae\.decode", line) for line in case.log.lines[-2000:])
    tiled = code(
        "Decode in tiles",
        "the workflow",
        "VAE Decode (Tiled)",
        before="VAE Decode",
        note="Fewer frames, or a smaller picture, take less as well.",
    )
    low = command(
        "Start ComfyUI so that it moves what it does not use out of the GPU",
        *("{python.executable}", "main.py", "--lowvram"),
        use_if=("the current folder is ComfyUI's",),
    )
    small = code(
        "Make a smaller picture, or fewer frames at once",
        "the node of the empty latent",
        "width 512, height 512, batch_size 1",
        note="A model in fp8 or GGUF takes half and less.",
    )
    return (tiled, low, small) if decoding else (low, small, tiled)


def _web_ui(case: Case) -> tuple[Recipe, ...]:
    del case
    return (
        code(
            "Start the web UI so that it keeps less on the GPU",
            "COMMANDLINE_ARGS in webui-user.bat or webui-user.sh",
            "--medvram --xformers",
            note="--lowvram takes still less and is slower. A smaller picture, or no high-res fix.",
        ),
    )


def _splats(case: Case) -> tuple[Recipe, ...]:
    del case
    return (
        code(
            "Keep the pictures outside the GPU, and make them smaller",
            "the command that starts the training",
            "--data_device cpu -r 2",
            note="Fewer points take less: a higher --densify_grad_threshold makes fewer.",
        ),
    )


def _trainer(case: Case) -> tuple[Recipe, ...]:
    long = _first(_TOO_LONG, case)
    cut = f" Texts have {long[1]} tokens here: cut them at {long[2]}." if long else ""
    return (
        code(
            "Train with one example at a time, and compute activations twice",
            "the settings of the trainer",
            "per_device_train_batch_size=1,\ngradient_accumulation_steps=16,\n"
            "gradient_checkpointing=True,",
            before="per_device_train_batch_size=16,",
            note="Shorter texts take less, and LoRA or FSDP much less than training all "
            f"weights on each GPU.{cut}",
        ),
    )


def _diffusers(case: Case) -> tuple[Recipe, ...]:
    del case
    return (
        code(
            "Leave on the GPU only the part that computes",
            "the program, in the place of pipe.to('cuda')",
            "pipe.enable_model_cpu_offload()\npipe.vae.enable_tiling()",
            before='pipe.to("cuda")',
            note="torch_dtype=torch.float16 halves the model.",
        ),
    )


def _llama_cpp(case: Case) -> tuple[Recipe, ...]:
    del case
    return (
        code(
            "Put fewer layers on the GPU, and keep a shorter context",
            "the command that starts llama.cpp",
            "-ngl 20 -c 4096",
            before="-ngl 99",
            note="A smaller quantization (Q4_K_M) takes less as well.",
        ),
    )


def _ollama(case: Case) -> tuple[Recipe, ...]:
    del case
    return (
        variables(
            "Have Ollama keep a shorter context and one model at a time",
            {"OLLAMA_CONTEXT_LENGTH": "4096", "OLLAMA_MAX_LOADED_MODELS": "1"},
            note="They belong to the server: set them where ollama serve starts.",
        ),
    )


_PROGRAMS = (
    _Program(re.compile(r"\bvllm[/\\.]|\bEngineCore|\bLLM engine \(v|\bvLLM\b"), _vllm),
    _Program(re.compile(r"ComfyUI|[/\\]comfy[/\\]|got prompt$"), _comfyui),
    _Program(re.compile(r"stable-diffusion-webui|[/\\]modules[/\\]processing\.py"), _web_ui),
    _Program(
        re.compile(r"gaussian|splat|diff_gauss|\bPoints=\d|[/\\]gsplat[/\\]", re.IGNORECASE),
        _splats,
    ),
    _Program(
        re.compile(r"[/\\]transformers[/\\]trainer\.py|[/\\]trl[/\\]trainer|SFTTrainer|\boumi\b"),
        _trainer,
    ),
    _Program(re.compile(r"[/\\]diffusers[/\\]pipelines[/\\]"), _diffusers),
    _Program(re.compile(r"\bollama\b", re.IGNORECASE), _ollama),
    _Program(
        re.compile(r"\bllama_(?:model_load|init|kv_cache|context)|llama-(?:server|cli)\b|ggml_"),
        _llama_cpp,
    ),
)
