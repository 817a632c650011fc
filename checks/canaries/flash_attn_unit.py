# /// script
# requires-python = ">=3.8"
# dependencies = ["torch"]
#
# [tool.doctor]
# kind = "canary"
# summary = "Compiles and links one unit of flash-attn; on a GPU, compares it with float64"
# needs = ["torch"]
# tier = "deep"
# timeout = 1800
# devices = "host"
# cases = ["source", "preflight", "headers", "compile", "link", "run"]
# ///
"""flash-attn builds here: one real file of its source goes the whole way that all of them would go.

The smallest forward kernel is compiled with the flags that flash-attn's setup.py holds and those
that torch adds, for one architecture. `preflight` asks torch whether it takes this toolkit and
works out how many compilers fit into the memory; `headers` preprocesses the host half; `compile`
takes minutes; `link` links the unit and loads it into a process with torch; `run` needs a GPU. A
failure names the first line in which a tool complains, and so what would stop the whole build.

The source comes from `CANARY_FLASH_ATTN` (a checkout, an unpacked sdist, or the .tar.gz), or, where
`CANARY_NETWORK` is 1, from the package index through pip or uv; setup.py is read and never run.
`CANARY_ARCH` (`sm_90`) is the architecture.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from canary_report import CaseEnded, Report
from canary_toolkit import find_toolkit

REPORT = Report()
DEATH = re.compile(r"^(Killed|Segmentation fault|Aborted|Bus error|Illegal instruction)\b")
"""All that a shell says, through which nvcc calls its parts."""
COMPLAINT = re.compile(
    r"error|fatal|not found|cannot find|No such file|undefined reference", re.IGNORECASE
)
BESIDE = Path(__file__).resolve().parent.parent / "flash_attn"
"""What runs in processes of its own.

The plan of a build, a caller of the kernel, attention with it.
"""
SOURCES = "csrc/flash_attn/src"
LARGEST_SOURCE = 1 << 30
TORCH_IS_BROKEN, TORCH_HAS_NO_CUDA = 90, 91
NO_RUNTIME = "No CUDA runtime is found, using CUDA_HOME="
"""torch.utils.cpp_extension writes this where torch reaches no GPU."""


class Build:
    """What a build of flash-attn has: a folder, a toolkit, a source, flags."""

    def __init__(self, folder: Path, toolkit: Path, arch: str) -> None:
        self.folder = folder
        self.toolkit = toolkit
        self.nvcc = str(toolkit / "bin" / "nvcc")
        self.cxx = shlex.split(os.environ.get("CXX") or "") or [
            shutil.which("c++") or shutil.which("g++") or "c++"
        ]
        self.arch = arch
        self.source = folder / "source"
        self.plan: dict[str, Any] = {}
        self.unit = Path()
        self.gpu = False

    def run(self, *command: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run a tool where it can do no harm, in English, as part of the act under test.

        The log keeps the command and its output.
        """
        print("$", " ".join(command), flush=True)
        environment = {
            **os.environ,
            "LC_ALL": "C",
            "TMPDIR": str(self.folder),
            "CUDA_HOME": str(self.toolkit),
            **extra,
        }
        with REPORT.act():
            done = subprocess.run(
                command,
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                check=False,
            )
        # The unit is compiled where no GPU is, too: that torch sees none is no part of a failure.
        told = (line for line in done.stdout.splitlines(True) if NO_RUNTIME not in line)
        print("".join(told)[-100_000:], flush=True)
        return done

    def must(self, *command: str) -> str:
        """Run a tool that has to succeed; give its output."""
        done = self.run(*command)
        if done.returncode < 0:
            raise CaseEnded(
                "failed", f"{Path(command[0]).name} died of {signal.Signals(-done.returncode).name}"
            )
        if done.returncode:
            dead = [line for line in done.stdout.splitlines() if DEATH.match(line)]
            said = (
                f"{dead[0]}: a part of {Path(command[0]).name} died"
                if dead
                else complaint(done.stdout)
            )
            raise CaseEnded(
                "failed", said or f"{Path(command[0]).name} ended with {done.returncode}"
            )
        return done.stdout

    def includes(self) -> list[str]:
        """The folders that setup.py and torch name."""
        own = [
            self.source / "csrc" / "flash_attn",
            self.source / SOURCES,
            self.source / "csrc" / "cutlass" / "include",
        ]
        return [f"-I{folder}" for folder in [*own, *self.plan["include"]]]

    def host(self, *command: str) -> None:
        """Run the C++ compiler as for the host half, with the C++ standard of the device half."""
        standard = [flag for flag in self.plan["flags"] if flag.startswith("-std=")]
        self.must(*self.cxx, *standard, *self.plan["defined"], *self.includes(), *command)


