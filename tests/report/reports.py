"""Reports made by hand: a healthy machine, sick ones, empty ones, a hostile one."""

from __future__ import annotations

from typing import Any

from doctor.model.facts import Fact, absent, present, unknown
from doctor.model.findings import Evidence, EvidenceKind, Finding
from doctor.model.fixes import Command, Fix, Step
from doctor.model.issues import Snippet
from doctor.model.observation import Deselected, Observation, Target, TargetKind
from doctor.model.outcomes import Case, Outcome, Verdict
from doctor.model.report import CatalogStamp, Report, RuledOut, Undecided
from doctor.model.scales import Confidence, Severity

PYTHON = Target(
    name="interpreter",
    kind=TargetKind.INTERPRETER,
    path="/home/ada/project/.venv/bin/python",
    chosen_by="VIRTUAL_ENV",
)
CARGO = Target(name="cargo", kind=TargetKind.CARGO, path="/home/ada/project", chosen_by="--project")
SITE = "/home/ada/project/.venv/lib/python3.11/site-packages"

_MACHINE: dict[str, Any] = {
    "host.os": "linux",
    "host.distribution": "Ubuntu 24.04.1 LTS",
    "host.container": None,
    "host.cpu_count": 16,
    "host.memory_bytes": 64 << 30,
    "host.wsl": None,
    "python.version": "3.11.9",
    "python.virtual_environment": True,
    "python.installer": "uv",
    "python.headers": True,
    "nvidia.driver_version": "570.86.15",
    "nvidia.cuda_version": "12.8",
    "nvidia.gpus": [
        {"index": n, "name": "NVIDIA H100 80GB HBM3", "capability": "9.0", "memory_bytes": 80 << 30}
        for n in range(2)
    ],
    "cuda.home": "/usr/local/cuda",
    "cuda.home_origin": "PATH",
    "cuda.selected": True,
    "cuda.nvcc_version": "12.8.93",
    "cuda.matches_torch": "same",
    "compiler.cxx": "/usr/bin/c++",
    "compiler.cxx_kind": "gcc",
    "compiler.cxx_version": "13.3.0",
    "build.ninja": "1.11.1",
    "torch.version": "2.7.0+cu128",
    "torch.build": "cuda",
    "torch.devices": ["cpu", "cuda:0", "cuda:1"],
    "triton.version": "3.3.0",
    "triton.fits_torch": True,
    "stack.tuple": {
        "torch": "2.7.0",
        "CUDA": "12.8",
        "C++11 ABI": "TRUE",
        "Python": "cp311",
        "arch": "x86_64",
        "glibc": "2.39",
    },
    "packages": {"torch": "2.7.0+cu128", "triton": "3.3.0"},
}


def facts(**changes: Any) -> dict[str, Fact]:
    """Return the facts of a machine with two GPUs.

    `host__os` names `host.os`, None is absent, a Fact is taken as it is.
    """
    given = {**_MACHINE, **{name.replace("__", "."): value for name, value in changes.items()}}
    return {
        name: value
        if isinstance(value, Fact)
        else absent("test")
        if value is None
        else present(value, "test")
        for name, value in given.items()
    }


def report(
    *findings: Finding,
    exit_code: int = 0,
    command: str = "check",
    undecided: tuple[Undecided, ...] = (),
    ruled_out: tuple[RuledOut, ...] = (),
    **seen: Any,
) -> Report:
    """Make a report; keywords go to its observation."""
    fields = {
        "targets": (PYTHON,),
        "facts": facts(),
        "taken": "2026-11-21T09:30:00+00:00",
        "doctor_version": "0.1.0",
        **seen,
    }
    return Report(
        command=command,
        doctor_version="0.1.0",
        catalog=CatalogStamp(digest="toy", issues=7, newest_source="2026-11-20"),
        observation=Observation(**fields),
        findings=findings,
        undecided=undecided,
        ruled_out=ruled_out,
        exit_code=exit_code,
    )


def outcome(
    id_: str, verdict: str = "passed", device: str | None = "cpu", **changes: Any
) -> Outcome:
    """Make the outcome of a check that took 1.25 seconds."""
    return Outcome(
        **{
            "id": id_,
            "target": "interpreter",
            "verdict": Verdict(verdict),
            "device": device,
            "seconds": 1.25,
            **changes,
        }
    )


