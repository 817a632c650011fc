"""What CuPy, Numba, faiss, TensorFlow, XLA, TensorRT, Vulkan and OpenVINO say of the machine."""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "CuPy",
        (
            Form(
                "cuda-path-unknown",
                r"Failed to auto-detect CUDA root directory",
                ("auto-detect cuda root",),
            ),
            Form(
                "cuda-path-unknown",
                r"CUDA path could not be detected",
                ("cuda path could not be",),
                level=Level.WARNING,
            ),
            Form(
                "cuda-python-moved",
                r"module 'cuda' has no attribute '(?P<name>c?cudart|c?cuda|c?nvrtc)'"
                r"|cannot import name '(?P<name2>cudart|cuda|nvrtc)' from 'cuda'"
                r"|No module named 'cuda\.(?P<name3>c?cudart|c?cuda|c?nvrtc)'"
                r"|C function cuda\.(?P<name4>ccudart|ccuda)\.\w{3,60} has wrong signature",
                ("module 'cuda' has", "from 'cuda'", "module named 'cuda.", "wrong signature"),
            ),
        ),
    ),
    Voice(
        "RMM",
        (
            Form(
                "rmm-memory",
                r"std::bad_alloc: out_of_memory: (?:CUDA error|RMM failure)",
                ("bad_alloc: out_of_memory",),
            ),
        ),
    ),
    Voice(
        "Numba",
        (
            Form(
                "numba-older-than-numpy",
                r"SystemError: initialization of _internal failed without raising",
                ("initialization of _internal",),
            ),
            Form(
                "nvvm-refuses",
                r"NVVM_ERROR_INVALID_OPTION|NVVM_ERROR_IR_VERSION_MISMATCH"
                r"|NvvmError: Failed to (?:compile|verify)",
                ("nvvm_error_i", "nvvmerror: failed"),
            ),
        ),
    ),
    Voice(
        "faiss",
        (
            Form(
                "faiss-for-cpu",
                r"module 'faiss' has no attribute '(?P<name>StandardGpuResources|index_cpu_to_gpu"
                r"|index_cpu_to_all_gpus|GpuIndexFlat\w{0,12}|GpuClonerOptions)'",
                ("module 'faiss' has no",),
            ),
            Form(
                "faiss-memory",
                r"alloc fail type (?P<what>\w{3,40}) dev (?P<gpu>\d{1,3}) .{0,80}size "
                r"(?P<bytes>\d{1,15}) bytes",
                ("alloc fail type",),
            ),
        ),
    ),
    Voice(
        "XGBoost",
        (
            Form(
                "xgboost-for-cpu",
                r"XGBoost version not compiled with GPU support",
                ("not compiled with gpu support",),
            ),
        ),
    ),
    Voice(
        "TensorFlow",
        (
            Form(
                "tf-no-gpu-device",
                r"Could not satisfy explicit device specification '(?P<device>[^']{1,80})' because "
                r"no devices matching",
                ("explicit device specification",),
            ),
            Form(
                "tf-no-gpu-device",
                r"No OpKernel was registered to support Op '(?P<operator>Cudnn\w{2,20})'",
                ("no opkernel was registered",),
            ),
            Form(
                "tf-keras-twice",
                r"AlreadyExistsError: Another metric with the same name already exists",
                ("another metric with the same",),
            ),
        ),
    ),
    Voice(
        "XLA",
        (
            Form(
                "ptxas-not-usable",
                r"No PTX compilation provider is available|Couldn't get ptxas(?:/nvlink)? version"
                r"|ptxas returned an error during compilation|Couldn't invoke ptxas"
                r"|ptxas exited with non-zero error code (?P<status>\d{1,6})"
                r"|ptxas too old\. Falling back",
                (
                    "no ptx compilation provider",
                    "couldn't get ptxas",
                    "ptxas returned an error",
                    "couldn't invoke ptxas",
                    "ptxas exited with",
                    "ptxas too old",
                ),
            ),
            Form(
                "xla-no-cudnn",
                r"gpu_compiler\.cc:\d{1,6}\) dnn != nullptr|No DNN in stream executor",
                ("dnn != nullptr", "no dnn in stream executor"),
            ),
            Form(
                "xla-solver",
                r"(?:INTERNAL: |failed: )(?P<library>cuSolver|cuBlas|cuSparse|cuFFT) internal error"
                r"|(?P<library2>gpusolver|cusolver)DnCreate\w{0,10}\(.{0,20}\) failed",
                ("internal error", "dncreate"),
            ),
        ),
    ),
    Voice(
        "TensorRT",
        (
            Form(
                "cuda-error",
                r"CUDA initialization failure with error: (?P<number>\d{1,4})",
                ("cuda initialization failure",),
            ),
            Form(
                "engine-is-none",
                r"'NoneType' object has no attribute '(?P<name>create_execution_context"
                r"|num_bindings|num_io_tensors|max_batch_size|serialize)'",
                ("'nonetype' object has no",),
            ),
            Form(
                "trt-plugin-missing",
                r"(?:getPluginCreator|getCreator) could not find (?:plugin|creator):? "
                r"(?P<plugin>\w{2,80})(?: version:? (?P<version>\d{1,3}))?"
                r"|Plugin not found, are the plugin name, version,? and namespace correct",
                ("could not find plugin", "could not find creator", "plugin not found, are"),
            ),
            Form(
                "trt-kernel-failed",
                r"Non-zero status code returned while running (?P<node>TRTKernel_\w{0,80})",
                ("trtkernel_",),
            ),
        ),
    ),
    Voice(
        "cuBLAS",
        (
            Form(
                "library-status",
                r"cuBLAS API failed with status (?P<number>\d{1,3})",
                ("cublas api failed",),
            ),
        ),
    ),
    Voice(
        "Ollama",
        (
            Form(
                "cuda-error",
                r"cuda driver library (?:init failure|failed to get device context):? "
                r"(?P<number>\d{1,4})",
                ("cuda driver library",),
            ),
        ),
    ),
    Voice(
        "Vulkan",
        (
            Form(
                "vulkan-memory",
                r"vk::OutOfDeviceMemoryError|ggml_vulkan: Device memory allocation of size "
                r"(?P<bytes>\d{1,15}) failed",
                ("outofdevicememoryerror", "device memory allocation of size"),
            ),
            Form(
                "vulkan-device",
                r"vk::DeviceLostError|ErrorDeviceLost|ErrorExtensionNotPresent"
                r"|ErrorIncompatibleDriver|vkCreateInstance failed",
                (
                    "devicelosterror",
                    "errordevicelost",
                    "errorextensionnotpresent",
                    "errorincompatibledriver",
                    "vkcreateinstance failed",
                ),
            ),
            Form(
                "vulkan-sdk-missing",
                r"Could (?:NOT|not) find Vulkan \(missing: (?P<parts>[\w ]{3,120})\)",
                ("find vulkan (missing",),
            ),
        ),
    ),
    Voice(
        "OpenVINO",
        (
            Form(
                "openvino-no-gpu",
                r"Device with \"(?P<device>GPU|NPU)[.\d]{0,4}\" name is not registered"
                r"|\[GPU\] Can't get \w{3,60} property as no supported devices found",
                ("name is not registered", "as no supported devices found"),
            ),
            Form(
                "openvino-program",
                r"\[ ?GPU ?\] Program build failed|ProgramBuilder build failed",
                ("program build failed", "programbuilder build failed"),
            ),
        ),
    ),
    Voice(
        "candle",
        (
            Form(
                "candle-without-cuda",
                r"the candle crate has not been built with (?P<feature>cuda|metal) support",
                ("candle crate has not been",),
            ),
        ),
    ),
    Voice(
        "NCCL",
        (
            Form(
                "nccl-releases-differ",
                r"Mismatched (?:NCCL )?versions? detected|NCCL WARN Mismatched versions",
                ("mismatched version", "mismatched nccl"),
            ),
        ),
    ),
)
