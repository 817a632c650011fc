# /// script
# requires-python = ">=3.8"
# dependencies = []
#
# [tool.doctor]
# kind = "canary"
# role = "runs-candle"
# summary = "Compiles candle-flash-attn's build script; a kernel too with --tier deep"
# target = "cargo"
# needs = ["candle-flash-attn"]
# tier = "quick"
# timeout = 1200
# devices = "host"
# cases = ["build-script", "toolkit", "kernel"]
# ///
"""The build of candle-flash-attn can begin.

Its build script compiles, which takes seconds and no nvcc.

In a whole build a script that does not compile hides behind those of cudarc and candle-kernels,
which stop first where nvcc is absent or too new. So the very build.rs that the workspace resolves
to is checked by itself, as a program of a crate of ours with the build-dependencies that the
workspace has locked; it is not run. Where these crates are not on this machine rustc checks it
against stubs, and then only an assignment that the language forbids is a fault. A failure is the
first error of rustc.

`toolkit` asks the nvcc that a build would start what it is, and is skipped where there is none.
With `CANARY_TIER=deep` one kernel is compiled with the flags that build.rs holds; a failure names
the first line in which nvcc complains.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from canary_report import CaseEnded, Report  # noqa: E402
from candle import script  # noqa: E402
from candle.cargo import Cargo, Undone  # noqa: E402
from candle.programs import undone  # noqa: E402

REPORT = Report()
COMPLAINT = re.compile(
    r"error|fatal|not found|cannot find|No such file|Killed|Segmentation fault", re.IGNORECASE
)
UNIT = re.compile(r"flash_fwd_hdim(\d+)_fp16(_causal)?_sm80\.cu$")
FLAG = re.compile(r"\.arg\(\s*\"([^\"]+)\"\s*\)")
COMMIT = re.compile(r"CUTLASS_COMMIT[^=]*=\s*\"([0-9a-f]{16,40})\"")
ROOTS = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR")


def build_script(cargo: Cargo, folder: Path, data: dict[str, Any]) -> dict[str, Any]:
    """Compile the build script; return the package that it belongs to."""
    package, whole, why = script.package_and_workspace(cargo, "candle-flash-attn")
    data.update(version=package["version"], build_script=str(script.source(package)))
    fault = None
    if whole is not None:
        try:
            fault = script.against_its_crates(cargo, package, whole, folder / "script")
        except Undone as undone:
            whole, why = None, str(undone)
        if fault and fault.verdict != "failed":
            whole, why = None, fault.reason
    if whole is None:
        print("without the crates that it uses:", why, flush=True)
        data["told"] = [
            (
                "the build script was checked by rustc alone, against stubs of the crates "
                f"that it uses: {why}"
            )[:300]
        ]
        fault = script.against_stubs(cargo, package, folder / "stubs")
    if fault:
        raise CaseEnded("failed", fault.reason)
    return package


def find_nvcc(data: dict[str, Any]) -> str:
    """Find nvcc.

    Of the toolkit to judge, else on PATH, where candle's builds look first, else where a variable
    points.
    """
    roots = [os.environ.get(name) for name in ("CANARY_TOOLKIT", *ROOTS)]
    known = [
        os.path.join(root, "bin", "nvcc")
        for root in (*roots, "/usr/local/cuda", "/opt/cuda")
        if root
    ]
    first = known[:1] if os.environ.get("CANARY_TOOLKIT") else []
    for path in (*first, shutil.which("nvcc"), *known):
        if path and os.access(path, os.X_OK):
            if shutil.which("nvcc") is None:
                data.setdefault("told", []).append(
                    f"{os.path.dirname(path)} is not on PATH, where bindgen_cuda and "
                    "cudarc look for nvcc"
                )
            return path
    data.setdefault("told", []).append(
        "the build script compiles; there is no nvcc here for it to start, so nothing "
        "beyond it was tried"
    )
    raise CaseEnded("skipped", "there is no nvcc here for the build script to start")


def toolkit(cargo: Cargo, folder: Path, data: dict[str, Any]) -> str:
    """Ask nvcc what it is; return it."""
    nvcc = find_nvcc(data)
    if os.environ.get("CANARY_TOOLKIT_SELECTED") == "0":
        data["matters"] = "warning"
    done = cargo.start([nvcc, "--version"], folder, 60.0)
    release = re.search(r"release [\d.]+, V[\d.]+", done.out)
    if done.code or release is None:
        raise CaseEnded(
            "failed",
            f"{nvcc} --version: {complaint(done.out + done.err) or f'ended with {done.code}'}",
        )
    data["nvcc_version"] = release.group()
    return nvcc


def kernel(
    cargo: Cargo, package: dict[str, Any], nvcc: str, folder: Path, data: dict[str, Any]
) -> None:
    """Compile the cheapest kernel the way the build script would."""
    home = Path(package["manifest_path"]).parent
    units = sorted(
        (path for path in (home / "kernels").glob("*.cu") if UNIT.search(path.name)), key=cost
    )
    if not units:
        raise CaseEnded("skipped", f"this {package['name']} has no kernel of a known name")
    capability = (
        re.sub(r"\D", "", os.environ.get("CANARY_ARCH") or os.environ.get("CUDA_COMPUTE_CAP") or "")
        or "80"
    )
    ccbin = ["-ccbin", os.environ["NVCC_CCBIN"]] if os.environ.get("NVCC_CCBIN") else []
    command = [
        nvcc,
        f"--gpu-architecture=sm_{capability}",
        "-c",
        "--default-stream",
        "per-thread",
        *flags(home, script.source(package)),
        *ccbin,
    ]
    done = cargo.start([*command, "-o", "kernel.o", str(units[0])], folder, 1000.0)
    data.update(kernel=units[0].name, kernel_seconds=round(done.seconds, 1))
    if done.code:
        raise CaseEnded(
            "failed",
            (
                f"{units[0].name} for sm_{capability}: "
                f"{complaint(done.out + done.err) or f'nvcc ended with {done.code}'}"
            )[:400],
        )
    count = len(list((home / "kernels").glob("*.cu")))
    data.setdefault("told", []).append(
        f"{units[0].name}, one of {count} files of the build, took {done.seconds:.0f} s "
        f"for sm_{capability}"
    )


def cost(unit: Path) -> tuple[int, bool]:
    """The order of what kernels cost: by the width of a head, and a causal one before its twin."""
    found = UNIT.search(unit.name)
    return (int(found.group(1)), found.group(2) is None) if found else (1 << 20, True)


def flags(home: Path, build: Path) -> list[str]:
    """Return the flags in a build script, with absolute folders and the CUTLASS of its build."""
    text = build.read_text(encoding="utf-8")
    told = [flag for flag in FLAG.findall(text) if flag not in ("--verbose", "-D_USE_MATH_DEFINES")]
    told = [f"-I{home / flag[2:]}" if flag.startswith("-I") else flag for flag in told]
    commit = COMMIT.search(text)
    if commit and "with_cutlass" in text:
        kept = Path.home() / ".cudaforge" / "git" / "checkouts" / f"cutlass-{commit.group(1)[:16]}"
        if not (kept / "include" / "cutlass" / "cutlass.h").is_file():
            raise CaseEnded(
                "skipped",
                (
                    f"CUTLASS {commit.group(1)[:8]} is not on this machine: the build clones "
                    "it from GitHub"
                ),
            )
        told += [f"-I{kept / 'include'}", f"-I{kept / 'tools' / 'util' / 'include'}"]
    return told


def complaint(output: str) -> str:
    """The first line in which a tool complains."""
    told = [
        line.strip()
        for line in output.splitlines()
        if COMPLAINT.search(line) and "warning" not in line
    ]
    return (told or [""])[0][:300]


def main() -> None:
    """Take the steps of a build in their order.

    What comes after one that does not pass is not tried.
    """
    with REPORT.result(None) as data, tempfile.TemporaryDirectory(dir=os.getcwd()) as temporary:
        cases, folder, deep = (
            REPORT.results[-1]["cases"],
            Path(temporary),
            os.environ.get("CANARY_TIER") == "deep",
        )
        package: dict[str, Any] = {}
        nvcc = ""
        with REPORT.case("build-script"), undone():
            cargo = Cargo()
            package = build_script(cargo, folder, data)
        if cases["build-script"]["verdict"] == "passed":
            with REPORT.case("toolkit"), undone():
                nvcc = toolkit(cargo, folder, data)
        if nvcc and cases["toolkit"]["verdict"] == "passed" and deep:
            with REPORT.case("kernel"), undone():
                kernel(cargo, package, nvcc, folder, data)


if __name__ == "__main__":
    REPORT.run(main)
