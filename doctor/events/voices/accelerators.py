"""GPU runtimes, their libraries and the frameworks on them: their general forms."""

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
                "collective-timeout",
                r"Watchdog caught collective operation timeout: (?P<message>.{1,300})",
                ("collective operation timeout",),
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
    Voice(
        "XLA",
        (
            Form(
                "runtime-error",
                r"(?:XlaRuntimeError|JaxRuntimeError): (?P<code>[A-Z_]{3,30}): (?P<message>"
                r".{1,400})",
                ("xlaruntimeerror", "jaxruntimeerror"),
                general=True,
            ),
        ),
    ),
    Voice(
        "JAX",
        (
            Form(
                "backend-error",
                r"(?:Unable to initialize backend|Jax plugin configuration error"
                r"|Unknown backend)(?P<message>.{1,300})",
                ("unable to initialize backend", "jax plugin configuration", "unknown backend"),
                general=True,
            ),
        ),
    ),
    Voice(
        "TensorFlow",
        (
            Form(
                "runtime-error",
                r"(?:^|\s)[EF] (?:external/|tensorflow/)[\w./-]{1,200}:\d{1,6}\] (?P<message>"
                r".{1,300})",
                ("e tensorflow/", "f tensorflow/", "e external/", "f external/"),
                general=True,
            ),
            Form(
                "harmless",
                r"Unable to register cu\w{2,10} factory|computation placer already registered",
                ("unable to register cu", "placer already registered"),
                Level.WARNING,
            ),
            Form(
                "library-warning",
                r"Could not load dynamic library '(?P<library>[^']{1,120})'"
                r"|Cannot dlopen some GPU libraries",
                ("could not load dynamic library", "cannot dlopen some gpu"),
                Level.WARNING,
                general=True,
            ),
        ),
    ),
    Voice(
        "ONNX Runtime",
        (
            Form(
                "provider-not-available",
                r"Specified provider '(?P<provider>\w{1,60})' is not in available provider names",
                ("specified provider",),
                Level.WARNING,
                general=True,
            ),
            Form(
                "runtime-error",
                r"\[(?:ONNXRuntimeError)\] : ?(?P<code>\d{1,3}) : ?(?P<name>\w{1,40}) : ?(?P<messa"
                r"ge>.{0,400})"
                r"|\[ONNXRuntimeError\](?P<text>.{1,400})"
                r"|\[[EF]:onnxruntime:[^\]]{0,80}\] (?P<error>.{1,300})",
                ("onnxruntimeerror", ":onnxruntime:"),
                general=True,
            ),
        ),
    ),
    Voice(
        "TensorRT",
        (
            Form(
                "runtime-error",
                r"\[(?:TRT|TensorRT)[^\]]{0,20}\] ?\[(?:E|F|ERROR)\] (?P<message>.{1,300})"
                r"|\[TensorRT-LLM\]\[ERROR\] (?P<text>.{1,300})"
                r"|\[[EF]\] \[TRT\] (?P<error>.{1,300})",
                ("[trt", "[tensorrt"),
                general=True,
            ),
        ),
    ),
    Voice(
        "llama.cpp",
        (
            Form(
                "runtime-error",
                r"(?:ggml_\w{1,60}|llama_\w{1,60}|GGML_ASSERT|common_init\w{0,40}|srv \w{1,40}"
                r"|clip_\w{1,40})(?:\([^)]{0,200}\))?: ?"
                r"(?P<message>(?:error|failed|fatal|unable|cannot|could not|CUDA error"
                r"|unknown).{0,300})|GGML_ASSERT(?P<text>.{1,300})",
                ("ggml_", "llama_", "common_init", "clip_"),
                general=True,
            ),
            Form(
                "runner-failed",
                r"llama runner (?:process )?(?:has )?terminated|llama runner exited"
                r"|error loading llama server",
                ("llama runner", "loading llama server"),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "bitsandbytes",
        (
            Form(
                "setup-error",
                r"CUDA Setup failed|CUDA SETUP: (?P<message>(?:Something|CUDA runtime path"
                r"|Problem).{1,200})",
                ("cuda setup",),
                general=True,
            ),
        ),
    ),
    Voice(
        "vLLM",
        (
            Form(
                "engine-failed",
                r"Engine (?:core|process) (?:initialization )?failed|EngineDeadError"
                r"|EngineGenerateError|AsyncEngineDeadError|MQEngineDeadError"
                r"|Engine core proc .{0,40}died|EngineCore (?:failed to start|encountered)"
                r"|Worker failed with error|WorkerProc (?:failed|initialization failed)"
                r"|WorkerProc hit an exception|Background loop (?:has errored|is stopped)",
                (
                    "engine core",
                    "engine process",
                    "enginedead",
                    "enginegenerate",
                    "enginecore ",
                    "worker failed with",
                    "workerproc",
                    "background loop",
                ),
                Level.WRAPPER,
            ),
        ),
    ),
    Voice(
        "text-generation-inference",
        (
            Form(
                "shard-failed",
                r"ShardCannotStart|Shard complete standard error output|Shard \d{1,4} failed"
                r"|Shutting down shards|Webserver Crashed|WebserverFailed",
                (
                    "shardcannotstart",
                    "shard complete",
                    "shutting down shards",
                    "webserver",
                    "shard 0 failed",
                ),
                Level.WRAPPER,
            ),
        ),
    ),
)
