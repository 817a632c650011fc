"""Run a failed check again without variables of the shell, to find the one that stops it.

Libraries read dozens of variables when they start, and a wrong value is mostly reported as
something else: `CUDA_FORCE_PTX_JIT=1` as a GPU that torch has no code for, `CUDA_DEVICE_ORDER=BUS`
as an invalid device. Only a second run tells.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

from doctor.model.outcomes import RED, Verdict
from doctor.model.roles import Role
from doctor.observe.runner import Batch, Unit
from doctor.redact import without_secrets

FACT = "checks.culprit"

_READ = re.compile(
    r"(?:CUDA|CUBLAS|CUBLASLT|CUDNN|CUSPARSELT|NVIDIA|PYTORCH|TORCH|TORCHINDUCTOR|TORCHDYNAMO|TRITON"
    r"|XLA|JAX|TF|NCCL|HSA|HIP|AMD|ROC|ROCM|MIOPEN|ROCBLAS|HIPBLASLT|SYCL|ZE|UR|ONEAPI|ORT|OMP"
    r"|GOMP|MKL|KMP|ONEDNN|OPENBLAS|MALLOC|GLIBC)_[A-Z0-9_]{1,80}|TORCH[A-Z]{1,20}_[A-Z0-9_]{1,80}"
)
"""Variables that these libraries read.

- https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
- https://docs.pytorch.org/docs/stable/torch_environment_variables.html
- https://docs.jax.dev/en/latest/config_options.html
- https://rocm.docs.amd.com/en/latest/reference/env-variables/index.html
"""
_LOADER = ("LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES")
_CHOICE = re.compile(r"(?:VISIBLE_DEVICES|AFFINITY_MASK|DEVICE_SELECTOR)$")
_ORDERS = ("FASTEST_FIRST", "PCI_BUS_ID")
"""Which GPUs somebody chose, and in which order: with another choice another card would pass."""
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|KEY")
NAME = re.compile(r"\b[A-Z][A-Z0-9]{1,40}_[A-Z0-9_]{1,60}\b")
"""The name of a variable in a message."""
_PROVING = (Role.PROVES_TORCH, Role.PROVES_JAX, Role.PROVES_ONNXRUNTIME)
_ENDED = (Verdict.FAILED, Verdict.CRASHED)
_MOST = 8
"""Runs for one failure: enough to single out one of a hundred variables."""
_SLOW = 60.0
"""Seconds of a failed run above which no second one is worth its time."""
_LONGEST = 200

Again = Callable[[Unit], Batch]


def culprit(unit: Unit, batch: Batch, again: Again) -> dict[str, str]:
    """Return the facts about the variable without which a check passes that failed with it.

    Empty where there is none. `again` runs a unit in a process of its own.
    """
    red = [one for one in batch.outcomes if one.verdict in RED]
    if (
        unit.check.header.role not in _PROVING
        or not red
        or any(one.verdict not in _ENDED or (one.seconds or 0) > _SLOW for one in red)
    ):
        return {}
    message = " ".join(f"{one.reason} {one.log}" for one in red)
    found = _Trials(unit, again).search(message)
    if found is None:
        return {}
    name, value, rest = found
    shown = without_secrets(f"{name}={value[:_LONGEST]}").partition("=")[2]
    device = next((f" on {one.device}" for one in red if one.device), "")
    facts = {FACT: name, f"{FACT}_value": shown, f"{FACT}_check": f"{unit.check.id}{device}"}
    return {**facts, f"{FACT}_rest": rest} if rest else facts


class _Trials:
    """The runs for one failure."""

    def __init__(self, unit: Unit, again: Again) -> None:
        self._unit, self._again, self._runs = unit, again, 0
        self._env = unit.plan.host.env

    def search(self, message: str) -> tuple[str, str, str | None] | None:
        """Return name, value, and what is left of a list of folders."""
        settings, loader = _candidates(self._env)
        # What the message names needs one run; else it is looked for by halves.
        named = [one for one in settings if one in NAME.findall(message)]
        for one in named:
            if self._passes({one: ""}):
                return one, self._env[one], None
        for several in ([one for one in settings if one not in named], loader):
            if several and self._passes(dict.fromkeys(several, "")):
                name = self._halved(several)
                return (name, self._env[name], self._rest(name)) if name else None
        return None

    def _halved(self, several: Sequence[str]) -> str | None:
        """Return the one variable of several without which the check passes."""
        while len(several) > 1:
            first, second = several[: len(several) // 2], several[len(several) // 2 :]
            if self._passes(dict.fromkeys(first, "")):
                several = first
            elif self._passes(dict.fromkeys(second, "")):
                several = second
            else:
                return None  # two variables together
        return several[0]

    def _rest(self, name: str) -> str | None:
        """Return a list of folders without the harmful one; None if it is the only one."""
        parts = self._env[name].split(os.pathsep) if name in _LOADER else []
        if len(parts) < 2:
            return None
        for part in parts:
            rest = os.pathsep.join(one for one in parts if one != part)
            if self._passes({name: rest}):
                return rest
        return None

    def _passes(self, changes: Mapping[str, str]) -> bool:
        """Run the check with other values; an empty one takes the variable away."""
        if self._runs >= _MOST:
            return False
        self._runs += 1
        env = {
            name: changes.get(name, value)
            for name, value in self._env.items()
            if changes.get(name, value) or not value
        }
        host = self._unit.plan.host.with_env(env)
        plan = msgspec.structs.replace(self._unit.plan, host=host)
        batch = self._again(msgspec.structs.replace(self._unit, plan=plan))
        verdicts = {one.verdict for one in batch.outcomes}
        answers = Verdict.PASSED in verdicts or bool(batch.facts.get("torch.cuda_devices"))
        return answers and verdicts <= {Verdict.PASSED}


def _candidates(env: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the settings that libraries read, and what steers the loader."""
    named = sorted(
        name
        for name, value in env.items()
        if value
        and _READ.fullmatch(name)
        and not _CHOICE.search(name)
        and not (name == "CUDA_DEVICE_ORDER" and value in _ORDERS)
        and not _SECRET.search(name)
    )
    return named, [name for name in _LOADER if env.get(name)]
