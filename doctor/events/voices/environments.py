"""What programs say of the job, the folders and the network that they run in."""

from __future__ import annotations

from doctor.events.forms import ANYBODY, Form, Voice
from doctor.model.events import Level

VOICES = (
    Voice(
        "Python",
        (
            Form(
                "no-gpu-asked-for",
                r"invalid literal for int\(\) with base 10: '(?P<value>NoDevFiles)'"
                r"|CUDA_VISIBLE_DEVICES['\"]?[:=\s]{1,4}['\"]?(?P<variable>NoDevFiles)",
                ("nodevfiles",),
            ),
            Form(
                "data-not-reached",
                r"ConnectionError: Couldn't reach '?(?P<url>https?://[^\s'\"]{1,300})"
                r"|ConnectionError: Couldn't reach (?P<name>['\"]?[\w./-]{1,120}['\"]?) on the Hub",
                ("couldn't reach",),
            ),
        ),
    ),
    Voice(
        "Hugging Face",
        (
            Form(
                "cache-not-writable",
                r"problem when trying to (?:write in|create) your cache folder "
                r"\((?P<path>[^)]{1,300})\)",
                ("your cache folder (",),
                Level.WARNING,
            ),
            Form(
                "hub-too-many-requests",
                r"429 Too Many Requests.{0,40}https://(?:[\w.-]{0,40}\.)?(?:huggingface\.co|hf\.co)",
                ("429 too many requests",),
            ),
        ),
    ),
    Voice(
        "TensorRT",
        (
            Form(
                "gpu-unknown-to-tensorrt",
                r"Assertion major >= 0 && major < (?P<below>\d{1,3}) failed",
                ("assertion major >= 0",),
            ),
        ),
    ),
    Voice(
        "a Rust program",
        (
            Form(
                "cudarc-library-missing",
                r"Unable to dynamically load shared library - searched for library names: "
                r"\[\"(?:lib)?(?P<library>[a-z]{3,20})[\w.-]{0,40}\"",
                ("unable to dynamically load",),
            ),
            Form(
                "panic",
                r"^\s{0,8}panicked at (?P<place>\S{1,300}\.rs:\d{1,6}:\d{1,6}):?"
                r"\s?(?P<message>.{0,400})",
                ("panicked at",),
                general=True,
                joined=True,
            ),
        ),
    ),
    Voice(
        ANYBODY,
        (
            Form(
                "unix-line-on-windows",
                r"'(?P<name>[A-Z][A-Z0-9]{1,30}_[A-Z0-9_]{1,40})' is not recognized as an internal"
                r"|The term '(?P<name2>[A-Z][A-Z0-9]{1,30}_[A-Z0-9_]{1,40})=",
                ("is not recognized as an internal", "the term '"),
            ),
            Form(
                "pip-missing",
                r"(?P<python>\S{3,300}): No module named pip(?:\.__main__)?\s{0,4}$",
                ("no module named pip",),
            ),
            Form(
                "checkout-missing",
                r"Couldn't find Stable Diffusion in any of: \['?(?P<places>[^',\]]{1,200})",
                ("couldn't find stable diffusion",),
            ),
        ),
    ),
)
