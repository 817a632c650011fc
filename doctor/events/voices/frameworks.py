"""Frameworks and servers on top of GPU runtimes: their general forms."""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

VOICES = (
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
