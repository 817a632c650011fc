"""How facts compare between nodes of a cluster: which naturally differ, and which matter.

The names are those of the vocabulary; `*` and `?` stand for anything, as in fnmatch.
"""

from __future__ import annotations

from typing import NamedTuple

from doctor.model.scales import Severity

NATURAL: dict[str, str] = {
    "host.memory_available_bytes": "memory in use",
    "host.tmp_free_bytes": "space in use",
    "torch.import_seconds": "a duration",
    "package.*.installed_at": "a time",
    "env.SLURM_JOB_ID": "the number of a job",
    "env.SLURM_GPUS": "the GPUs of a job",
    "env.SLURM_GPUS_ON_NODE": "the GPUs of a job",
    "env.SLURM_JOB_GPUS": "the GPUs of a job",
    "env.SLURM_STEP_GPUS": "the GPUs of a job",
    "env.TMPDIR": "schedulers make a folder for each job",
    "nvidia.xid": "counts and times; what follows from them is compared",
    "nvidia.computing": "who computes now",
    "nvidia.computing.pids": "who computes now",
    "nvidia.taken": "who computes now",
    "nvidia.choice": "names a GPU by its UUID",
    "nvidia.choices": "names GPUs by their UUIDs",
    "nvidia.visible_kept": "names GPUs by their UUIDs",
    "nvidia.visible_replaced": "names GPUs by their UUIDs",
    "nvidia.cards": "addresses on PCI; nvidia.gpus is compared",
    "cache.*.path": "holds the name of a user",
    "cache.stale_locks": "what a run left behind",
    "project.*": "the folder that the check was started in",
    "manifest.*": "the folder that the check was started in",
    "packages": "each package.*.version is compared",
    "libs.resolved": "paths; the versions of packages are compared",
    "log.*": "what somebody handed in",
}
"""Facts that differ between equal nodes, and why; they are not compared."""

DERIVED_SOURCES = ("derived", "compat/")
"""How the source of a fact begins that follows from other facts."""

DEVICES = frozenset({"nvidia.gpus", "nvidia.visible", "amd.gpus", "intel.gpus"})
"""Lists of devices: the number, the model and the size are compared, never a UUID or an address."""

SIZES = frozenset({"host.memory_bytes", "host.memory_limit_bytes", "host.shm_bytes"})
"""Bytes that differ a little between equal nodes, for firmware and kernels keep a part.

They are compared in sixteenths of the next power of two, upwards.
"""

TRAITS: tuple[tuple[str, str], ...] = (
    ("nvidia.gpus", "{}"),
    ("amd.gpus", "{}"),
    ("nvidia.driver_version", "driver {}"),
    ("torch.version", "torch {}"),
    ("package.jax.version", "JAX {}"),
    ("python.version", "Python {}"),
    ("host.glibc", "glibc {}"),
    ("host.kernel", "kernel {}"),
)
"""Facts that tell people which machines these are, with the words for them."""

FOLLOWERS: dict[str, tuple[str, ...]] = {
    "nvidia.driver_version": (
        "nvidia.driver_branch", "nvidia.cuda_version", "nvidia.libcuda*", "nvidia.module_kind",
        "nvidia.module_file", "nvidia.fabric_manager", "nvidia.l4t_driver", "torch.cuda_error",
        "nvidia.*missing", "nvidia.*node*", "nvidia.nvml*", "nvidia.uvm", "nvidia.smi",
    ),
    "nvidia.gpus": ("nvidia.visible", "nvidia.gpu_*", "torch.cuda_devices"),
    "torch.version": (
        "torch.*", "package.torch.*", "package.triton.*", "triton.*", "package.nvidia-*",
        "package.cuda-*", "cuda_packages.*", "libs.*", "extensions.*", "package.sympy.*",
        "package.setuptools.*",
    ),
    "torch.imports": ("torch.*",),
    "python.version": ("python.*", "package.*.location", "torch.path", "triton.path",
                       "triton.ptxas"),
    "python.executable": (
        "python.*", "package.*.location", "torch.path", "triton.path", "triton.ptxas",
        "env.VIRTUAL_ENV", "env.CONDA_*",
    ),
    "host.distribution_version": ("host.distribution*", "host.glibcxx_max", "compiler.*",
                                  "build.*"),
    "compiler.cxx_version": ("compiler.*",),
    "cuda.version": ("cuda.*",),
    "amd.gpus": ("amd.*",),
    "intel.gpus": ("intel.*",),
    "rust.rustc": ("rust.*",),
}  # fmt: skip
"""Facts that are another one because the first is: these are counted, not listed."""


class Weight(NamedTuple):
    """What a difference in a fact means: its name for people, its severity, and what comes of it.

    The severity is None where a difference does not matter.
    """

    label: str
    severity: Severity | None
    why: str


_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE
_HANG = "processes of one job choose differently on this node, and may hang or be slow"
_LINK = "what was compiled on one node may not load on another"

