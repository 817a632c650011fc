"""What travels to the nodes: the launcher of the command, the environment, and valid names.

The archive itself is made by doctor.fleet.archive.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from doctor.base.errors import UsageError
from doctor.fleet import nodesets
from doctor.fleet.engine import NODE_VARIABLE, Job
from doctor.redact.forms import is_secret, may_name_secret
from doctor.redact.secrets import without_secrets

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
_EXPRESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._,\[\]-]{0,65535}")
_BRACKET = re.compile(r"\[([0-9,-]*)\]")
_MOST_NODES = 100_000

_VARIABLES = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "SHELL", "PWD"),
        *("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CPATH", "LIBRARY_PATH", "MAX_JOBS"),
        *("VIRTUAL_ENV", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "GPU_DEVICE_ORDINAL"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "KMP_AFFINITY", "KMP_DUPLICATE_LIB_OK"),
    }
)
_FAMILIES = (
    *("LC_", "LD_", "PYTHON", "CONDA_", "MAMBA_", "UV_PYTHON", "CUDA", "CUDNN", "CUBLAS", "NVCC"),
    *("NVIDIA_", "NCCL_", "RCCL_", "GLOO_", "TORCH", "PYTORCH_", "ATEN_", "TRITON_", "XLA_"),
    *("TF32", "OMP_", "GOMP_", "MKL_", "OPENBLAS_", "ONEDNN_", "DNNL_", "UCX_", "FI_", "PSM"),
    *("HIP_", "HSA_", "ROCR_", "ROCM_", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"),
    *("CANDLE_", "DOCTOR_", "HF_HOME", "HF_HUB_OFFLINE", "FLASH_ATTENTION_"),
)
"""What a machine-learning stack reads."""


def checked_name(name: str) -> str:
    """Return the name of a node; raise UsageError where it is not that of a host (RFC 1123)."""
    if _NAME.fullmatch(name) is None:
        raise UsageError(f"{name[:80]!r} is no name of a node")
    return name


def checked_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of nodes, each once; raise UsageError as `checked_name` does."""
    return tuple(dict.fromkeys(checked_name(name) for name in names))


def checked_expression(text: str) -> str:
    """Return a list of nodes such as `gpu[01-16],login`; raise UsageError for anything else."""
    if _EXPRESSION.fullmatch(text) is None:
        raise UsageError(f"{text[:80]!r} is no list of nodes such as gpu[01-16],gpu20")
    return text


def listed_names(text: str) -> tuple[str, ...]:
    """Return the words of a list such as `gpu[01-16],gpu20`; raise UsageError where it is none."""
    words = text.strip().strip(",")
    if "[" in words:
        checked_expression(words)
    # Ranges are counted before anything makes a list of them.
    if sum(map(_count, _words(words))) > _MOST_NODES:
        raise UsageError(f"{text[:80]!r} has more than {_MOST_NODES:,} nodes")
    try:
        return tuple(dict.fromkeys(nodesets.unfold(words)))
    except ValueError as error:
        raise UsageError(f"{text[:80]!r} is no list of nodes: {error}") from None


def _words(text: str) -> Iterator[str]:
    """Yield what stands between the commas outside brackets."""
    begin, inside = 0, False
    for at, letter in enumerate(text):
        if letter in "[]":
            inside = letter == "["
        elif letter == "," and not inside:
            yield text[begin:at]
            begin = at + 1
    yield text[begin:]


def _count(word: str) -> int:
    """Return about how many names a word such as `gpu[1-4,7]-[1-2]` stands for."""
    total = 1
    for inside in _BRACKET.findall(word):
        ends = (part.partition("-") for part in inside.split(","))
        total *= sum(
            max(1, _number(end) - _number(begin) + 1) if dash else 1 for begin, dash, end in ends
        )
    return total


def _number(digits: str) -> int:
    """Return a number of a range; what has more than nine digits counts as too many."""
    significant = digits.lstrip("0") or "0"
    return int(significant) if significant.isdecimal() and len(significant) < 10 else 10**9


def travelling(env: Mapping[str, str], more: Iterable[str] = ()) -> dict[str, str]:
    """Return the variables that may travel to a node: what a stack reads, without any secret.

    `more` names variables of the scheduler itself.
    """
    wanted = frozenset(more)
    return {
        name: value
        for name, value in env.items()
        if name in wanted or (_is_of_a_stack(name) and not _holds_secret(name, value))
    }


def _is_of_a_stack(name: str) -> bool:
    return name in _VARIABLES or name.startswith(_FAMILIES)


def _holds_secret(name: str, value: str) -> bool:
    return may_name_secret(name) or is_secret(name, value) or without_secrets(value) != value


def launcher(job: Job, archive: str | None, name_of_node: str) -> tuple[str, ...]:
    """Return the command of a job for a node that learns its name on the node itself.

    `name_of_node` is a shell expression for that name. Standard error goes to standard output, so
    that only the scheduler's own messages are left on its standard error: those name nodes, and no
    node may speak in their place.
    """
    script = f'{NODE_VARIABLE}={name_of_node}; export {NODE_VARIABLE}; exec "$@" 2>&1'
    return ("sh", "-c", script, "doctor", *job.command(archive))


def first_names(names: Sequence[str], count: int, of_what: str) -> tuple[str, ...]:
    """Return the first `count` names; raise UsageError where there are fewer."""
    if not 1 <= count <= len(names):
        raise UsageError(f"{count} nodes are wanted, and {of_what} are {len(names)}")
    return tuple(names[:count])


def known_names(wanted: Sequence[str], known: Container[str]) -> tuple[str, ...]:
    """Return the names that are wanted; raise UsageError where one is not known."""
    if foreign := [name for name in wanted if name not in known]:
        raise UsageError(f"no such node here: {', '.join(foreign[:5])}")
    return tuple(wanted)
