"""The build script of torch-sys, the crate below tch."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "cc",
        (
            Form(
                "torch-sys-by-mingw",
                r"error occurred: Command \"(?:g\+\+|c\+\+|gcc)\.exe\".{0,900}torch-sys-",
                ("error occurred: command ",),
            ),
        ),
    ),
    Voice(
        "torch-sys",
        (
            Form(
                "torch-sys-other-libtorch",
                r"this tch version expects PyTorch (?P<wanted>[\d.]{3,9}), "
                r"got (?P<here>[\d.]{3,9})",
                ("this tch version expects pytorch",),
            ),
        ),
    ),
)
