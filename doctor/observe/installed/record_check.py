"""Check the files of an environment while its interpreter is still describing itself.

Where the packages of an environment lie follows from its layout in nearly all cases. The answer is
taken only if the interpreter names the same RECORD files.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from doctor.base.lazy_pattern import Pattern
from doctor.base.requirements import normalize_name
from doctor.host import Host
from doctor.observe.installed import records

CHECKED = Pattern(
    r"torch|torchvision|torchaudio|torchao|(pytorch-)?triton.*|nvidia-.*|cuda-bindings|numpy"
    r"|xformers|flash-attn.*|bitsandbytes"
    r"|flashinfer.*|vllm|sgl-kernel|deepspeed|apex|transformer-engine.*|mamba-ssm|causal-conv1d"
    r"|jaxlib|jax-.*|cupy-.*"
    r"|onnxruntime.*|sageattention|opencv-.*"
)
_LARGE = 256 << 10
"""Bytes of all RECORDs above which a helper process checks first.

12,000 files take longer than its start.
"""
_PATIENCE = 8.0


class RecordCheck:
    """A helper process that says which of some RECORDs list files that are all there.

    It is doctor's own interpreter. Where it cannot be started, or does not answer, nothing is known
    of anything.
    """

    def __init__(self, host: Host, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)
        self._host, self._intact = host, frozenset[str]()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        argv = [sys.executable, "-I", "-S", records.__file__, *self.paths]
        said = self._host.run(argv, timeout=_PATIENCE).output.split()
        self._intact = frozenset(
            self.paths[int(number)]
            for number in said
            if number.isdecimal() and int(number) < len(self.paths)
        )

    def intact(self) -> frozenset[str]:
        """Wait for the process, and return the RECORDs whose files are all there in their size."""
        self._thread.join(_PATIENCE)
        return self._intact


def look_at(host: Host, paths: Sequence[str]) -> RecordCheck | None:
    """Start the helper where it is worth a process: for large RECORDs, on two processors."""
    if _processors() < 2 or sum(map(_size, paths)) < _LARGE:
        return None
    return RecordCheck(host, paths)


def look_early(host: Host, python: Path) -> RecordCheck | None:
    """Start the helper for the packages that lie beside an interpreter; None where none do."""
    prefix = python.parent.parent
    if os.path.lexists(prefix / "conda-meta"):
        return None  # conda rewrites files after RECORD was written
    found = (
        f"{site}/{name}/RECORD"
        for site in host.glob(prefix, "lib/python3.*/site-packages")
        for name in sorted(host.list(site))
        if name.endswith(".dist-info")
        and CHECKED.fullmatch(normalize_name(name.removesuffix(".dist-info").rpartition("-")[0]))
    )
    return look_at(host, tuple(found))


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - a Path would be made for nothing else
    except OSError:
        return 0
