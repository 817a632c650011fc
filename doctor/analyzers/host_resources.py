"""Explain what runs out on a machine: memory, shared memory, disk, files, threads, locks, ports."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, detection
from doctor.analyzers.recipes import (
    LINUX,
    WINDOWS,
    code,
    command,
    fitting,
    more_shared_memory,
    variables,
)
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what ran out, and how to get more of it."""
    others = _others(case)
    for one in explained(case, _TABLE):
        if one.event.at not in others.get(one.event.kind, ()):
            yield one
    yield from _pinned(case)


def _others(case: Case) -> dict[str, set[int]]:
    """Return the lines where another event names what ran out; the system has one error for all."""
    return {
        "host-memory": {
            event.at for event in case.events if not event.general and event.kind != "host-memory"
        },
        "shared-memory": {event.at for event in case.of("too-many-files", "nccl-shared-memory")},
    }


def _pinned(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of pinned memory, which CUDA reports like memory of the GPU."""
    for event in case.of("gpu-memory"):
        near = case.log.lines[max(0, event.at - 12) : event.at + 1]
        if any("pin_memory" in line or "cudaHostAlloc" in line for line in near):
            yield Explanation(
                event=event,
                detection=detection(
                    event,
                    "Pinned memory of the machine cannot be had (CUDA reports: out of memory)",
                    "The program asks for page-locked memory of the machine, not of the GPU. More "
                    "is asked for than the machine, the container or ulimit -l allows.",
                    recipes=fitting(case, (_no_pinning(), _free())),
                    severity=Severity.NOTE,
                    name="pinned-memory",
                ),
                contradicts=("torch/cuda-out-of-memory",),
            )
            return


def _no_pinning() -> Recipe:
    return code(
        "Do not pin memory",
        "the data loader or the call",
        "pin_memory=False",
        before="pin_memory=True",
    )


def _free() -> Recipe:
    return command(
        "See how much memory the machine has left", "free", "-h", use_if=(LINUX,), look=True
    )


def _container_memory() -> Recipe:
    return more_shared_memory(
        "--ipc=host uses the machine's own. In Kubernetes mount an emptyDir with medium: "
        "Memory at /dev/shm."
    )


_FEWER_WORKERS = code(
    "Load data in the main process", "the data loader", "num_workers=0", before="num_workers=8"
)
_TABLE: dict[str, Text] = {
    "host-memory": Text(
        (
            "The machine has no memory left for {wanted} (RAM, not the GPU)",
            "The machine has no memory left (RAM, not the GPU)",
        ),
        "The program asks for more memory than the machine, the container or ulimit -v allows. "
        "A model is read into RAM before it goes to the GPU; a wrong size asks for "
        "impossible amounts.",
        (
            _free(),
            code(
                "Read the model in pieces, at its own precision",
                "the call that loads the model",
                'Model.from_pretrained(name, torch_dtype="auto", device_map="auto")',
                before="Model.from_pretrained(name)",
                use_if=("a transformers model is loaded",),
            ),
            _FEWER_WORKERS,
        ),
        severity=Severity.ERROR,
    ),
    "page-file": Text(
        (
            "Windows cannot reserve the memory for {file}: the page file is too small (error 1455)",
            "Windows cannot reserve the memory: the page file is too small (error 1455)",
        ),
        "Each Python process that loads torch's CUDA libraries reserves some gigabytes of page "
        "file. Many workers of a data loader multiply that.",
        (
            Recipe(
                title="Let Windows choose the size of the page file",
                use_if=(WINDOWS,),
                note="Turn on Automatically manage paging file size, then start Windows again.",
                steps=(Action(run=("SystemPropertiesPerformance.exe",)),),
            ),
            _FEWER_WORKERS,
        ),
        severity=Severity.ERROR,
    ),
    "locked-memory": Text(
        "The limit for locked memory (ulimit -l) is too small for the network card",
        "RDMA registers memory that may not be swapped out. The limit of the user or of the "
        "container forbids it.",
        (
            command(
                "See the limit",
                "sh",
                "-c",
                "ulimit -l",
                use_if=(LINUX,),
                look=True,
                note="It has to say unlimited, in the process that Slurm or the container "
                "engine starts as well.",
            ),
            command(
                "Start the container without the limit",
                "docker",
                "run",
                "--ulimit",
                "memlock=-1",
                "--gpus",
                "all",
                "<image>",
                use_if=("the program runs in Docker",),
                ask={"image": "the image of the program"},
            ),
        ),
        severity=Severity.ERROR,
    ),
    "shared-memory": Text(
        "Shared memory (/dev/shm) is full or too small: processes cannot hand tensors over",
        "Worker processes and NCCL exchange data in /dev/shm. Docker gives a container 64 MB "
        "of it, and files of processes that were killed stay there.",
        (
            _container_memory(),
            command(
                "See how full it is",
                "df",
                "-h",
                "/dev/shm",  # noqa: S108 - a folder to look at
                use_if=(LINUX,),
                look=True,
            ),
            _FEWER_WORKERS,
            code(
                "Hand tensors over by files",
                "the start of the program",
                'torch.multiprocessing.set_sharing_strategy("file_system")',
            ),
        ),
        severity=Severity.ERROR,
    ),
    "inotify": Text(
        "The system watches as many files as it may (inotify)",
        "A program that reloads itself, or an editor, watches every file of a large folder. "
        "The kernel's limit is reached.",
        (
            command(
                "Raise the limit until the next start",
                "sysctl",
                "fs.inotify.max_user_watches=524288",
                use_if=(LINUX,),
                sudo=True,
            ),
        ),
        severity=Severity.ERROR,
    ),
    "too-many-files": Text(
        "The process has as many files open as it may (ulimit -n)",
        "Data loaders hand tensors over by file descriptors, and servers hold one for each "
        "connection. The limit of the shell is often 1024.",
        (
            code(
                "Raise the limit for this shell",
                "the shell that starts the program",
                "ulimit -n 65535",
                use_if=(LINUX,),
            ),
            code(
                "Hand tensors over by files",
                "the start of the program",
                'torch.multiprocessing.set_sharing_strategy("file_system")',
            ),
        ),
        severity=Severity.ERROR,
    ),
    "too-many-threads": Text(
        "The system allows no further thread or process (ulimit -u, pids limit)",
        "OpenBLAS, OpenMP and data loaders start a thread for each processor. A container, a "
        "login node or a user's limit allows fewer.",
        (
            variables(
                "Start fewer threads",
                {"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "4", "MKL_NUM_THREADS": "4"},
            ),
            command(
                "See the limit",
                "sh",
                "-c",
                "ulimit -u; cat /sys/fs/cgroup/pids.max",
                use_if=(LINUX,),
                look=True,
            ),
        ),
        severity=Severity.ERROR,
    ),
    "port-in-use": Text(
        ("Port {port} is in use already", "A port is in use already"),
        "Another process listens there: often an earlier run that did not end, or a second run "
        "on the same machine.",
        (
            Recipe(
                title="See which process listens there",
                use_if=(LINUX,),
                steps=(Action(run=("sh", "-c", "ss -ltnp")),),
                note="End it if it is left over.",
                lasting=False,
            ),
            code(
                "Take another port",
                "the command that starts the program",
                "torchrun --master-port 29501 train.py",
                before="torchrun train.py",
                use_if=("torchrun starts the program",),
            ),
        ),
        severity=Severity.ERROR,
    ),
}
