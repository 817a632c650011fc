"""What to ask next of a log in which nothing is recognised: the run that would tell more."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.model.events import Event, Level

_QUESTIONS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"\bNCCL|ncclSystemError|ncclUnhandled"),
        (
            "Run it once more with NCCL_DEBUG=INFO: the line of NCCL above the error names the "
            "call that failed."
        ),
    ),
    (
        re.compile(
            r"\bCUDA error|device-side assert|CUBLAS_STATUS|CUDNN_STATUS|illegal memory access"
        ),
        (
            "Run it once more with CUDA_LAUNCH_BLOCKING=1: CUDA reports an error later than it "
            "happens, and then the traceback shows where."
        ),
    ),
    (
        re.compile(r"torch\._(?:dynamo|inductor)|BackendCompilerFailed|InductorError"),
        (
            "Run it once more with TORCHDYNAMO_VERBOSE=1 and look for the first error above the "
            "wrappers of torch.compile."
        ),
    ),
    (
        re.compile(
            r"Segmentation fault|SIGSEGV|core dumped|Fatal Python error|exit(?:ed with)? code "
            r"-?1?39\b"
        ),
        (
            "Run it once more with PYTHONFAULTHANDLER=1, which prints where each thread was when "
            "the process crashed."
        ),
    ),
    (
        re.compile(r"DLL load failed|WinError 126|WinError 127"),
        (
            "Windows does not name the library that is missing: `dumpbin /dependents`, or the "
            "program Dependencies, on that file does."
        ),
    ),
    (
        re.compile(r"cargo|rustc|error\[E\d{4}\]|panicked at"),
        (
            "Run it once more with RUST_BACKTRACE=1, and cargo with -vv, which shows what build "
            "scripts print."
        ),
    ),
)
_BUILD = (
    "That line reports the failure of something else, above it: show the log from its beginning, "
    "or build with MAX_JOBS=1 and -v."
)
_WORKER = (
    "That line reports the failure of another process: show what that process printed, its "
    "traceback above all, from its beginning."
)
_WORKERS = frozenset({"engine-failed", "peer-gone", "runner-failed", "shard-failed", "worker-died"})
"""Kinds of events that report that a process ended, not a build."""
_MORE = (
    "--env FILE (a snapshot, or the text of collect_env) may tell it more, and so may the log "
    "from its beginning."
)


def question(owner: Event | None, lines: Sequence[str]) -> str:
    """Return what to ask next: by the line that owns the failure, else by the lines around it."""
    if owner is None:
        return _MORE
    near = "\n".join(lines[max(owner.at - 30, 0) : owner.at + 30])[:20_000]
    for text in (owner.text, near):
        for pattern, asked in _QUESTIONS:
            if pattern.search(text):
                return asked
    if owner.level is not Level.WRAPPER:
        return _MORE
    return _WORKER if owner.kind in _WORKERS else _BUILD
