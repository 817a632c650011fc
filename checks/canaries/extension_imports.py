# /// script
# requires-python = ">=3.8"
# dependencies = []
#
# [tool.doctor]
# kind = "canary"
# role = "loads-extensions"
# summary = "Loads every compiled extension of torch or CUDA, each package in its own process"
# needs = []
# tier = "quick"
# timeout = 180
# devices = "host"
# cases = [
#     "torchvision", "torchaudio", "xformers", "bitsandbytes", "flash-attn", "onnxruntime-gpu",
#     "triton", "others",
# ]
# ///
"""The compiled extensions of the stack load, as their packages load them.

A case is a package; `others` are all packages that have no case of their own and hold compiled
files that need torch or CUDA. Each file is opened after torch was imported, the way torch and
Python open it, every symbol bound; a module that stands by itself is imported. Where a file does
not load, or there is none to open, the package is imported too: whether that works says how much
the file matters. A failure names the file, the symbol or library, or the signal by which it died.
What fails for want of a driver, of a Python module or of a library that has nothing to do with CUDA
is left out, with that reason. ELF files only.
"""

from __future__ import annotations

import ctypes
import glob
import importlib
import importlib.util
import json
import mmap
import os
import re
import select
import signal
import struct
import sys
import sysconfig
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from canary_report import CaseEnded, Report, is_installed

REPORT = Report()
EACH, ALL, LARGEST_RECORD, LONGEST = 40.0, 130.0, 32 << 20, 1500
STACK = re.compile(r"lib(torch|c10|cud|cublas|cuf|curand|cusolver|cusparse|cupti|nccl|nv)")
OURS = re.compile(
    r"lib(torch|c10|cudart|cublas|cudnn|cufft|curand|cusolver|cusparse|cupti|cufile|nccl|"
    r"nvrtc|nvJitLink|nvshmem)\w*\.so"
)
NO_DRIVER = re.compile(
    r"Found no NVIDIA driver|No CUDA GPUs are available|0 active drivers"
    r"|no CUDA-capable device|driver version is insufficient"
    r"|cudaError(InsufficientDriver|NoDevice)|lib(cuda|nvidia-\w+|nvcuvid"
    r"|nvoptix)\.so\S*: cannot open"
)
NOT_THERE = re.compile(r"(\S+?): cannot open shared object file(?:: No such file or directory)?")
# One of several builds in one wheel, of which the package takes the one that fits.
VARIANT = re.compile(
    r"(?:^|[/_.-])(?:(cuda|cu|torch)_?(\d{2,3})|rocm\d*|hip|xpu\d*|ffmpeg\d+)(?=[/_.-]|$)"
)
OWN = re.compile(r"(torch|pytorch-triton.*|nvidia-.*|cuda-.*)$")

VISION, AUDIO, XFORMERS, BITS, ONNX, NOTHING = (
    "torchvision",
    "torchaudio",
    "xformers",
    "bitsandbytes",
    "onnxruntime",
    "",
)
CASES = {
    "torchvision": VISION,
    "torchaudio": AUDIO,
    "xformers": XFORMERS,
    "bitsandbytes": BITS,
    "flash-attn": NOTHING,
    "onnxruntime-gpu": ONNX,
    "triton": NOTHING,
    "others": NOTHING,
}
"""The module to import for a package; none where that would take long."""


class Job:
    """What to load for one package, and how that went."""

    def __init__(self, package: str, folder: str, files: list[str]) -> None:
        self.package, self.module = package, CASES.get(package, "")
        # A module that stands by itself, as flash_attn_2_cuda does, is imported: that costs no
        # more, and shows more.
        self.steps = [
            ["file", os.path.join(folder, name)]
            if "/" in name
            else ["import", name.partition(".")[0]]
            for name in files
        ]
        self.steps += [["import", self.module]] * bool(self.module)
        self.said: list[dict[str, Any]] = []
        self.ended = "was not reached in time"


def installed() -> Iterator[tuple[str, str, list[str]]]:
    """Yield every distribution by name, with its folder and the libraries in its RECORD."""
    paths = sysconfig.get_paths()
    for folder in dict.fromkeys(
        filter(None, (os.environ.get("CANARY_SITE"), paths["purelib"], paths["platlib"]))
    ):
        for record in sorted(glob.glob(os.path.join(glob.escape(folder), "*.dist-info", "RECORD"))):
            with open(record, encoding="utf-8", errors="replace") as file:
                lines = [
                    line.split(",")[0]
                    for line in file.read(LARGEST_RECORD).split("\n")
                    if ".so" in line
                ]
            name = re.sub(
                r"[-_.]+", "-", os.path.basename(os.path.dirname(record)).partition("-")[0]
            ).lower()
            yield name, folder, [line for line in lines if line.endswith(".so") or ".so." in line]