def complaint(output: str) -> str:
    """The first line in which a tool complains."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    told = [line for line in lines if COMPLAINT.search(line) and "warning" not in line]
    return (told or lines or [""])[0][:400]


def last_error(output: str) -> str:
    """The error that ends a Python traceback, which may have several lines."""
    lines = output.strip().splitlines()
    starts = [
        index for index, line in enumerate(lines) if re.match(r"[\w.]*(Error|Exception)\b", line)
    ]
    return " ".join(" ".join(lines[starts[-1] if starts else -1 :]).split())[:400]


def source(build: Build, data: dict[str, Any]) -> None:
    """Bring the source into reach.

    A folder as it is, an archive unpacked, or fetched from the package index.
    """
    given = os.environ.get("CANARY_FLASH_ATTN")
    if given and Path(given).is_dir():
        build.source = Path(given)
    elif given:
        unpack(Path(given), build.source)
    else:
        fetch(build)
    roots = [build.source, *sorted(path.parent for path in build.source.glob("*/setup.py"))]
    build.source = next(
        (root for root in roots if (root / SOURCES).is_dir() and (root / "setup.py").is_file()),
        build.source,
    )
    units = sorted((build.source / SOURCES).glob("flash_fwd_hdim*_fp16_*sm80.cu"), key=cost)
    if not units:
        raise CaseEnded(
            "failed", f"this is no source of flash-attn: no {SOURCES}/flash_fwd_hdim*_fp16_*sm80.cu"
        )
    if not (build.source / "csrc" / "cutlass" / "include" / "cutlass" / "cutlass.h").is_file():
        raise CaseEnded(
            "failed", "csrc/cutlass is missing, please use source distribution or git clone"
        )
    build.unit = units[0]
    told = "".join(
        read(path)
        for path in (build.source / "PKG-INFO", build.source / "flash_attn" / "__init__.py")
        if path.is_file()
    )
    version = re.search(r"^(?:Version: |__version__ = \")([\w.+]+)", told, re.MULTILINE)
    data["version"] = version.group(1) if version else "unknown"


def cost(unit: Path) -> tuple[int, bool]:
    """The order of what units cost: by the width of a head.

    A causal one has no kernels for windows and takes half.
    """
    width = re.search(r"hdim(\d+)", unit.name)
    return int(width.group(1)) if width else 1 << 20, "_causal" not in unit.name


def read(path: Path) -> str:
    """Read a text of ordinary size."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(1 << 20)


def unpack(archive: Path, target: Path) -> None:
    """Unpack the plain files of an sdist, and nothing that points outside."""
    left = LARGEST_SOURCE
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                parts = Path(member.name).parts
                content = (
                    tar.extractfile(member)
                    if member.isfile() and ".." not in parts and not os.path.isabs(member.name)
                    else None
                )
                if content is None or not ({"csrc", "setup.py", "PKG-INFO"} & set(parts[1:2])):
                    continue
                left -= member.size
                if left < 0:
                    raise CaseEnded(
                        "failed", f"{archive} holds more than {LARGEST_SOURCE >> 30} GiB"
                    )
                (target / member.name).parent.mkdir(parents=True, exist_ok=True)
                with open(target / member.name, "wb") as file:
                    shutil.copyfileobj(content, file)
    except (OSError, tarfile.TarError, EOFError) as error:
        raise CaseEnded(
            "failed", f"CANARY_FLASH_ATTN={archive} cannot be read as a source archive: {error}"
        ) from error


