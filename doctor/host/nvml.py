"""What NVML says about driver and GPUs, asked in a child that is killed when it hangs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import msgspec

from doctor.host.door import Host
from doctor.host.process import Ended, Ran

_CHILD = Path(__file__).with_name("nvml_child.py")
_WSL_LIBRARIES = "/usr/lib/wsl/lib"


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU; `capability` is major.minor."""

    index: int
    name: str
    capability: str | None = None
    memory_bytes: int | None = None
    mig: bool = False


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What was learned before the end or the failure; `gpus` is None where they were not all told."""

    driver_version: str | None = None
    cuda_version: str | None = None
    gpus: tuple[Gpu, ...] | None = None
    error: str = ""


class _Line(msgspec.Struct, frozen=True):
    driver_version: str | None = None
    cuda_version: str | None = None
    gpu: Gpu | None = None
    count: int | None = None
    error: str = ""


def ask_nvml(host: Host, *, timeout: float = 4.0) -> Answer:
    """Return what NVML says within `timeout` seconds; a failure stands in `error`, next to what came before it."""
    found = importlib.util.find_spec("pynvml")
    if found is None or found.origin is None:
        return Answer(error="pynvml is not installed beside doctor")
    # Isolated, because the PYTHONPATH of the environment under examination is none of this child's business.
    argv = [sys.executable, "-I", str(_CHILD), str(Path(found.origin).parent)]
    return read_answer(host.run(argv, timeout=timeout, env=_libraries(host), cwd=Path("/")), timeout=timeout)


def _libraries(host: Host) -> dict[str, str]:
    if not host.exists(f"{_WSL_LIBRARIES}/libnvidia-ml.so.1"):
        return {}
    folders = (host.env.get("LD_LIBRARY_PATH", ""), str(host.at(_WSL_LIBRARIES)))
    return {"LD_LIBRARY_PATH": ":".join(filter(None, folders))}


def read_answer(ran: Ran, *, timeout: float) -> Answer:
    """Make an answer of what the child printed, however it ended."""
    lines = [line for text in ran.output.splitlines() if (line := _line(text))]
    complete = any(line.count is not None for line in lines)
    return Answer(
        driver_version=next((line.driver_version for line in lines if line.driver_version), None),
        cuda_version=next((line.cuda_version for line in lines if line.cuda_version), None),
        gpus=tuple(line.gpu for line in lines if line.gpu) if complete else None,
        error=next((line.error for line in lines if line.error), "") or ("" if complete else _end(ran, timeout)),
    )


def _line(text: str) -> _Line | None:
    try:
        return msgspec.json.decode(text, type=_Line)
    except msgspec.DecodeError:
        return None


def _end(ran: Ran, timeout: float) -> str:
    if ran.ended is Ended.TIMEOUT:
        return f"NVML did not answer within {timeout:g} s"
    if ran.ended is Ended.NOT_STARTED:
        return f"NVML could not be asked: {ran.why}"
    last: Any = ran.errors.strip().splitlines()[-1:]
    return f"NVML could not be asked: exit code {ran.code}{': ' + last[0] if last else ''}"
