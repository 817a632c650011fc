# /// script
# requires-python = ">=3.8"
# dependencies = ["torch"]
#
# [tool.doctor]
# kind = "canary"
# summary = "Compiles one translation unit of flash-attn as its own build would, links it and, on a GPU, compares with attention in float64"
# needs = ["torch"]
# tier = "deep"
# timeout = 1800
# devices = "host"
# cases = ["source", "preflight", "headers", "compile", "link", "run"]
# ///
"""flash-attn builds here: one real file of its source goes the whole way that all of them would go.

The smallest forward kernel is compiled with the flags that flash-attn's setup.py holds and those that torch adds, for one
architecture. `preflight` asks torch whether it takes this toolkit and works out how many compilers fit into the memory;
`headers` preprocesses the host half; `compile` takes minutes; `link` links the unit and loads it into a process with
torch; `run` needs a GPU. A failure names the first line in which a tool complains, and so what would stop the whole build.

The source comes from `CANARY_FLASH_ATTN` (a checkout, an unpacked sdist, or the .tar.gz), or, where `CANARY_NETWORK` is 1, from the
package index through pip or uv; setup.py is read and never run. `CANARY_ARCH` (`sm_90`) is the architecture.
"""

from __future__ import annotations

import ast
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
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


# --- report: the same in every check, kept so by a test ---
class Ending(Exception):
    """Ends a case, or a whole result, before its time: `raise Ending("skipped", "no nvcc here")`."""


class Report:
    """What was seen and what is being done, on disk before and after every risky step."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.results: list[dict[str, Any]] = []
        self.doing: dict[str, Any] = {"device": None, "case": "", "act": False}

    def write(self, doing: dict[str, Any] | None) -> None:
        """Replace the file in one step; where none is asked for, print the document once it is done."""
        document = {"contract": 1, "facts": self.facts, "results": self.results, "doing": doing}
        text, path = json.dumps(document, indent=1), os.environ.get("CANARY_RESULT")
        if path:
            with open(path + ".part", "w", encoding="utf-8") as part:
                part.write(text)
            os.replace(path + ".part", path)
        elif doing is None:
            print(text)

    @contextmanager
    def act(self) -> Iterator[None]:
        """Hold what is under test: what it raises is a failure, and how it dies is the patient's."""
        self.write({**self.doing, "act": True})
        try:
            yield
        except Ending:
            raise
        except Exception as error:
            traceback.print_exc()
            raise Ending("failed", " ".join(f"{type(error).__name__}: {error}".split())[:400]) from error
        self.write(self.doing)

    @contextmanager
    def result(self, device: str | None) -> Iterator[dict[str, Any]]:
        """Hold what a device gives (None: the machine): failed with any case, skipped with all."""
        entry: dict[str, Any] = {"device": device, "cases": {}, "data": {}}
        self.results.append(entry)
        started = time.monotonic()
        with self.case("", entry):
            yield entry["data"]
            for verdict in "failed", "skipped":
                said = [f"{name}: {case['reason']}" for name, case in entry["cases"].items() if case["verdict"] == verdict]
                if said and (verdict == "failed" or len(said) == len(entry["cases"])):
                    raise Ending(verdict, "; ".join(said))
        entry["seconds"] = round(time.monotonic() - started, 3)

    @contextmanager
    def case(self, name: str, entry: dict[str, Any] | None = None) -> Iterator[None]:
        """Hold a case of the last result, listed once it has ended; without a name, the result itself."""
        entry = {} if entry is None else entry
        entry.update(verdict="running", reason="")
        self.doing.update(device=self.results[-1]["device"], case=name)
        self.write(self.doing)
        try:
            yield
            entry["verdict"] = "passed"
        except Ending as end:
            entry["verdict"], entry["reason"] = end.args
        if name:
            self.results[-1]["cases"][name] = entry
        self.doing["case"] = ""
        self.write(self.doing)


# --- end of report ---

REPORT = Report()
COMPLAINT = re.compile(r"error|fatal|not found|cannot find|No such file|undefined reference|Killed", re.IGNORECASE)
SOURCES = "csrc/flash_attn/src"
LARGEST_SOURCE = 1 << 30
BYTES_A_JOB = 5_000_000_000
"""For one architecture and one thread; the smallest unit of 2.8.3 takes 3.4 GB with nvcc 13.0, those of larger heads more."""