def fetch(build: Build) -> None:
    """Let the target's installer fetch the sdist, and keep what it unpacked.

    Without leave, say how to give a source.
    """
    if os.environ.get("CANARY_NETWORK") != "1":
        raise CaseEnded("skipped", "no source of flash-attn: --flash-attn PATH, or --network")
    backend = build.folder / "backend" / "setuptools"
    backend.mkdir(parents=True)
    (backend / "__init__.py").write_text("", encoding="utf-8")
    shutil.copy(BESIDE / "keeper.py", backend / "build_meta.py")
    wanted, target = "flash-attn<3", str(build.folder / "fetched")
    kept = {
        "PYTHONPATH": str(backend.parent),
        "CANARY_KEEP": str(build.source),
        "UV_CACHE_DIR": str(build.folder / "uv"),
    }
    quiet = ["--no-deps", "--no-build-isolation"]
    pip = [
        "-m",
        "pip",
        "download",
        *quiet,
        "--use-pep517",
        "--no-cache-dir",
        "--disable-pip-version-check",
        "--no-binary",
        ":all:",
    ]
    commands = [[sys.executable, *pip, "-d", target, wanted]]
    if shutil.which("uv"):
        uv = [
            "uv",
            "pip",
            "install",
            *quiet,
            "--python",
            sys.executable,
            "--no-binary",
            "flash-attn",
            "--target",
            target,
            wanted,
        ]
        commands.append(uv)
    said = []
    for command in commands:
        done = build.run(*command, **kept)
        if build.source.is_dir():
            return
        said.append(f"{Path(command[0]).name}: {complaint(done.stdout)}")
    raise CaseEnded("skipped", "the source of flash-attn could not be fetched: " + "; ".join(said))


def preflight(build: Build, data: dict[str, Any]) -> None:
    """Ask torch whether it would build with this toolkit, and say what the whole build needs."""
    done = build.run(
        sys.executable, str(BESIDE / "plan.py"), str(build.source / "setup.py"), build.arch
    )
    if done.returncode in (TORCH_IS_BROKEN, TORCH_HAS_NO_CUDA):
        raise CaseEnded(
            "skipped",
            "torch does not import"
            if done.returncode == TORCH_IS_BROKEN
            else "this torch is built without CUDA",
        )
    told = [line for line in done.stdout.splitlines() if line.startswith("plan {")]
    if done.returncode or not told:
        raise CaseEnded(
            "failed", last_error(done.stdout) or f"torch's build tools ended with {done.returncode}"
        )
    build.plan = plan = json.loads(told[-1][len("plan ") :])
    data.update(
        {name: plan[name] for name in ("flags", "target", "files", "max_jobs", "free_gb")},
        unit=build.unit.name,
    )
    data["told"] = [
        (
            f"MAX_JOBS={plan['max_jobs']} fits: {plan['cores']} cores, {plan['free_gb']:.0f} "
            "GB free, 5 GB a compiler"
        )
    ]
    print(
        data["told"][0] + f"; compiling {build.unit.name}, one of {plan['files']} files", flush=True
    )


def headers(build: Build, _: dict[str, Any]) -> None:
    """Compile the host half's includes with the C++ standard that flash-attn asks for."""
    api = build.source / "csrc" / "flash_attn" / "flash_api.cpp"
    build.host("-E", str(api), "-o", "api.ii")


