"""What is reported where a place for a program is made, or a program's part is looked up by name.

Environments of venv (Lib/venv/__init__.py), devices of torch (c10/core/Device.cpp), GPUs below
what XLA's libraries know (xla/stream_executor), and files that are no libraries (ld).
"""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "venv",
        (
            Form(
                "environment-not-made",
                r"Unable to create venv in directory ['\"]?(?P<folder>[^'\"\n]{1,300})",
                ("unable to create venv in",),
            ),
            Form(
                "environment-not-made",
                r"Command '?\[.{1,600}'-Im', 'ensurepip'.{0,120} (?:returned non-zero|died with)",
                ("'ensurepip'",),
            ),
        ),
    ),
    Voice(
        "torch",
        (
            Form(
                "device-type-unknown",
                r"Expected one of (?P<known>[a-z, ]{3,300}) device type at start of device string: "
                r"(?P<device>\S{0,60})",
                ("device type at start of device",),
            ),
            Form(
                "device-type-unknown",
                r"Invalid device string: ['\"]?(?P<device>[^'\"\s]{1,60})",
                ("invalid device string",),
            ),
        ),
    ),
    Voice(
        "XLA",
        (
            Form(
                "gpu-below-xla",
                r"sm_(?P<major>\d)(?P<minor>\d?) does not support explicit gemm algorithms",
                ("does not support explicit gemm",),
            ),
        ),
    ),
    Voice(
        "ld",
        (
            Form(
                "library-file-broken",
                r"(?P<path>/[^\s:]{1,300}\.(?:so[.\d]{0,20}|a|o)): file not recognized: "
                r"(?P<said>[Ff]ile (?:truncated|format not recognized))",
                ("file not recognized",),
            ),
        ),
    ),
)
