"""Explain errors of Rust programs that use Candle: types, devices and shapes of tensors.

The texts are those of candle-core/src/error.rs.
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.recipes import code
from doctor.analyzers.texts import Text, explained


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what the errors of Candle mean, and what to change in the program."""
    yield from explained(case, _TABLE)


_TABLE: dict[str, Text] = {
    "candle-types-differ": Text(
        (
            "Candle: {operation} got tensors of two types, {a} and {b}",
            "Candle: a tensor of type {b} where {a} is expected",
        ),
        "Candle converts no types by itself. The weights and the input, or a mask made in the "
        "program, have different types. The installation is sound.",
        (
            code(
                "Give one tensor the type of the other",
                "the call that fails",
                "let x = x.to_dtype(w.dtype())?;",
            ),
        ),
    ),
    "candle-devices-differ": Text(
        "Candle: {operation} got tensors on two devices, {a} and {b}",
        "A tensor was made on the processor, or on another GPU than the weights. The "
        "installation is sound.",
        (
            code(
                "Move it to the device of the weights",
                "the call that fails",
                "let x = x.to_device(w.device())?;",
            ),
        ),
    ),
    "candle-shapes-differ": Text(
        "Candle: {operation} got shapes that do not fit: [{a}] and [{b}]",
        "The program combines two tensors whose sizes do not fit, or the weights belong to "
        "another configuration of the model. The installation is sound.",
        (
            code(
                "Print the shapes before the call",
                "the call that fails",
                'println!("{:?} {:?}", x.shape(), w.shape());',
            ),
        ),
    ),
    "candle-type-missing": Text(
        "Candle has no {operation} for {type} on this device",
        "The processor and some GPUs lack operations in half precision. On the processor "
        "single precision is what works everywhere.",
        (
            code(
                "Load the weights in single precision",
                "the line that chooses the type",
                "let dtype = DType::F32;",
                before="let dtype = DType::BF16;",
            ),
        ),
    ),
}
