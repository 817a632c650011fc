"""Drivers of GPUs, and container engines that hand GPUs to programs."""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "torch",
        (
            Form(
                "driver-too-old",
                r"(?i)driver on your system is too old \(found version (?P<number>\d{4,5})\)",
                ("driver on your system is too old",),
            ),
            Form(
                "driver-too-old",
                r"(?i)CUDA driver version is insufficient for CUDA runtime version",
                ("driver version is insufficient",),
            ),
            Form(
                "no-driver",
                r"Found no NVIDIA driver on your system",
                ("found no nvidia driver",),
            ),
            Form(
                "no-driver",
                r"(?i)(?:NVIDIA-SMI|nvidia-smi).{0,20}(?:command not found|not recognized as "
                r"an internal|No such file)",
                ("nvidia-smi",),
            ),
            Form(
                "torch-for-cpu",
                r"(?:Torch not compiled with CUDA enabled|PyTorch (?:was )?not "
                r"(?:compiled|built) with CUDA)",
                ("not compiled with cuda", "not built with cuda"),
            ),
            Form(
                "no-gpu-visible",
                r"No CUDA GPUs are available|Attempting to deserialize object on a CUDA "
                r"device but torch\.cuda\.is_available"
                r"\(\) is False|no (?:NVIDIA |CUDA[ -])?GPUs? (?:was |were "
                r")?(?:found|detected|visible)",
                (
                    "no cuda gpus are available",
                    "is_available() is false",
                    "no gpu",
                    "no nvidia gpu",
                    "no cuda gpu",
                    "no cuda-gpu",
                ),
            ),
        ),
    ),
    Voice(
        "TensorFlow",
        (
            Form(
                "gpu-libraries-skipped",
                r"Cannot dlopen some GPU libraries",
                ("cannot dlopen some gpu",),
                level=Level.WARNING,
            ),
        ),
    ),
    Voice(
        "Docker",
        (
            Form(
                "no-gpu-runtime",
                r"(?i)could not select device driver ['\"]{0,4}(?P<driver>\w{0,20})['\"]{0,4}"
                r" with capabilities ?:? ?"
                r"(?P<what>\[\[?[\w ,]{1,40}\]?\])",
                ("could not select device driver",),
            ),
            Form(
                "no-gpu-runtime",
                r"(?i)(?:unknown or invalid runtime name|Unknown runtime specified):? "
                r"?(?P<runtime>nvidia\w{0,12})",
                ("invalid runtime name", "unknown runtime specified"),
            ),
            Form(
                "container-gpu-failed",
                r"nvidia-container-cli(?:\.real)?: (?P<said>[\w -]{3,60}: [^\n\\]{3,160}[^\n\\\s])",
                ("nvidia-container-cli",),
            ),
            Form(
                "cdi-device-missing",
                r"unresolvable CDI devices (?P<device>[\w./=:, -]{3,120})",
                ("unresolvable cdi devices",),
            ),
            Form(
                "docker-refused",
                r"(?i)permission denied while trying to connect to the Docker (?:daemon|API)",
                ("permission denied while trying to connect",),
            ),
            Form(
                "docker-not-running",
                r"Cannot connect to the Docker daemon at (?P<socket>\S{5,120}?)\.? Is the "
                r"docker daemon running",
                ("cannot connect to the docker daemon",),
            ),
            Form(
                "docker-error",
                r"docker: Error response from daemon: (?P<said>[^\n]{3,200})",
                ("error response from daemon",),
                general=True,
            ),
        ),
    ),
    Voice(
        "ld.so",
        (),
    ),
    Voice(
        "WSL",
        (
            Form(
                "wsl-gpu-blocked",
                r"(?i)(?:dxcore|/dev/dxg|libdxcore)[^\n]{0,100}(?:fail|error|not found|no "
                r"such|denied)"
                r"|GPU access blocked by the operating system",
                ("dxcore", "/dev/dxg", "gpu access blocked"),
            ),
        ),
    ),
    Voice(
        "CPU",
        (
            Form(
                "cpu-lacks-instructions",
                # TensorFlow also says what it "wasn't compiled to use", which is no failure.
                r"(?i)(?:(?:was|is|were|been) compiled to use|requires?|without|doesn't support"
                r"|does not support|needs?|no) "
                r"(?P<feature>AVX2?|AVX-?512\w*|SSE4\.?[12]|FMA|F16C)(?: instructions| "
                r"support)?.{0,80}"
                r"(?:not available|on your (?:machine|cpu)|your cpu|this cpu|processor|not "
                r"supported)",
                ("avx2", "avx512", "avx ", "avx-512", "sse4", "f16c"),
            ),
        ),
    ),
)
