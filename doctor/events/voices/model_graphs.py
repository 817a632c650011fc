"""ONNX Runtime and onnx's checker about graphs that are not valid."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

_NAME = r"[^\s'\"`]{1,200}"

VOICES = (
    Voice(
        "ONNX Runtime",
        (
            Form(
                "onnx-attribute-unknown",
                r"Unrecognized attribute: (?P<attribute>\w{1,60}) for operator "
                r"(?P<operator>\w{1,60})",
                ("unrecognized attribute: ",),
            ),
            Form(
                "onnx-input-of-nobody",
                rf"Node input '(?P<tensor>{_NAME})' is not a graph input, initializer, or output "
                r"of a previous node",
                ("is not a graph input, initializer",),
            ),
            Form(
                "onnx-input-of-nobody",
                rf"must be topologically sorted, however input '(?P<tensor>{_NAME})' of node",
                ("must be topologically sorted",),
            ),
            Form(
                "onnx-name-twice",
                rf"single static assignment \(SSA\) form, however '(?P<tensor>{_NAME})' has been",
                ("single static assignment",),
            ),
            Form(
                "onnx-name-twice",
                r"Duplicate definition of name \((?P<tensor>[^\s()]{1,200})\)",
                ("duplicate definition of name",),
            ),
        ),
    ),
)