PASSED = tuple(
    outcome(name, device=device)
    for name in ("torch-runtime", "toy-add", "toy-compile")
    for device in ("cpu", "cuda:0", "cuda:1")
)


def wrong_torch(**changes: Any) -> Finding:
    """Make an error with evidence of every kind and fixes of several kinds."""
    fields: dict[str, Any] = {
        "id": "toy/wrong-torch",
        "target": "interpreter",
        "title": "toyvision was built for another torch",
        "severity": Severity.ERROR,
        "confidence": Confidence.HIGH,
        "message": "A wheel of toyvision holds operators that fit one torch release only. With "
        "another torch they do not load, and "
        'whatever calls one fails: "operator toyvision::nms does not exist".',
        "evidence": (
            Evidence(
                kind=EvidenceKind.FACT,
                text="toyvision 0.19 asks for torch==2.4.1; 2.7.0 is installed",
                source=f"{SITE}/toyvision-0.19.dist-info/METADATA",
            ),
            Evidence(
                kind=EvidenceKind.LOG,
                text="RuntimeError: operator toyvision::nms does not exist",
                source="train.log",
                line=41,
            ),
            Evidence(kind=EvidenceKind.OUTCOME, text="toy-add sum failed", source="toy-add on cpu"),
            Evidence(kind=EvidenceKind.COMPAT, text="wanted: 0.22", source="compat/toy"),
        ),
        "fixes": (
            Fix(
                kind="reinstall",
                title="Take the toyvision that goes with torch 2.7.0, and leave torch where it is",
                steps=(
                    Step(
                        command=Command(
                            argv=(
                                "uv",
                                "pip",
                                "install",
                                "--python",
                                PYTHON.path,
                                "--no-deps",
                                "toyvision==0.22.*",
                            )
                        )
                    ),
                ),
                verify=Command(
                    argv=(
                        PYTHON.path,
                        "-c",
                        "import toyvision; print(toyvision.__version__)",
                    )
                ),
            ),
            Fix(
                kind="edit",
                title="Do without the compiled operator",
                use_if=("only nms is called",),
                snippet=Snippet(
                    where="the call of nms",
                    before="boxes = toyvision.nms(boxes)\n\tkeep(boxes)",
                    after="boxes = slow_nms(boxes)\n\tkeep(boxes)",
                ),
                lasting=False,
            ),
            Fix(
                kind="upgrade",
                title="Take another driver",
                steps=(
                    Step(
                        command=Command(argv=("apt-get", "install", "-y", "driver-570")),
                        sudo=True,
                        reboot=True,
                    ),
                    Step(command=Command(argv=(), env={"TOY": "a b"})),
                ),
                safe=False,
            ),
        ),
        "references": ("https://example.org/toyvision/issues/8985",),
        "symptoms": ("toy/operator-missing", "requires/toyvision/torch"),
    }
    return Finding(**{**fields, **changes})


def lesser(severity: Severity, id_: str, **changes: Any) -> Finding:
    """Make a finding of few words."""
    fields: dict[str, Any] = {
        "target": "interpreter",
        "confidence": Confidence.MEDIUM,
        "title": "Something smaller",
        "message": "It is small.",
    }
    return Finding(**{"id": id_, "severity": severity, **fields, **changes})


def healthy() -> Report:
    """Nothing is wrong, on two GPUs."""
    return report(outcomes=PASSED)


