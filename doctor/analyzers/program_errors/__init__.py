"""Explain errors of the program: shapes, types, devices, indices and gradients.

Each is a note: no installation mends it. What torch prints stands in its sources, such as
aten/src/ATen/native/LinearAlgebra.cpp and aten/src/ATen/native/cuda/Loss.cu.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.own_classes import saved_object
from doctor.analyzers.program_errors.checkpoints import EMPTY_CHECKPOINT, OTHER_MODEL
from doctor.analyzers.program_errors.last_layers import last_layer
from doctor.analyzers.program_errors.model_families import files_of_two_families
from doctor.analyzers.program_errors.quantized_layers import (
    QUANTIZED_LAYER,
    is_quantized_layer,
)
from doctor.analyzers.program_errors.sizes import read_sizes
from doctor.analyzers.program_errors.texts import TABLE
from doctor.analyzers.texts import explained


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what the errors of the program mean, and what to change in it."""
    table = TABLE
    differing = [event.objects for event in case.of("checkpoint-shape")]
    if differing and all(not one.get("file", "").strip(" 0") for one in differing):
        table = {**table, "checkpoint-shape": EMPTY_CHECKPOINT}
    elif differing and not all(_is_head(one.get("parameter", "")) for one in differing):
        table = {**table, "checkpoint-shape": OTHER_MODEL}
    elif differing and (text := last_layer(case, differing)) is not None:
        table = {**table, "checkpoint-shape": text}
    if (text := files_of_two_families(case) or read_sizes(case)) is not None:
        table = {**table, "shapes-differ": text}
    if is_quantized_layer(case):
        table = {**table, "types-differ": QUANTIZED_LAYER}
    for one in _once(case, explained(case, table)):
        if one.event.kind != "types-differ":
            yield one
        elif (places := _places(one)) == {"cpu"} or places == {"cuda"}:
            yield msgspec.structs.replace(one, contradicts=_DEVICES)
        elif not places:
            yield one  # or else one type lies on the GPU and one not: an issue of devices


def _once(case: Case, found: Iterable[Explanation]) -> Iterator[Explanation]:
    """Yield the explanations, of the shapes in a checkpoint only the first."""
    is_shown = False
    for one in found:
        if one.event.kind == "not-picklable" and saved_object(case, one.event) is not None:
            continue  # own_classes explains it
        if one.event.kind != "checkpoint-shape" or not is_shown:
            yield one
        is_shown = is_shown or one.event.kind == "checkpoint-shape"


_ENDS = ("classifier", "score", "head", "fc", "lm_head", "qa_outputs", "output")


def _is_head(parameter: str) -> bool:
    """Say whether a parameter belongs to the last layer of a model."""
    parts = parameter.split(".")
    return any(part in _ENDS or part.endswith("_head") for part in parts[:-1])


_DEVICES = ("torch/tensor-not-moved-to-the-gpu", "torch/cuda-tensors-on-two-devices")


def _places(one: Explanation) -> set[str]:
    """Return where the tensors lie, by names such as torch.cuda.HalfTensor."""
    types = [one.event.objects.get(name, "") for name in ("a", "b")]
    if not all(name.startswith("torch.") and name.endswith("Tensor") for name in types):
        return set()
    return {"cuda" if ".cuda." in name else "cpu" for name in types}
