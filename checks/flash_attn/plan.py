"""Say how flash-attn's own build would compile here.

`plan.py SETUP_PY ARCH`, setup.py being read and never run.

torch first compares compiler, toolkit and itself, as it does before every build. Printed are the
flags of setup.py, what torch adds to them, the target that serves the architecture, and how many
compilers fit into the memory. Exit codes 90 and 91: torch does not import, or knows no CUDA.
"""

import ast
import json
import os
import re
import sys
import sysconfig
from pathlib import Path

try:
    import torch
except Exception:
    sys.exit(90)
if torch.version.cuda is None:
    sys.exit(91)
from torch.utils import cpp_extension as builder

BYTES_A_JOB = 5_000_000_000
"""For one architecture.

The smallest unit of 2.8.3 takes 3.4 GB with nvcc 13.0, those of wider heads more.
"""
KNOWN = re.compile(r"-[-\w+=:.]+$")


def flags_of(setup: str) -> "list[str]":
    """Return the flags for nvcc.

    The list that holds --expt-extended-lambda, without what is not a plain text in it.
    """
    for node in ast.walk(ast.parse(setup)):
        if isinstance(node, ast.List):
            flags = [
                item.value
                for item in node.elts
                if isinstance(item, ast.Constant) and isinstance(item.value, str)
            ]
            if "--expt-extended-lambda" in flags:
                return [flag for flag in flags if KNOWN.match(flag)]
    raise SystemExit("the setup.py of this source holds no list of flags in a known form")


def target_of(setup: str, arch: str) -> int:
    """Return the architecture that setup.py compiles for to serve this one.

    The first of its generation.
    """
    number = re.match(r"sm_(\d+)", arch)
    # Releases ask `"80" in cuda_archs()`, the main branch `"80" in archs`, and releases before 2.8
    # write the flags themselves.
    named = re.findall(r"\"(\d+)\" in (?:cuda_archs\(\)|archs)", setup) or re.findall(
        r"code=sm_(\d+)\b", setup
    )
    targets = sorted(set(map(int, named)))
    if not targets:
        raise SystemExit(
            "the setup.py of this source names the GPUs that it compiles for in no known form"
        )
    fit = [target for target in targets if number and target // 10 == int(number.group(1)) // 10]
    if arch == "sm_87" and toolkit() < (13, 2):
        # Before that, Orin runs no code of its generation but its own (torch/cuda/__init__.py,
        # DEVICE_REQUIREMENT).
        fit = [target for target in fit if target == 87]
    if not fit:
        known = ", ".join(f"sm_{target}" for target in targets)
        raise SystemExit(f"nothing that this flash-attn compiles ({known}) runs on {arch}")
    return fit[0]


def toolkit() -> "tuple[int, ...]":
    """Return the CUDA that torch was built with, which the compiler has to go with."""
    return tuple(int(part) for part in str(torch.version.cuda).split(".")[:2] if part.isdigit())


def free_memory() -> int:
    """The bytes that are free to use.

    The least of the machine's and of what each control group leaves; 0 where nothing tells.
    """
    rooms = [
        int(kilobytes) << 10
        for kilobytes in re.findall(
            r"^MemAvailable:\s+(\d+) kB", read("/proc/meminfo"), re.MULTILINE
        )
    ]
    for line in read("/proc/self/cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers and "memory" not in controllers.split(","):
            continue
        root, names = (
            "/sys/fs/cgroup/memory",
            ("limit_in_bytes", "usage_in_bytes", "total_inactive_file"),
        )
        if not controllers:
            root, names = "/sys/fs/cgroup", ("max", "current", "inactive_file")
        inner = Path("/" + path.strip("/"))
        for group in [inner, *inner.parents]:
            folder = root + str(group).rstrip("/")
            limit, used = (read(f"{folder}/memory.{name}").strip() for name in names[:2])
            cache = re.search(rf"^{names[2]} (\d+)$", read(f"{folder}/memory.stat"), re.MULTILINE)
            if limit.isdecimal() and used.isdecimal():
                rooms.append(max(0, int(limit) - int(used) + (int(cache.group(1)) if cache else 0)))
    return min(rooms, default=0)


def read(path: str) -> str:
    """Read a file that may not be there."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""


def main() -> None:
    """Print the plan."""
    setup = read(sys.argv[1])
    version = builder.get_compiler_abi_compatibility_and_version(builder.get_cxx_compiler())[1]
    builder._check_cuda_version(builder.get_cxx_compiler(), version)
    flags = flags_of(setup)
    if not any(flag.startswith("-std=") for flag in flags):
        # It chooses by the torch that it finds, as torch itself does.
        standards = [
            int(found) for found in re.findall(r"'-std=c\+\+(\d+)'", read(builder.__file__))
        ]
        flags.append(f"-std=c++{max(standards, default=17)}")
    free, cores = (
        free_memory(),
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
    )
    plan = {
        "cores": cores,
        "free_gb": round(free / 1e9, 1),
        "max_jobs": max(1, min(cores, free // BYTES_A_JOB)),
        "flags": flags,
        "target": target_of(setup, sys.argv[2]),
        "files": len(set(re.findall(r"\"(csrc/flash_attn/[\w./]+\.(?:cu|cpp))\"", setup))),
        "nvcc": builder.COMMON_NVCC_FLAGS,
        "defined": [
            "-DTORCH_API_INCLUDE_EXTENSION_H",
            "-DTORCH_EXTENSION_NAME=flash_attn_2_cuda",
            f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
        ],
        "include": [*builder.include_paths("cuda"), sysconfig.get_paths()["include"]],
        "libraries": builder.library_paths("cuda"),
    }
    print("plan", json.dumps(plan))


main()
