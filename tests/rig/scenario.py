"""A scenario.

A machine, what its libraries and GPUs answer, and what doctor has to say about it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from doctor.observe.surroundings import _candidates
from tests import environments
from tests.command import environment
from tests.hosts import put, script
from tests.rig import parts
from tests.rig.machine import on_machine


class Built(msgspec.Struct, frozen=True, kw_only=True):
    """What `torch/version.py` says."""

    version: str = "2.13.0+cu130"
    cuda: str | None = "13.0"
    hip: str | None = None
    xpu: str | None = None


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is played, and what must come out of `doctor check`."""

    why: str
    """What this is on a real machine."""
    machine: Mapping[str, str] = {}
    """Files of the kernel and others, by absolute path (see `machine.on_machine`)."""
    nvml: str | None = None
    """What NVML answers; None: there is no such library."""
    libcuda: str | None = "580.95.05"
    """Release of the driver's library; None: there is none."""
    emptied: tuple[str, ...] = ()
    """Names of the driver's libraries that are there without content: `libcuda.so`."""
    compat: str | None = None
    """Release of a forward-compatibility library in a folder compat that is searched first."""
    handed_in: bool = False
    """The driver's libraries are mounts, as a container's runtime hands them in."""
    cuinit: str = "100"
    """What cuInit gives; not asked where `gpus` play."""
    speaks: int = 13000
    """The newest CUDA that the driver's library speaks."""
    gpus: Mapping[str, Any] | None = None
    """GPUs that the CPU plays for torch."""
    built: Built = Built()
    """How the torch says that it was built.

    Where it is not torch 2.13.0+cu130 itself, only the static check can look at it.
    """
    tools: Mapping[str, str] = {}
    """Commands by name: the body of a shell script that stands on PATH."""
    env: Mapping[str, str] = {}
    args: tuple[str, ...] = ()
    """What `doctor check` is told besides."""
    static: bool = False
    """Only files and NVML are looked at; no torch is needed."""

    code: int = 0
    first: tuple[str, ...] = ()
    """Patterns of the rules of which one has to come first; none.

    Nothing worse than `worst` may be found.
    """
    worst: str = "nothing"
    """Where no rule is expected: how bad a finding may be at most."""
    severity: str = ""
    """That of the first finding."""
    says: tuple[str, ...] = ()
    """Patterns that must match what the first finding says."""
    never: tuple[str, ...] = ()
    """Patterns of rules that must not be found."""
    tells: tuple[str, ...] = ()
    """Patterns that must match the report for the terminal."""
    hides: tuple[str, ...] = ()
    """Patterns that must not match it."""
    red: tuple[str, ...] | None = None
    """Which checks must be red, and no other: `noncontiguous-ops cuda:1`; None: not asked."""
    red_cases: Mapping[str, tuple[str, ...]] = {}
    """Which cases of a check must have failed, and no other."""
    green: tuple[str, ...] = ()
    """Which checks must have passed."""
    skipped: Mapping[str, str] = {}
    """Which checks must have been skipped, and a pattern of why."""
    facts: Mapping[str, Any] = {}
    """Facts that must be in the report."""


