"""GPU runtimes and their libraries: their general forms."""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "torch",
        (
            Form(
                "gpu-not-in-build",
                r"(?P<gpu>[\w][\w -]{1,60}) with CUDA capability (?P<arch>sm_\d{2,3}) is not compa"
                r"tible"
                r"|Found GPU\d{1,2} (?P<name>.{1,60}) which is of cuda capability (?P<capability>"
                r"\d{1,2}\.\d)",
                ("is not compatible with the current", "which is of cuda capability"),
                general=True,
            ),
        ),
    ),
    Voice(
        "NumPy",
        (
            Form(
                "binary-mismatch",
                r"module (?:that was )?compiled (?:using|against|with) (?P<message>(?:NumPy|API"
                r"|ABI) .{1,200})",
                ("module that was compiled", "module compiled "),
                general=True,
            ),
        ),
    ),
    Voice(
        "xFormers",
        (
            Form(
                "extension-not-loaded",
                r"xFormers can't load C\+\+/CUDA extensions",
                ("xformers can't load",),
                Level.WARNING,
                general=True,
            ),
        ),
    ),
    Voice(
        "CUDA",
        (
            Form(
                "runtime-error",
                r"(?i)\bCUDA (?:runtime |driver )?(?:error|failure)(?: in [^:]{1,200})?(?: |: |\("
                r"|=|:)(?P<message>.{1,300})",
                ("cuda error", "cuda failure", "cuda runtime error", "cuda driver error"),
                general=True,
            ),
            Form(
                "runtime-error",
                r"\b(?P<name>cudaError[A-Z]\w{1,60}|CUDA_ERROR_\w{1,60})\b",
                ("cudaerror", "cuda_error_"),
                general=True,
            ),
            Form(
                "runtime-error",
                r"(?i)(?P<message>no CUDA-capable device is detected"
                r"|no kernel image is available for execution"
                r"|device-side assert triggered|an illegal memory access was encountered"
                r"|CUDA driver version is insufficient"
                r"|no CUDA GPUs are available|CUDA out of memory|CUDA is not available"
                r"|No CUDA runtime is found)",
                (
                    "no cuda-capable device",
                    "no kernel image is",
                    "device-side assert",
                    "illegal memory access",
                    "driver version is insufficient",
                    "no cuda gpus are available",
                    "cuda out of memory",
                    "cuda is not available",
                ),
                general=True,
            ),
        ),
    ),
    Voice(
        "the NVIDIA driver",
        (
            Form(
                "driver-error",
                r"(?:NVIDIA-SMI has failed|Failed to initialize NVML"
                r"|Unable to determine the device handle)(?P<message>.{0,200})",
                (
                    "nvidia-smi has failed",
                    "failed to initialize nvml",
                    "unable to determine the device",
                ),
                general=True,
            ),
            Form(
                "driver-error",
                r"NVRM: (?:Xid|RmInit|API mismatch)(?P<message>.{0,200})",
                ("nvrm: ",),
                general=True,
            ),
        ),
    ),
    Voice(
        "HIP",
        (
            Form(
                "runtime-error",
                r"(?i)\b(?:HIP error|hipErr\w{0,40}|HSA_STATUS_ERROR\w{0,60}|rocBLAS error"
                r"|MIOpen(?:\(HIP\))?: Error"
                r"|Memory access fault by GPU node)(?P<message>.{0,300})",
                (
                    "hip error",
                    "hiperr",
                    "hsa_status_error",
                    "rocblas error",
                    "miopen",
                    "memory access fault by gpu",
                ),
                general=True,
            ),
        ),
    ),
    Voice(
        "Level Zero",
        (
            Form(
                "runtime-error",
                r"\b(?P<name>ZE_RESULT_ERROR_\w{1,60}|UR_RESULT_ERROR_\w{1,60}|PI_ERROR_\w{1,60})"
                r"|Native API failed"
                r"(?P<message>.{0,200})|level_zero backend failed with error(?P<text>.{0,100})",
                (
                    "ze_result_error",
                    "ur_result_error",
                    "pi_error_",
                    "native api failed",
                    "level_zero backend",
                ),
                general=True,
            ),
        ),
    ),
    Voice(
        "OpenCL",
        (
            Form(
                "runtime-error",
                r"\b(?P<name>CL_[A-Z_]{3,50})\b.{0,100}",
                ("cl_out_of", "cl_invalid", "cl_build", "cl_device"),
                general=True,
            ),
        ),
    ),
    Voice(
        "MLX",
        (
            Form(
                "runtime-error",
                r"MLX error: (?P<message>.{1,300})|\[metal::\w{1,40}\] (?P<text>.{1,200})",
                ("mlx error", "[metal::"),
                general=True,
            ),
        ),
    ),
    Voice(
        "Metal",
        (
            Form(
                "runtime-error",
                r"(?:MPS backend out of memory|Metal error|MTL\w{1,40}(?:Error|Domain)"
                r"|failed assertion|Failed to load the default metallib"
                r"|\[METAL\]|error: failed to (?:create|load"
                r"|initialize) (?:the )?Metal)(?P<message>.{0,300})",
                (
                    "mps backend out",
                    "metal error",
                    "mtlcommandbuffer",
                    "mtllibrary",
                    "failed assertion",
                    "metallib",
                    "[metal]",
                    "metal library",
                ),
                general=True,
            ),
        ),
    ),
    Voice(
        "cuBLAS",
        (
            Form(
                "library-error",
                r"\b(?P<name>CUBLAS_STATUS_(?:NOT|ALLOC|INVALID|ARCH|MAPPING|EXECUTION|INTERNAL"
                r"|LICENSE)\w{0,40})",
                ("cublas_status_",),
                general=True,
            ),
        ),
    ),
    Voice(
        "cuDNN",
        (
            Form(
                "library-error",
                r"(?i)\b(?P<name>CUDNN_STATUS_[A-RT-Z]\w{1,60}|cuDNN error: .{1,100})"
                r"|Could not (?:load|locate) (?:library )?"
                r"(?P<library>(?:lib)?cudnn[\w.]{1,60})",
                ("cudnn_status_", "cudnn error", "library libcudnn", "load cudnn", "locate cudnn"),
                general=True,
            ),
        ),
    ),
    Voice(
        "NCCL",
        (
            Form(
                "collective-error",
                r"NCCL WARN (?P<message>.{1,400})",
                ("nccl warn",),
                general=True,
            ),
            Form(
                "collective-error",
                r"NCCL (?:error|Error)[: ](?P<message>.{1,400})",
                ("nccl error",),
                general=True,
            ),
            Form(
                "collective-error",
                r"\b(?P<name>nccl(?:System|Unhandled\w{1,20}|Internal|Invalid\w{1,20}"
                r"|Remote)Error)",
                ("ncclsystem", "ncclunhandled", "ncclinternal", "ncclinvalid", "ncclremote"),
                general=True,
            ),
            Form(
                "collective-error",
                r"\[PG (?:ID )?\w.{0,80}\] (?:Exception|Observed flight recorder"
                r"|failure detected by watchdog)|Some NCCL operations have failed"
                r"|Process group watchdog thread terminated",
                ("[pg ", "some nccl operations", "watchdog thread terminated"),
                Level.WRAPPER,
            ),
        ),
    ),
)