def compile_unit(build: Build, data: dict[str, Any]) -> None:
    """Compile the unit; this is what takes minutes."""
    ccbin = ["-ccbin", os.environ["CC"]] if os.environ.get("CC") else []
    target, threads = build.plan["target"], os.environ.get("NVCC_THREADS") or "4"
    flags = [
        *build.plan["nvcc"],
        "--compiler-options",
        "-fPIC",
        *build.plan["flags"],
        *build.plan["defined"],
        *ccbin,
    ]
    flags += ["-gencode", f"arch=compute_{target},code=sm_{target}", "--threads", threads]
    started = time.monotonic()
    build.must(build.nvcc, *build.includes(), "-c", str(build.unit), "-o", "unit.o", *flags)
    seconds = time.monotonic() - started
    import resource  # There is none on Windows, where everything before this works.

    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    hours = seconds * data["files"] / data["max_jobs"] / 3600
    data.update(
        unit_seconds=round(seconds, 1), unit_gb=round(largest / 1e9, 2), whole_hours=round(hours, 2)
    )
    whole = (
        f"{hours:.1f} h"
        if hours >= 1
        else f"{hours * 60:.0f} min"
        if hours >= 1 / 60
        else f"{hours * 3600:.0f} s"
    )
    cost = f"the smallest of {data['files']} files took {seconds:.0f} s and {largest / 1e9:.1f} GB"
    data["told"] = [
        (
            f"{cost}: all of them at least {whole} with MAX_JOBS={data['max_jobs']} "
            f"FLASH_ATTN_CUDA_ARCHS={data['target']}"
        )
    ]


def link(build: Build, _: dict[str, Any]) -> None:
    """Link the unit and a caller as torch links an extension, and load both beside torch."""
    text = read(build.unit)
    found = re.search(r"run_mha_fwd_<([\w:]+(?:, ?\w+)+)>", text)
    if not found:
        raise CaseEnded("skipped", "this unit defines no run_mha_fwd_ in a known form")
    build.host(
        f"-DCANARY_KERNEL={found.group(1)}",
        "-O1",
        "-fPIC",
        "-c",
        str(BESIDE / "caller.cpp"),
        "-o",
        "caller.o",
    )
    libraries = [
        "-lc10",
        "-ltorch",
        "-ltorch_cpu",
        "-ltorch_python",
        "-lcudart",
        "-lc10_cuda",
        "-ltorch_cuda",
    ]
    folders = [f"-L{folder}" for folder in build.plan["libraries"]]
    build.must(*build.cxx, "-shared", "unit.o", "caller.o", *folders, *libraries, "-o", "unit.so")
    loaded = build.run(sys.executable, str(BESIDE / "attend.py"), "load")
    if loaded.returncode:
        raise CaseEnded(
            "failed", last_error(loaded.stdout) or f"loading it ended with {loaded.returncode}"
        )
    build.gpu = "gpu True" in loaded.stdout


def run_unit(build: Build, data: dict[str, Any]) -> None:
    """Attend with the unit on the GPU, and compare with the same in float64 on the CPU."""
    if not build.gpu:
        raise CaseEnded("skipped", "no GPU that torch can use: compiled and linked only")
    width, causal = cost(build.unit)[0], int("_causal" in build.unit.name)
    data["seed"] = int.from_bytes(os.urandom(4), "little")
    done = build.run(
        sys.executable, str(BESIDE / "attend.py"), "run", str(width), str(causal), str(data["seed"])
    )
    if done.returncode < 0:
        raise CaseEnded("failed", f"died of {signal.Signals(-done.returncode).name}")
    if done.returncode:
        raise CaseEnded("failed", last_error(done.stdout))


STEPS = {
    "source": source,
    "preflight": preflight,
    "headers": headers,
    "compile": compile_unit,
    "link": link,
    "run": run_unit,
}


def main() -> None:
    """Take the steps of a build in their order.

    What comes after one that does not pass is not tried.
    """
    with REPORT.result(None) as data, tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
        if os.environ.get("CANARY_TOOLKIT_SELECTED") == "0":
            data["matters"] = "warning"
        toolkit, arch = find_toolkit(), os.environ.get("CANARY_ARCH")
        if not arch:
            raise CaseEnded("skipped", "no GPU to compile for: say which with --assume gpu=sm_90")
        build, cases = Build(Path(folder), toolkit, arch), REPORT.results[-1]["cases"]
        for name, step in STEPS.items():
            with REPORT.case(name):
                step(build, data)
            if cases[name]["verdict"] == "skipped" and "compile" not in cases:
                raise CaseEnded("skipped", cases[name]["reason"])
            if cases[name]["verdict"] != "passed":
                break


if __name__ == "__main__":
    REPORT.run(main)
