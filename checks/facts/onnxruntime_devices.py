# /// script
# requires-python = ">=3.8"
# dependencies = ["onnxruntime"]
#
# [tool.doctor]
# kind = "facts"
# role = "proves-onnxruntime"
# summary = "Runs a tiny model with ONNX Runtime's GPU provider, and sees if it fell back"
# needs = ["onnxruntime"]
# tier = "quick"
# timeout = 120
# devices = "host"
# cases = []
# ///
"""Report the execution providers of ONNX Runtime, and why the GPU's does not start.

A failed result means that `import onnxruntime` fails, or that the tiny model gives a wrong answer.
Where the provider for GPUs does not start, ONNX Runtime computes on the processor and says so in
one line of its log: that is `onnxruntime.error`, and the result is skipped.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from canary_report import CaseEnded, Report

REPORT = Report()
BUILDS = {
    "CUDAExecutionProvider": "cuda",
    "ROCMExecutionProvider": "rocm",
    "MIGraphXExecutionProvider": "rocm",
    "DmlExecutionProvider": "directml",
}
"""Providers that compute on GPUs, the plainest first. TensorRT's is not among them.

It wants a library of its own.
"""
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SAID = re.compile(
    r"with error: .*|(CUDA|HIP|CUDNN|cuDNN|CUBLAS)\S* (failure|error).*"
    r"|Failed to create .*|FAIL : .*"
)


def varint(number: int) -> bytes:
    """Encode a number as protobuf does."""
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def field(number: int, value: Any) -> bytes:
    """Encode one field of a message of protobuf."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def model() -> bytes:
    """Return a model that doubles four numbers.

    Y = x + x, in the ONNX format, operators of version 13.
    """
    floats = field(2, field(1, field(1, 1) + field(2, field(1, field(1, 4)))))
    node = field(1, "x") + field(1, "x") + field(2, "y") + field(4, "Add")
    graph = (
        field(1, node)
        + field(2, "doubled")
        + field(11, field(1, "x") + floats)
        + field(12, field(1, "y") + floats)
    )
    return field(1, 8) + field(7, graph) + field(8, field(2, 13))


@contextmanager
def log_kept(lines: list[str]) -> Iterator[None]:
    """Keep what is written to standard error meanwhile, from C++ too, and pass it on afterwards."""
    sys.stderr.flush()
    before = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)
            file.seek(0)
            text = COLOUR.sub("", file.read().decode("utf-8", "replace"))
            lines += [line.strip() for line in text.splitlines() if line.strip()]
            print(text, file=sys.stderr, flush=True)


def run(runtime: Any, provider: str) -> list[str]:
    """Run the model with a provider; give the providers that the session really has."""
    with REPORT.act():
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        session = runtime.InferenceSession(
            model(), options, providers=[provider, "CPUExecutionProvider"]
        )
        numpy = sys.modules["numpy"]
        got = session.run(None, {"x": numpy.arange(4, dtype="float32")})[0].tolist()
    if got != [0.0, 2.0, 4.0, 6.0]:
        raise CaseEnded("failed", f"0, 1, 2, 3 doubled with {provider} gave {got}")
    return list(session.get_providers())


def attempt(runtime: Any, provider: str) -> str:
    """Say why a provider does not start; nothing where it does."""
    lines: list[str] = []
    try:
        with log_kept(lines):
            has = run(runtime, provider)
    except CaseEnded as end:
        if end.args[1].startswith("0, 1, 2, 3"):
            raise
        return str(end.args[1])
    if provider in has:
        return ""
    told = [found[0] for found in map(SAID.search, lines) if found]
    return " ".join(
        (
            told
            or lines
            or [f"{provider} is not among the providers of the session: {', '.join(has)}"]
        )[0].split()
    )[:600]


def examine(runtime: Any, providers: list[str]) -> None:
    """Try the provider for GPUs.

    Where libraries are missing, once more with those that pip installed.
    """
    with REPORT.result(None) as data:
        provider = next((name for name in BUILDS if name in providers), None)
        data["told"] = [", ".join(providers)]
        if provider is None:
            run(runtime, "CPUExecutionProvider")
            return
        REPORT.doing["case"] = f"start {provider}"
        error = attempt(runtime, provider)
        if "cannot open shared object file" in error and hasattr(runtime, "preload_dlls"):
            with REPORT.act():
                runtime.preload_dlls()
            again = attempt(runtime, provider)
            if not again:
                data["told"].append(
                    f"{provider} starts only after onnxruntime.preload_dlls(), or after "
                    f"import torch: {error}"
                )
            error = error if "cannot open" in again else again
        REPORT.facts["onnxruntime.error"] = error or None
        if error:
            raise CaseEnded(
                "skipped",
                f"{provider} does not start, ONNX Runtime computes on the processor: {error}",
            )


def main() -> None:
    """Ask ONNX Runtime."""
    runtime = REPORT.load("onnxruntime")
    with REPORT.result(None), REPORT.act():
        providers = list(runtime.get_available_providers())
    if REPORT.results[-1]["verdict"] != "passed":
        # A folder that another package left empty is imported all the same, as a package without a
        # file.
        return
    REPORT.results.pop()
    build = next((kind for name, kind in BUILDS.items() if name in providers), "cpu")
    REPORT.facts.update(
        {"onnxruntime.providers": providers, "onnxruntime.build": build, "onnxruntime.error": None}
    )
    examine(runtime, providers)


if __name__ == "__main__":
    REPORT.run(main)
