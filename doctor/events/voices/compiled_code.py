"""Python about compiled code of its own (bytecode) that it cannot read."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "Python",
        (
            Form(
                "bytecode-other-python",
                r"(?P<what>bad marshal data(?: \([\w ]{1,40}\))?|marshal data too short)",
                ("bad marshal data", "marshal data too short"),
            ),
            Form(
                "bytecode-other-python",
                r"TypeError: (?P<what>code\(\) (?:takes|argument \d{1,2} must be|missing)|code "
                r"expected at (?:least|most) \d{1,2} arguments)",
                ("code() takes", "code() argument", "code() missing", "code expected at "),
            ),
            Form(
                "bytecode-other-python",
                r"SystemError: (?P<what>unknown opcode)",
                ("systemerror: unknown opcode",),
            ),
        ),
    ),
)
