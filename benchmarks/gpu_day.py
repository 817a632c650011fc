"""What is to be seen on a machine with a GPU, step by step.

`python -m benchmarks.gpu_day STEP PYTHON`.

PYTHON is the interpreter of an environment with torch. Each step says what must come out, looks,
ends with PASS and FAIL lines, and writes what it saw to gpu-day-STEP.json. See docs/gpu-day.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.gpu_reach import broken_parts
from benchmarks.gpu_surroundings import surrounded
from tests.checks.grid import Cell, run_grid
from tests.gallery.cells import cells

_ROOT = Path(__file__).resolve().parents[1]
_GALLERY = _ROOT / "tests" / "gallery"
_RED = ("failed", "crashed", "timed_out", "broken")
_CANARIES = (
    "noncontiguous_matmul",
    "noncontiguous_attention",
    "noncontiguous_ops",
    "large_matmul",
    "cross_device_add",
)
_WAYS: dict[str, dict[str, str]] = {
    "plain": {},
    "TF32": {"TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"},
    "no cuDNN attention": {"TORCH_CUDNN_SDPA_ENABLED": "0"},
}
_ELSEWHERE = ("two_gpus", "attention", "attention_gradient")
"""Faults that are put into the CPU's own kernels, or that need a second GPU."""
_TOUCHES = """
import os, torch
held = [os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
links = [os.readlink(path) for path in held if os.path.islink(path)]
print([link for link in links if link.startswith(("/dev/nvidia", "/dev/kfd", "/dev/dri"))])
"""
_HOLDS = """
import sys, torch
free, _ = torch.cuda.mem_get_info(0)
held = torch.empty(max(free - (64 << 20), 1), dtype=torch.uint8, device="cuda:0")
print("held", flush=True)
sys.stdin.read()
"""
_SPOILS = """
import torch
index = torch.tensor([1 << 30], device="cuda:0")
try:
    torch.zeros(4, device="cuda:0")[index].tolist()
except RuntimeError as error:
    print("first:", str(error).splitlines()[0])
for device in ["cuda:0"] + [f"cuda:{other}" for other in range(1, torch.cuda.device_count())]:
    try:
        print(device, torch.ones(2, device=device).add(1).tolist())
    except RuntimeError as error:
        print(device, str(error).splitlines()[0])
"""

Seen = tuple[str, bool, Any]
"""What was looked at, whether it is as it must be, and what there was."""


