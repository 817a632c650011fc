"""GPUs of other vendors: HIP and ROCm, Level Zero and SYCL, Metal, OpenCL, Vulkan."""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

_HIP_TEXTS = (
    "Unable to find code object for all current devices",
    "no ROCm-capable device is detected",
    "no HIP-capable device is detected",
)

VOICES = (
    Voice(
        "HIP",
        (
            Form(
                "hip-error",
                r"(?i)\b(?:HIP|ROCm?)(?: runtime| driver)? ?(?:error|failure)\b(?P<said>.{1,300})",
                ("hip error", "hip runtime error", "hip failure", "rocm error"),
            ),
            Form("hip-error", r"\bhipError[A-Z]\w{3,60}", ("hiperror",)),
            Form(
                "hip-error",
                "(?i)" + "|".join(_HIP_TEXTS),
                tuple(text.lower() for text in _HIP_TEXTS),
            ),
            Form(
                "hip-error",
                r"\bmiopenStatus[A-Z]\w{2,40}|\brocblas_status_\w{3,60}",
                ("miopenstatus", "rocblas_status_"),
            ),
            Form(
                "miopen-failed",
                r"MIOpen(?:\(HIP\))?(?::| )? ?Error[: ](?P<said>.{3,200})",
                ("miopen error", "miopen(hip): error", "miopen: error"),
            ),
            Form(
                "tensile-missing",
                r"(?i)Cannot (?:read|find|open) (?P<file>\S{0,200}TensileLibrary\S{0,80})"
                r"(?:.{0,80}GPU arch ?: ?(?P<gfx>gfx\w{3,8}))?",
                ("tensilelibrary",),
            ),
            Form(
                "tensile-missing",
                r"(?i)rocblas error.{0,80}for GPU arch ?: ?(?P<gfx>gfx\w{3,8})",
                ("for gpu arch",),
            ),
            Form(
                "gpu-memory-fault",
                r"Memory access fault by GPU node-(?P<node>\d{1,3}).{0,120}?"
                r"(?:Reason: (?P<reason>[\w .,]{3,80}))?$",
                ("memory access fault by gpu",),
            ),
            Form(
                "gpu-hang",
                r"HW Exception by GPU node-(?P<node>\d{1,3}).{0,80}?"
                r"reason ?: ?(?P<reason>GPU Hang|\w[\w ]{2,40})",
                ("hw exception by gpu",),
            ),
            Form("hsa-error", r"\b(?P<name>HSA_STATUS_ERROR\w{0,60})", ("hsa_status_error",)),
            Form(
                "rocm-device-denied",
                r"(?i)(?:unable to open|could not open|failed to open|permission denied.{0,20})"
                r" ?['\"]?(?P<file>/dev/(?:kfd|dri/render\w{1,8}))['\"]?"
                r"(?:(?: read-write)?: (?P<gone>No such file))?",
                ("/dev/kfd", "/dev/dri/render"),
            ),
            Form(
                "rocm-device-denied",
                r"(?P<file>/dev/(?:kfd|dri/render\w{1,8}))['\"]?[:,]? .{0,40}(?i:permission "
                r"denied)",
                ("/dev/kfd", "/dev/dri/render"),
            ),
            Form(
                "rocm-device-denied",
                r"(?P<user>[\w.-]{1,40}) is not (?:a )?member of .{0,12}(?P<group>render|vide"
                r"o).{0,20} group",
                ("is not member of", "is not a member of"),
            ),
            Form(
                "amdgpu-not-loaded",
                r"ROCk module is NOT loaded|amdgpu.{0,20}is not loaded",
                ("rock module is not loaded", "is not loaded"),
            ),
        ),
    ),
    Voice(
        "Level Zero",
        (
            Form(
                "level-zero-error",
                r"\b(?:UR_RESULT_ERROR|PI_ERROR|ZE_RESULT_ERROR)_\w{3,60}",
                ("ur_result_error_", "pi_error_", "ze_result_error_"),
            ),
            Form(
                "level-zero-error",
                r"Native API returns: (?P<number>-?\d{1,10})",
                ("native api returns",),
            ),
            Form(
                "sycl-no-device",
                r"No device of requested type(?: '?(?P<type>[\w:.]{1,60})'?)? available",
                ("no device of requested type",),
            ),
            Form(
                "xpu-no-device",
                r"(?:No XPU devices? (?:are|is) (?:available|found|detected)"
                r"|XPU device count is zero|PyTorch was not compiled with XPU)",
                ("no xpu device", "xpu device count is zero", "not compiled with xpu"),
            ),
        ),
    ),
    Voice(
        "Metal",
        (
            Form(
                "mps-watermark",
                r"invalid (?P<which>low|high) watermark ratio (?P<ratio>[\d.]{1,12})",
                ("watermark ratio",),
            ),
            Form(
                "mps-memory",
                r"MPS backend out of memory \(MPS allocated: (?P<used>[\d.]+ [KMG]i?B), other "
                r"allocations: (?P<other>[\d.]+ [KMG]i?B), max allowed: (?P<limit>[\d.]+ "
                r"[KMG]i?B)\)"
                r"\.? Tried to allocate (?P<wanted>[\d.]+ (?:[KMG]i?B|bytes))",
                ("mps backend out of memory",),
            ),
            Form(
                "mps-operator-missing",
                r"The operator '(?P<operator>[\w:.]{3,80})' is not currently implemented for the "
                r"MPS",
                ("is not currently implemented for the mps",),
            ),
            Form(
                "mps-operator-missing",
                r"\"?(?P<operator>\w{3,60})\"? not implemented for (?:the )?'?MPS",
                (
                    "not implemented for mps",
                    "not implemented for 'mps",
                    "not implemented for the mps",
                ),
            ),
            Form(
                "mps-type",
                r"Cannot convert a MPS Tensor to (?P<type>\w+) dtype|(?P<type2>BFloat16|Float8\w*|"
                r"ComplexFloat|float64) is not supported on MPS|MPS framework doesn't "
                r"support (?P<type3>\w+)",
                (
                    "cannot convert a mps tensor",
                    "is not supported on mps",
                    "mps framework doesn't support",
                ),
            ),
            Form(
                "mps-types-differ",
                r"(?:mps\.\w+' op|MPSNDArray|failed assertion).{0,160}?"
                r"(?:destination datatype must be|require(?:s)? (?:the )?same element type|"
                r"incompatible (?:input |result )?(?:types?|dimensions)|Destination NDArray and)",
                ("mps.", "mpsndarray", "failed assertion"),
            ),
            Form(
                "mps-types-differ",
                r"'mps\.\w+' op requires the same element type for all operands and results",
                ("op requires the same element",),
            ),
            Form(
                "metal-error",
                r"MTLCommandBufferError\w{0,40}|kIOGPUCommandBufferCallbackError(?P<iogpu>\w{3,40})"
                r"|Command buffer execution failed|Insufficient Memory \(\d{8}:",
                (
                    "mtlcommandbuffererror",
                    "kiogpucommandbuffer",
                    "command buffer",
                    "insufficient memory (",
                ),
            ),
            Form(
                "metal-command-buffer",
                r"command buffer \d{1,4} failed with status (?P<status>\d)",
                ("command buffer",),
            ),
            Form(
                "metal-command-buffer",
                r"kIO(?:Accel|GPU)CommandBufferCallbackErrorSubmissionsIgnored",
                ("commandbuffercallbackerrorsubmissionsignored",),
                level=Level.WRAPPER,
            ),
            Form(
                "metal-library",
                r"(?i)(?:Failed to load the default metallib|default\.metallib.{0,40}(?:not "
                r"found|no such)"
                r"|MTLLibrary.{0,60}(?:error|fail)|library not found|newLibraryWith\w+ failed)",
                ("metallib", "mtllibrary", "newlibrarywith"),
            ),
            Form(
                "mps-system-too-old",
                r"(?i)MPS.{0,60}(?:requires?|needs?|supported (?:on|from|in)) (?:at least "
                r")?macOS (?P<wanted>\d{2}\.\d)",
                ("macos 1",),
            ),
            Form(
                "mps-system-too-old",
                r"The MPS backend is supported on MacOS (?P<wanted>\d{2}\.\d)\+",
                ("mps backend is supported",),
            ),
        ),
    ),
    Voice(
        "OpenCL",
        (
            Form(
                "opencl-error",
                r"\bCL_[A-Z][A-Z_]{5,50}\b|\bclGetPlatformIDs\b.{0,40}(?P<number>-\d{1,4})",
                (
                    "cl_out_of",
                    "cl_invalid",
                    "cl_build",
                    "cl_device",
                    "cl_mem_object",
                    "cl_platform",
                    "clgetplatformids",
                    "cl_compiler",
                ),
            ),
            Form(
                "opencl-error",
                r"(?i)\bOpenCL error[ :(=]{1,3}(?P<number>-\d{1,4})",
                ("opencl error",),
            ),
        ),
    ),
    Voice(
        "Vulkan",
        (
            Form("vulkan-error", r"\b(?P<name>VK_ERROR_[A-Z_]{4,50})\b", ("vk_error_",)),
            Form("vulkan-error", r"\bvk::\w+: (?P<name>Error[A-Z]\w{3,40})", ("vk::",)),
            Form("vulkan-error", r"(?i)ggml_vulkan: No devices found", ("ggml_vulkan: no dev",)),
        ),
    ),
)