KEEPER = """\
import os, shutil, sys
def keep(*_arguments, **_settings):
    shutil.copytree(os.getcwd(), os.environ["CANARY_KEEP"])
    raise SystemExit("kept")
get_requires_for_build_wheel = prepare_metadata_for_build_wheel = build_wheel = keep
__legacy__ = sys.modules[__name__]
"""
"""Stands in for the build backend: keeps the source that an installer has fetched and unpacked, so that setup.py is not run."""

TORCH_IS_BROKEN, TORCH_HAS_NO_CUDA = 90, 91
TORCH = """\
import json, sys, sysconfig
try:
    import torch
except Exception:
    sys.exit(90)
if torch.version.cuda is None:
    sys.exit(91)
from torch.utils import cpp_extension as builder
version = builder.get_compiler_abi_compatibility_and_version(builder.get_cxx_compiler())[1]
builder._check_cuda_version(builder.get_cxx_compiler(), version)
print("torch says", json.dumps({
    "nvcc": builder.COMMON_NVCC_FLAGS,
    "defined": ["-DTORCH_API_INCLUDE_EXTENSION_H", "-DTORCH_EXTENSION_NAME=flash_attn_2_cuda",
                "-D_GLIBCXX_USE_CXX11_ABI=%d" % torch._C._GLIBCXX_USE_CXX11_ABI],
    "include": [*builder.include_paths("cuda"), sysconfig.get_paths()["include"]],
    "libraries": builder.library_paths("cuda"),
}))
"""

CALLER = """\
#include <cmath>
#include <cuda_runtime.h>
#include "flash.h"
#include <cutlass/numeric_types.h>
#ifdef FLASH_NAMESPACE
using namespace FLASH_NAMESPACE;
#endif
extern "C" int canary_attend(void *q, void *k, void *v, void *out, void *lse, int batch, int length, int heads, int width, int causal) {
    Flash_fwd_params params = {};
    params.q_ptr = q; params.k_ptr = k; params.v_ptr = v; params.o_ptr = out; params.softmax_lse_ptr = lse;
    params.q_row_stride = params.k_row_stride = params.v_row_stride = params.o_row_stride = heads * width;
    params.q_head_stride = params.k_head_stride = params.v_head_stride = params.o_head_stride = width;
    params.q_batch_stride = params.k_batch_stride = params.v_batch_stride = params.o_batch_stride = (long)length * heads * width;
    params.b = batch; params.h = params.h_k = heads; params.h_h_k_ratio = 1; params.d = params.d_rounded = width;
    params.seqlen_q = params.seqlen_k = length;
    params.seqlen_q_rounded = params.seqlen_k_rounded = (length + 127) / 128 * 128;
    params.scale_softmax = 1 / std::sqrt((float)width);
    params.scale_softmax_log2 = params.scale_softmax * 1.44269504f;
    params.p_dropout = params.rp_dropout = 1; params.p_dropout_in_uint8_t = 255;
    params.scale_softmax_rp_dropout = params.scale_softmax;
    params.window_size_left = -1; params.window_size_right = causal ? 0 : -1;
    params.is_causal = causal; params.is_seqlens_k_cumulative = true;
    run_mha_fwd_<%s>(params, 0);
    return (int)cudaDeviceSynchronize();
}
"""

RUN = """\
import ctypes, os, sys
import torch
unit = ctypes.CDLL(os.path.abspath("unit.so"), mode=os.RTLD_NOW)
print("gpu", torch.cuda.is_available())
if sys.argv[1] == "load":
    sys.exit(0)
width, causal, seed = int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
torch.manual_seed(seed)
batch, length, heads = 2, 200, 3
query, key, value = (torch.randn(batch, length, heads, width, device="cuda").half() for _ in range(3))
out = torch.full_like(query, float("nan"))
lse = torch.empty(batch, heads, 256, device="cuda")
torch.cuda.synchronize()
pointers = [ctypes.c_void_p(each.data_ptr()) for each in (query, key, value, out, lse)]
code = unit.canary_attend(*pointers, batch, length, heads, width, causal)
assert code == 0, "the kernel ended with CUDA error %d" % code
q, k, v = (each.cpu().double().transpose(1, 2) for each in (query, key, value))
scores = q @ k.transpose(2, 3) / width ** 0.5
if causal:
    scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), float("-inf"))
wanted = (scores.softmax(-1) @ v).transpose(1, 2)
error = (out.cpu().double() - wanted).abs().max().item()
assert error <= 0.01, "largest error against attention in float64 %.3g, allowed 0.01" % error
print("largest error", error)
"""