class Stage:
    """A folder with everything that a scenario needs."""

    def __init__(self, scenario: Scenario, folder: Path, libraries: Path, python: Path) -> None:
        self.scenario, self.folder, self.python = scenario, folder, python
        for name in ("home", "project", "temporary", "machine"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self._lay(libraries)
        for name, body in scenario.tools.items():
            script(folder / "tools" / name, body)

    def _lay(self, libraries: Path) -> None:
        """Write the libraries where the loader looks, under the names of a driver's package."""
        played = self.scenario
        wanted = [("lib", "libcuda.so", played.libcuda), ("compat", "libcuda.so", played.compat)]
        wanted.append(("lib", "libnvidia-ptxjitcompiler.so", played.libcuda))
        wanted.append(
            (
                "lib",
                "libnvidia-ml.so",
                (played.libcuda or "580.95.05") if played.nvml is not None else None,
            )
        )
        for folder, name, release in wanted:
            if release:
                (self.folder / folder).mkdir(exist_ok=True)
                at = self.folder / folder / f"{name}.{release}"
                # Nothing loads the compiler for PTX here: it only has to be there.
                here = libraries / f"{name}.1"
                shutil.copy(here if here.exists() else libraries / "libcuda.so.1", at)
                if name in played.emptied:
                    at.write_bytes(b"")
                (self.folder / folder / f"{name}.1").symlink_to(at.name)

    @property
    def env(self) -> dict[str, str]:
        """The environment of the machine.

        It holds none of its own that doctor suspects of a failure: they would cost each refusing
        GPU another start of torch (tests/runner/test_surroundings.py has some).
        """
        played = self.scenario
        made: dict[str, str | None] = {
            "HOME": str(self.folder / "home"),
            "PATH": f"{self.folder}/tools:{os.environ['PATH']}",
            "TMPDIR": str(self.folder / "temporary"),
            "LD_LIBRARY_PATH": self._searched,
            "FAKE_CUINIT": played.cuinit,
            "FAKE_CUDA_VERSION": str(played.speaks),
        }
        if played.nvml is not None:
            made["FAKE_NVML"] = played.nvml
        if played.gpus is not None:
            locks = {"exclusive": str(self.folder)} if played.gpus.get("exclusive") else {}
            made["FAKE_GPUS"] = json.dumps({**played.gpus, **locks})
        settings, _ = _candidates(environment({**made, **played.env}))
        unset = {name: None for name in settings if name not in played.env}
        return environment({**made, **unset, **played.env})

    @property
    def _searched(self) -> str | None:
        """Where the loader looks first; a machine of its own has the driver in its cache."""
        if self.scenario.compat:
            return f"{self.folder}/compat:{self.folder}/lib"
        # The loader's cache is not to lead to files without content: ldconfig leaves them out.
        by_cache = self.scenario.machine and not self.scenario.emptied
        return None if by_cache else f"{self.folder}/lib"

    def command(self, *arguments: str) -> list[str]:
        """Return the command that lets doctor check on the machine."""
        more = ["--no-canaries"] if self.scenario.static else []
        argv = [
            sys.executable,
            "-m",
            "doctor",
            "check",
            "--python",
            str(self.python),
            *self.scenario.args,
            *more,
            *arguments,
        ]
        return self.on_machine(argv)

    def on_machine(self, argv: Sequence[str]) -> list[str]:
        """Return the command that runs a command on the machine."""
        return (
            on_machine(
                self.scenario.machine,
                argv,
                self.folder / "machine",
                self.folder / "lib",
                handed_in=self.scenario.handed_in,
            )
            if self.scenario.machine
            else list(argv)
        )

    def run(self, *arguments: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        """Let doctor check."""
        argv = self.command(*arguments)
        return subprocess.run(
            argv,
            cwd=self.folder / "project",
            env=self.env,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
        )


def libraries(folder: Path) -> Path:
    """Compile both libraries into a folder."""
    for part in ("driver", "nvml"):
        parts.library(part, folder)
    return folder


def torch_in_name(folder: Path, built: Built) -> Path:
    """Make an environment that holds nothing but a torch that says how it was built.

    Return its interpreter.
    """
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder)],
        check=True,
        capture_output=True,
    )
    python = environments.interpreter(folder)
    site = environments.site_packages(python)
    version = built.version
    lines = [f"__version__ = {version!r}", "debug = False", "git_version = 'x'"]
    lines += [f"cuda = {built.cuda!r}", f"hip = {built.hip!r}", f"xpu = {built.xpu!r}"]
    put(
        site / "torch/__init__.py", "from torch import version\n__version__ = version.__version__\n"
    )
    put(site / "torch/version.py", "\n".join(lines) + "\n")
    info = f"torch-{version}.dist-info"
    put(site / info / "METADATA", f"Metadata-Version: 2.4\nName: torch\nVersion: {version}\n")
    put(site / info / "INSTALLER", "pip\n")
    rows = [
        _row(site, path)
        for path in (
            "torch/__init__.py",
            "torch/version.py",
            f"{info}/METADATA",
            f"{info}/INSTALLER",
        )
    ]
    put(site / info / "RECORD", "\n".join([*rows, f"{info}/RECORD,,", ""]))
    return python


def _row(site: Path, path: str) -> str:
    content = (site / path).read_bytes()
    return (
        f"{path},sha256="
        f"{urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip('=')},"
        f"{len(content)}"
    )


def play_by_hand(scenario: Scenario, folder: Path, command: Sequence[str]) -> int:
    """Play a scenario for whoever sits at the terminal; without a command, doctor checks."""
    whole = not scenario.static
    python = (
        parts.play_gpus(environments.variant("torch"))
        if whole
        else torch_in_name(folder / "venv", scenario.built)
    )
    try:
        stage = Stage(scenario, folder, libraries(folder / "built"), python)
        argv = stage.on_machine(_resolved(command, python)) if command else stage.command()
        return subprocess.run(
            argv,
            cwd=stage.folder / "project",
            env={**stage.env, "NO_COLOR": os.environ.get("NO_COLOR", "")},
            check=False,
        ).returncode
    finally:
        if whole:
            environments.remove(python)


def _resolved(command: Sequence[str], python: Path) -> list[str]:
    """Define `doctor` as this checkout's doctor, and `python` as the played interpreter."""
    first, *rest = command
    if first == "doctor":
        return [
            sys.executable,
            "-m",
            "doctor",
            *rest,
            *([] if "--python" in rest else ["--python", str(python)]),
        ]
    return [str(python), *rest] if first == "python" else list(command)
