"""Explain processes that end without a word of their own: by a signal, a status, a limit.

What signals and exit statuses mean stands in `matrices/codes`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.compilers.resources import FEWER
from doctor.analyzers.gguf import updates
from doctor.analyzers.machine import lines_around
from doctor.analyzers.other_gpus import crash_in_hip
from doctor.analyzers.recipes import (
    LINUX,
    code,
    command,
    fitting,
    killed_for_memory,
    more_shared_memory,
    variables,
)
from doctor.analyzers.texts import Text, explained
from doctor.analyzers.windows_ends import of_windows
from doctor.events.statuses import REPEATED, SIGNALS
from doctor.model.events import Event, Level
from doctor.model.issues import Action, Option, Recipe
from doctor.model.reference import Fault
from doctor.model.scales import Confidence, Severity
from doctor.timelines.codes import Code
from doctor.timelines.codes import code as numbered

_EXCEPTIONS = {"access violation": "0xC0000005", "stack overflow": "0xC00000FD"}
"""What Python's faulthandler calls the exceptions of Windows (Python/faulthandler.c)."""
_CONSEQUENCES = {"SIGTERM", "SIGABRT", "SIGINT", "SIGHUP", "SIGPIPE"}
"""Signals that follow another failure, where the log shows one."""
_POSSIBLE = "some potential root causes"
"""What Ray says before its list (src/ray/core_worker/core_worker.cc)."""
_LONGEST = 400
_GENERAL_KINDS = {"exit-status", "windows-status", "killed-by-signal", "ranks-ended"}


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what ended each process, the same thing once."""
    yield from explained(case, _TABLE)
    if all(event.level is not Level.FAILURE or _POSSIBLE in event.text for event in case.events):
        yield from explained(case, {"ray-worker-died": _RAY})
    failed = any(
        event.level is Level.FAILURE and not event.general and event.kind not in _GENERAL_KINDS
        for event in case.events
    )
    names = {"SIGKILL"} if any(case.of("oom-killed")) else set[str]()
    if crash_in_hip(case):
        names.add("SIGSEGV")
    of_compilers = {event.at for event in case.of("compile-error")}
    for event in case.of("killed-by-signal", "exit-status", "windows-status"):
        if event.at in of_compilers or _POSSIBLE in event.text:
            continue  # the compilers' analyzer knows why they crash; Ray only lists what may be
        found = code_of(event)
        if found is None or not found.means or found.number in REPEATED:
            continue
        name = _signal_of(found)
        if name == "SIGKILL" and (any(case.of("proxy-answers")) or _ends_itself(case, event)):
            continue  # the server ends itself, since it could not reach itself or has failed
        if name in names or (failed and (name in _CONSEQUENCES or found.fault is Fault.PROGRAM)):
            continue
        names.add(name)
        yield _explanation(case, event, found, name)


def _ends_itself(case: Case, event: Event) -> bool:
    """Say whether it is SGLang, which kills all of its processes after an exception in one."""
    return any(
        one.kind == "exception" and one.level is Level.FAILURE and one.at < event.at
        for one in case.events
    ) and any("sglang" in line[:_LONGEST] for line in case.log.lines[: event.at])


def code_of(event: Event) -> Code | None:
    """Return the signal or the status that an event names."""
    objects = event.objects
    if event.kind == "windows-status":
        return numbered("ntstatus", objects.get("status") or _EXCEPTIONS[objects["said"]])
    if said := objects.get("said", "").lower():
        return numbered("signal", SIGNALS.get(said, said.upper()))
    if signal := objects.get("signal"):
        return numbered("signal", signal)
    status = objects.get("status") or objects.get("status2") or objects.get("status3")
    return numbered("exit", status) if status else None


def _signal_of(found: Code) -> str:
    """Return the name of the signal that a status tells of, or the name of the code itself."""
    if found.kind == "exit" and found.name.startswith("killed by SIG"):
        return found.name.removeprefix("killed by ").split()[0]
    return found.name


def _explanation(case: Case, event: Event, found: Code, name: str) -> Explanation:
    recipes = _RECIPES.get(name, ()) or of_windows(case, event, name)
    is_arm = case.context.jetson or case.context.machine == "aarch64"
    if name == "SIGILL" and is_arm:
        recipes = (_ON_ARM,)
    elif name == "SIGKILL" and any(_BUILDS.search(one) for one in lines_around(case, event, 6, 6)):
        recipes = (*FEWER, killed_for_memory())
    elif name == "SIGKILL" and any(_LIMIT.search(line[:_LONGEST]) for line in case.log.lines):
        recipes = (_HIGHER_LIMIT, *recipes)
    elif name == "SIGILL" and any("ollama" in line for line in case.log.lines):
        recipes = (*updates(case), *recipes)
    rank = f" (local rank {event.objects['rank']})" if event.objects.get("rank") else ""
    title = _TITLES.get(name)
    if title is None and found.kind == "ntstatus":
        title = f"The process ended with {found.number:#010x}: {found.name}"
    if title is None:
        title = (
            f"The process ended by {name}"
            if name.startswith("SIG")
            else (f"The process ended with status {found.number}: {found.name}")
        )
    check = f" Check first: {found.check}" if found.check else ""
    return Explanation(
        event=event,
        detection=detection(
            event,
            title + rank,
            found.means + check,
            recipes=fitting(case, recipes),
            severity=Severity.NOTE if found.fault is Fault.PROGRAM else Severity.ERROR,
            confidence=Confidence.LOW if found.fault is Fault.PROGRAM else Confidence.MEDIUM,
            name=f"ended-by-{name.lower()}" if name.startswith("SIG") else "ended",
            captures={"signal": name},
        ),
        precision=Precision.FAMILY,
        # AVX is of x86 alone.
        contradicts=("torch/illegal-instruction",) if name == "SIGILL" and is_arm else (),
    )


_LIMIT = re.compile(r"\bdocker run\b.{0,200} (?:-m|--m|--memory)[ =]\d{1,6}[bkmgBKMG]?\b")
_HIGHER_LIMIT = command(
    "Start the container with a higher limit of memory",
    *("docker", "run", "--memory=<memory>", "<image>"),
    ask={
        "memory": "several times the limit of now, such as 8g",
        "image": "the image, with the other options",
    },
    note="docker inspect shows OOMKilled: true where the limit ended it. Without the option the "
    "container may take all of the machine's memory.",
)
_BUILDS = re.compile(
    r"\b(?:nvcc|cicc|ptxas|cudafe\+\+|hipcc|cc1plus|bindgen_cuda|rustc|cargo build|ninja|cmake"
    r"|setup\.py|g?make\[\d)\b|[Bb]uilding wheel|^\s{0,12}Compiling \S{1,60} v\d"
)
"""What shows that a compiler was at work where a process was killed."""
_TITLES = {
    "SIGKILL": "The process was killed (signal 9), most often since memory ran out",
    "SIGSEGV": "The process crashed in compiled code (segmentation fault, signal 11)",
    "SIGILL": "The processor lacks an instruction that the program uses (illegal instruction)",
    "SIGBUS": "A page of memory could not be had (bus error, signal 7)",
    "SIGFPE": "The process divided by zero in compiled code (signal 8)",
    "SIGABRT": "The process ended itself (aborted, signal 6)",
}


_ON_ARM = variables(
    "Tell OpenBLAS, which numpy brings, which processor this is",
    {"OPENBLAS_CORETYPE": "ARMV8"},
    note="OpenBLAS of numpy 1.19.5 takes the processor of a Jetson Nano for another one. Under "
    "sudo the variable is lost: write sudo -E. numpy 1.19.4 serves as well.",
)
_RECIPES: dict[str, tuple[Recipe, ...]] = {
    "SIGKILL": (
        killed_for_memory(),
        code(
            "Use less memory of the machine",
            "the settings of the program",
            "num_workers=2",
            before="num_workers=16",
            note="Raise the limit of the container (docker run --memory), the pod "
            "(resources.limits.memory) or the job (sbatch --mem) where there is one. A build "
            "takes less with MAX_JOBS=2.",
        ),
    ),
    "SIGILL": (
        command(
            "See which instructions the processor shows",
            "sh",
            "-c",
            "grep -o -w -E 'avx|avx2|avx512f|fma|sse4_2' /proc/cpuinfo | sort | uniq -c",
            use_if=(LINUX,),
            look=True,
            note="In a virtual machine give it the processor of the host (QEMU and "
            "Proxmox: CPU type host), so that AVX and AVX2 are there.",
        ),
        Recipe(
            title="Compile the package here, for the instructions that this processor has",
            use_if=("the program is a package of Python, and a compiler is here",),
            steps=(
                Action(
                    install=("<package>",),
                    options=(Option.REINSTALL, Option.NO_DEPS, Option.NO_BINARY),
                ),
            ),
            ask={"package": "the package whose compiled part ends the process"},
            note="Of an image take a tag for older processors, or one from before the crash.",
        ),
    ),
    "SIGSEGV": (
        variables(
            "Have Python print where it crashed",
            {"PYTHONFAULTHANDLER": "1"},
            note="Run the program once more: the last line of the stack names the "
            "module that crashed.",
            lasting=False,
        ),
    ),
    "SIGBUS": (
        more_shared_memory(
            "Or --ipc=host. In Kubernetes mount an emptyDir with medium: Memory at /dev/shm."
        ),
        command(
            "See how large shared memory is: 64M is what Docker gives",
            "df",
            "-h",
            "/dev/shm",  # noqa: S108 - a folder
            use_if=(LINUX,),
            look=True,
        ),
    ),
    "SIGABRT": (
        variables(
            "Have Python print where it ended",
            {"PYTHONFAULTHANDLER": "1"},
            note="The line above the end of the log names the check that failed.",
            lasting=False,
        ),
    ),
}
_MEMORY = _RECIPES["SIGKILL"]
_TABLE: dict[str, Text] = {
    "oom-killed": Text(
        (
            "The kernel killed process {process}: memory of the machine ran out",
            "The process was killed since memory ran out (RAM, not the GPU)",
        ),
        "The machine, the container, the pod or the job had no memory left, and the kernel "
        "ended the process. The memory of the GPU is another one.",
        _MEMORY,
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "time-limit": Text(
        "Slurm ended the job at its time limit",
        "The job ran longer than it asked for. Nothing in it failed.",
        (
            code(
                "Ask for more time",
                "the job script",
                "#SBATCH --time=24:00:00",
                note="Write checkpoints, so that a job can go on where it ended.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "slurm-ended": Text(
        "Slurm ended the job: {why}",
        "The scheduler took the nodes away. Start the job again, from its last checkpoint.",
        (
            command(
                "See how the job ended",
                "sacct",
                "-X",
                "-o",
                "JobID,State,ExitCode,Elapsed,Timelimit,NodeList",
                look=True,
            ),
        ),
        precision=Precision.EXACT,
    ),
    "slurm-gpu-request": Text(
        "Slurm cannot give what the job asks for: {said}",
        "The partition has no node with so many GPUs, of this kind, or so much memory.",
        (command("See the GPUs of each partition", "sinfo", "-o", "%P %G %N", look=True),),
        severity=Severity.ERROR,
    ),
    "pod-evicted": Text(
        ("The pod was evicted: the node ran low on {resource}", "The pod was evicted"),
        "The node was short of memory or disk, and Kubernetes removed the pod. Ask for what "
        "the pod needs, so that it is placed where there is enough.",
        (
            code(
                "Ask for the memory and the disk that the program needs",
                "the pod's container",
                "resources:\n  requests: {memory: 32Gi, ephemeral-storage: 50Gi}",
            ),
        ),
        severity=Severity.ERROR,
    ),
    "gpu-not-scheduled": Text(
        "No node has a free {resource} ({nodes} nodes are available)",
        "All GPUs are taken, or the device plugin does not advertise any: the driver, NVIDIA's "
        "container runtime or the plugin is missing on the nodes.",
        (
            command(
                "See how many GPUs each node advertises",
                "kubectl",
                "get",
                "nodes",
                "-o",
                "custom-columns=NAME:.metadata.name,GPU:.status.allocatable",
                look=True,
            ),
        ),
        severity=Severity.ERROR,
    ),
    "image-not-pulled": Text(
        ("The image {image} could not be fetched", "The image of the pod could not be fetched"),
        "The name or the tag is wrong, the registry asks for a login, or the node cannot reach it.",
        (
            command(
                "See the reason",
                "kubectl",
                "describe",
                "pod",
                "<pod>",
                ask={"pod": "the name of the pod"},
                look=True,
            ),
        ),
        severity=Severity.ERROR,
    ),
    "cpu-lacks-instructions": Text(
        "The processor does not offer {feature}, which the program needs",
        "The program was compiled for newer processors. A virtual machine often hides "
        "instructions that its host has.",
        _RECIPES["SIGILL"],
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
}
_RAY = Text(
    "A worker of Ray ended without a message",
    "Ray only sees that the process is gone. Most often it crashed in compiled code, or the kernel "
    "or Ray killed it when memory of the machine ran out. The log of that worker says more.",
    (
        command(
            "See what the workers wrote last",
            "sh",
            "-c",
            "tail -n 20 /tmp/ray/session_latest/logs/worker-*.err",
            use_if=(LINUX,),
            look=True,
        ),
        *_MEMORY,
    ),
    severity=Severity.ERROR,
)