def needed(path: str) -> list[str]:
    """Read which libraries an ELF file needs.

    None where it is no ELF file, or one that makes no sense.
    """
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if data[:6] != b"\x7fELF\x02\x01":
                return []
            at, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
            programs = [
                struct.unpack_from("<IIQQQQQQ", data, at + index * 56) for index in range(count)
            ]
            _, _, at, _, _, size, _, _ = next(row for row in programs if row[0] == 2)
            entries = list(struct.iter_unpack("<QQ", data[at : at + min(size, 1 << 16) // 16 * 16]))
            table = next(value for tag, value in entries if tag == 5)
            place = next(
                row[2] + table - row[3]
                for row in programs
                if row[0] == 1 and row[3] <= table < row[3] + row[5]
            )
            names = [
                data[place + value : data.find(b"\0", place + value)]
                for tag, value in entries
                if tag == 1
            ]
            return [name[:256].decode("utf-8", "replace") for name in names]
    except (OSError, ValueError, StopIteration, OverflowError, struct.error):
        return []


def torch_says(folder: str) -> dict[str, str]:
    """Read the version of torch, and of its CUDA, from its files.

    By these, packages choose among builds that lie side by side.
    """
    path = os.path.join(folder, "torch", "version.py")
    if not os.path.isfile(path):
        return {}
    with open(path, encoding="utf-8", errors="replace") as file:
        return dict(
            re.findall(r"^(__version__|cuda)\b[^=]*= *'([^']*)'", file.read(1 << 16), re.MULTILINE)
        )


def is_loaded(name: str, torch: dict[str, str]) -> bool:
    """Say whether this interpreter would load a compiled file of this name."""
    last = name.rpartition("/")[2]
    tagged = ".cpython-" in last and not last.endswith(
        sysconfig.get_config_var("EXT_SUFFIX") or ".so"
    )
    if not name.endswith(".so") or tagged or ".libs/" in name or name[0] in "./":
        return False
    for kind, number in VARIANT.findall(name):
        here = torch.get("__version__" if kind == "torch" else "cuda", "").split(".")
        if not kind or number not in (here[0], "".join(here[:2])):
            return False
    return True


def find_jobs() -> tuple[list[Job], dict[str, str]]:
    """List what to load, package by package, and where all libraries of the environment lie."""
    jobs, brought = [], {}
    for package, folder, names in installed():
        brought.update({name.rpartition("/")[2]: os.path.join(folder, name) for name in names})
        torch = torch_says(folder)
        files = [name for name in names if name == "triton/_C/libtriton.so"]
        files += (
            []
            if OWN.match(package)
            else [name for name in names if is_loaded(name, torch) and on_stack(folder, name)]
        )
        if files or (CASES.get(package) and names):
            jobs.append(Job(package, folder, files))
    return jobs, brought


def on_stack(folder: str, name: str) -> bool:
    """Say whether a file stands on torch or CUDA, and is opened by itself.

    What else begins with lib is opened when it is needed.
    """
    stack = [each for each in needed(os.path.join(folder, name)) if STACK.match(each)]
    is_plain = not name.rpartition("/")[2].startswith("lib")
    return bool(stack) and (
        is_plain or bool(VARIANT.search(name)) or any("torch" in each for each in stack)
    )


def say(pipe: int, **what: Any) -> None:
    """Write one line that the parent reads; short enough to arrive in one piece."""
    os.write(pipe, json.dumps(what).encode() + b"\n")


def describe(error: BaseException) -> str:
    """Describe an exception in one line."""
    return " ".join(
        f"{type(error).__name__}: {str(error) or 'without a text, its log has more'}".split()
    )[:LONGEST]


def open_file(path: str, brought: dict[str, str]) -> None:
    """Open a file.

    What it lacks and the environment holds is opened first, once, as packages do for theirs.
    """
    while True:
        try:
            ctypes.CDLL(path)
            return
        except OSError as error:
            lacks = NOT_THERE.search(str(error))
            if not lacks or lacks[1] not in brought:
                raise
        open_file(brought.pop(lacks[1]), brought)


def load(pipe: int, number: int, job: Job, brought: dict[str, str]) -> None:
    """Load what one package has, in this process, and say how each step went."""
    failed = len(job.steps) == 1
    for step, (kind, name) in enumerate(job.steps):
        if name == job.module and not failed:
            return
        say(pipe, job=number, step=step)
        try:
            if kind == "import":
                importlib.import_module(name)
            else:
                open_file(name, brought)
        except BaseException as error:
            # In the loader's own words this would be taken for the log of a program that names no
            # package.
            print(NOT_THERE.sub(r"the loader does not find \1", traceback.format_exc()), flush=True)
            said = {
                "failed": describe(error),
                "lacks": error.name if isinstance(error, ModuleNotFoundError) else None,
            }
            say(pipe, job=number, step=step, **said)
            failed = failed or not excuse(said)
        else:
            say(pipe, job=number, step=step, done=True)


def nurse(pipe: int, jobs: list[Job], brought: dict[str, str]) -> None:
    """Import torch once, then load each package in a fork of its own."""
    os.setsid()
    try:
        if any(job.package != "triton" for job in jobs) and is_installed("torch"):
            importlib.import_module("torch")
    except BaseException as error:
        say(pipe, torch=describe(error))
        return
    say(pipe, torch="")
    for number, job in enumerate(jobs):
        child = os.fork()
        if not child:
            try:
                load(pipe, number, job, brought)
            finally:
                os._exit(0)
        say(pipe, job=number, ended=wait_for(child))
    say(pipe, over=True)


def wait_for(child: int) -> str:
    """Wait for a child, not for ever; say how it ended, an empty text where it came to its end."""
    limit, found, status = time.monotonic() + EACH, 0, 0
    while not found and time.monotonic() < limit:
        found, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0 if found else 0.005)
    if not found:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return f"gave no answer within {EACH:.0f} s"
    if os.WIFSIGNALED(status):
        return f"died of {signal.Signals(os.WTERMSIG(status)).name}"
    return f"ended the process with code {os.WEXITSTATUS(status)}" if os.WEXITSTATUS(status) else ""


def run(jobs: list[Job], brought: dict[str, str]) -> str:
    """Load everything, bounded in time, and leave no process behind.

    Give why torch does not import, if it does not.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            nurse(writer, jobs, brought)
        finally:
            os._exit(0)
    os.close(writer)
    torch, rest, line, limit = "died", b"", {"torch": "died"}, time.monotonic() + ALL
    while (
        "over" not in line and select.select([reader], [], [], max(limit - time.monotonic(), 0))[0]
    ):
        data = os.read(reader, 1 << 16) or b'{"over": true}\n'
        *lines, rest = (rest + data).split(b"\n")
        for line in map(json.loads, lines):
            torch = line.get("torch", torch)
            if "job" in line:
                job = jobs[line["job"]]
                job.ended, job.said = (
                    line.get("ended", job.ended),
                    job.said + [line] * ("step" in line),
                )
    with suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reader)
    return torch


def judge(job: Job) -> tuple[list[str], list[str], int]:
    """Give what failed, what could not be tried and why, and how many steps went well."""
    failed, left = [], [] if job.said else [f"{job.package}: {job.ended}"]
    for line in job.said:
        if "failed" in line:
            why = excuse(line)
            seen = NOT_THERE.sub(r"the loader does not find \1", line["failed"])
            (left if why else failed).append(
                f"{os.path.basename(job.steps[line['step']][1])}: {why or seen}"
            )
    cut = [line for line in job.said[-1:] if not {"done", "failed"} & set(line)]
    failed += [
        (
            f"{os.path.basename(job.steps[line['step']][1])}: "
            f"{job.ended or 'ended the process'} while it was loaded"
        )
        for line in cut
    ]
    return failed, left, sum("done" in line for line in job.said)


def excuse(line: dict[str, Any]) -> str:
    """Say why a failure speaks of something else than the compiled file.

    An empty text where it does not.
    """
    if NO_DRIVER.search(line["failed"]):
        return "needs a driver, and there is none on this machine"
    if line["lacks"]:
        return f"needs the Python module {line['lacks']}, which is not installed"
    library = NOT_THERE.search(line["failed"])
    return (
        f"needs {library[1]}, an optional library" if library and not OURS.match(library[1]) else ""
    )


def settle(found: list[tuple[Job, list[str], list[str], int]], data: dict[str, Any]) -> None:
    """End one case.

    A package that imports without one of its files does less, anything else that fails is an error.
    """
    for job, failed, left, _ in found:
        data["left_out"] += left
        if failed:
            data["failed"][job.package] = "; ".join(failed)
            imported = any(
                "done" in line and job.steps[line["step"]][1] == job.module for line in job.said
            )
            data["matters"] = (
                data.get("matters", "warning") if imported and not job.ended else "error"
            )
    reasons = [data["failed"][job.package] for job, failed, _, _ in found if failed]
    if reasons:
        raise CaseEnded("failed", "; ".join(reasons)[:2000])
    if not any(done for *_, done in found):
        raise CaseEnded("skipped", "; ".join(why for _, _, left, _ in found for why in left)[:1000])


def main() -> None:
    """Load everything, then tell package by package."""
    with REPORT.result(None) as data:
        jobs, brought = find_jobs()
        if not jobs or not sys.platform.startswith("linux"):
            raise CaseEnded(
                "skipped",
                "no compiled extension, an ELF file that stands on torch or CUDA, is installed",
            )
        data.update(files={job.package: len(job.steps) for job in jobs}, failed={}, left_out=[])
        torch = run(jobs, brought)
        if torch:
            raise CaseEnded("skipped", f"import torch does not work here: {torch}")
        judged = [(job, *judge(job)) for job in jobs]
        for name in CASES:
            found = [
                each
                for each in judged
                if name == (each[0].package if each[0].package in CASES else "others")
            ]
            if found:
                with REPORT.case(name):
                    settle(found, data)


if __name__ == "__main__":
    REPORT.run(main)
