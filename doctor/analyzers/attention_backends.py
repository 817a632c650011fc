"""Explain a kernel that fails in the attention library of a server: another one serves as well.

vLLM and SGLang compute attention by one of several libraries, and an option names it. A fault of
one library's kernel on a GPU, in a type or at a length is no fault of the model or of the machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.version import Version

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.gpus import gpu_of
from doctor.analyzers.inventory import Inventory
from doctor.analyzers.recipes import code, in_fresh_environment, variables
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Severity

_FAULT = re.compile(
    r"illegal memory access|misaligned address|unspecified launch failure|invalid argument"
    r"|no kernel image is available|illegal instruction was encountered"
)
_VLLM = re.compile(r"(?i)[/\\]vllm[/\\]|\bvllm serve\b|\(EngineCore|\bvllm[-_. :]{0,12}v?\d")
_SGLANG = re.compile(r"(?i)[/\\]sglang[/\\]|sglang\.launch_server|\bsglang[-_. :]{0,12}v?\d")
_LIBRARIES = (
    ("FlashInfer", re.compile(r"(?i)[/\\]flashinfer[-/\\]|backends?[/\\]flashinfer|BatchPrefill")),
    ("FlashMLA", re.compile(r"(?i)flash_?mla")),
    ("FlashAttention", re.compile(r"(?i)[/\\](?:vllm_)?flash_attn[/\\]|flash_?attn_?interface")),
    ("xFormers", re.compile(r"(?i)[/\\]xformers[/\\]")),
    ("Triton attention", re.compile(r"(?i)triton_(?:attn|unified_attention|decode_attention)")),
)
_ABOVE, _LONGEST, _FURTHEST = 80, 1000, 4000
_OLDEST = "7.5"
"""The compute capability that FlashInfer and SGLang need at least."""
_NAME_SINCE = Version("0.11")
_OPTION_SINCE = Version("0.13")
"""vLLM takes --attention-backend since this release; before there was a variable alone."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield which attention library of a server failed, for the first such error."""
    lines = [line[:_LONGEST] for line in case.log.lines[:_FURTHEST]]
    server = next(
        (
            name
            for name, sign in (("SGLang", _SGLANG), ("vLLM", _VLLM))
            if any(sign.search(line) for line in lines)
        ),
        "",
    )
    for event in case.of("cuda-error", "no-kernel-image", "runtime-error") if server else ():
        if not _FAULT.search(event.text) or not (library := _library(case, event)):
            continue
        old = _too_old(case, event, server) if library == "FlashInfer" else None
        yield old or _another(case, event, server, library)
        return


def _library(case: Case, event: Event) -> str:
    """Return the library whose frame stands nearest above the error, or that its line names."""
    for line in reversed(case.log.lines[max(0, event.at - _ABOVE) : event.at + 1]):
        for name, sign in _LIBRARIES:
            if sign.search(line[:_LONGEST]):
                return name
    return ""


def _too_old(case: Case, event: Event, server: str) -> Explanation | None:
    gpu = gpu_of(case, event)
    if gpu is None or Version(gpu.capability) >= Version(_OLDEST):
        return None
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("flashinfer/*", "torch/*", "sglang/*"),
        detection=detection(
            event,
            f"FlashInfer has no kernels for {gpu.label}: it serves {_OLDEST} and newer",
            "No release and no build of FlashInfer has code for this GPU, and SGLang calls it for "
            "more than attention. vLLM has code for 7.0 until 0.10.",
            recipes=(
                *(_for_volta() if Version(gpu.capability) >= _VOLTA else ()),
                *(_without_flashinfer() if server == "SGLang" else _for_vllm("FlashInfer", None)),
            ),
            severity=Severity.ERROR,
            name="attention-not-for-gpu",
        ),
    )


_VOLTA = Version("7.0")


def _for_volta() -> tuple[Recipe, ...]:
    return (
        Recipe(
            title="Serve the model with a vLLM that has code for this GPU",
            note="In an environment of its own. Models newer than it are not served.",
            steps=(
                Action(run=("uv", "venv", ".venv-vllm", "--python", "3.12")),
                Action(
                    run=(
                        *("uv", "pip", "install", "--python", ".venv-vllm"),
                        *("vllm==0.10.2", "transformers<5"),
                    )
                ),
            ),
        ),
    )


def _without_flashinfer() -> tuple[Recipe, ...]:
    return (
        code(
            "Have SGLang do without FlashInfer, as far as it can",
            "the command that starts the server",
            "--attention-backend triton --sampling-backend pytorch",
            note="The names of both options before 0.3: --disable-flashinfer and "
            "--disable-flashinfer-sampling.",
        ),
    )


def _another(case: Case, event: Event, server: str, library: str) -> Explanation:
    release = Inventory(case).release(server.lower())
    here = f"{server} {release}" if release else server
    gpu = gpu_of(case, event)
    recipes = _for_vllm(library, release) if server == "vLLM" else _for_sglang(library, gpu)
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("torch/cuda-illegal-memory-access", "torch/no-kernel-image"),
        detection=detection(
            event,
            f"A kernel of {library}, by which {here} computes attention, fails on "
            f"{gpu.label if gpu else 'this GPU'}",
            "The fault lies in this library, for this GPU, type or length, or in a release that "
            "does not go with the server's. Another library computes the same.",
            recipes=(
                *recipes,
                in_fresh_environment(
                    f"Take the newest {server}, in an environment of its own",
                    server.lower(),
                    note="Images have a newer tag. Where the newest release fails alike, keep the "
                    "other library.",
                ),
            ),
            severity=Severity.ERROR,
            name="attention-kernel-fails",
        ),
    )


def _for_vllm(library: str, release: str | None) -> tuple[Recipe, ...]:
    other = "FLASH_ATTN" if library == "Triton attention" else "TRITON_ATTN"
    before = "TRITON_ATTN_VLLM_V1" if other == "TRITON_ATTN" else other
    early = release is not None and Version(release) < _NAME_SINCE
    option = code(
        "Start the server with another attention library",
        "the command that starts the server",
        f"vllm serve <model> --attention-backend {other}",
        use_if=() if release else ("vLLM is 0.13 or newer",),
    )
    older = variables(
        "Start the server with another attention library",
        {"VLLM_ATTENTION_BACKEND": before if early else other},
        use_if=() if release else ("vLLM is older than 0.13",),
        note="" if release or before == other else f"Before 0.11 the name is {before}.",
    )
    if release is None:
        return (option, older)
    return (option,) if Version(release) >= _OPTION_SINCE else (older,)


def _for_sglang(library: str, gpu: object) -> tuple[Recipe, ...]:
    hopper = getattr(gpu, "capability", "") == "9.0" and library != "FlashAttention"
    other = "fa3" if hopper else "flashinfer" if library == "Triton attention" else "triton"
    return (
        code(
            "Start the server with another attention library",
            "the command that starts the server",
            f"--attention-backend {other}",
            before="--attention-backend flashinfer" if library == "FlashInfer" else "",
            note="Where the long prompts alone fail: --chunked-prefill-size 4096 in place of -1.",
        ),
    )
