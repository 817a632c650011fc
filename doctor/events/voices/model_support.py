"""Servers and loaders that do not know a model, a tensor, an option or a feature."""

from __future__ import annotations

from doctor.events.forms import ANYBODY, Form, Voice

_PROGRAM = r"(?P<program>vllm|sglang|lmdeploy|text-generation-launcher|launch_server\.py|api_server\.py|llama-server|llama-cli|server|ollama|trtllm-\w{2,12}|mlx_lm\.\w{2,12}|webui\.py|main\.py)"  # noqa: E501

VOICES = (
    Voice(
        "text-generation-inference",
        (
            Form(
                "tgi-model-unknown",
                r"sharded is not supported for AutoModel"
                r"|Unsupported model type (?P<type>[\w-]{1,40})",
                ("sharded is not supported", "unsupported model type "),
            ),
            Form(
                "tensor-not-in-file",
                r"RuntimeError: weight (?P<tensor>[\w.]{3,120}) does not exist",
                ("does not exist",),
            ),
        ),
    ),
    Voice(
        "SGLang",
        (
            Form(
                "architecture-unsupported",
                r"(?:Unsupported architectures?: |Architecture |Model architecture )\[?['\"]?"
                r"(?P<type>[A-Z]\w{3,60}(?:ForCausalLM|ForConditionalGeneration|Model|LMHeadModel))"
                r"['\"]?\]?(?:\. Supported| (?:is )?not supported|,? ?$)",
                ("unsupported architecture", "architecture "),
            ),
        ),
    ),
    Voice(
        "vLLM",
        (
            Form(
                "tensor-not-expected",
                r"KeyError: '(?P<tensor>(?:[a-z_]{1,30}\.){0,3}(?:layers?|blocks|block|h)\.\d{1,4}"
                r"\.[\w.]{3,100})'",
                ("keyerror: '",),
            ),
            Form(
                "model-without-feature",
                r"(?:Model )?(?P<type>[A-Z]\w{3,60}(?:ForCausalLM|ForConditionalGeneration|Model)) "
                r"does not support (?P<feature>BitsAndBytes quantization|LoRA|pipeline parallelism"
                r"|tensor parallel\w{0,6}|embedding\w{0,3}|multimodal inputs?)",
                ("does not support ",),
            ),
            Form(
                "length-above-model",
                r"User-specified max_model_len \((?P<asked>\d{1,9})\) is greater than the derived "
                r"max_model_len \((?P<key>[\w.]{1,60})=(?P<limit>\d{1,9})",
                ("user-specified max_model_len",),
            ),
            Form(
                "quantization-of-other-kind",
                r"Cannot find any of \[(?P<keys>[^\]]{1,120})\] in the model's quantization config",
                ("quantization config",),
            ),
            Form(
                "model-place-unknown",
                r"Invalid repository ID or local directory specified: ?'(?P<place>[^']{1,200})'",
                ("invalid repository id or local",),
            ),
            Form(
                "ray-node-without-gpu",
                r"Current node has no GPU available\. current_node_resource=(?P<what>\{.{0,200}\})",
                ("current node has no gpu",),
            ),
            Form(
                "platform-without-ray",
                r"current platform (?P<platform>\w{2,10}) does not support ray",
                ("does not support ray",),
            ),
            Form(
                "kernel-asks-newer-gpu",
                r"Marlin does not support weight_bits = (?P<type>\w{2,12})\. Only types = \[\] are "
                r"supported \(for group_size = -?\d{1,5}, (?:device|min)_capability = "
                r"(?P<capability>\d{2,3})",
                ("marlin does not support",),
            ),
        ),
    ),
    Voice(
        ANYBODY,
        (
            Form(
                "option-unknown",
                rf"{_PROGRAM}(?: \w{{2,20}})?: error: unrecognized arguments?: "
                r"(?P<option>--?[\w-]{1,60})",
                ("unrecognized argument",),
            ),
            Form(
                "option-unknown",
                r"error: unexpected argument '(?P<option>--[\w-]{1,60})' found",
                ("unexpected argument '--",),
            ),
            Form(
                "option-unknown",
                r"(?:error: invalid argument|error: unknown argument|unknown flag): "
                r"(?P<option>--?[A-Za-z][\w-]{0,60})",
                ("invalid argument: -", "unknown argument: -", "unknown flag: -"),
            ),
            Form(
                "option-value-unknown",
                r"error: argument (?P<option>[^:]{1,80}): invalid choice: '(?P<value>[^']{1,80})' "
                r"\(choose from",
                ("invalid choice: '",),
            ),
        ),
    ),
    Voice(
        "vLLM",
        (
            Form(
                "architectures-not-named",
                r"No model architectures are specified",
                ("no model architectures are",),
            ),
        ),
    ),
    Voice(
        "Stable Diffusion web UI",
        (
            Form(
                "lora-keys-not-matched",
                r"Failed to match keys when loading (?:Lora|network) (?P<file>.{1,3}[^:]{1,300}): "
                r".{0,900}?(?P<part>downsamplers|resnets|hada|lokr|lora_mid|dora_scale)",
                ("failed to match keys when loading",),
            ),
            Form(
                "lora-keys-not-matched",
                r"Failed to match keys when loading (?:Lora|network) (?P<file>.{1,3}[^:]{1,300}): ",
                ("failed to match keys when loading",),
            ),
        ),
    ),
    Voice(
        "llama.cpp",
        (
            Form(
                "path-with-blank",
                r"error: invalid argument: (?P<part>[^-\s]\S{0,200}\.gguf)",
                ("error: invalid argument: ",),
            ),
            Form(
                "cache-needs-flash-attention",
                r"V cache quantization requires flash_attn",
                ("cache quantization requires flash",),
            ),
            Form(
                "gguf-other-file",
                r"failed to load model from "
                r"(?P<path>[^'\"\n]{1,300}\.(?:safetensors|bin|pth?|onnx))\s?$",
                ("failed to load model from ",),
            ),
            Form(
                "gguf-other-file",
                r"Could not load Llama model from path: "
                r"(?P<path>[^'\"\n]{1,300}?\.(?:safetensors|bin|pth?|onnx))\.",
                ("could not load llama model from",),
            ),
            Form(
                "gguf-cut-short",
                r"error loading model: unexpectedly reached end of file"
                r"|data is not within the file bounds, model is corrupted or incomplete",
                ("unexpectedly reached end of file", "not within the file bounds"),
            ),
            Form(
                "gguf-not-opened",
                r"(?:gguf_init_from_file: failed to open GGUF file|failed to open GGUF file) "
                r"'(?P<path>[^'\n]{1,400})'",
                ("failed to open gguf file",),
            ),
            Form(
                "gguf-key-missing",
                r"key not found in model: (?P<key>[\w.-]{3,100})",
                ("key not found in model",),
            ),
            Form(
                "gguf-for-newer-reader",
                r"unknown \(magic, version\) combination: 46554747",
                ("combination: 46554747",),
            ),
            Form(
                "ggml-no-backend",
                r"no backends are loaded\. hint: use ggml_backend_load",
                ("no backends are loaded",),
            ),
        ),
    ),
    Voice(
        "CTranslate2",
        (
            Form(
                "ctranslate2-model-newer",
                r"Unsupported model binary version\. This executable supports models with binary "
                r"version v(?P<here>\d{1,3}) or below, but the model has binary version "
                r"v(?P<wanted>\d{1,3})",
                ("unsupported model binary version",),
            ),
        ),
    ),
    Voice(
        "ONNX Runtime",
        (
            Form(
                "onnx-model-newer",
                r"(?:Opset (?P<wanted>\d{1,3}) is under development.{0,160}till opset "
                r"(?P<here>\d{1,3})"
                r"|Unsupported model IR version: (?P<wanted2>\d{1,3}), max supported IR version: "
                r"(?P<here2>\d{1,3}))",
                ("is under development", "unsupported model ir version"),
            ),
            Form(
                "onnx-input-type",
                r"Unexpected input data type\. Actual: \((?P<actual>[\w()]{3,40})\) ?, expected: "
                r"\((?P<wanted>[\w()]{3,40})\)",
                ("unexpected input data type",),
            ),
        ),
    ),
    Voice(
        "exllama",
        (
            Form(
                "exllama-buffer",
                r"temp_state buffer is too small in the exllama backend",
                ("temp_state buffer",),
            ),
            Form(
                "exllama-needs-gpu",
                r"Found modules on cpu/disk\. Using Exllama",
                ("found modules on cpu/disk",),
            ),
        ),
    ),
)
