"""Explain memory of the GPU that runs out, from the amounts in the message.

torch writes them in c10/cuda/CUDACachingAllocator.cpp; "reserved but unallocated" is what its cache
holds in pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.memory_recipes import (
    LESS_AT_ONCE,
    has_grown,
    is_known,
    less_memory,
    weights_fill,
)
from doctor.analyzers.recipes import LINUX, code, command, fitting, variables
from doctor.analyzers.texts import Text, explained, objects_of
from doctor.model.events import Event, Level
from doctor.model.issues import Recipe
from doctor.model.scales import Severity

_UNITS = {"bytes": 0, "b": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = re.compile(r"(?P<number>[\d.,]{1,20}) ?(?P<unit>bytes|[KMGT]i?B|B)?", re.IGNORECASE)
_PROCESS = re.compile(r"Process (\d{1,10}) has ([\d.]{1,12} [KMGT]iB) memory in use")
_RESERVED = re.compile(r"([\d.]{1,12} (?:[KMGT]iB|bytes)) is reserved by PyTorch but unallocated")
_ALLOCATED = re.compile(r"([\d.]{1,12} (?:[KMGT]iB|bytes)) is allocated by PyTorch")
_ALLOWED = re.compile(r"([\d.]{1,12} [KMGT]iB) allowed;")
"""What torch.cuda.set_per_process_memory_fraction leaves to this process."""
_OWN = re.compile(r"this process has ([\d.]{1,12} [KMGT]iB) memory in use")
_MUCH = 0.05
"""The share of a GPU from which memory in pieces is worth a setting."""
_ALONE = 0.9
_EARLIER = re.compile(
    r"([\d.]{1,12} (?:[KMGT]iB|bytes)) already allocated; ([\d.]{1,12} (?:[KMGT]iB|bytes)) free"
    r"(?:; ([\d.]{1,12} (?:[KMGT]iB|bytes)) (?:cached|reserved))?"
)
"""How torch before 2.2 wrote it: allocated and free, and what its cache holds. Until 1.5 "cached"
was what is held beyond the tensors; "reserved in total" has counted them as well since."""
_SMALL = 3 << 30
"""A GPU with less serves a display; hardly any model is trained on it."""
_CONTEXT = 1 << 30
"""What other processes may hold and not matter: the CUDA context of a desktop or a small worker."""
_SEARCHED = 4000


def explain(case: Case) -> Iterator[Explanation]:
    """Yield who holds the memory of the GPU, and what to do about it."""
    events = [event for event in case.of("gpu-memory") if not _of_host(case, event)]
    if any(_is_other_failure(event) for event in case.events):
        events = [event for event in events if _RETRIED not in event.text]
    for event in events[:1]:
        raised = next((one for one in events if "OutOfMemoryError" in one.text), event)
        best = next((one for one in events if objects_of(one).get("free")), raised)
        yield _explanation(case, best)
    yield from explained(case, _TABLE)


_RETRIED = "cuda_executor.cc"
"""XLA asks for less and less memory when it starts, and reports each attempt from this file."""


def _is_other_failure(event: Event) -> bool:
    return (
        event.level is Level.FAILURE
        and not event.general
        and event.kind not in ("gpu-memory", "cuda-error")
    )


def _of_host(case: Case, event: Event) -> bool:
    """Say whether pinned memory of the machine was asked for, which CUDA reports alike."""
    before = case.log.lines[max(0, event.at - 12) : event.at + 1]
    return any("pin_memory" in line or "cudaHostAlloc" in line for line in before)


def _explanation(case: Case, event: Event) -> Explanation:
    text = " ".join(case.log.lines[event.at : event.at + 2])[:_SEARCHED]
    amounts = objects_of(event)
    if old := _EARLIER.search(text):
        amounts.setdefault("free", old[2])
    capacity = size(amounts.get("capacity", ""))
    holder, first = _holder(case, text, amounts)
    own = _OWN.search(text) or _ALLOCATED.search(text)
    alone = own is not None and size(own[1]) > _ALONE * capacity > 0
    more = [] if alone else [_processes()]
    if not _RESERVED.search(text):
        more.append(_segments())
    recipes = (
        *first,
        *less_memory(case, event),
        *(one for one in more if one not in first),
        *(_OF_PROCESSOR if "HIP out" in event.text and _is_integrated(case, capacity) else ()),
    )
    gpu = f"GPU {amounts['gpu']}" if amounts.get("gpu") else "The GPU"
    asked = f" for {amounts['wanted']}" if amounts.get("wanted") else ""
    left = f", {amounts['free']} free" if amounts.get("free") else ""
    of = f" of {amounts['capacity']}" if left and amounts.get("capacity") else ""
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{gpu} has no memory left{asked}{left}{of}",
            holder or "The program asks for more memory than is free. The installation is sound.",
            recipes=fitting(case, recipes),
            severity=Severity.ERROR if "HIP out" in event.text else Severity.NOTE,
            captures=amounts,
        ),
        precision=Precision.EXACT if holder or is_known(case) else Precision.FAMILY,
    )


def _holder(case: Case, text: str, amounts: Mapping[str, str]) -> tuple[str, tuple[Recipe, ...]]:
    """Return who holds the memory, and what to do first where that is not to ask for less."""
    listed = [size(amount) for _, amount in _PROCESS.findall(text)]
    others = sum(listed)
    held = _ALLOCATED.search(text)
    # In a container torch does not know its own number, and lists itself as "Process".
    if held and not _OWN.search(text) and size(held[1]) > _ALONE * max(listed, default=0):
        others -= max(listed, default=0)
    found = _RESERVED.search(text)
    reserved = size(found[1]) if found else 0
    wanted, free = size(amounts.get("wanted", "")), size(amounts.get("free", ""))
    capacity = size(amounts.get("capacity", ""))
    if wanted and capacity and wanted > capacity:
        return (
            f"One tensor of {amounts['wanted']} is asked for, more than the whole GPU has "
            f"({amounts['capacity']}): a size in the program is wrong, or a sequence is far "
            f"too long."
        ), ()
    if (allowed := _ALLOWED.search(text)) and size(allowed[1]) < capacity:
        return (
            f"This process may use {allowed[1]} of the GPU, by a limit of its own, and its tensors "
            "hold nearly that."
        ), ()
    if wanted and free > wanted:
        return (
            f"{amounts['free']} are free, and {amounts['wanted']} are asked for: the free memory "
            "is not in one piece, or a limit was set for this process."
        ), (() if found and reserved < wanted else (_segments(),))
    if others > _CONTEXT and others > wanted:
        return (
            f"Other processes hold {_readable(others)} of this GPU: {_named_processes(text)}."
        ), (_processes(),)
    if wanted and found and reserved > max(wanted, _MUCH * capacity):
        return (
            f"torch itself reserves {found[1]} that no tensor uses, more than "
            f"{amounts['wanted']}: the memory is in pieces (fragmentation)."
        ), (_segments(),)
    if found_by_amounts := _by_amounts(text, amounts):
        return found_by_amounts
    if loaded := weights_fill(case, capacity):
        return (
            f"The weights of the model take {loaded} GiB of {amounts['capacity']} alone, so no "
            "setting of the batch makes it fit."
        ), ()
    if held:
        return (
            f"Tensors of this process hold {held[1]}, and the earlier steps did fit: something "
            "grows from step to step."
            if has_grown(case)
            else f"Tensors of this process hold {held[1]}: model, batch or text is too large."
        ), ()
    return "", ()


def _by_amounts(text: str, amounts: Mapping[str, str]) -> tuple[str, tuple[Recipe, ...]] | None:
    """Return what the capacity tells: a card that is too small, or memory that others hold."""
    capacity = size(amounts.get("capacity", ""))
    if 0 < capacity < _SMALL:
        return (
            f"The whole GPU has {amounts['capacity']}, and a part of that goes to CUDA itself and "
            "the display. Most models need more than that for one sample, so a smaller batch alone "
            "is mostly no cure."
        ), (_LARGER,)
    if (held_by_others := _of_others(text, capacity)) > max(
        _CONTEXT, size(amounts.get("wanted", ""))
    ):
        return (
            f"torch holds little of this GPU, and {_readable(held_by_others)} are in use beside "
            "it: other processes hold them, one that was left over or a second program."
        ), (_processes(),)
    return None


def _of_others(text: str, capacity: int) -> int:
    """Return the bytes that torch before 2.2 counts neither as its own nor as free."""
    old = _EARLIER.search(text)
    if old is None or not capacity:
        return 0
    held, kept = size(old[1]), size(old[3] or "")
    own = max(held, kept) if "reserved in total" in text else held + kept
    return max(0, capacity - own - size(old[2]))


_LARGER = command(
    "Run it on a GPU with more memory, of this machine or of a cloud",
    "nvidia-smi",
    note="The table shows the GPUs of this machine and who holds them; CUDA_VISIBLE_DEVICES=1 "
    "takes the second. A training of usual size wants 8 to 16 GiB.",
)


def size(text: str) -> int:
    """Return the number of bytes of an amount such as "2.00 GiB"; 0 for one that is none."""
    match = _SIZE.match(text.strip())
    if match is None:
        return 0
    try:
        number = float(match["number"].replace(",", ""))
    except ValueError:
        return 0
    unit = (match["unit"] or "bytes").lower()
    return int(number * 1024 ** _UNITS["bytes" if unit == "bytes" else unit[0]])


def _readable(count: int) -> str:
    return f"{count / (1 << 30):.1f} GiB"


def _named_processes(text: str) -> str:
    found = sorted(_PROCESS.findall(text), key=lambda one: -size(one[1]))[:3]
    return ", ".join(f"process {number} has {amount}" for number, amount in found)


def _is_integrated(case: Case, capacity: int) -> bool:
    """Say whether a GPU of AMD's is likely a part of the processor, by its odd memory."""
    own = (2 << 30) < capacity < (28 << 30)
    return bool(capacity) and not own and not case.context.container


