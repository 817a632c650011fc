# /// script
# requires-python = ">=3.8"
# dependencies = []
#
# [tool.doctor]
# kind = "canary"
# summary = "Compiles and links what flash-attn and other CUDA extensions need"
# needs = []
# tier = "quick"
# timeout = 300
# devices = "host"
# cases = [
#     "toolkit", "host-compiler", "torch-headers", "kernel-compile", "kernel-link",
#     "flash-attn-import", "torch-extension",
# ]
# ///
"""The toolkit, the host compiler and torch's headers build a CUDA extension together.

flash-attn has hours of kernels; what breaks its build shows in seconds: torch's CUDA headers
preprocessed, one plain kernel compiled, and linked the way torch's extension builder links. A
failure names the first line in which a tool complains; the log has the command and all it printed.
With `CANARY_TIER=deep` a real torch extension is built and loaded. An installed flash-attn is
imported and, on a GPU, compared with torch's own attention in float32.

`CANARY_ARCH` (`sm_90`) chooses the architecture to compile for; without it nvcc's own default is
taken.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from canary_report import CaseEnded, Report, is_installed
from canary_toolkit import find_toolkit

REPORT = Report()
COMPLAINT = re.compile(
    r"error|fatal|not found|cannot find|No such file|undefined reference|Killed|Segmentation fault",
    re.IGNORECASE,
)
HOST_COMPLAINT = re.compile(
    r"unsupported (GNU|clang|Microsoft)|host compiler|\b(gcc|g\+\+|clang|cc1plus|c\+\+)\b"
)
NO_DRIVER = re.compile(r"Found no NVIDIA driver|No CUDA GPUs are available|0 active drivers")

HEADERS = "#include <ATen/cuda/CUDAContext.h>\n#include <c10/cuda/CUDAStream.h>\n"
KERNEL = """\
#include <cuda_runtime.h>
__global__ void halve(float *values) { values[threadIdx.x] *= 0.5f; }
extern "C" int launch(float *values) { halve<<<1, 32>>>(values); return (int)cudaGetLastError(); }
"""
EXTENSION = """\
import os, torch
from torch.utils import cpp_extension
if not torch.cuda.is_available():
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "8.0")
cpp_extension.load("canary_extension", ["extension.cu"], build_directory=".", is_python_module=False, verbose=True)
"""  # noqa: E501
TORCH_IS_BROKEN = 90
FLASH = """\
import sys
try:
    import torch
except Exception:
    sys.exit(90)
from flash_attn import flash_attn_func
if torch.cuda.is_available():
    drawn = [torch.randn(2, 65, 3, 64, device="cuda").half() for _ in range(4)]
    halves = [each.clone().requires_grad_() for each in drawn[:3]]
    floats = [each.float().requires_grad_() for each in drawn[:3]]
    got = flash_attn_func(*halves, causal=True)
    query, key, value = (each.transpose(1, 2) for each in floats)
    scores = (query @ key.transpose(2, 3)) / 8
    future = torch.ones(65, 65, device="cuda", dtype=torch.bool).triu(1)
    want = (scores.masked_fill(future, float("-inf")).softmax(-1) @ value).transpose(1, 2)
    pairs = [(got, want)]
    pairs += zip(torch.autograd.grad(got, halves, drawn[3]), torch.autograd.grad(want, floats, drawn[3].float()))
    for what, (one, other) in zip(("output", "dq", "dk", "dv"), pairs):
        error, allowed = (one.float() - other).abs().max().item(), 0.02 * (1 + other.abs().max().item())
        assert error <= allowed, f"flash-attn {what}: largest error {error:.3g}, allowed {allowed:.3g}"
