"""Runtimes of Intel and Apple that find no GPU, in words of their own."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "SYCL",
        (
            Form(
                "dpcpp-no-device",
                r"DPCPP [Dd]evice count is zero"
                r"|Number of dpcpp devices should be greater than zero",
                ("dpcpp device count is zero", "number of dpcpp devices"),
            ),
        ),
    ),
    Voice(
        "Metal",
        (
            Form(
                "metal-no-device",
                r"NSRangeException.{0,300}\bindex 0 beyond bounds for empty array",
                ("nsrangeexception",),
            ),
            Form(
                "metal-no-device",
                r"No Metal device found|MTLCreateSystemDefaultDevice\(?\)? (?:returned|is|=) ?"
                r"(?:nil|null|NULL)|\[metal::load_device\] No (?:Metal )?device",
                ("metal device", "mtlcreatesystemdefaultdevice", "metal::load_device"),
            ),
        ),
    ),
)
