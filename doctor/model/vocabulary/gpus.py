"""The names of facts about GPUs of AMD and Intel, and about which GPUs are reached."""

from __future__ import annotations

GPUS: dict[str, str] = {
    # AMD and Intel
    "amd.gpus": (
        "list of {name, gfx, node, pci_bus_id, memory_bytes, render, uuid}, of kfd or else of PCI"
    ),
    "amd.gpu_present": "true where the kernel shows an AMD GPU, with or without a driver",
    "amd.driver": "version of the module amdgpu",
    "amd.blocked_by": (
        "what keeps amdgpu from GPUs that have no driver: nomodeset in /proc/cmdline"
    ),
    "amd.blacklisted_in": "files that keep amdgpu from being loaded, where a GPU waits for it",
    "amd.dxg": (
        "whether the library is here by which ROCm reaches the GPU of Windows under WSL: there or "
        "missing"
    ),
    "amd.small_first": (
        "in words, where a processor's own graphics is the first GPU, and a card comes after it"
    ),
    "amd.card": "the number of that card, as HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES takes it",
    "amd.card_hidden": (
        "in words, where the variables leave GPUs alone for which this torch has no code, and hide "
        "a card that it serves"
    ),
    "amd.card_hidden_by": "the variable that hides it: HIP_VISIBLE_DEVICES",
    "amd.kfd": "/dev/kfd, through which ROCm computes: usable, no permission or missing",
    "amd.given": "how many of these GPUs this process was given, where some have no node: 2 of 8",
    "amd.render": "the render nodes of these GPUs: usable, no permission or missing",
    "amd.groups_missing": (
        "groups that may open these nodes and that this user is not in: render, video"
    ),
    "amd.unlisted": "GPUs that amdgpu drives, where kfd lists no GPU at all",
    "amd.undriven": "AMD GPUs that compute and that no driver of the kernel holds",
    "amd.firmware_missing": (
        "firmware that amdgpu looked for in vain, for these: amdgpu/psp_14_0_3_sos.bin"
    ),
    "amd.firmware_wanted": "the first of these files, and how many more there are",
    "amd.firmware_package": "the installed package of firmware, where some is missing",
    "amd.firmware_held": "its name, where apt-mark holds it at its version",
    "amd.probe_failed": "the kernel's words where amdgpu gave such a GPU up",
    "amd.left_out": "what kfd says of them in the kernel's log",
    "amd.visible_error": (
        "in words, where HIP_VISIBLE_DEVICES names a GPU that is not there, or that "
        "ROCR_VISIBLE_DEVICES took away"
    ),
    "amd.for_rocm": "chips of the AMD GPUs here that torch's builds for ROCm serve: gfx942",
    "amd.unsupported_by_torch": (
        "targets (gfx1036) of the AMD GPUs, where this torch has code for none of them"
    ),
    "amd.override_wanted": (
        "the value of HSA_OVERRIDE_GFX_VERSION with which torch's code for a relative runs on the "
        "GPU here, where it has none of its own"
    ),
    "amd.override_differs": (
        "in words, where HSA_OVERRIDE_GFX_VERSION names a chip that no AMD GPU here is related to"
    ),
    "intel.gpus": (
        "list of {pci_bus_id, device, driver, render}: Intel GPUs on which oneAPI computes"
    ),
    "intel.on_pci": "how many GPUs of Intel's PCI shows, with those that compute nothing",
    "intel.gpu_present": "true where the kernel shows such a GPU",
    "intel.driver": "kernel driver that holds it: i915 or xe",
    "intel.kernel_older": (
        "the kernel's words for a GPU that it serves only when asked to (force_probe)"
    ),
    "intel.level_zero_version": "version of that library by the name of its file: 1.3.27642",
    "intel.level_zero_older": (
        "GPUs that are newer than the Level Zero driver, where it serves none of those here"
    ),
    "intel.cards": "those of intel.gpus with a driver that are cards, not part of the processor",
    "intel.undriven": "those of intel.gpus that no driver of the kernel holds",
    "intel.firmware_missing": (
        "firmware that the kernel's driver looked for in vain, for these: xe/bmg_guc_70.bin"
    ),
    "intel.firmware_package": "the installed package of firmware, where some is missing",
    "intel.firmware_held": "its name, where apt-mark holds it at its version",
    "intel.render": "its render node: usable, no permission or missing",
    "intel.level_zero": (
        "path of the Level Zero driver of Intel GPUs; absent where the loader finds none"
    ),
    "intel.mask_error": (
        "in words, where each entry of ZE_AFFINITY_MASK is beyond the GPUs of Intel's that are here"
    ),
    "intel.selector_error": (
        "in words, where ONEAPI_DEVICE_SELECTOR leaves no device of Level Zero, which torch needs"
    ),
    "intel.blocked_by": "what keeps its driver from it: nomodeset in /proc/cmdline",
    "intel.groups_missing": "groups that may open that node and that this user is not in",
    # derived: which GPUs are reached
    "gpu.vendors": "whose GPUs the machine shows: nvidia, amd, intel",
    "gpu.hidden_by": (
        "the variable that keeps all GPUs from a framework on purpose, as it is set: "
        "CUDA_VISIBLE_DEVICES=-1"
    ),
    "torch.unreached": (
        "cuda, rocm or xpu: torch is built for it, the machine shows such a GPU, nothing "
        "hides it, and torch reaches none"
    ),
    "jax.build": (
        "cuda, rocm, metal, tpu or cpu: what JAX was built for, by its plugin, as JAX said when run"
    ),
    "jax.plugin": "that plugin and its version",
    "jax.devices": "devices of JAX, as cuda:0; unknown where a variable keeps JAX on the processor",
    "jax.error": "why a JAX that was built for GPUs lists none",
    "onnxruntime.providers": "execution providers that ONNX Runtime was built with",
    "onnxruntime.build": "cuda, rocm, directml or cpu, by these",
    "onnxruntime.error": "why its provider for GPUs does not start",
    "jax.kept_on_cpu": (
        "the variable that leaves JAX the processor alone, as it is set, where JAX is built for a "
        "GPU that the machine shows: JAX_PLATFORMS=cpu"
    ),
    "jax.unreached": "cuda or rocm: the same of JAX",
    "onnxruntime.unreached": "cuda or rocm: the same of ONNX Runtime",
}