"""  # noqa: E501


class Bench:
    """The tools under test, and a folder to use them in."""

    def __init__(self, folder: Path, toolkit: Path) -> None:
        self.folder = folder
        self.toolkit = toolkit
        self.nvcc = str(toolkit / "bin" / "nvcc")
        self.cxx = shlex.split(os.environ.get("CXX") or "") or [
            shutil.which("c++") or shutil.which("g++") or ""
        ]
        self.arch = [f"-arch={os.environ['CANARY_ARCH']}"] if os.environ.get("CANARY_ARCH") else []

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a tool where it can do no harm; the log keeps the command and the output."""
        return run(self.folder, {"CUDA_HOME": str(self.toolkit)}, *command)

    def must(self, *command: str) -> str:
        """Run a tool that has to succeed; give its output."""
        done = self.run(*command)
        if done.returncode < 0:
            raise CaseEnded(
                "failed", f"{Path(command[0]).name} died of {signal.Signals(-done.returncode).name}"
            )
        if done.returncode:
            raise CaseEnded(
                "failed",
                complaint(done.stdout) or f"{Path(command[0]).name} ended with {done.returncode}",
            )
        return done.stdout

    def write(self, name: str, text: str) -> str:
        """Put a source into the folder."""
        (self.folder / name).write_text(text, encoding="utf-8")
        return name


def run(folder: Path, extra: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, in English, with its intermediate files there too."""
    print("$", " ".join(command), flush=True)
    environment = {**os.environ, "LC_ALL": "C", "TMPDIR": str(folder), **extra}
    with REPORT.act():
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    print(done.stdout, flush=True)
    return done


def complaint(output: str) -> str:
    """The first line in which a tool complains."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    told = [line for line in lines if COMPLAINT.search(line) and "warning" not in line]
    return (told or lines or [""])[0][:400]


def find_torch() -> Path:
    """Find the folder of torch without importing it."""
    site = os.environ.get("CANARY_SITE")
    if site and (Path(site) / "torch" / "version.py").is_file():
        return Path(site) / "torch"
    spec = importlib.util.find_spec("torch") if is_installed("torch") else None
    if spec is None or not spec.submodule_search_locations:
        raise CaseEnded("skipped", "torch is not installed")
    return Path(next(iter(spec.submodule_search_locations)))


def toolkit(bench: Bench, data: dict[str, Any]) -> None:
    """Ask nvcc what it is: it runs."""
    release = re.search(r"release [\d.]+, V[\d.]+", bench.must(bench.nvcc, "--version"))
    data["nvcc_version"] = release.group() if release else ""


def host_compiler(bench: Bench, data: dict[str, Any]) -> None:
    """There is a C++ compiler, and nvcc takes the one that it finds."""
    if not bench.cxx[0]:
        raise CaseEnded("failed", "no C++ compiler: neither c++ nor g++ is on PATH")
    data["host_compiler"] = bench.must(*bench.cxx, "--version").splitlines()[0]
    done = bench.run(bench.nvcc, "-E", bench.write("empty.cu", ""), "-o", "empty.ii")
    said = complaint(done.stdout)
    # What else nvcc complains of, a header of its own say, is the business of the cases below.
    if done.returncode and HOST_COMPLAINT.search(said):
        raise CaseEnded("failed", said)


def torch_headers(bench: Bench, data: dict[str, Any]) -> None:
    """Everything that torch's CUDA headers include can be found."""
    torch = find_torch()
    if not re.search(
        r"^cuda\b.*=\s*['\"]", (torch / "version.py").read_text(encoding="utf-8"), re.MULTILINE
    ):
        raise CaseEnded("skipped", "this torch is built without CUDA")
    include = torch / "include"
    builder = (torch / "utils" / "cpp_extension.py").read_text(encoding="utf-8")
    standards = [int(found) for found in re.findall(r"'-std=c\+\+(\d+)'", builder)]
    data["standard"] = f"-std=c++{max(standards)}" if standards else "-std=c++17"
    folders = [
        f"-I{include}",
        f"-I{include / 'torch' / 'csrc' / 'api' / 'include'}",
        f"-I{bench.toolkit / 'include'}",
    ]
    bench.must(
        bench.nvcc,
        "-E",
        data["standard"],
        *folders,
        bench.write("headers.cu", HEADERS),
        "-o",
        "headers.ii",
    )


def kernel_compile(bench: Bench, data: dict[str, Any]) -> None:
    """A kernel that needs nothing but the CUDA runtime compiles."""
    flags = ["-O1", "-Xcompiler", "-fPIC", *bench.arch]
    data["compile"] = [bench.nvcc, *flags, "-c", bench.write("kernel.cu", KERNEL), "-o", "kernel.o"]
    bench.must(*data["compile"])


def kernel_link(bench: Bench, data: dict[str, Any]) -> None:
    """The object links with the shared CUDA runtime, the way torch's extension builder links it."""
    folder = bench.toolkit / "lib64"
    if not folder.exists() and (bench.toolkit / "lib").exists():
        folder = bench.toolkit / "lib"
    data["link"] = [*bench.cxx, "kernel.o", "-shared", f"-L{folder}", "-lcudart", "-o", "kernel.so"]
    bench.must(*data["link"])


def torch_extension(bench: Bench, _: dict[str, Any]) -> None:
    """Let torch itself build an extension and load it."""
    bench.write("extension.cu", HEADERS + KERNEL)
    done = bench.run(sys.executable, "-c", EXTENSION)
    last = last_line(done.stdout)
    if "Ninja is required" in last or "No module named 'torch'" in last:
        raise CaseEnded("skipped", last)
    if done.returncode:
        built = "Error building extension" in done.stdout
        raise CaseEnded("failed", complaint(done.stdout) if built else last)


def flash_attn_import(folder: Path) -> None:
    """flash-attn imports and, on a GPU, attends as torch does."""
    done = run(folder, {}, sys.executable, "-c", FLASH)
    last = last_line(done.stdout)
    if done.returncode == TORCH_IS_BROKEN:
        raise CaseEnded("skipped", "torch does not import")
    if done.returncode and NO_DRIVER.search(last):
        raise CaseEnded("skipped", last)
    if done.returncode < 0:
        raise CaseEnded(
            "failed",
            (
                f"died of {signal.Signals(-done.returncode).name} while importing or running "
                "flash_attn"
            ),
        )
    if done.returncode:
        raise CaseEnded("failed", last)


def last_line(output: str) -> str:
    """The last line that says something: of a Python traceback, the error."""
    return next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "")[:400]


