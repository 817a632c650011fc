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
                "onnx-attribute-needed",
                r"Required attribute '(?P<attribute>\w{1,60})' is missing",
                ("required attribute '",),
            ),
            Form(
                "onnx-operator-unknown",
                r"(?:(?P<domain>[a-z][\w.]{1,80}):)?(?P<operator>[A-Z]\w{1,80})(?:\(-?\d{1,4}\))? "
                r"is not a registered function/op",
                ("is not a registered function/op",),
            ),
            Form(
                "onnx-operator-unknown",
                r"No Op registered for (?P<operator>\w{1,80}) with domain_version of "
                r"(?P<opset>\d{1,3})",
                ("no op registered for ",),
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
