"""Lets the CPU play the GPUs that FAKE_GPUS describes, in an environment with a real torch.

`rig_gpus.pth` imports this at the start of the interpreter. It waits for torch and Triton, and
changes each once it is imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from typing import Any

PLAYED = {"torch": "runtime", "triton.runtime.jit": "launch"}
"""Which module of ours changes which module."""


class Waiting:
    """Finds modules as everybody else does, and goes on once they are loaded."""

    def __init__(self) -> None:
        self.awaited = dict(PLAYED)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Answer once for each module that is awaited."""
        player = self.awaited.pop(name, None)
        spec = importlib.util.find_spec(name) if player else None
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_play(module: Any) -> None:
                load(module)
                importlib.import_module(f"fake_gpus.{player}").install(module)

            spec.loader.exec_module = load_and_play
        return spec


if os.environ.get("FAKE_GPUS"):
    # What the CPU of this machine can or cannot is not what a scenario is about. doctor is not to
    # see these: it would look for the fault in them.
    os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX2")
    os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")
    sys.meta_path.insert(0, Waiting())
