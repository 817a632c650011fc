"""What NVML says about driver and GPUs, asked in a child that is killed when it hangs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import msgspec

from doctor.host.access import Host
from doctor.host.process import CompletedCommand, Termination

_CHILD = Path(__file__).with_name("nvml_child.py")
_MOST = 256
"""More GPUs than any machine has."""
_WSL_LIBRARIES = "/usr/lib/wsl/lib"


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU in NVML's order.

    `capability` is major.minor, `error` NVML's own words where this GPU could not be asked.
    """

    index: int
    name: str | None = None
    capability: str | None = None
    memory_bytes: int | None = None
    mig: bool = False
    uuid: str | None = None
    pci_bus_id: str | None = None
    error: str | None = None
    memory_used_bytes: int | None = None
    processes: tuple[dict[str, Any], ...] | None = None
    compute_mode: str | None = None
    mig_devices: tuple[dict[str, Any], ...] | None = None
    persistence: bool | None = None
    health: dict[str, Any] | None = None

    def as_fact(self) -> dict[str, Any]:
        """Return the value of a fact: unknown fields are dropped, but for those of every GPU."""
        always = ("name", "capability", "memory_bytes")
        told = {
            name: value
            for name, value in msgspec.structs.asdict(self).items()
            if value is not None or name in always
        }
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in told.items()
        }


class NvmlAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What was learned before the end or the failure.

    `gpus` is None where not even their number was told.

    `error` is why the library as a whole could not be asked, `why` the same of one fact; `hung`
    says that it never answered.
    """

    driver_version: str | None = None
    cuda_version: str | None = None
    gpus: tuple[Gpu, ...] | None = None
    error: str = ""
    why: dict[str, str] = {}
    hung: bool = False


class _Line(msgspec.Struct, frozen=True):
    driver_version: str | None = None
    cuda_version: str | None = None
    gpu: Gpu | None = None
    state: dict[str, Any] | None = None
    count: int | None = None
    error: str = ""
    why: dict[str, str] = {}
    done: bool = False


def ask_nvml(host: Host, *, timeout: float = 4.0, most: float = 20.0) -> NvmlAnswer:
    """Return what NVML says.

    A failure stands in `error` or with its GPU, next to what came before it.

    It may be silent for `timeout` seconds and take `most` in all: waking a GPU that the driver does
    not keep alive takes one to three seconds.
    """
    found = importlib.util.find_spec("pynvml")
    if found is None or found.origin is None:
        return NvmlAnswer(error="pynvml is not installed beside doctor")
    # Isolated, because the PYTHONPATH of the environment under examination is none of this child's
    # business.
    argv = [sys.executable, "-I", str(_CHILD), str(Path(found.origin).parent)]
    ran = host.run(
        argv, timeout=max(timeout, most), silence=timeout, env=_libraries(host), cwd=Path("/")
    )
    return read_answer(ran, timeout=timeout)


def _libraries(host: Host) -> dict[str, str]:
    if not host.exists(f"{_WSL_LIBRARIES}/libnvidia-ml.so.1"):
        return {}
    folders = (host.env.get("LD_LIBRARY_PATH", ""), str(host.at(_WSL_LIBRARIES)))
    return {"LD_LIBRARY_PATH": ":".join(filter(None, folders))}


def read_answer(ran: CompletedCommand, *, timeout: float) -> NvmlAnswer:
    """Make an answer of what the child printed, however it ended."""
    lines = [line for text in ran.output.splitlines() if (line := _line(text))]
    count = next((min(line.count, _MOST) for line in lines if line.count is not None), None)
    end = "" if any(line.done for line in lines) else _end(ran, timeout)
    return NvmlAnswer(
        driver_version=next((line.driver_version for line in lines if line.driver_version), None),
        cuda_version=next((line.cuda_version for line in lines if line.cuda_version), None),
        gpus=None if count is None else _gpus(lines, count, end),
        error=next((line.error for line in lines if line.error), "")
        or (end if count is None else ""),
        why={name: words for line in lines for name, words in line.why.items()},
        hung=bool(end) and ran.ended is Termination.TIMEOUT,
    )


def _gpus(lines: list[_Line], count: int, end: str) -> tuple[Gpu, ...]:
    """Return all that were counted.

    Where the child came to an `end` of its own, the GPU that it was asking has that as its error.
    """
    told = {line.gpu.index: line.gpu for line in lines if line.gpu}
    states = {line.state.get("index"): line.state for line in lines if line.state}
    gpus = [_completed(told[index], states.get(index)) for index in range(count) if index in told]
    # They are asked in their order: the first that is missing is the one that did not come back.
    first = len(gpus)
    asked = next((gpu.index for gpu in gpus if not gpu.error and gpu.index not in states), None)
    if end and first == count and asked is not None:
        gpus[asked] = msgspec.structs.replace(gpus[asked], error=end)
    rest = (
        Gpu(index=index, error=f"not asked: {end} about GPU {first}" if index > first else end)
        for index in range(first, count)
    )
    return (*gpus, *rest)


def _completed(gpu: Gpu, state: dict[str, Any] | None) -> Gpu:
    more = {name: value for name, value in (state or {}).items() if value is not None}
    try:
        return msgspec.convert({**msgspec.structs.asdict(gpu), **more}, Gpu)
    except msgspec.ValidationError:
        return gpu


def _line(text: str) -> _Line | None:
    try:
        return msgspec.json.decode(text, type=_Line)
    except (ValueError, RecursionError):
        return None


def _end(ran: CompletedCommand, timeout: float) -> str:
    if ran.ended is Termination.TIMEOUT:
        return f"NVML did not answer within {timeout:g} s"
    if ran.ended is Termination.NOT_STARTED:
        return f"NVML could not be asked: {ran.why}"
    last: Any = ran.errors.strip().splitlines()[-1:]
    return f"NVML could not be asked: exit code {ran.code}{': ' + last[0] if last else ''}"
