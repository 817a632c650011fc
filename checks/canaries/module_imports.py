# /// script
# requires-python = ">=3.8"
# dependencies = []
#
# [tool.doctor]
# kind = "canary"
# role = "imports-packages"
# summary = "Imports the packages that programs use on top of torch, each in a process of its own"
# needs = []
# tier = "quick"
# timeout = 240
# devices = "host"
# cases = [
#   "numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "numba", "pillow", "opencv-python",
#   "huggingface-hub", "tokenizers", "safetensors", "triton", "torchvision", "torchaudio",
#   "torchao", "torchcodec", "torchmetrics", "transformers", "diffusers", "accelerate", "peft",
#   "trl", "datasets", "sentence-transformers", "timm", "lightning", "pytorch-lightning",
#   "xformers", "flash-attn", "bitsandbytes", "deepspeed", "vllm", "sglang", "xfuser", "yunchang",
#   "onnxruntime", "tensorflow", "jax", "cupy", "optimum", "unsloth"
# ]
# ///
"""The packages that are installed can be imported.

A case is a package, by the name that it is installed under (opencv and cupy have several names, and
one case each). Modules that load their parts late, as transformers does, are asked for the names
that programs use. Each import is a fork: of a process that holds torch, where the package stands on
it, and of one that holds nothing. What fails beside torch is tried again without it, and that try
counts. Without torch only what can do without it is tried. A failure names the exception and the
package that raised it. What fails for want of a GPU or a driver is left out where the machine shows
none, and so is what gives no answer in time. No network is used, and the home folder is a scratch
folder.
"""

from __future__ import annotations

import glob
import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
import select
import signal
import sys
import sysconfig
import time
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from canary_report import CaseEnded, Report, fault_of, is_installed

REPORT = Report()
EACH, ALL, LONGEST, DEPTH = 60.0, 200.0, 600, 20

ALONE = {
    "numpy": "numpy: ndarray",
    "scipy": "scipy.linalg: solve",
    "pandas": "pandas: DataFrame",
    "pyarrow": "pyarrow: Table",
    "scikit-learn": "sklearn.linear_model: LinearRegression",
    "numba": "numba: njit",
    "pillow": "PIL.Image: open",
    "opencv-python": "cv2: imread",
    "huggingface-hub": "huggingface_hub: snapshot_download",
    "tokenizers": "tokenizers: Tokenizer",
    "safetensors": "safetensors: safe_open",
    "triton": "triton.language: load",
    "onnxruntime": "onnxruntime: InferenceSession",
    "tensorflow": "tensorflow: constant",
    "jax": "jax.numpy: ones",
    "cupy": "cupy: ndarray",
    "datasets": "datasets: Dataset load_dataset",
}
WITH_TORCH = {
    "torchvision": "torchvision: ops transforms",
    "torchaudio": "torchaudio: transforms",
    "torchao": "torchao: quantization",
    "torchcodec": "torchcodec: decoders",
    "torchmetrics": "torchmetrics: Metric",
    "transformers": "transformers: PreTrainedModel AutoModel AutoTokenizer Trainer",
    "diffusers": "diffusers: DiffusionPipeline UNet2DConditionModel",
    "accelerate": "accelerate: Accelerator",
    "peft": "peft: LoraConfig PeftModel",
    "trl": "trl: SFTTrainer DPOTrainer",
    "sentence-transformers": "sentence_transformers: SentenceTransformer",
    "timm": "timm: create_model",
    "lightning": "lightning: Trainer",
    "pytorch-lightning": "pytorch_lightning: Trainer",
    "xformers": "xformers.ops: memory_efficient_attention",
    "flash-attn": "flash_attn: flash_attn_func",
    "bitsandbytes": "bitsandbytes: nn",
    "deepspeed": "deepspeed: initialize",
    "vllm": "vllm: LLM SamplingParams",
    "sglang": "sglang: Engine",
    "xfuser": "xfuser: xFuserArgs",
    "yunchang": "yunchang: LongContextAttention",
    "optimum": "optimum: version",
    "unsloth": "unsloth: FastLanguageModel",
}
"""The module to import for a distribution, and what to ask it for where it has that."""