WEIGHTS: dict[str, Weight] = {
    "nvidia.gpus": Weight("GPUs", _E, "a job that counts on equal nodes fails or hangs there"),
    "amd.gpus": Weight("GPUs", _E, "a job that counts on equal nodes fails or hangs there"),
    "intel.gpus": Weight("GPUs", _E, "a job that counts on equal nodes fails or hangs there"),
    "nvidia.visible": Weight("visible GPUs", _E, "processes of one job get different GPUs"),
    "nvidia.gpu_errors": Weight("GPUs that do not answer", _E, "a job there fails"),
    "nvidia.nvml": Weight("NVML", _E, "the driver cannot be asked there"),
    "nvidia.driver_version": Weight(
        "NVIDIA driver", _W, "a CUDA release that runs on one driver may fail on the other"
    ),
    "nvidia.fabric_*": Weight("NVLink fabric", _W, "collectives between GPUs fail or are slow"),
    "nvidia.module_kind": Weight("NVIDIA kernel module", _N, ""),
    "torch.version": Weight(
        "torch", _E, "processes of one job must run the same torch: collectives and results differ"
    ),
    "torch.imports": Weight("import of torch", _E, "torch does not start there"),
    "torch.cuda_available": Weight("CUDA in torch", _E, "torch reaches no GPU there"),
    "torch.cudnn_version": Weight("cuDNN", _W, "results differ in the last bits"),
    "torch.git_version": Weight("build of torch", _W, "results differ in the last bits"),
    "package.nvidia-nccl-*.version": Weight(
        "NCCL", _E, "NCCL refuses a group whose members have different versions"
    ),
    "package.rccl*.version": Weight("RCCL", _E, "RCCL refuses a group of different versions"),
    "package.jax*.version": Weight("JAX", _E, "all processes of a job must run the same JAX"),
    "package.ray.version": Weight("Ray", _E, "a Ray worker of another version cannot join"),
    "package.numpy.version": Weight("NumPy", _W, "pickled arrays may not load on another node"),
    "package.torchvision.version": Weight("torchvision", _W, "results differ between nodes"),
    "package.torchaudio.version": Weight("torchaudio", _W, "results differ between nodes"),
    "package.flash-attn*.version": Weight("flash-attn", _W, "results differ between nodes"),
    "package.transformers.version": Weight("transformers", _W, "models differ between nodes"),
    "package.deepspeed.version": Weight("DeepSpeed", _W, "processes of one job must agree"),
    "package.vllm.version": Weight("vLLM", _W, "processes of one job must agree"),
    "package.*.version": Weight("package", _N, ""),
    "triton.version": Weight("Triton", _W, "compiled kernels differ between nodes"),
    "python.version": Weight(
        "Python", _W, "pickled functions and compiled modules fit one minor release"
    ),
    "python.executable": Weight("interpreter", _N, ""),
    "host.glibc": Weight("glibc", _W, _LINK),
    "host.distribution_version": Weight("distribution", _N, ""),
    "host.kernel": Weight("kernel", _N, ""),
    "host.machine": Weight("architecture", _E, _LINK),
    "host.cpu_model": Weight("processor", _W, "results on the CPU differ in the last bits"),
    "host.cpu_count": Weight("processors", _W, "the slowest node sets the pace"),
    "host.memory_bytes": Weight("memory", _W, "a job that fits on one node may not fit here"),
    "host.memory_limit_bytes": Weight("limit of memory", _W, "a job that fits may not fit here"),
    "host.shm_bytes": Weight("size of /dev/shm", _W, "NCCL and data loaders need shared memory"),
    "host.limit_memlock": Weight(
        "limit of locked memory (ulimit -l)", _W, "RDMA registers memory and fails below its need"
    ),
    "host.limit_files": Weight("limit of open files (ulimit -n)", _W, "data loaders fail first"),
    "host.limit_processes": Weight("limit of processes (ulimit -u)", _W, "thread pools fail"),
    "host.limit_stack": Weight("limit of the stack (ulimit -s)", _N, ""),
    "host.clock_synchronized": Weight(
        "clock kept by NTP", _W, "times in logs and certificates are wrong there"
    ),
    "host.network_mtu": Weight("MTU of the network", _W, "large packets are lost without a word"),
    "host.container": Weight("container", _N, ""),
    "host.iommu": Weight("IOMMU", _W, "GPUs reach each other more slowly, or not"),
    "host.acs": Weight("ACS on PCIe", _W, "GPUs reach each other more slowly"),
    "host.tmp_noexec": Weight("noexec on the temporary folder", _W, "compiled code cannot load"),
    "cuda.version": Weight("CUDA toolkit", _W, _LINK),
    "compiler.cxx_version": Weight("C++ compiler", _N, ""),
    "env.NCCL_*": Weight("environment variable", _W, _HANG),
    "env.GLOO_*": Weight("environment variable", _W, _HANG),
    "env.UCX_*": Weight("environment variable", _W, _HANG),
    "env.FI_*": Weight("environment variable", _W, _HANG),
    "env.TORCH_*": Weight("environment variable", _W, _HANG),
    "env.CUDA_VISIBLE_DEVICES": Weight("environment variable", _W, "the job sees other GPUs"),
    "env.LD_LIBRARY_PATH": Weight("environment variable", _W, "other libraries are loaded"),
    "env.LD_PRELOAD": Weight("environment variable", _W, "other libraries are loaded"),
    "env.OMP_NUM_THREADS": Weight("environment variable", _W, "results and speed differ"),
    "env.*": Weight("environment variable", _N, ""),
}
"""What matters where it differs: the first pattern that fits counts."""
