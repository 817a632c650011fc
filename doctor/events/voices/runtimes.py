"""Runtimes that name what they lack: operators of torch, files of ONNX Runtime, cudarc, candle."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "torch",
        (
            Form(
                "operator-without-backend",
                r"Could not run '(?P<operator>[\w:.]{3,80})' with arguments from the "
                r"'(?P<backend>\w{2,40})' backend",
                ("arguments from the",),
            ),
        ),
    ),
    Voice(
        "torch.distributed",
        (
            Form(
                "process-group-twice",
                r"trying to initialize the default process group ?twice",
                ("default process group",),
                joined=True,
            ),
        ),
    ),
    Voice(
        "protobuf",
        (
            Form(
                "protobuf-older-than-code",
                r"'google\.protobuf\.descriptor' has no attribute '_internal_create_key'"
                r"|Descriptors should not be created directly, but only retrieved",
                ("_internal_create_key'", "descriptors should not"),
            ),
        ),
    ),
    Voice(
        "TensorRT-LLM",
        (
            Form(
                "trtllm-attention-unsupported",
                r"Assertion failed: Unsupported architecture \(.{0,200}(?:fmhaRunner|ontextFused)",
                ("unsupported architecture",),
            ),
            Form(
                "trtllm-engine-of-other-release",
                r"Assertion failed: d == a \+ length|Assertion failed: data size mismatch",
                ("d == a + length", "data size mismatch"),
            ),
        ),
    ),
    Voice(
        "SYCL",
        (
            Form(
                "sycl-not-initialized",
                r"Native API returns: -?\d{1,5} \((?P<code>(?:PI|UR)_\w{0,20}ERROR_(?:UNINITIALIZED"
                r"|DEVICE_NOT_FOUND|PLATFORM_NOT_FOUND))",
                ("native api returns",),
            ),
        ),
    ),
    Voice(
        "Metal",
        (
            Form(
                "metal-language-too-new",
                r"using language version (?P<version>\d\.\d) which is not supported on this OS",
                ("using language version",),
            ),
        ),
    ),
    Voice(
        "ONNX Runtime",
        (
            Form(
                "onnx-file-not-there",
                r"NO_SUCHFILE ?: Load model from (?P<file>.{1,200}?) failed",
                ("no_suchfile",),
            ),
        ),
    ),
    Voice(
        "cudarc",
        (
            Form(
                "cudarc-toolkit-unknown",
                r"Unsupported cuda toolkit version: `?(?P<number>\d{4,5})`?",
                ("unsupported cuda toolkit version",),
            ),
        ),
    ),
    Voice(
        "candle",
        (
            Form(
                "kernels-not-compiled",
                r"nvcc error while executing compiling: .{0,400}?--gpu-architecture=sm_"
                r"(?P<chip>\d{2,3}).{0,600}?[/\\](?P<crate>candle-[\w-]{3,40}?)-[0-9a-f]{16}[/\\]",
                ("nvcc error while executing",),
            ),
        ),
    ),
)