SPREAD = ("optimum",)
"""Packages whose folder has no __init__.py on purpose, since several distributions share it."""
NAMES = {
    "opencv-python-headless": "opencv-python",
    "opencv-contrib-python": "opencv-python",
    "opencv-contrib-python-headless": "opencv-python",
    "onnxruntime-gpu": "onnxruntime",
    "tensorflow-cpu": "tensorflow",
    **{f"cupy-cuda{generation}x": "cupy" for generation in (11, 12, 13)},
}
NO_TORCH = re.compile(
    r"No module named '(torch|functorch)\b|PyTorch library"
    r"|([Rr]equires?|[Nn]eeds?|[Ii]nstall) (the )?([Pp]y)?[Tt]orch"
)
"""How a package says that it has to have torch, although its metadata does not."""
NO_GPU = re.compile(
    r"Found no NVIDIA driver|No (CUDA|HIP|XPU) GPUs? (is|are) available|0 active drivers"
    r"|no CUDA-capable device"
    r"|[Dd]river version is insufficient"
    r"|cudaError(InsufficientDriver|NoDevice)|lib(cuda|nvidia-\w+"
    r"|nvcuvid)\.so\S*: cannot open|Failed to infer device type"
    r"|Torch not compiled with CUDA enabled|(CUDA|GPU)s? (is|are|was"
    r"|were) (not|required|needed)|[Nn]o (GPU|CUDA device|accelerator)"
    r"|[Cc]annot find any torch accelerator|requires? (a|an) (CUDA|NVIDIA|GPU)"
)
GPUS = int(os.environ.get("CANARY_GPUS") or 0)
"""How many GPUs the machine shows: where it shows one, no package may say that there is none."""
SCRATCH = (
    "HOME",
    "HF_HOME",
    "TORCH_HOME",
    "MPLCONFIGDIR",
    "NUMBA_CACHE_DIR",
    "XDG_CONFIG_HOME",
    "VLLM_CONFIG_ROOT",
    "VLLM_CACHE_ROOT",
)
SAID = {
    **dict.fromkeys(
        (
            "HF_HUB_OFFLINE",
            "TRANSFORMERS_OFFLINE",
            "HF_DATASETS_OFFLINE",
            "HF_HUB_DISABLE_TELEMETRY",
            "DO_NOT_TRACK",
        ),
        "1",
    ),
    "VLLM_NO_USAGE_STATS": "1",
    "WANDB_MODE": "disabled",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "NO_ALBUMENTATIONS_UPDATE": "1",
}


def installed() -> list[str]:
    """List the distributions that have a case here, by the name of their case."""
    paths = sysconfig.get_paths()
    folders = [os.environ.get("CANARY_SITE"), paths["purelib"], paths["platlib"], *sys.path]
    here = set()
    for folder in dict.fromkeys(filter(None, folders)):
        for info in glob.glob(os.path.join(glob.escape(folder), "*-info")):
            name = re.sub(r"[-_.]+", "-", os.path.basename(info).partition("-")[0]).lower()
            here.add(NAMES.get(name, name))
    return [name for name in (*ALONE, *WITH_TORCH) if name in here]


def say(pipe: int, **what: Any) -> None:
    """Write one line that the parent reads; short enough to arrive in one piece."""
    os.write(pipe, json.dumps(what).encode() + b"\n")


def describe(error: BaseException) -> str:
    """Describe an exception in one line, with its first cause if its own text lacks it."""
    first, steps = error, 0
    while (first.__cause__ or first.__context__) is not None and steps < DEPTH:
        first, steps = first.__cause__ or first.__context__ or first, steps + 1
    words = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]
    began = " ".join(f"{type(first).__name__}: {first}".split())[:LONGEST]
    return (
        words
        if str(first) in str(error) or begins_elsewhere(error)
        else f"{words} (it began with {began})"
    )


def begins_elsewhere(error: BaseException) -> bool:
    """Say whether what an exception was raised after was dealt with.

    It says so by `from None`, or names no cause.
    """
    return error.__cause__ is None and (error.__suppress_context__ or error.__context__ is None)


def raised_in(error: BaseException) -> str:
    """Name the package whose file raised what a failure began with.

    An empty text where it lies outside of every package.
    """
    steps = 0
    while error.__cause__ is not None and steps < DEPTH:
        error, steps = error.__cause__, steps + 1
    owner, at = "", error.__traceback__
    while at is not None:
        found = re.search(r"(?:site|dist)-packages[/\\]([^/\\]+)", at.tb_frame.f_code.co_filename)
        owner, at = re.sub(r"\.py$", "", found[1]) if found else owner, at.tb_next
    return owner


def use(package: str) -> None:
    """Import a package, and ask it for what programs use.

    A name that this release does not list is passed over.
    """
    name, _, wanted = (ALONE.get(package) or WITH_TORCH[package]).partition(": ")
    module = importlib.import_module(name)
    top = name.partition(".")[0]
    if package not in SPREAD and (fault := fault_of(top)):
        raise ImportError(fault)
    listed = set(dir(module)) | set(getattr(module, "__all__", ()))
    for each in wanted.split():
        if each in listed:
            getattr(module, each)


