"""The environment variables that steer the stack.

Nothing outside this list is looked at, and nothing that looks secret is taken.
"""

from __future__ import annotations

import re

from doctor.model.facts import FactStream, absent, present, unknown
from doctor.observe.scene import Scene
from doctor.redact import without_secrets

BOUND = 1.0

_LIST = """
    BNB_CUDA_VERSION CANDLE_FLASH_ATTN_BUILD_DIR CARGO_HOME CARGO_NET_OFFLINE CARGO_TARGET_DIR CC
    CFLAGS CMAKE_ARGS
    CONDA_DEFAULT_ENV CONDA_OVERRIDE_CUDA CONDA_PREFIX CPATH CPLUS_INCLUDE_PATH
    CUBLAS_WORKSPACE_CONFIG CUDAARCHS
    CUDACXX CUDAHOSTCXX CUDARC_CUDA_VERSION CUDA_CACHE_PATH CUDA_COMPUTE_CAP CUDA_DEVICE_ORDER
    CUDA_HOME CUDA_INC_PATH
    CUDA_LAUNCH_BLOCKING CUDA_MODULE_LOADING CUDA_PATH CUDA_ROOT CUDA_TOOLKIT_ROOT_DIR
    CUDA_VISIBLE_DEVICES CUDNN_HOME
    CUDNN_PATH CXX CXXFLAGS DS_SKIP_CUDA_CHECK FLASHINFER_CUBIN_DIR FLASHINFER_CUDA_ARCH_LIST
    FLASHINFER_DISABLE_VERSION_CHECK FORCE_CUDA GLIBC_TUNABLES HIP_VISIBLE_DEVICES
    HSA_ENABLE_DXG_DETECTION HSA_OVERRIDE_GFX_VERSION
    KMP_DUPLICATE_LIB_OK LDFLAGS LD_LIBRARY_PATH LD_PRELOAD LIBRARY_PATH MACOSX_DEPLOYMENT_TARGET
    MAX_JOBS NVCC
    NVCC_APPEND_FLAGS NVCC_CCBIN NVCC_PREPEND_FLAGS NVCC_THREADS NVIDIA_DISABLE_REQUIRE
    NVIDIA_DRIVER_CAPABILITIES
    NVIDIA_REQUIRE_CUDA NVIDIA_VISIBLE_DEVICES OMP_NUM_THREADS ONEAPI_DEVICE_SELECTOR PIP_CONSTRAINT
    PYTHONHOME PYTHONNOUSERSITE PYTHONPATH
    ROCM_HOME ROCM_PATH ROCR_VISIBLE_DEVICES RUSTFLAGS RUSTUP_HOME RUSTUP_TOOLCHAIN
    SLURM_GPUS SLURM_GPUS_ON_NODE SLURM_JOB_GPUS SLURM_JOB_ID SLURM_STEP_GPUS
    TCNN_CUDA_ARCHITECTURES TMPDIR
    UV_TORCH_BACKEND VIRTUAL_ENV XDG_CACHE_HOME XFORMERS_IGNORE_FLASH_VERSION_CHECK ZE_AFFINITY_MASK
"""
_NAMES = frozenset(_LIST.split())
_PREFIXES = (
    "TRITON_",
    "TORCHINDUCTOR_",
    "TORCHDYNAMO_",
    "TORCH_",
    "PYTORCH_",
    "JAX_",
    "XLA_",
    "NCCL_",
    "GLOO_",
    "UCX_",
    "FI_",
    "FLASH_ATTENTION_",
    "FLASH_ATTN_",
)
_SECRET_NAME = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|AUTH(?!OR)|(?:^|_)KEY$|_PRIVATE")
_LONGEST = 8192


def _steers(name: str) -> bool:
    return (name in _NAMES or name.startswith(_PREFIXES)) and not _SECRET_NAME.search(name)


def probe(scene: Scene) -> FactStream:
    """Yield `env.*`: absent for a variable of the list that is not set.

    Families (NCCL_) only where they are set.
    """
    environment = scene.host.env
    for name in sorted(_NAMES | {name for name in environment if _steers(name)}):
        value = environment.get(name)
        if value is None:
            yield f"env.{name}", absent("environment")
        elif without_secrets(f"{name}={value}") != f"{name}={value}":
            yield (
                f"env.{name}",
                unknown("its value looks like a secret and was not taken", "environment"),
            )
        else:
            yield f"env.{name}", present(value[:_LONGEST], "environment")
