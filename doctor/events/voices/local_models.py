"""Programs for models on one's own machine: llama.cpp, Ollama, MLX."""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "LM Studio",
        (
            Form(
                "engine-crashed",
                r"Engine protocol runtime (?P<engine>[\w.-]{1,60}) for \S{1,100} exited before"
                r" becoming healthy\.? ?(?:exitCode=(?P<code>\w{1,24}), ?signal=(?P<signal>\w+))?",
                ("exited before becoming healthy",),
            ),
            Form(
                "engine-crashed",
                r"The model has crashed without additional information\.? ?"
                r"(?:\(Exit code: (?P<code>\w{1,24})\))?",
                ("the model has crashed without",),
            ),
        ),
    ),
    Voice(
        "llama.cpp",
        (
            Form(
                "embedding-model-for-text",
                r"GGML_ASSERT\(.{0,80}missing result_(?:output|embd)(?:_pooled)? tensor",
                ("missing result_",),
            ),
            Form(
                "ggml-gpu-call",
                r"(?P<place>[\w.-]{1,60}):\d{1,6}: GGML_ASSERT\((?P<check>stat == cudaSuccess"
                r"|err == cudaSuccess)\) failed",
                ("ggml_assert(",),
            ),
            Form(
                "ggml-assertion",
                r"(?:^|[\s\"])(?:(?P<place>[\w./-]{1,200}):\d{1,6}: )?"
                r"GGML_ASSERT\((?P<check>.{1,300})\) failed",
                ("ggml_assert(",),
            ),
            Form(
                "ggml-assertion",
                r"\bggml_\w{1,80}: Assertion [`'](?P<check>.{1,300}?)' failed",
                (": assertion `", ": assertion '"),
            ),
            Form(
                "gguf-other-tensors",
                r"(?P<what>wrong number of tensors; expected (?P<expected>\d{1,9}), got "
                r"(?P<used>\d{1,9})"
                r"|tensor '[\w.]{1,100}' has wrong shape|missing tensor '[\w.]{1,100}')",
                ("wrong number of tensors", "has wrong shape; expected", "missing tensor '"),
            ),
            Form(
                "pinned-memory",
                r"failed to allocate (?P<size>[\d.]{1,12}) MiB of pinned memory: (?P<why>.{1,60})",
                ("of pinned memory",),
            ),
            Form(
                "compute-buffers",
                r"failed to allocate compute (?:pp )?buffers",
                ("failed to allocate compute",),
            ),
            Form(
                "model-buffer",
                r"unable to allocate (?P<where>CUDA\d{0,2}|ROCm\d{0,2}|Vulkan\d{0,2}|Metal|SYCL"
                r"\d{0,2}|CPU)\w{0,20} buffer",
                ("unable to allocate ",),
            ),
        ),
    ),
    Voice(
        "Ollama",
        (
            Form(
                "model-larger-than-memory",
                r"model requires more system memory \((?P<need>[\d.]{1,10} \w{1,4})\) than is "
                r"available \((?P<have>[\d.]{1,10} \w{1,4})\)",
                ("requires more system memory",),
            ),
            Form(
                "model-name-unknown",
                r"pull model manifest: (?:file does not exist|\d{3}: )",
                ("pull model manifest: ",),
            ),
            Form(
                "server-not-running",
                r"(?i)could not connect to (?:a running )?ollama (?:app|instance|server)"
                r"|ollama server not responding",
                ("could not connect to ollama", "running ollama", "ollama server not"),
            ),
            Form(
                "server-hung-up",
                r"Post \"http://127\.0\.0\.1:11434/api/\w{1,20}\": (?P<what>EOF|read tcp)",
                ("127.0.0.1:11434/api/",),
                level=Level.WRAPPER,
            ),
            Form(
                "name-not-resolved",
                r"dial tcp: lookup (?P<host>[\w.-]{1,100})(?: on [\w.:\[\]]{1,60})?: "
                r"(?P<why>no such host|server misbehaving|i/o timeout"
                r"|Temporary failure in name resolution)",
                ("dial tcp: lookup",),
            ),
        ),
    ),
    Voice(
        "MLX",
        (
            Form(
                "mlx-model-type",
                r"Model type (?P<type>[\w.-]{1,60}) not supported",
                ("not supported",),
            ),
            Form(
                "mlx-parameters",
                r"ValueError: (?P<what>Missing \d{1,6} parameters"
                r"|Received (?:\d{1,6} )?parameters not in model)",
                ("valueerror: missing", "parameters not in model"),
            ),
            Form(
                "metal-buffer-too-large",
                r"\[metal::malloc\] Attempting to allocate (?P<bytes>\d{1,15}) bytes which is "
                r"greater than the maximum allowed buffer size of (?P<limit>\d{1,15})",
                ("[metal::malloc]",),
            ),
        ),
    ),
)
