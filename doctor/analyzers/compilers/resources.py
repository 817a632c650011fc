"""A compiler that ran out of memory, or crashed."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.machine import fact_text
from doctor.base.patterns import compile_pattern
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_MEMORY = (
    r"Killed signal terminated program (?P<program>\w{1,20})"
    r"|Killed \(program (?P<other>\w{1,20})\)"
    r"|'(?P<part>cicc|ptxas|cudafe\+\+)' died due to signal (?:9|15)\b"
    r"|out of memory allocating|virtual memory exhausted|LLVM ERROR: out of memory"
    r"|compiler is out of heap space|(?:ld|collect2|lto1).{0,30}terminated with signal 9"
    r"|[Nn]o space left on device|LNK1102|out of memory$"
)
_CRASH = (
    r"internal compiler error|INTERNAL COMPILER ERROR|Internal compiler error"
    r"|'(?P<part>cicc|ptxas|cudafe\+\+)' died (?:due to signal (?P<signal>\d{1,2})"
    r"|with status (?P<status>0x[0-9A-Fa-f]{8}))"
    r"|unable to execute command: (?:Segmentation fault|Illegal instruction)"
    r"|clang frontend command failed|(?:Segmentation fault|Bus error|Illegal instruction) signal "
    r"terminated program (?P<program>\w{1,20})"
)
FEWER = (
    Recipe(
        title="Compile one file at a time",
        note="ninja, and the build scripts of Rust, start a compiler for each core; CUDA sources "
        "need up to several GiB each. What is compiled already stays.",
        steps=(
            Action(
                env={
                    "MAX_JOBS": "1",
                    "CMAKE_BUILD_PARALLEL_LEVEL": "1",
                    "CARGO_BUILD_JOBS": "1",
                    "RAYON_NUM_THREADS": "1",
                    "NVCC_THREADS": "1",
                }
            ),
        ),
    ),
)


def resources(case: Case, event: Event) -> Explanation | None:
    """Explain a compiler that the system killed, or that crashed."""
    message = event.objects.get("message", "")
    if match := compile_pattern(_MEMORY).search(message):
        if "space left" in message:
            return _full_disk(event)
        program = next((value for value in match.groups.values() if value), "")
        return _memory(case, event, program)
    if event.objects.get("code") in ("C1060", "C1002", "LNK1102"):
        return _memory(case, event, "")
    if "internal compiler error" in event.text.lower() or compile_pattern(_CRASH).search(message):
        return _crash(event)
    return None


def _memory(case: Case, event: Event, program: str) -> Explanation:
    name = program or event.objects.get("compiler", "the compiler")
    size = fact_text(case, "host.memory_bytes")
    here = f" of {int(size) >> 30} GiB" if size.isdigit() and int(size) >> 30 else ""
    inside = case.context.container or fact_text(case, "host.container") or case.context.wsl
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The memory{here} ran out while compiling: the system ended {name}",
            "The build runs as many compilers at once as the machine has cores, and together they "
            "needed more memory than there is. Nothing is wrong with the sources."
            + (
                " A container, and WSL, may have a limit below the machine's memory."
                if inside
                else ""
            ),
            recipes=(*_by_bazel(case), *FEWER),
            name="compiler-out-of-memory",
        ),
    )


_BAZEL = re.compile(
    r"\bbazel (?:build|run|test)\b|/BUILD(?:\.bazel)?:\d+:\d+: |^Target //\S+ failed"
)
_TARGET = re.compile(r"\bTarget (?P<target>//[\w./:+-]{1,160}) failed")


def _by_bazel(case: Case) -> tuple[Recipe, ...]:
    """Return the options of Bazel, which reads no variable for its jobs."""
    lines = [line[:1000] for line in case.log.lines[-4000:]]
    if not any(_BAZEL.search(line) for line in lines):
        return ()
    target = next((found["target"] for line in lines if (found := _TARGET.search(line))), "")
    return (
        Recipe(
            title="Let Bazel run two jobs at once",
            steps=(
                Action(
                    run=("bazel", "build", "--jobs=2", "--local_ram_resources=2048")
                    + ((target,) if target else ("<target>",))
                ),
            ),
            ask={} if target else {"target": "the target that was built"},
            note="With the other options of the first command (--config=opt, --config=cuda). The "
            "second number is the memory in MiB that it counts on. What is built already stays.",
        ),
    )


def _full_disk(event: Event) -> Explanation:
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            "The disk is full: the compiler could not write its output",
            "Compilers write temporary files below TMPDIR (/tmp), which is often a small disk of "
            "its own, and objects into the build folder.",
            recipes=(
                Recipe(
                    title="Build with another folder for temporary files",
                    steps=(Action(env={"TMPDIR": "<folder>"}),),
                    ask={"folder": "a folder on a disk with tens of GiB free"},
                ),
            ),
            name="compiler-disk-full",
        ),
    )


def _crash(event: Event) -> Explanation:
    name = event.objects.get("compiler") or event.speaker
    file = event.objects.get("file", "")
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{name} crashed{f' on {file}' if file else ''}: an error of the compiler, not of the "
            "sources",
            "A compiler reports faults of sources as errors and does not crash on them. Another "
            "release of it mostly compiles the same file. Crashes at changing places mean faulty "
            "memory, or too little of it.",
            recipes=(
                *FEWER,
                Recipe(
                    title="Build with another release of the compiler",
                    use_if=("it crashes at the same file each time",),
                    steps=(Action(env={"CC": "<c-compiler>", "CXX": "<compiler>"}),),
                    ask={
                        "c-compiler": "another C compiler that is installed, such as gcc-12",
                        "compiler": "the C++ compiler that goes with it, such as g++-12",
                    },
                ),
            ),
            name="compiler-crashed",
        ),
    )
