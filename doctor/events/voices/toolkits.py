"""torch's build of extensions about the CUDA toolkit (`torch/utils/cpp_extension.py`)."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "torch's extension builder",
        (
            Form(
                "toolkit-differs",
                r"The detected CUDA version \((?P<toolkit>\d{1,2}\.\d)\) mismatches the version "
                r"that was used to compile(?:\s{0,4}PyTorch \((?P<torch>\d{1,2}\.\d)\))?",
                ("the detected cuda version (",),
            ),
        ),
    ),
)