def child(pipe: int, package: str) -> None:
    """Be the process that imports one package."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)
    try:
        use(package)
    except BaseException as error:
        say(pipe, package=package, failed=describe(error), owner=raised_in(error))
    else:
        say(pipe, package=package, failed="")
    os._exit(0)


def tried(package: str, limit: float) -> dict[str, Any]:
    """Import a package in a fork of this process, bounded in time; say how that went."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            child(writer, package)
        finally:
            os._exit(1)
    os.close(writer)
    text, ended = b"", True
    while ended and (not text or not text.endswith(b"\n")):
        ended = bool(select.select([reader], [], [], max(limit - time.monotonic(), 0))[0])
        data = os.read(reader, 1 << 16) if ended else b""
        text, ended = text + data, ended and bool(data)
    os.close(reader)
    answered = text.endswith(b"\n")
    if not answered and time.monotonic() >= limit:
        stop(pid)
    _, status = os.waitpid(pid, 0)
    stop(pid)
    if answered:
        answer: dict[str, Any] = json.loads(text.split(b"\n")[0])
        return answer
    if time.monotonic() >= limit:
        return {"package": package, "late": True}
    how = (
        f"died of {signal.Signals(os.WTERMSIG(status)).name}"
        if os.WIFSIGNALED(status)
        else "ended the process"
    )
    return {"package": package, "failed": f"its import {how}", "owner": ""}


def stop(pid: int) -> None:
    """End a process and what it started; nothing where it is gone."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        return


def beside_torch(packages: list[str], limit: float) -> list[dict[str, Any]]:
    """Import torch once, in a fork, and each package in a fork of that.

    Nothing where torch does not import or the fork dies.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.setsid()
            importlib.import_module("torch")
            for package in packages:
                say(writer, **tried(package, min(limit, time.monotonic() + EACH)))
        finally:
            os._exit(0)
    os.close(writer)
    text, data = b"", b"more"
    while data and select.select([reader], [], [], max(limit - time.monotonic(), 0))[0]:
        data = os.read(reader, 1 << 16)
        text += data
    stop(pid)
    os.waitpid(pid, 0)
    os.close(reader)
    return [json.loads(line) for line in text.split(b"\n")[:-1]]


def answers(packages: list[str]) -> dict[str, dict[str, Any]]:
    """Import everything; what fails beside torch is tried again without it."""
    limit = time.monotonic() + ALL
    found = {
        name: tried(name, min(limit, time.monotonic() + EACH)) for name in packages if name in ALONE
    }
    rest = [name for name in packages if name in WITH_TORCH]
    if not rest:
        return found
    if not is_installed("torch"):
        return {**found, **{name: without_torch(name, limit) for name in rest}}
    beside = {each["package"]: each for each in beside_torch(rest, limit)}
    for name in rest:
        again = (
            name in beside
            and beside[name].get("failed")
            and not NO_GPU.search(beside[name]["failed"])
        )
        if again and time.monotonic() < limit:
            beside[name] = tried(name, min(limit, time.monotonic() + EACH))
        found[name] = beside.get(
            name, {"without": "import torch does not work here, or the time was over"}
        )
    return found


def without_torch(name: str, limit: float) -> dict[str, Any]:
    """Import a package to which torch is an extra, such as transformers; the others need it."""
    needs = [each for each in importlib.metadata.requires(name) or () if "extra ==" not in each]
    if any(re.match(r"torch(?![\w.-])", each) for each in needs):
        return {"without": "torch is not installed"}
    answer = tried(name, min(limit, time.monotonic() + EACH))
    if NO_TORCH.search(answer.get("failed", "")):
        return {"without": "torch is not installed"}
    return answer


def settle(name: str, answer: dict[str, Any], data: dict[str, Any]) -> None:
    """End one case."""
    if answer.get("late"):
        raise CaseEnded("skipped", f"gave no answer within {EACH:.0f} s")
    if "without" in answer:
        raise CaseEnded("skipped", answer["without"])
    if not answer["failed"]:
        return
    if NO_GPU.search(answer["failed"]) and not GPUS:
        raise CaseEnded(
            "skipped", f"wants a GPU that this machine does not have: {answer['failed'][:200]}"
        )
    data["failed"][name] = answer["failed"]
    if NO_GPU.search(answer["failed"]):
        data["want_gpu"].append(name)
    data["owners"][name] = answer["owner"]
    raise CaseEnded(
        "failed", answer["failed"] + (f" (raised in {answer['owner']})" if answer["owner"] else "")
    )


def main() -> None:
    """Import every package that has a case, then tell case by case."""
    with REPORT.result(None) as data:
        packages = installed()
        if not packages or not hasattr(os, "fork"):
            raise CaseEnded("skipped", "none of the packages that have a case here is installed")
        os.environ.update(SAID, **dict.fromkeys(SCRATCH, os.getcwd()))
        data.update(failed={}, owners={}, want_gpu=[])
        with REPORT.act():
            found = answers(packages)
        for name in packages:
            with REPORT.case(name):
                settle(name, found[name], data)


if __name__ == "__main__":
    REPORT.run(main)
