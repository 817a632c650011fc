"""The Triton Inference Server about the libraries of its backends."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

_LOAD = r"unable to load (?:shared|backend) library: "

VOICES = (
    Voice(
        "Triton Inference Server",
        (
            Form(
                "backend-in-bucket",
                rf"{_LOAD}(?P<path>(?P<store>s3|gs|as)://\S{{1,300}}?): cannot open shared",
                ("unable to load shared library: ",),
            ),
            Form(
                "backend-of-other-system",
                rf"{_LOAD}.{{0,300}}?(?:is )?not a valid Win32 application",
                ("not a valid win32 application",),
            ),
            Form(
                "backend-of-other-system",
                rf"{_LOAD}(?P<path>\S{{1,300}}?): (?:invalid ELF header|wrong ELF class)",
                ("unable to load shared library: ", "unable to load backend library: "),
            ),
            Form(
                "backend-not-found",
                r"unable to find (?:backend library )?'?(?:libtriton_(?P<backend>\w{1,60})\.so|"
                r"(?:backend library for )?backend '(?P<backend2>\w{1,60})')'?"
                r"(?: for model '(?P<model>[^']{1,100})')?",
                ("unable to find 'libtriton_", "unable to find backend library"),
            ),
            Form(
                "backend-library-missing",
                r"unable to load (?:shared|backend) library: (?P<library>lib(?:tensorrt_llm|nvinfer"
                r"_plugin_tensorrt_llm|th_common)[\w.]{0,60}): cannot open shared object",
                ("tensorrt_llm", "libth_common"),
            ),
            Form(
                "backend-symbol-missing",
                rf"{_LOAD}(?P<path>\S{{1,300}}?): undefined symbol: (?P<symbol>_Z\w{{3,300}})",
                ("undefined symbol: _z",),
            ),
        ),
    ),
)
