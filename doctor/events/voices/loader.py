"""The dynamic loaders of Linux and macOS, and the link editor (ld.so(8), dyld(1), ld(1))."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "ld.so",
        (
            Form(
                "undefined-symbol",
                r"(?:(?P<file>[^\s:]{1,300}): )?undefined symbol: (?P<symbol>[\w.$@]{1,1000})"
                r"(?:, version (?P<version>[\w.]{1,60}))?",
                ("undefined symbol: ",),
            ),
            Form(
                "library-not-found",
                r"(?P<library>[\w.+-]{1,120}\.so[\w.]{0,20}): cannot open shared object file",
                ("cannot open shared object file",),
            ),
        ),
    ),
)
