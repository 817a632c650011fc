"""Find variables of the shell that a failing program's packages read, and write how to unset one.

Those that the failure names come first, by their name or by their value, then those that begin as
the names of the packages in the traceback do. Where files are kept, who the user is, and what keeps
off the network stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from doctor.model.fixes import Command, Step
from doctor.repair.failures import Failure

_NAME = re.compile(r"\b[A-Z][A-Z0-9]{1,40}_[A-Z0-9_]{1,60}\b")
_KEPT = re.compile(
    r"TOKEN|KEY|SECRET|PASSW|CREDENTIAL|PROXY|OFFLINE|_(?:HOME|DIR|CACHE|PATH|ROOT|URL|ENDPOINT)$"
)
_READ = re.compile(r"(?:JAX|XLA|TF|HF|TRANSFORMERS|OMP|MKL|KMP|NUMBA|PYTORCH|TORCH|NCCL|CUDA)_")
_FURTHER = {
    "jax": ("JAX_", "XLA_"),
    "jaxlib": ("JAX_", "XLA_"),
    "tensorflow": ("TF_", "XLA_"),
    "keras": ("KERAS_", "TF_"),
    "torch": ("PYTORCH_", "TORCH_", "TRITON_"),
    "transformers": ("TRANSFORMERS_", "HF_"),
    "huggingface_hub": ("HF_",),
}
"""Beginnings of the variables that a package reads, where they are not its own name.

- https://docs.jax.dev/en/latest/config_options.html
- https://docs.pytorch.org/docs/stable/torch_environment_variables.html
- https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
"""
_OF_GPUS = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_FORCE_JIT",
    "CUDA_DISABLE_PTX_JIT",
    "CUDA_DISABLE_JIT",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "HIP_VISIBLE_DEVICES",
    "JAX_PLATFORMS",
    "JAX_PLATFORM_NAME",
)
"""What drivers and frameworks read, so that a failure on a GPU names another cause.

https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
"""
_SPEAKS_OF_GPUS = re.compile(r"\b(?:cuda|gpus?)", re.IGNORECASE)
_OF_BUILDS = (
    "NVCC_APPEND_FLAGS",
    "NVCC_PREPEND_FLAGS",
    "TORCH_CUDA_ARCH_LIST",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
)
_SPEAKS_OF_BUILDS = re.compile(
    r"\bnvcc\b|ninja: build stopped|Error building extension|CompileError|failed with exit code"
)
_OF_THE_SHELL = re.compile(
    r"^(?:(?:PATH|PWD|OLDPWD|HOME|SHELL|TERM|LANG|USER|LOGNAME|HOSTNAME|TMPDIR|_|VIRTUAL_ENV)$"
    r"|LC_|LD_|DYLD_|PYTHON|CONDA_)"
)
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSW|CREDENTIAL|PROXY", re.IGNORECASE)
_GOES_ON = re.compile(r"[\w./-]")
_MOST, _SHORT = 6, 5


def without_settings(
    failure: Failure, env: Mapping[str, str], *, by_value: bool = False
) -> Iterator[tuple[str, tuple[Step, ...]]]:
    """Yield ways to start without one variable that is set: its name, and the steps.

    `by_value`: only those whose value the message has, such as the path of a compiler that is gone.
    """
    tops = dict.fromkeys(frame.top for frame in reversed(failure.every) if frame.top)
    begins = {one for top in tops for one in _FURTHER.get(top, (f"{top.upper()}_",))}
    if any(top in _FURTHER for top in tops) or _SPEAKS_OF_GPUS.search(failure.chain):
        begins.update(_OF_GPUS)
    if _SPEAKS_OF_BUILDS.search(failure.chain):
        begins.update(_OF_BUILDS)
    if "NCCL" in failure.chain:
        begins.add("NCCL_")
    named = [name for name in _NAME.findall(failure.chain) if _READ.match(name)]
    own = sorted(name for name in env if name.startswith(tuple(begins)))
    told = [name for name in sorted(env) if _says(failure, name, env[name])]
    kept = [one for one in (*named, *own) if not _KEPT.search(one) and not by_value]
    for name in [one for one in dict.fromkeys((*kept, *told)) if env.get(one)][:_MOST]:
        title = f"Where the shell, the job or the image sets {name}, leave it out"
        yield name, (Step(title=title, command=Command(argv=("unset", name))),)


def _says(failure: Failure, name: str, value: str) -> bool:
    """Say whether a failure speaks of the value of a variable: a word, or a path that is gone."""
    if len(value) < _SHORT or _OF_THE_SHELL.match(name) or _SECRET.search(name):
        return False
    if ("/" in value or "\\" in value) and Path(value).exists():
        return False  # a folder of the program or of a cache
    before, found, after = failure.error.partition(value)
    return bool(found) and not (_GOES_ON.match(before[-1:]) or _GOES_ON.match(after[:1]))