def no_gpu() -> Report:
    """Nothing is wrong where there is no GPU; some checks could not run."""
    without = facts(
        host__container="docker",
        nvidia__driver_version=None,
        nvidia__cuda_version=None,
        nvidia__gpus=None,
        nvidia__gpu_present=False,
        cuda__home=None,
        compiler__cxx=None,
        compiler__cxx_kind=None,
        compiler__cxx_version=None,
        build__ninja=None,
        torch__devices=["cpu"],
        torch__cuda_error=(
            "Found no NVIDIA driver on your system. Please install one from "
            "http://www.nvidia.com/Download/index.aspx"
        ),
    )
    why = "Found no NVIDIA driver on your system. Please install one."
    partly = {
        "sum": Case(verdict=Verdict.PASSED),
        "pair": Case(verdict=Verdict.SKIPPED, reason="needs two CUDA devices"),
    }
    outcomes = (
        outcome("torch-runtime"),
        outcome("torch-runtime", "skipped", "cuda", reason=why),
        outcome("toy-add", cases=partly),
        outcome("toy-compile"),
    )
    undecided = (
        Undecided(id="toy/maybe", title="Perhaps", missing_facts=("toy.fact", "toy.other")),
    )
    deselected = (
        Deselected(id="toy-build", summary="Builds a toy", seconds=600),
        Deselected(id="toy-crate", summary="Builds a crate", seconds=900),
    )
    return report(facts=without, outcomes=outcomes, deselected=deselected, undecided=undecided)


def sick() -> Report:
    """Everything that can be wrong, seen in a recording."""
    broken = {
        "sum": Case(verdict=Verdict.FAILED, reason="largest error 3.1, allowed 1e-05"),
        "pair": Case(verdict=Verdict.PASSED),
    }
    outcomes = (
        outcome("torch-runtime"),
        outcome("torch-runtime", device="cuda:0"),
        outcome(
            "toy-add",
            "failed",
            "cuda:0",
            cases=broken,
            log="loading\n\n    sum: 3.1\n           ^\n" + "line\n" * 40 + "the end",
        ),
        outcome(
            "toy-compile", "crashed", "cuda:0", signal="SIGSEGV", reason="no result; signal 11"
        ),
        outcome("toy-build", "timed_out", None, reason="no answer within 120 s", seconds=120.0),
        outcome(
            "toy-other", "broken", None, reason="KeyError: 'sum'", log="Traceback\nKeyError: 'sum'"
        ),
    )
    findings = (
        wrong_torch(),
        lesser(
            Severity.WARNING,
            "check/toy-other",
            title="toy-other is broken and says nothing about this stack",
        ),
        lesser(Severity.NOTE, "toy/exposed", fixes=wrong_torch().fixes),
        lesser(
            Severity.NOTE,
            "toy/unsure",
            confidence=Confidence.LOW,
            missing_facts=("toy.fact", "torch.version"),
        ),
    )
    toolkit = facts(
        cuda__home=f"{SITE}/nvidia/cu12",
        cuda__home_origin="CUDA_HOME",
        cuda__selected=False,
        cuda__missing=["bin/nvcc", "include/cusparse.h"],
        cuda__unlinkable=["libcudart.so"],
        cuda__matches_torch="major",
        triton__fits_torch=False,
        rust__rustc=unknown("no answer within 5 s", "rustc"),
    )
    return report(
        *findings,
        exit_code=1,
        outcomes=outcomes,
        undecided=(Undecided(id="toy/maybe", title="Perhaps", missing_facts=("toy.fact",)),),
        ruled_out=(RuledOut(id="toy/not", title="Not this", why="toy-add sum passed"),),
        facts=toolkit,
        recording=True,
        targets=(PYTHON, CARGO),
    )


def cargo() -> Report:
    """A Cargo workspace alone, on a Mac, interrupted."""
    found: dict[str, Fact] = {
        "host.os": present("macos", "test"),
        "host.cpu_count": present(1, "test"),
        "metal.chip": present("Apple M3 Pro", "test"),
        "metal.family": present("9", "test"),
        "metal.macos": present("15.1", "test"),
        "nvidia.driver_version": absent("test"),
        "rust.rustc": present("1.82.0", "test"),
        "rust.cargo": present("1.82.0", "test"),
        "cargo.workspace": present("/home/ada/project", "test"),
        "crate.candle-core.version": present("0.9.1", "test"),
        "crate.candle-core.commit": present("0123456789abcdef", "test"),
    }
    return report(facts=found, targets=(CARGO,), interrupted=True, exit_code=130)


def empty() -> Report:
    """Nothing to judge."""
    return report(
        facts=facts(torch__version=None, triton__version=None, stack__tuple=None), exit_code=4
    )


REPORTS = {"healthy": healthy, "no-gpu": no_gpu, "sick": sick, "cargo": cargo, "empty": empty}
