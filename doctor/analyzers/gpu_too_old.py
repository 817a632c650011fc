"""Explain GPUs that lack what a kernel or a type asks for."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.gpus import gpu_of, see_capability
from doctor.analyzers.recipes import code, fitting, variables
from doctor.analyzers.texts import Text, explained
from doctor.model.events import Event
from doctor.model.issues import Recipe
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what the GPU lacks, and what to take instead."""
    yield from explained(case, _TABLE)
    listed = any("No operator found for" in line for line in case.log.lines)
    for event in case.of("gpu-too-old", "gpu-lacks-type"):
        if listed and "major" in event.objects:
            continue  # xformers says it of each operator that it has, of newer GPUs too
        if (one := _too_old(case, event)) is not None:
            yield one
            break


def _too_old(case: Case, event: Event) -> Explanation | None:
    objects = event.objects
    gpu = gpu_of(case, event)
    wanted = objects.get("wanted", "")
    if not wanted and objects.get("major"):
        wanted = f"{objects['major']}.{objects['minor']}"
    if not wanted and (least := objects.get("least")):
        wanted = f"{least[:-1]}.{least[-1]}"
    wanted = wanted or _FAMILIES.get(objects.get("family", "").lower(), "")
    kind = objects.get("type", "")
    if not wanted:
        wanted = _TYPES.get(kind.lower(), "")
    what = objects.get("what", "").strip() or (kind and f"The type {kind}") or "This kernel"
    if event.text.lower().startswith("bfloat16") or "bfloat16 is" in event.text.lower():
        what, wanted = "The type bfloat16", wanted or "8.0"
    if not wanted:
        return None
    if (
        gpu is not None
        and _number(gpu.capability) >= _number(wanted)
        and objects.get("than") != "=="
    ):
        gpu = None  # the log names several GPUs, or speaks of an upper limit
    here = f", and {gpu.name or 'this GPU'} has {gpu.capability}" if gpu else ""
    least = f"above {wanted}" if objects.get("than") == ">" else f"{wanted} or more"
    title = f"{what[0].upper()}{what[1:]} needs a GPU of compute capability {least}{here}"
    return Explanation(
        event=event,
        detection=detection(
            event,
            title[:200],
            "The GPU lacks instructions that this kernel or type uses. No other build brings them; "
            "the program has to take another kernel or type.",
            recipes=fitting(case, _alternatives(event.text.lower())),
        ),
        precision=Precision.EXACT if gpu else Precision.FAMILY,
    )


_FAMILIES = {"turing": "7.5", "ampere": "8.0", "ada": "8.9", "hopper": "9.0"}
_TYPES = {"bf16": "8.0", "tf32": "8.0", "fp8": "8.9"}


def _alternatives(lower: str) -> tuple[Recipe, ...]:
    if "attention" in lower or "attn" in lower:
        return (
            code(
                "Take torch's own attention",
                "the call that loads the model",
                'attn_implementation="sdpa"',
                before='attn_implementation="flash_attention_2"',
            ),
        )
    if "bfloat16" in lower or "bf16" in lower:
        return (
            code(
                "Use float16",
                "the setting of the type",
                "dtype=torch.float16",
                before="dtype=torch.bfloat16",
            ),
            code(
                "Have vLLM use float16",
                "the command that starts vLLM",
                "--dtype half",
                use_if=("the program is vLLM",),
            ),
            code(
                "Have the trainer use fp16",
                "the settings of the trainer",
                "fp16=True, bf16=False, tf32=False",
                before="bf16=True",
                use_if=("transformers' Trainer is used",),
            ),
        )
    return (see_capability(),)


def _number(capability: str) -> tuple[int, ...]:
    return tuple(int(part) for part in capability.split(".") if part.isdigit())


_TABLE = {
    "triton-pass-failed": Text(
        (
            "Triton's compiler cannot translate a kernel for this GPU: {said}",
            "Triton's compiler cannot translate a kernel for this GPU",
        ),
        "The kernel uses what the GPU lacks (bfloat16, fp8, asynchronous copies), or this release "
        "of Triton has an error for this GPU.",
        (
            code(
                "Use float16 in place of bfloat16",
                "the setting of the type",
                "dtype=torch.float16",
                before="dtype=torch.bfloat16",
                use_if=("the program computes in bfloat16",),
            ),
            variables(
                "Run without compiling",
                {"TORCH_COMPILE_DISABLE": "1"},
                use_if=("torch.compile makes the kernel",),
                lasting=False,
            ),
        ),
        severity=Severity.ERROR,
    ),
}
