"""Python about bytecode that it cannot read, and torch about operators that it does not know."""

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
            Form(
                "operator-not-registered",
                r"'_OpNamespace' '(?P<namespace>[\w.-]{1,60})' object has no attribute "
                r"'(?P<operator>\w{1,100})'",
                ("'_opnamespace' ",),
            ),
            Form(
                "operator-not-registered",
                r"(?:No such operator |[Oo]perator )(?P<namespace>[A-Za-z_]\w{0,60})::"
                r"(?P<operator>[\w.]{1,100})(?: - did you| does not exist|$)",
                ("no such operator ", " does not exist"),
            ),
            Form(
                "operator-not-registered",
                r"Could not find schema for (?P<namespace>[A-Za-z_]\w{0,60})::"
                r"(?P<operator>[\w.]{1,100})",
                ("could not find schema for ",),
            ),
        ),
    ),
)
