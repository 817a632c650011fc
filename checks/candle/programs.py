"""Programs of ours, built against the workspace's own candle-core and started on a device."""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from canary_report import CaseEnded
from candle import builds, warm, workspace
from candle.cargo import Cargo, CommandResult, Undone
from candle.crate import Crate
from candle.workspace import Workspace

SOURCES = Path(__file__).resolve().parent / "programs"
ANYWHERE = ("accelerate", "mkl")
"""Features of candle-core that a build for the processor keeps.

The others need an accelerator's tools, or are for it.
"""
ABOUT = 'name = "doctor-canary"\nversion = "0.1.0"\nedition = "2021"\n'
BOUND = 600.0
LATER = "candle-core has to be compiled for it, which takes a minute or two: --tier deep"
"""The reason where a quick run finds nothing to link with."""


class BuildError(Exception):
    """Candle does not compile; the message is rustc's first error."""


@contextmanager
def undone() -> Iterator[None]:
    """Skip what cannot be decided here, and fail for a candle that does not compile."""
    try:
        yield
    except (Undone, OSError) as reason:
        raise CaseEnded("skipped", str(reason)) from None
    except BuildError as error:
        raise CaseEnded("failed", str(error)) from None


class Device(NamedTuple):
    """A device: doctor's name, candle's name, the features it needs, and why it is not tried."""

    name: str
    word: str
    features: list[str]
    why_not: str = ""


def devices(on: list[str]) -> list[Device]:
    """Return the devices that a candle-core with these features computes on."""
    kept = [feature for feature in on if feature in ANYWHERE]
    found = [Device("cpu", "cpu", kept)]
    if "cuda" in on:
        found.append(
            Device(
                "cuda:0",
                "cuda",
                [*kept, *(each for each in ("cuda", "cudnn") if each in on)],
                no_cuda(),
            )
        )
    if "metal" in on:
        typed = (
            "Metal is on macOS only; the build for the processor has type-checked this "
            "program, and it was not run on Metal"
        )
        found.append(
            Device("metal", "metal", [*kept, "metal"], "" if sys.platform == "darwin" else typed)
        )
    return found


def no_cuda() -> str:
    """Say what a build for CUDA and its run lack here."""
    if shutil.which("nvcc") is None:
        nvcc = os.path.join(os.environ.get("CANARY_TOOLKIT", ""), "bin", "nvcc")
        if os.access(nvcc, os.X_OK):
            return f"{nvcc} is not on PATH, where candle's build looks for it"
        return "there is no nvcc on this machine to build candle's kernels with"
    if not glob.glob("/dev/nvidia[0-9]*") and not os.path.exists("/dev/dxg"):
        return "there is no NVIDIA GPU on this machine"
    return ""


def program(
    cargo: Cargo, whole: Workspace, device: Device, name: str, folder: Path
) -> tuple[Path, str]:
    """Return a program built with the workspace's own candle-core, and notes on its build.

    A quick run does only what takes seconds: it links with what the workspace has built.
    """
    core = whole.the("candle-core")
    default = "default" in whole.features(core)
    if device.word == "cpu":
        wanted = [*device.features, *(["default"] if default else [])]
        linked = warm.linked(cargo, whole, wanted, SOURCES / f"{name}.rs", folder / "linked")
        if linked:
            return linked, "linked with the candle-core that this workspace has built"
    if os.environ.get("CANARY_TIER") == "quick":
        raise Undone(LATER)
    return built(crate(cargo, whole, device, folder, default=default), name, device), ""


def crate(cargo: Cargo, whole: Workspace, device: Device, folder: Path, *, default: bool) -> Crate:
    """Lay a crate with every program of ours into a folder.

    Checks of one run share it where doctor offers a place (`CANARY_SHARED`): the sources are the
    same for all of them.
    """
    entry = workspace.dependency(whole.the("candle-core"), device.features, default=default)
    sources = {path.stem: path for path in sorted(SOURCES.glob("*.rs"))}
    shared = os.environ.get("CANARY_SHARED")
    if shared:
        key = hashlib.sha256(
            f"{entry}\n{whole.root}\n".encode() + whole.lock.read_bytes()
        ).hexdigest()[:16]
        folder = Path(shared) / f"candle-{key}"
    made = Crate(cargo, folder, ABOUT, sources, {"candle-core": entry})
    if not (folder / "target").is_dir():
        made.lay(whole.lock)
        made.same(whole)
    return made


def built(made: Crate, program: str, device: Device) -> Path:
    """Build one program; a fault is raised, what does not speak about candle as Undone."""
    done = made.run("build", "--bin", program, bound=BOUND)
    if done.code:
        fault = builds.fault(done.out, done.err, accelerated=device.word != "cpu")
        if fault.verdict == "failed":
            raise BuildError(fault.reason)
        raise Undone(fault.reason)
    path = builds.built(done.out).get(program)
    if path is None:
        raise Undone("cargo built the program and does not say where it lies")
    return Path(path)


def start(
    cargo: Cargo, program: Path, device: Device, seed: int, bound: float = 300.0
) -> CommandResult:
    """Run a program on a device; the log has what it printed."""
    return cargo.start([str(program), device.word, str(seed)], program.parent, bound)
