"""Which GPUs the machine shows, and which framework was built for them and reaches none."""

from __future__ import annotations

import re

from doctor.facts.derive.amd import override_for, unsupported_chips
from doctor.facts.derive.making import SOURCE
from doctor.facts.devices import cards, state_said, texts
from doctor.facts.placeholders import as_text
from doctor.model.facts import (
    Fact,
    Facts,
    FactStream,
    State,
    absent,
    present,
    unknown,
    value_of,
)

_VENDORS = {"cuda": "nvidia", "rocm": "amd", "xpu": "intel"}
"""Whose GPUs a build is for."""
_HIDING = {
    "nvidia": ("CUDA_VISIBLE_DEVICES",),
    "amd": ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    "intel": ("ZE_AFFINITY_MASK",),
}
"""Variables that choose among these GPUs."""
_OF_SLURM = "NoDevFiles"
"""What Slurm writes for a job that asked for no GPU."""
_GIVEN_BY_SLURM = ("SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS", "SLURM_GPUS_ON_NODE")
_CHOOSING_OF_JAX = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME")
"""Variables that choose among JAX's backends."""
_NONE_MEANT = ("", "-1", _OF_SLURM)
"""What people and Slurm set such a variable to where no GPU is meant."""
_NOT_HANDED_IN = ("", "void", "none")
"""Values of NVIDIA_VISIBLE_DEVICES with which the container toolkit hands no GPU in."""


def reach(facts: Facts) -> FactStream:
    """Yield the GPUs of the machine, what hides them, and what each framework misses."""
    unsupported = unsupported_chips(facts)
    yield "amd.unsupported_by_torch", unsupported
    wanted = override_for(unsupported)
    yield "amd.override_wanted", present(wanted, SOURCE) if wanted else absent(SOURCE)
    capabilities = _capabilities_wanted(facts)
    yield (
        "nvidia.driver_capabilities_wanted",
        present(capabilities, SOURCE) if capabilities else absent(SOURCE),
    )
    job = job_without_gpu(facts)
    yield "nvidia.job_without_gpu", present(job, SOURCE) if job else absent(SOURCE)
    partition = str(value_of(facts, "env.SLURM_JOB_PARTITION") or "") if job else ""
    named = re.fullmatch(r"[\w-]{1,64}", partition)
    yield "nvidia.job_partition", present(partition, SOURCE) if named else absent(SOURCE)
    selected = selector_error(facts)
    yield "intel.selector_error", present(selected, SOURCE) if selected else absent(SOURCE)
    masked = mask_error(facts)
    yield "intel.mask_error", present(masked, SOURCE) if masked else absent(SOURCE)
    here = vendors_shown(facts)
    yield "gpu.vendors", present(list(here), SOURCE) if here else absent(SOURCE)
    hidden = {vendor: by for vendor in here if (by := _hidden_by(vendor, facts))}
    built = {
        "torch": value_of(facts, "torch.build"),
        **{name: value_of(facts, f"{name}.build") for name in ("jax", "onnxruntime")},
    }
    vendors = {name: _VENDORS.get(str(build), "") for name, build in built.items()}
    kept = _keeps_jax(facts) if vendors["jax"] in here else ""
    yield "jax.kept_on_cpu", present(kept, SOURCE) if kept else absent(SOURCE)
    # candle has no unreached of its own: its checks tell, and a static check knows nothing of it.
    vendors["candle"] = "nvidia" if "cuda" in texts(facts, "candle.features") else ""
    concerned = [hidden[vendor] for vendor in vendors.values() if vendor in hidden]
    yield "gpu.hidden_by", present(concerned[0], SOURCE) if concerned else absent(SOURCE)
    missed = {
        "torch": _torch_misses(facts),
        "jax": _jax_misses(facts),
        "onnxruntime": _onnxruntime_misses(facts),
    }
    for name, is_missed in missed.items():
        told = is_missed and vendors[name] in here and vendors[name] not in hidden
        yield f"{name}.unreached", _fact(str(built[name]), is_missed=told)


def _capabilities_wanted(facts: Facts) -> str:
    """Return the value of NVIDIA_DRIVER_CAPABILITIES with `compute`, where it is missing there.

    The toolkit takes compute and utility where the variable is empty or not set
    (https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/1.16.0/docker-specialized.html).
    """
    value = value_of(facts, "env.NVIDIA_DRIVER_CAPABILITIES")
    given = [one.strip() for one in value.split(",")] if isinstance(value, str) else []
    named = [one for one in given if one]
    return "" if not named or {"compute", "all"} & set(named) else ",".join(["compute", *named])


def vendors_shown(facts: Facts) -> tuple[str, ...]:
    """Return the vendors whose GPUs this machine shows: amd, intel, nvidia."""
    return tuple(vendor for vendor in _HIDING if _is_shown(vendor, facts))


def job_without_gpu(facts: Facts) -> str:
    """Return by what one sees that Slurm gave this job no GPU of the node; empty elsewhere.

    Older releases write NoDevFiles for such a job, newer ones no variable at all.
    """
    chosen = value_of(facts, "env.CUDA_VISIBLE_DEVICES")
    if isinstance(chosen, str) and chosen.strip() == _OF_SLURM:
        return f"CUDA_VISIBLE_DEVICES={_OF_SLURM}"
    job = value_of(facts, "env.SLURM_JOB_ID")
    given = [name for name in _GIVEN_BY_SLURM if value_of(facts, f"env.{name}") is not None]
    states = (facts.get(f"nvidia.{name}", unknown("", "")).state for name in ("nvml", "gpus"))
    driven = any(card.get("driver") == "nvidia" for card in cards(facts, "nvidia.cards"))
    none_listed = all(state is State.ABSENT for state in states)
    if job is None or chosen is not None or given or not driven or not none_listed:
        return ""
    return f"SLURM_JOB_ID={job} without SLURM_JOB_GPUS"