class Build:
    """What a build of flash-attn has: a folder, a toolkit, a source, flags."""

    def __init__(self, folder: Path, toolkit: Path, arch: str) -> None:
        self.folder = folder
        self.toolkit = toolkit
        self.nvcc = str(toolkit / "bin" / "nvcc")
        self.cxx = shlex.split(os.environ.get("CXX") or "") or [shutil.which("c++") or shutil.which("g++") or "c++"]
        self.arch = arch
        self.source = folder / "source"
        self.torch: dict[str, list[str]] = {}
        self.flags: list[str] = []
        self.unit = Path()
        self.gpu = False

    def run(self, *command: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run a tool where it can do no harm, in English, as part of the act under test; the log keeps the command and its output."""
        print("$", " ".join(command) if len(command[-1]) < 400 else command[0] + " …", flush=True)
        environment = {**os.environ, "LC_ALL": "C", "TMPDIR": str(self.folder), "CUDA_HOME": str(self.toolkit), **extra}
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
        print(done.stdout[-100_000:], flush=True)
        return done

    def must(self, *command: str) -> str:
        """Run a tool that has to succeed; give its output."""
        done = self.run(*command)
        if done.returncode < 0:
            raise Ending("failed", f"{Path(command[0]).name} died of {signal.Signals(-done.returncode).name}")
        if done.returncode:
            raise Ending("failed", complaint(done.stdout) or f"{Path(command[0]).name} ended with {done.returncode}")
        return done.stdout

    def includes(self) -> list[str]:
        """The folders that setup.py and torch name."""
        own = [self.source / "csrc" / "flash_attn", self.source / SOURCES, self.source / "csrc" / "cutlass" / "include"]
        return [f"-I{folder}" for folder in [*own, *self.torch["include"]]]

    def standard(self) -> list[str]:
        """The C++ standard of the host half: the same as the device half's."""
        return [flag for flag in self.flags if flag.startswith("-std=")]


def complaint(output: str) -> str:
    """The first line in which a tool complains."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    told = [line for line in lines if COMPLAINT.search(line) and "warning" not in line]
    return (told or lines or [""])[0][:400]


def last_error(output: str) -> str:
    """The error that ends a Python traceback, which may have several lines."""
    lines = output.strip().splitlines()
    starts = [index for index, line in enumerate(lines) if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return " ".join(" ".join(lines[starts[-1] if starts else -1 :]).split())[:400]


def find_toolkit() -> Path:
    """Look for the toolkit where torch's extension builder does; one that is named has to hold nvcc."""
    for name in "CANARY_TOOLKIT", "CUDA_HOME", "CUDA_PATH":
        if os.environ.get(name):
            root = Path(os.environ[name])
            if not (root / "bin" / "nvcc").is_file():
                raise Ending("failed", f"{name}={root} holds no bin/nvcc")
            return root
    found = shutil.which("nvcc")
    root = Path(found).parent.parent if found else Path("/usr/local/cuda")
    if not (root / "bin" / "nvcc").is_file():
        raise Ending("skipped", "no CUDA toolkit (nvcc) on this machine or in this environment")
    return root


def source(build: Build, data: dict[str, Any]) -> None:
    """Bring the source into reach: a folder as it is, an archive unpacked, or fetched from the package index."""
    given = os.environ.get("CANARY_FLASH_ATTN")
    if given and Path(given).is_dir():
        build.source = Path(given)
    elif given:
        unpack(Path(given), build.source)
    else:
        fetch(build)
    roots = [build.source, *sorted(path.parent for path in build.source.glob("*/setup.py"))]
    build.source = next((root for root in roots if (root / SOURCES).is_dir() and (root / "setup.py").is_file()), build.source)
    units = sorted((build.source / SOURCES).glob("flash_fwd_hdim*_fp16_*sm80.cu"), key=cost)
    if not units:
        raise Ending("failed", f"this is no source of flash-attn: no {SOURCES}/flash_fwd_hdim*_fp16_*sm80.cu")
    if not (build.source / "csrc" / "cutlass" / "include" / "cutlass" / "cutlass.h").is_file():
        raise Ending("failed", "csrc/cutlass is missing, please use source distribution or git clone")
    build.unit = units[0]
    told = lenient(build.source / "PKG-INFO") + lenient(build.source / "flash_attn" / "__init__.py")
    version = re.search(r"^(?:Version: |__version__ = \")([\w.+]+)", told, re.MULTILINE)
    data["version"] = version.group(1) if version else "unknown"


def cost(unit: Path) -> tuple[int, bool]:
    """The order of what units cost: by the width of a head; a causal one has no kernels for windows and takes half."""
    width = re.search(r"hdim(\d+)", unit.name)
    return int(width.group(1)) if width else 1 << 20, "_causal" not in unit.name


def read(path: str | Path) -> str:
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
                content = tar.extractfile(member) if member.isfile() and ".." not in parts and not os.path.isabs(member.name) else None
                if content is None or not ({"csrc", "setup.py", "PKG-INFO"} & set(parts[1:2])):
                    continue
                left -= member.size
                if left < 0:
                    raise Ending("failed", f"{archive} holds more than {LARGEST_SOURCE >> 30} GiB")
                (target / member.name).parent.mkdir(parents=True, exist_ok=True)
                with open(target / member.name, "wb") as file:
                    shutil.copyfileobj(content, file)
    except (OSError, tarfile.TarError, EOFError) as error:
        raise Ending("failed", f"CANARY_FLASH_ATTN={archive} cannot be read as a source archive: {error}") from error


def fetch(build: Build) -> None:
    """Let the target's installer fetch the sdist, and keep what it unpacked; without leave, say how to give a source."""
    if os.environ.get("CANARY_NETWORK") != "1":
        raise Ending("skipped", "no source of flash-attn: name one with --flash-attn PATH, or let it be fetched with --network")
    backend = build.folder / "backend" / "setuptools"
    backend.mkdir(parents=True)
    (backend / "__init__.py").write_text("", encoding="utf-8")
    (backend / "build_meta.py").write_text(KEEPER, encoding="utf-8")
    wanted, target = "flash-attn<3", str(build.folder / "fetched")
    kept = {"PYTHONPATH": str(backend.parent), "CANARY_KEEP": str(build.source), "UV_CACHE_DIR": str(build.folder / "uv")}
    quiet = ["--no-deps", "--no-build-isolation"]
    pip = ["-m", "pip", "download", *quiet, "--use-pep517", "--no-cache-dir", "--disable-pip-version-check", "--no-binary", ":all:"]
    commands = [[sys.executable, *pip, "-d", target, wanted]]
    if shutil.which("uv"):
        uv = ["uv", "pip", "install", *quiet, "--python", sys.executable, "--no-binary", "flash-attn", "--target", target, wanted]
        commands.append(uv)
    said = []
    for command in commands:
        done = build.run(*command, **kept)
        if build.source.is_dir():
            return
        said.append(f"{Path(command[0]).name}: {complaint(done.stdout)}")
    raise Ending("skipped", "the source of flash-attn could not be fetched: " + "; ".join(said))


def preflight(build: Build, data: dict[str, Any]) -> None:
    """Ask torch whether it would build with this toolkit, read the flags, and say what the whole build asks of this machine."""
    setup = read(build.source / "setup.py")
    ask_torch(build)
    build.flags = nvcc_flags(setup)
    if not build.standard():
        # It chooses by the torch that it finds, as torch itself does.
        builder = read(Path(build.torch["include"][0]).parent / "utils" / "cpp_extension.py")
        standards = [int(found) for found in re.findall(r"'-std=c\+\+(\d+)'", builder)]
        build.flags.append(f"-std=c++{max(standards, default=17)}")
    target = own_target(setup, build.arch)
    build.flags += ["-gencode", f"arch=compute_{target},code=sm_{target}", "--threads", os.environ.get("NVCC_THREADS") or "4"]
    free, cores = free_memory(), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    jobs = max(1, min(cores, free // BYTES_A_JOB)) if free else 1
    files = len(set(re.findall(r"\"(csrc/flash_attn/[\w./]+\.(?:cu|cpp))\"", setup)))
    data.update(unit=build.unit.name, flags=build.flags, files=files, max_jobs=jobs, free_gb=round(free / 1e9, 1), target=target)
    data["told"] = f"MAX_JOBS={jobs} fits: {cores} cores, {free / 1e9:.0f} GB free, some {BYTES_A_JOB / 1e9:.0f} GB a compiler"
    print(data["told"] + f"; compiling {build.unit.name}, one of {files} files", flush=True)


def ask_torch(build: Build) -> None:
    """Take from torch what it adds to every build, after its own comparison of compiler, toolkit and itself."""
    done = build.run(sys.executable, "-c", TORCH)
    if done.returncode in (TORCH_IS_BROKEN, TORCH_HAS_NO_CUDA):
        raise Ending("skipped", "torch does not import" if done.returncode == TORCH_IS_BROKEN else "this torch is built without CUDA")
    told = [line for line in done.stdout.splitlines() if line.startswith("torch says {")]
    if done.returncode or not told:
        raise Ending("failed", last_error(done.stdout) or f"torch's build tools ended with {done.returncode}")
    build.torch = json.loads(told[-1][len("torch says ") :])


def nvcc_flags(setup: str) -> list[str]:
    """The flags for nvcc in the text of setup.py: the list that holds --expt-extended-lambda, without what is not a plain text in it."""
    for node in ast.walk(ast.parse(setup)):
        if isinstance(node, ast.List):
            flags = [item.value for item in node.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
            if "--expt-extended-lambda" in flags:
                return [flag for flag in flags if re.match(r"-[-\w+=:.]+$", flag)]
    raise Ending("skipped", "the setup.py of this source holds no list of flags in a known form")


def own_target(setup: str, arch: str) -> int:
    """The architecture that setup.py compiles for to serve this one: the first of its generation."""
    number = re.match(r"sm_(\d+)", arch)
    targets = sorted(map(int, re.findall(r"\"(\d+)\" in cuda_archs\(\)", setup))) or [80, 90]
    fit = [target for target in targets if number and target // 10 == int(number.group(1)) // 10]
    if not fit:
        known = ", ".join(f"sm_{target}" for target in targets)
        raise Ending("failed", f"nothing that this flash-attn compiles ({known}) runs on {arch}")
    return fit[0]


def free_memory() -> int:
    """The bytes that are free to use: the least of the machine's and of what each control group leaves; 0 where nothing tells."""
    rooms = [int(kilobytes) << 10 for kilobytes in re.findall(r"^MemAvailable:\s+(\d+) kB", lenient("/proc/meminfo"), re.MULTILINE)]
    for line in lenient("/proc/self/cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers and "memory" not in controllers.split(","):
            continue
        root, names = ("/sys/fs/cgroup/memory", ("limit_in_bytes", "usage_in_bytes", "total_inactive_file"))
        if not controllers:
            root, names = "/sys/fs/cgroup", ("max", "current", "inactive_file")
        inner = Path("/" + path.strip("/"))
        for group in [inner, *inner.parents]:
            folder = root + str(group).rstrip("/")
            limit, used = (lenient(f"{folder}/memory.{name}").strip() for name in names[:2])
            cache = re.search(rf"^{names[2]} (\d+)$", lenient(f"{folder}/memory.stat"), re.MULTILINE)
            if limit.isdecimal() and used.isdecimal():
                rooms.append(max(0, int(limit) - int(used) + (int(cache.group(1)) if cache else 0)))
    return min(rooms, default=0)


def lenient(path: str | Path) -> str:
    """Read a file that may not be there."""
    try:
        return read(path)
    except OSError:
        return ""


def headers(build: Build, _: dict[str, Any]) -> None:
    """Everything that the host half includes is there, and takes the C++ standard that flash-attn asks for."""
    api = build.source / "csrc" / "flash_attn" / "flash_api.cpp"
    build.must(*build.cxx, "-E", *build.standard(), *build.torch["defined"], *build.includes(), str(api), "-o", "api.ii")


def compile_unit(build: Build, data: dict[str, Any]) -> None:
    """Compile the unit; this is what takes minutes."""
    ccbin = ["-ccbin", os.environ["CC"]] if os.environ.get("CC") else []
    flags = [*build.torch["nvcc"], "--compiler-options", "-fPIC", *build.flags, *build.torch["defined"], *ccbin]
    started = time.monotonic()
    build.must(build.nvcc, *build.includes(), "-c", str(build.unit), "-o", "unit.o", *flags)
    seconds = time.monotonic() - started
    import resource  # There is none on Windows, where everything before this works.

    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    hours = seconds * data["files"] / data["max_jobs"] / 3600
    data.update(unit_seconds=round(seconds, 1), unit_gb=round(largest / 1e9, 2), whole_hours=round(hours, 2))
    whole = f"{hours:.1f} h" if hours >= 1 else f"{hours * 60:.0f} min" if hours >= 1 / 60 else f"{hours * 3600:.0f} s"
    data["told"] = (
        f"the smallest of {data['files']} files took {seconds:.0f} s and {largest / 1e9:.1f} GB: all of them at least {whole} with "
        f"MAX_JOBS={data['max_jobs']} FLASH_ATTN_CUDA_ARCHS={data['target']}"
    )


def link(build: Build, _: dict[str, Any]) -> None:
    """Link the unit and a caller of it the way torch links an extension, and load the result into a process with torch."""
    text = read(build.unit)
    found = re.search(r"run_mha_fwd_<([\w:]+(?:, ?\w+)+)>", text)
    if not found:
        raise Ending("skipped", "this unit defines no run_mha_fwd_ in a known form")
    (build.folder / "caller.cpp").write_text(CALLER % found.group(1), encoding="utf-8")
    build.must(
        *build.cxx, "-O1", "-fPIC", *build.standard(), *build.torch["defined"], *build.includes(), "-c", "caller.cpp", "-o", "caller.o"
    )
    libraries = ["-lc10", "-ltorch", "-ltorch_cpu", "-ltorch_python", "-lcudart", "-lc10_cuda", "-ltorch_cuda"]
    folders = [f"-L{folder}" for folder in build.torch["libraries"]]
    build.must(*build.cxx, "-shared", "unit.o", "caller.o", *folders, *libraries, "-o", "unit.so")
    loaded = build.run(sys.executable, "-c", RUN, "load")
    if loaded.returncode:
        raise Ending("failed", last_error(loaded.stdout) or f"loading it ended with {loaded.returncode}")
    build.gpu = "gpu True" in loaded.stdout


def run_unit(build: Build, data: dict[str, Any]) -> None:
    """Attend with the unit on the GPU, and compare with the same in float64 on the CPU."""
    if not build.gpu:
        raise Ending("skipped", "no GPU that torch can use: compiled and linked only")
    width, causal = cost(build.unit)[0], int("_causal" in build.unit.name)
    data["seed"] = int.from_bytes(os.urandom(4), "little")
    done = build.run(sys.executable, "-c", RUN, "run", str(width), str(causal), str(data["seed"]))
    if done.returncode < 0:
        raise Ending("failed", f"died of {signal.Signals(-done.returncode).name}")
    if done.returncode:
        raise Ending("failed", last_error(done.stdout))


STEPS = {
    "source": source,
    "preflight": preflight,
    "headers": headers,
    "compile": compile_unit,
    "link": link,
    "run": run_unit,
}


def main() -> None:
    """Take the steps of a build in their order; what comes after one that does not pass is not tried."""
    with REPORT.result(None) as data, tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
        if os.environ.get("CANARY_TOOLKIT_SELECTED") == "0":
            data["matters"] = "warning"
        toolkit, arch = find_toolkit(), os.environ.get("CANARY_ARCH")
        if not arch:
            raise Ending("skipped", "no GPU to compile for: say which with --assume gpu=sm_90")
        build, cases = Build(Path(folder), toolkit, arch), REPORT.results[-1]["cases"]
        for name, step in STEPS.items():
            with REPORT.case(name):
                step(build, data)
            if cases[name]["verdict"] == "skipped" and "compile" not in cases:
                raise Ending("skipped", f"{name}: {cases[name]['reason']}")
            if cases[name]["verdict"] != "passed":
                break
    REPORT.write(doing=None)


if __name__ == "__main__":
    main()