CASES = {
    "host-compiler": host_compiler,
    "torch-headers": torch_headers,
    "kernel-compile": kernel_compile,
    "kernel-link": kernel_link,
}
DEEP = {"torch-extension": torch_extension}
NEEDED = {"toolkit", "host-compiler", "kernel-compile"}


def build(folder: Path, data: dict[str, Any], cases: dict[str, Any]) -> None:
    """Try the tools in the order of a build; what comes after a tool that fails is not tried."""
    bench: Bench | None = None
    with REPORT.case("toolkit"):
        bench = Bench(folder, find_toolkit())
        data["toolkit"] = str(bench.toolkit)
        if os.environ.get("CANARY_TOOLKIT_SELECTED") == "0":
            data["matters"] = "warning"
        toolkit(bench, data)
    if bench is None or cases["toolkit"]["verdict"] != "passed":
        return
    deep = DEEP if os.environ.get("CANARY_TIER") == "deep" else {}
    for name, trial in {**CASES, **deep}.items():
        with REPORT.case(name):
            trial(bench, data)
        if name in NEEDED and cases[name]["verdict"] == "failed":
            return


def main() -> None:
    """Build, and import what was built before."""
    with REPORT.result(None) as data, tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
        build(Path(folder), data, REPORT.results[-1]["cases"])
        if is_installed("flash_attn"):
            with REPORT.case("flash-attn-import"):
                flash_attn_import(Path(folder))


if __name__ == "__main__":
    REPORT.run(main)