def selector_error(facts: Facts) -> str:
    """Say in words where ONEAPI_DEVICE_SELECTOR leaves torch no GPU; else return an empty text.

    torch takes its devices from Level Zero alone. Terms that begin with ! only take away
    (https://intel.github.io/llvm/EnvironmentVariables.html).
    """
    value = value_of(facts, "env.ONEAPI_DEVICE_SELECTOR")
    terms = [term.strip().lower() for term in value.split(";")] if isinstance(value, str) else []
    chosen = [term.partition(":")[0] for term in terms if term and not term.startswith("!")]
    if not chosen or any(backend in _OF_LEVEL_ZERO for backend in chosen):
        return ""
    return f"ONEAPI_DEVICE_SELECTOR={value} leaves devices of {' and '.join(chosen)} alone"


def mask_error(facts: Facts) -> str:
    """Say in words where ZE_AFFINITY_MASK leaves no GPU, for each entry is beyond those here.

    An entry is the number of a device, or of a part of one: 0, 1.0. A card of several tiles may
    count as several devices, so such a machine is left alone
    (https://oneapi-src.github.io/level-zero-spec/level-zero/latest/core/PROG.html).
    """
    value, count = value_of(facts, "env.ZE_AFFINITY_MASK"), value_of(facts, "intel.on_pci")
    entries = re.fullmatch(r"\d{1,3}(?:\.\d{1,3})?(?:,\d{1,3}(?:\.\d{1,3})?)*", str(value or ""))
    tiled = any(str(one.get("device")).startswith(_TILED) for one in cards(facts, "intel.gpus"))
    if entries is None or not isinstance(count, int) or tiled:
        return ""
    numbers = [int(one.partition(".")[0]) for one in entries[0].split(",")]
    if min(numbers) < count:
        return ""
    here = "one GPU of Intel's, number 0" if count == 1 else f"{count} GPUs of Intel's, from 0"
    return f"ZE_AFFINITY_MASK={value}, but PCI shows {here}"


_TILED = "0x0bd"
"""How the PCI device numbers of the Data Center GPU Max begin."""
_OF_LEVEL_ZERO = ("level_zero", "*")


def _fact(build: str, *, is_missed: bool) -> Fact:
    return present(build, SOURCE) if is_missed else absent(SOURCE)


def _is_shown(vendor: str, facts: Facts) -> bool:
    listed = value_of(facts, f"{vendor}.gpus")
    # A driver that says that its GPUs are taken has some, though a sandbox may hide them from files
    # and from NVML.
    told = (
        vendor == "nvidia"
        and value_of(facts, "torch.build") == "cuda"
        and bool(state_said(value_of(facts, "torch.cuda_error")))
    )
    return (
        (isinstance(listed, list) and bool(listed))
        or value_of(facts, f"{vendor}.gpu_present") is True
        or told
    )


def _hidden_by(vendor: str, facts: Facts) -> str:
    """Return what keeps the GPUs of a vendor away from this process on purpose, as it is set.

    Empty where nothing does.
    """
    for variable in _HIDING[vendor]:
        value = value_of(facts, f"env.{variable}")
        if isinstance(value, str) and value.strip().partition(",")[0].strip() in _NONE_MEANT:
            return f"{variable}={value}"
    if vendor == "nvidia" and (job := job_without_gpu(facts)):
        return job
    handed = value_of(facts, "env.NVIDIA_VISIBLE_DEVICES")
    if (
        vendor == "nvidia"
        and value_of(facts, "host.container")
        and isinstance(handed, str)
        and handed.strip() in _NOT_HANDED_IN
    ):
        return f"NVIDIA_VISIBLE_DEVICES={handed}"
    chosen = as_text(value_of(facts, "env.CUDA_VISIBLE_DEVICES") or "")
    return (
        f"CUDA_VISIBLE_DEVICES={chosen}"
        if vendor == "nvidia" and value_of(facts, "nvidia.hidden_on_purpose") is True
        else ""
    )


def _keeps_jax(facts: Facts) -> str:
    """Return the variable that leaves JAX the processor alone, as it is set; else an empty text."""
    for name in _CHOOSING_OF_JAX:
        value = as_text(value_of(facts, f"env.{name}") or "").strip()
        if value:
            only = {one.strip().lower() for one in value.split(",")} == {"cpu"}
            return f"{name}={value}" if only else ""
    return ""


def _torch_misses(facts: Facts) -> bool:
    """Say whether torch was asked for the devices that it is built for, and found none."""
    if value_of(facts, "torch.build") in ("cuda", "rocm"):
        return value_of(facts, "torch.cuda_available") is False
    answered = value_of(facts, "torch.devices")
    asked = isinstance(answered, list) and value_of(facts, "torch.cuda_available") is not None
    return (
        asked
        and not value_of(facts, "torch.xpu_devices")
        and not any(str(name).startswith("xpu") for name in answered)
    )


def _jax_misses(facts: Facts) -> bool:
    found = value_of(facts, "jax.devices")
    return isinstance(found, list) and all("cpu" in as_text(device).lower() for device in found)


def _onnxruntime_misses(facts: Facts) -> bool:
    return bool(value_of(facts, "onnxruntime.error"))
