"""Servers of language models and of other models: vLLM, SGLang, TGI, Triton, TensorRT-LLM."""

from __future__ import annotations

from doctor.events.forms import Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "vLLM",
        (
            Form(
                "quantization-unknown",
                r"Unknown quantization method: (?P<method>[\w.-]{1,40})\. Must be one of",
                ("unknown quantization method",),
            ),
            Form(
                "chat-template-missing",
                r"default chat template is no longer allowed|tokenizer\.chat_template is not set"
                r" and no template argument",
                ("chat template is no longer", "chat_template is not set"),
            ),
            Form(
                "context-exceeded",
                r"maximum context length is (?P<limit>\d{1,9}) tokens\b.{0,60}?"
                r"(?:requested|resulted in|has|contains) (?:about )?(?:at least )?"
                r"(?P<asked>\d{1,9})",
                ("maximum context length is",),
            ),
        ),
    ),
    Voice(
        "text-generation-inference",
        (
            Form(
                "warm-up-too-large",
                r"Not enough memory to handle (?P<tokens>\d{1,9}) (?P<what>prefill|total) tokens",
                ("not enough memory to handle",),
            ),
            Form(
                "lengths-do-not-fit",
                r"`(?P<smaller>max_input_(?:length|tokens))` must be < `max_total_tokens`",
                ("` must be < `max_total_tokens`",),
            ),
        ),
    ),
    Voice(
        "TensorRT-LLM",
        (
            Form(
                "ranks-for-engine",
                r"Assertion failed: (?:mpiSize == tp \* pp|mpiSize == worldSize)"
                r"|MPI size (?P<here>\d{1,4}) (?:is not equal to|does not match) (?:the )?(?:world"
                r" )?size (?P<world>\d{1,4})",
                ("mpisize == ", "mpi size "),
            ),
        ),
    ),
    Voice(
        "Triton Inference Server",
        (
            Form(
                "image-without-module",
                r"(?:UNAVAILABLE|failed to load '(?P<model>[^']{1,100})' version \d{1,9}): "
                r"Internal: ModuleNotFoundError: No module named '(?P<module>tensorrt_llm)'",
                ("no module named 'tensorrt_llm'",),
            ),
            Form(
                "python-model-missing",
                r"(?:UNAVAILABLE|failed to load '(?P<model>[^']{1,100})' version \d{1,9}): "
                r"Internal: ModuleNotFoundError: No module named 'model'",
                ("no module named 'model'",),
            ),
            Form(
                "engine-not-created",
                r"(?P<model>[\w.-]{1,100})\s{1,60}\|\s{0,20}\d{1,9}\s{1,60}\|\s{0,20}"
                r"UNAVAILABLE: Internal: unable to create TensorRT engine",
                ("unable to create tensorrt engine",),
            ),
            Form(
                "engine-not-created",
                r"unable to create TensorRT engine",
                ("unable to create tensorrt engine",),
            ),
            Form(
                "model-configuration-differs",
                r"unable to load model '(?P<model>[^']{1,100})', configuration expects "
                r"(?P<wanted>\d{1,4}) (?P<what>inputs|outputs), model provides (?P<there>\d{1,4})",
                ("configuration expects",),
            ),
            Form(
                "repository-file-missing",
                r"failed to stat file (?P<file>\S{1,300}?),?(?: |$)",
                ("failed to stat file",),
            ),
            Form(
                "model-not-loaded",
                r"(?P<model>[\w.-]{1,100})\s{1,60}\|\s{0,20}\d{1,9}\s{1,60}\|\s{0,20}"
                r"UNAVAILABLE: (?P<message>[^|]{1,300})",
                ("unavailable: ",),
                general=True,
            ),
        ),
    ),
    Voice(
        "SGLang",
        (
            Form(
                "proxy-answers",
                r"AssertionError: res=<Response \[(?P<status>40[37]|50[234])\]>, ?res\.text=",
                ("res=<response [",),
            ),
            Form(
                "warm-up-failed",
                r"Initialization failed\. warmup error: ?(?P<message>.{1,300})",
                ("initialization failed. warmup",),
                level=Level.WRAPPER,
            ),
        ),
    ),
)
