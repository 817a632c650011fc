"""Lets Triton's own interpreter run the kernels that are launched for a GPU which the CPU plays."""

from __future__ import annotations

import os
from typing import Any


def install(jit: Any) -> None:
    """Change the module that launches."""
    launch = jit.JITFunction.run

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        import torch

        from fake_gpus.tensors import OnGpu

        if not any(isinstance(each, OnGpu) for each in args):
            return launch(self, *args, grid=grid, warmup=warmup, **kwargs)
        interpreter = __import__("triton.runtime.interpreter", fromlist=["InterpretedFunction"])
        ordinary = [
            each.as_subclass(torch.Tensor) if isinstance(each, OnGpu) else each for each in args
        ]
        os.environ["TRITON_INTERPRET"] = "1"
        try:
            return interpreter.InterpretedFunction(self.fn)[grid](*ordinary, **kwargs)
        finally:
            del os.environ["TRITON_INTERPRET"]

    jit.JITFunction.run = run
