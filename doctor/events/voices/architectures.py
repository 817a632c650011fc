"""GPUs that a binary has no code for, and GPUs that lack what a program asks for."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

_CAPABILITY = r"\(?(?P<device>\d{1,2}(?:\.\d|, ?\d)?)\)?"

VOICES = (
    Voice(
        "torch",
        (
            Form(
                "gpu-not-in-torch",
                r"(?P<gpu>\S.{2,80}?) with CUDA capability sm_(?P<sm>\d{2,3}) is not "
                r"compatible with the current "
                r"PyTorch",
                ("with cuda capability sm_",),
            ),
            Form(
                "gpu-not-in-torch",
                r"Found GPU\d+ (?P<gpu>.{3,60}?) which is of (?:cuda|compute) capability(?: "
                r"\(CC\))? (?P<device>\d{1,2}\.\d)",
                ("which is of cuda capability", "which is of compute capability"),
            ),
            Form(
                "gpu-lacks-type",
                r"(?i)bfloat16 is (?:only )?(?:not )?supported on.{0,80}?at least "
                r"(?P<wanted>\d\.\d)"
                r"(?:.{0,20}Your (?P<gpu>.{2,60}?) (?:GPU )?has compute capability "
                r"(?P<device>\d\.\d))?",
                ("bfloat16 is",),
            ),
            Form(
                "gpu-lacks-type",
                r"(?i)your setup doesn't support (?P<type>bf16|fp16|tf32|fp8)(?:/\w+)?",
                ("your setup doesn't support",),
            ),
            Form(
                "gpu-lacks-type",
                r"(?P<type>torch\._scaled_mm|Float8\w*|FP8|fp8).{0,60}(?:only "
                r"supported|requires?|supported only)"
                r".{0,60}?(?:compute capability|CC)[ >=]{1,4}\(?(?P<wanted>\d{1,2}\.\d)",
                ("scaled_mm", "float8", "fp8 "),
            ),
        ),
    ),
    Voice(
        "kernel",
        (
            Form(
                "no-kernel-image",
                r"(?i)no kernel image is available for execution|\bCUDA_ERROR_NO_BINARY_FOR_GPU\b"
                r"|cudaErrorNoKernelImageForDevice"
                r"|hopper[/\\]{1,2}flash_(?:fwd|bwd)_launch_template.{0,40}invalid argument",
                (
                    "no kernel image is available",
                    "no_binary_for_gpu",
                    "nokernelimagefordevice",
                    "_launch_template",
                ),
            ),
            Form(
                "no-kernel-image",
                r"has no device code compatible with CUDA arch (?P<arch>\d{3,4})\. "
                r"?(?P<file>\S{1,40}) was compiled for:"
                r" ?(?P<archs>[\d,]{3,80})",
                ("has no device code compatible",),
            ),
            Form(
                "compute-cap-mismatch",
                r"(?i)compute cap(?:ability)? (?P<device>\d{2,3}) is not compatible with "
                r"(?:compile ?time )?"
                r"compute cap(?:ability)? (?P<built>\d{2,3})",
                ("compute cap",),
            ),
            Form(
                "no-kernel-image",
                r"Target GPU SM (?P<sm>\d{2,3}) is not supported by this TensorRT",
                ("target gpu sm",),
            ),
            Form(
                "ptxas-lacks-gpu",
                r"ptxas(?:\.exe)? ?(?:fatal|error)?[ :]{1,5}Value 'sm_(?P<sm>\d{2,3}\w?)' is "
                r"not defined for option "
                r"'gpu-name'",
                ("is not defined for option",),
            ),
            Form(
                "gpu-too-old",
                r"(?i)requires? device with capability (?P<than>>=?|==) "
                r"?\((?P<major>\d{1,2}), ?(?P<minor>\d)\) but "
                r"your GPU has capability \((?P<own>\d{1,2}), ?(?P<tenth>\d)\)",
                ("requires device with capability", "require device with capability"),
            ),
            Form(
                "gpu-too-old",
                r"(?i)(?P<what>flash[ -]?attention)(?:-?\d)? only supports "
                r"(?P<family>Ampere|Hopper|Turing|Ada)"
                r"(?: GPUs?)?(?: or newer)?",
                (
                    "flashattention only supports",
                    "flash attention only supports",
                    "flashattention-2 only supports",
                    "flashattention-3 only supports",
                ),
            ),
            Form(
                "gpu-too-old",
                r"(?i)(?P<what>[\w. -]{2,40}?) (?:requires?|needs?|is only supported on|only "
                r"supports)(?: GPUs? with)?"
                r"(?: a)?(?: minimum)? ?(?:cuda )?(?:compute )?capability(?: of)?[ "
                r">=:]{1,5}(?:at least )?(?P<wanted>\d{1,2}\.\d)",
                ("capability",),
            ),
            Form(
                "gpu-too-old",
                r"(?i)(?P<what>The quantization method \w{2,30}) is not supported for the "
                r"current GPU\. Minimum capability: "
                r"(?P<least>\d{2,3})\. Current capability: (?P<sm>\d{2,3})",
                ("minimum capability",),
            ),
        ),
    ),
    Voice(
        "HIP",
        (
            Form(
                "gfx-not-in-binary",
                r"(?i)\bhipErrorNoBinaryForGpu\b|HIP error: (?:invalid device function|no "
                r"kernel image)|"
                r"hipErrorInvalidDeviceFunction|hipErrorInvalidKernelFile|Unable to find "
                r"code object for all current",
                (
                    "hiperrornobinaryforgpu",
                    "hip error: invalid device",
                    "hip error: no kernel",
                    "hiperrorinvaliddevicefunction",
                    "hiperrorinvalidkernelfile",
                    "unable to find code object",
                ),
            ),
        ),
    ),
    Voice(
        "MLIR",
        (
            Form(
                "triton-pass-failed",
                r"PassManager::run failed|LLVM ERROR: (?P<said>Cannot select[^\n]{0,80})",
                ("passmanager::run failed", "llvm error"),
            ),
        ),
    ),
)
