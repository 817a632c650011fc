"""The environment variables that steer the stack.

Nothing outside this list is looked at, and nothing that looks secret is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from doctor.base.lazy_pattern import Pattern
from doctor.host import Host
from doctor.model.facts import FactStream, absent, present, unknown
from doctor.observe.scene import ProbeInput
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
    SLURM_GPUS SLURM_GPUS_ON_NODE SLURM_JOB_GPUS SLURM_JOB_ID SLURM_JOB_PARTITION SLURM_STEP_GPUS
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
_CHOOSING = (
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "HSA_OVERRIDE_GFX_VERSION",
    "ONEAPI_DEVICE_SELECTOR",
    "ROCR_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
)
"""Variables that choose among GPUs, for which doctor looks up where they are set."""
_AT_LOGIN = ("/etc/environment", "/etc/profile", "/etc/bash.bashrc", "/etc/bashrc")
_FOLDERS_AT_LOGIN = (("/etc/profile.d", "*.sh"), ("/etc/environment.d", "*.conf"))
_OF_USER = (
    ".profile .bash_profile .bashrc .zshenv .zprofile .zshrc .config/fish/config.fish".split()  # noqa: SIM905
)
_MOST_FILES = 64
_SECRET_NAME = Pattern(r"TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|AUTH(?!OR)|(?:^|_)KEY$|_PRIVATE")
_LONGEST = 8192


def _steers(name: str) -> bool:
    return (name in _NAMES or name.startswith(_PREFIXES)) and not _SECRET_NAME.search(name)


def probe(scene: ProbeInput) -> FactStream:
    """Yield `env.*`: absent for a variable of the list that is not set.

    Families (NCCL_) only where they are set.
    """
    environment = scene.host.env
    yield from _set_in(scene.host, {name: environment.get(name) or "" for name in _CHOOSING})
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


def _set_in(host: Host, values: Mapping[str, str]) -> FactStream:
    """Yield the file and line that give each variable its value at login.

    The files are those of pam_env(8), bash(1) and zsh(1). They are read only where such a variable
    is set, and only its own line is kept.
    """
    wanted = {name: value for name, value in values.items() if value}
    for name in values.keys() - wanted.keys():
        yield f"set_in.{name}", absent("the variable is not set")
    found: dict[str, str] = {}
    for path in islice(_files_at_login(host), _MOST_FILES) if wanted else ():
        lines = (host.read(path, limit=1 << 16) or "").splitlines()
        for number, line in enumerate(lines, 1):
            for name, value in wanted.items():
                if name in line and _sets(line, name, value):
                    # A later line replaces an earlier one.
                    found[name] = f"{path}, line {number}"
    for name in wanted:
        where = "files that are read at login"
        yield f"set_in.{name}", present(found[name], where) if name in found else absent(where)


def _files_at_login(host: Host) -> Iterator[str]:
    yield from _AT_LOGIN
    for folder, pattern in _FOLDERS_AT_LOGIN:
        yield from (f"{folder}/{path.name}" for path in sorted(host.glob(folder, pattern)))
    home = host.env.get("HOME", "")
    if home.startswith("/"):
        yield from (f"{home}/{name}" for name in _OF_USER)


def _sets(line: str, name: str, value: str) -> bool:
    """Say whether a line of a shell, or of pam_env, gives a variable this value."""
    before, _, after = line.partition(name)
    words = before.split()
    if words not in ([], ["export"]) and words[:1] != ["set"]:
        return False
    given = after.lstrip("= \t").partition("#")[0].strip().strip(";").strip()
    return given.strip("'\"") == value
