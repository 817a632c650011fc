"""Programs of toolkits that report which of their own parts, or whose folder, they lack."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "hipcc",
        (
            Form(
                "rocm-part-missing",
                r"Can't exec \"(?P<file>[^\"]{0,200}(?:rocm_agent_enumerator|rocminfo|clang\+\+|"
                r"hipconfig)[^\"]{0,40})\": No such file or directory",
                ("can't exec \"",),
            ),
            Form(
                "rocm-part-missing",
                r"(?:sh: \d{1,4}: |bash: )(?P<file>/opt/rocm\S{1,200}): "
                r"(?:not found|No such file or directory)",
                (": not found", ": no such file or directory"),
            ),
        ),
    ),
    Voice(
        "build.py of ONNX Runtime",
        (
            Form(
                "home-of-library-missing",
                r"(?P<one>cuda_home|rocm_home|tensorrt_home|openvino_home|qnn_home)(?: and "
                r"(?P<two>cudnn_home))? paths must be specified and valid",
                ("paths must be specified and valid",),
            ),
        ),
    ),
)