class Day:
    """The environment under examination, and where a step works."""

    def __init__(self, python: Path, folder: Path, seeds: int) -> None:
        self.python, self.folder, self.seeds = python, folder, seeds

    def check(
        self, *arguments: str, env: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, Any], str]:
        """Let doctor check; give the exit code, the report and the text."""
        path = self.folder / "report.json"
        path.unlink(missing_ok=True)
        argv = [
            sys.executable,
            "-m",
            "doctor",
            "check",
            "--python",
            str(self.python),
            "--report",
            f"json={path}",
            *arguments,
        ]
        ran = subprocess.run(
            argv,
            cwd=self.folder,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=580,
            check=False,
        )
        report = (
            json.loads(path.read_text(encoding="utf-8"))
            if path.exists()
            else {"outcomes": [], "findings": [], "facts": {}}
        )
        return ran.returncode, report, ran.stdout

    def ask(self, code: str) -> str:
        """Run a program in the environment; give what it prints."""
        ran = subprocess.run(
            [str(self.python), "-c", code],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return (ran.stdout + ran.stderr).strip()

    def count(self) -> int:
        """How many GPUs torch sees."""
        said = self.ask("import torch; print(torch.cuda.device_count())").splitlines()
        return int(said[-1]) if said and said[-1].isdecimal() else 0


def _red(report: dict[str, Any]) -> list[str]:
    return [
        f"{one['id']} {one.get('device')}: {one['reason']}"
        for one in report["outcomes"]
        if one["verdict"] in _RED
    ]


def _rules(report: dict[str, Any]) -> list[str]:
    return [f"{finding['severity']} {finding['id']}" for finding in report["findings"]]


def inventory(day: Day) -> Iterator[Seen]:
    """Exit code 0 with and without checks; every canary green on every GPU, in four dtypes.

    No device is open after `import torch`.
    """
    held = day.ask(_TOUCHES)
    yield "no device is open after import torch", held.endswith("[]"), held
    code, report, text = day.check("--no-canaries")
    yield "the static check ends with 0", code == 0, _rules(report)
    code, report, text = day.check("--expect", "cuda")
    yield "the full check ends with 0", code == 0, [_rules(report), _red(report), text]
    verdicts = {
        f"{one['id']} {one['device']}": one
        for one in report["outcomes"]
        if str(one.get("device")).startswith("cuda")
    }
    yield "GPUs have answered", bool(verdicts), sorted(verdicts)
    for name, one in verdicts.items():
        yield (
            f"{name} is green",
            one["verdict"] == "passed",
            [one["verdict"], one["reason"], one["seconds"], one.get("data")],
        )
    for name, one in verdicts.items():
        if name.startswith("noncontiguous-matmul"):
            yield (
                f"{name}: four dtypes",
                len(one["data"].get("dtypes", ())) == 4,
                one["data"].get("dtypes"),
            )
        if name.startswith("inductor-compile"):
            yield f"{name}: end to end", one["data"].get("how") == "end-to-end", one["data"]
    gpus = report["facts"].get("torch.cuda_devices", {}).get("value") or []
    yield (
        "each GPU has a name, a capability and an address",
        bool(gpus) and all(_named(gpu) for gpu in gpus),
        gpus,
    )


def _named(gpu: Mapping[str, Any]) -> bool:
    return all(gpu.get(name) for name in ("name", "capability", "pci_bus_id"))


def crowded(day: Day) -> Iterator[Seen]:
    """CUDA_VISIBLE_DEVICES in its forms; a card that is full.

    What one broken kernel does to the process and to other GPUs.
    """
    only = ("--only", "torch-runtime")
    for value, expected in (
        ("0", 0),
        ("", 0),
        ("-1", 0),
        ("99", 1),
        ("GPU-deadbeef", 1),
        ("99,0", 1),
    ):
        code, report, text = day.check(*only, env={"CUDA_VISIBLE_DEVICES": value})
        named = expected == 0 or "CUDA_VISIBLE_DEVICES" in text
        yield (
            f"CUDA_VISIBLE_DEVICES={value!r} ends with {expected}",
            code == expected and named,
            [code, _rules(report), _red(report)],
        )
    with subprocess.Popen(
        [str(day.python), "-c", _HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        if holder.stdout.readline().strip() == "held":
            code, report, text = day.check(*only, "--only", "noncontiguous-ops")
            wanted = [rule for rule in _rules(report) if rule.startswith("warning reach/cuda")]
            yield (
                "a full card is a warning that names memory",
                code == 0 and bool(wanted),
                [code, _rules(report), _red(report), text],
            )
        else:
            yield "a process can fill GPU 0", False, "it could not"
        holder.kill()
    yield "what an illegal access leaves (to be read)", True, day.ask(_SPOILS).splitlines()


def _at_once() -> int:
    """How many canaries run at once: each takes a core or two, and half a GiB of the GPU."""
    return max(2, min(8, (os.cpu_count() or 2) // 2))


def margins(day: Day) -> Iterator[Seen]:
    """Many seeds of each canary, plain, in TF32 and without cuDNN's attention: nothing is red."""
    threads = max(1, (os.cpu_count() or 2) // _at_once())
    for way, settings in _WAYS.items():
        orders = {
            f"{script} {number}": Cell(script=f"canaries/{script}.py", settings=settings)
            for script in _CANARIES
            for number in range(day.seeds)
        }
        folder = day.folder / way.replace(" ", "-")
        folder.mkdir()
        documents = run_grid(
            day.python,
            folder,
            orders,
            # torch is imported once; CUDA starts in each fork by itself.
            preload="import torch",
            settings={"CANARY_DEVICES": "cuda:0", "OMP_NUM_THREADS": str(threads), **settings},
            seconds=120,
            at_once=_at_once(),
            progress=True,
        )
        red = {
            name: result["reason"]
            for name, one in documents.items()
            for result in one["results"]
            if result["verdict"] != "passed"
        }
        lost = [name for name, one in documents.items() if not one["results"]]
        yield f"{way}: {len(documents)} runs, none red", not red and not lost, [red, lost]


def deep(day: Day) -> Iterator[Seen]:
    """The deep tier of what needs memory or a compiler.

    Nothing is red, and what is skipped says why.
    """
    for check in ("large-matmul", "inductor-compile", "flash-attn-build", "nccl-*"):
        code, report, _ = day.check("--tier", "deep", "--only", check)
        skipped = [
            f"{one['id']} {one.get('device')}: {one['reason']}"
            for one in report["outcomes"]
            if one["verdict"] == "skipped"
        ]
        yield (
            f"{check} is not red",
            not _red(report) and (code in (0, 2)),
            [code, _red(report), skipped],
        )


def broken(day: Day) -> Iterator[Seen]:
    """Faulty kernels of the gallery on the GPU: each has to be seen, else green says little."""
    gallery = {
        cell.name: cell for cell in cells() if cell.install[0] not in _ELSEWHERE and cell.red
    }
    orders = {
        name: Cell(
            script=f"canaries/{cell.script}.py",
            breaking="import kernels\nkernels.{}(**{!r})".format(*cell.install),
            settings={**cell.settings, "CANARY_DEVICES": "cuda:0"},
        )
        for name, cell in gallery.items()
    }
    preload = f"sys.path.insert(0, {str(_GALLERY)!r})\nimport torch"
    documents = run_grid(
        day.python,
        day.folder,
        orders,
        preload=preload,
        settings={"CANARY_DEVICES": "cuda:0"},
        seconds=120,
        at_once=_at_once(),
        progress=True,
    )
    for name, one in documents.items():
        failed = {
            case
            for result in one["results"]
            for case, how in result["cases"].items()
            if how["verdict"] == "failed"
        }
        yield (
            f"{name} is seen",
            bool(failed & gallery[name].red_on_cuda),
            sorted(failed) or [result["reason"] for result in one["results"]],
        )


def pairs(day: Day) -> Iterator[Seen]:
    """With two GPUs or more: every pair exchanges bytes, and what NCCL sends arrives."""
    count = day.count()
    yield "two GPUs or more (without, this step has nothing to see)", True, count
    if count > 1:
        for tier, check in (("quick", "cross-device-add"), ("deep", "nccl-*")):
            code, report, text = day.check("--tier", tier, "--only", check)
            yield f"{check} is green", code == 0 and not _red(report), [code, _red(report), text]


def reach(day: Day) -> Iterator[Seen]:
    """One part of the driver broken at a time, in mounts of its own: the cause comes first.

    Needs root. No setting of the GPU and no file of the machine is changed.
    """
    yield from broken_parts(day.python, day.folder)


def surroundings(day: Day) -> Iterator[Seen]:
    """One variable of the shell at a time that stops CUDA: it is named, and its cure is proved."""
    yield from surrounded(day.python, day.folder)


STEPS: dict[str, Callable[[Day], Iterator[Seen]]] = {
    "inventory": inventory,
    "crowded": crowded,
    "margins": margins,
    "deep": deep,
    "broken": broken,
    "pairs": pairs,
    "reach": reach,
    "surroundings": surroundings,
}


def main() -> int:
    """Do one step; give 1 where something is not as it must be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_day", description=__doc__)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("python", type=Path, help="interpreter of an environment with torch")
    parser.add_argument(
        "--seeds", type=int, default=15, help="how many runs of each canary in the step margins"
    )
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the JSON")
    given = parser.parse_args()
    step = STEPS[given.step]
    print(f"{given.step}: {step.__doc__}")
    seen = []
    with tempfile.TemporaryDirectory() as folder:
        for what, right, there in step(Day(given.python.absolute(), Path(folder), given.seeds)):
            print(
                "PASS" if right else "FAIL",
                what,
                "" if right else json.dumps(there)[:600],
                flush=True,
            )
            seen.append({"what": what, "right": right, "seen": there})
    (given.out / f"gpu-day-{given.step}.json").write_text(
        json.dumps(seen, indent=1), encoding="utf-8"
    )
    return 0 if seen and all(one["right"] for one in seen) else 1


if __name__ == "__main__":
    sys.exit(main())
