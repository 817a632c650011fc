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
            Form(
                "libtorch-refused",
                r"download\.pytorch\.org/libtorch/(?:nightly/|test/)?(?P<build>[a-z]{2,4}[\d.]{0,6})/"
                r"libtorch-[\w-]{3,60}?-(?P<release>\d\.\d{1,2}\.\d)(?:%2B|\+)[\w.]{2,10}\.zip"
                r".{0,80}?\b(?P<status>403|404)\b",
                ("download.pytorch.org/libtorch",),
            ),
        ),
    ),
)