_OF_PROCESSOR = (
    command(
        "Let the kernel give the GPU 48 GB of the machine's memory, then restart",
        "sh",
        "-c",
        "echo 'options ttm pages_limit=12582912 page_pool_size=12582912' "
        "> /etc/modprobe.d/ttm.conf",
        use_if=(
            LINUX,
            "the GPU is part of the processor (Ryzen AI, Strix Halo) with 64 GB or more",
        ),
        sudo=True,
        note="Restart the machine afterwards. The number counts pages of 4 KB.",
    ),
)


@lru_cache(maxsize=1)
def _processes() -> Recipe:
    return command(
        "See which processes hold the memory, and end those that are left over",
        "nvidia-smi",
        look=True,
    )


@lru_cache(maxsize=1)
def _segments() -> Recipe:
    return variables(
        "Let torch grow its segments, which avoids fragmentation",
        {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
        use_if=(LINUX, "the program uses torch"),
    )


_SHARE = code(
    "Give vLLM a larger share of the GPU",
    "the command that starts vLLM",
    "--gpu-memory-utilization 0.95",
    before="--gpu-memory-utilization 0.9",
    use_if=("no other process uses the GPU",),
)
_SHORTER = code(
    "Serve shorter texts",
    "the command that starts vLLM",
    "--max-model-len 8192",
    note="Take the longest text that you need.",
)
_TABLE: dict[str, Text] = {
    "kv-cache-memory": Text(
        "vLLM has no GPU memory left for its cache once the model is loaded",
        "The weights fill the share of the GPU that vLLM may use, so no block of the KV cache "
        "fits. A smaller or quantized model, or several GPUs, are what helps if the GPU "
        "is full.",
        (
            _SHARE,
            _SHORTER,
            code(
                "Divide the model among GPUs",
                "the command that starts vLLM",
                "--tensor-parallel-size 2",
                use_if=("there are two GPUs",),
            ),
        ),
    ),
    "kv-cache-too-small": Text(
        (
            "One text of full length needs {needed} of KV cache, and {available} GiB are there",
            "The cache holds {free} tokens, and the model's longest text has {wanted}",
            "The longest text of the model ({wanted} tokens) does not fit into vLLM's cache",
            "The longest text of the model does not fit into vLLM's cache",
        ),
        "vLLM reserves cache for one text of full length. The memory that the weights leave "
        "is too little for it.",
        (_SHORTER, _SHARE),
    ),
    "gpu-memory-taken": Text(
        "vLLM wants {wanted} GiB of the GPU, and only {free} of {capacity} GiB are free",
        "Another process already uses the GPU: often an earlier vLLM that did not end, or a "
        "desktop. The share {share} counts from the whole memory.",
        (
            _processes(),
            code(
                "Ask for a share that is free",
                "the command that starts vLLM",
                "--gpu-memory-utilization 0.5",
                note="Take the free memory divided by the whole, a little less.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "kernel-resources": Text(
        "A Triton kernel needs {wanted} of {resource}, and this GPU has {limit}",
        "The block sizes of the kernel were chosen for a GPU with more of it (A100, H100). "
        "Smaller blocks or fewer stages make it fit; a newer release of the package may know "
        "this GPU.",
        (
            code(
                "Use smaller blocks or fewer stages",
                "the call of the kernel",
                "BLOCK_M=64, BLOCK_N=64, num_stages=2",
                before="BLOCK_M=128, BLOCK_N=128, num_stages=4",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "mps-memory": Text(
        "The Mac has no memory left for {wanted}: {used} used by torch of at most {limit}",
        "GPU and processor share the memory of a Mac, and macOS leaves a part of it to "
        "the GPU. "
        "The model, the batch or the text is too large for it.",
        (
            LESS_AT_ONCE,
            variables(
                "Lift torch's own limit",
                {"PYTORCH_MPS_HIGH_WATERMARK_RATIO": "0.0"},
                use_if=("other programs can be closed meanwhile",),
                note="The Mac may become slow or stop answering when memory runs out.",
                lasting=False,
            ),
        ),
        precision=Precision.EXACT,
    ),
}
