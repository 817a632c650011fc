"""Break one part of NVIDIA's driver at a time, and look at what doctor says.

Each part is broken in a mount namespace of its own: a file is covered by /dev/null or by a copy
that is closed. The mounts are private and end with their process, so that nothing of the machine
and no setting of the GPU is changed. That needs root.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

_ROOT = Path(__file__).resolve().parents[1]
_CHECKS = ("--only", "torch-runtime", "--only", "jax-devices", "--only", "onnxruntime-devices")
_STATIC = ("--no-canaries",)
_NOBODY = "65534"
_AT_ONCE = 4
_LIMIT = 90
"""Seconds for each check."""


class Part(NamedTuple):
    """A part of the driver that is broken, and what doctor has to say then.

    `first` are the rules of which one comes first, `severity` and `code` those of a check that
    runs something, `static` those of one that does not. `fix` must be in the first fix that the
    terminal shows; `never` are rules and words that must not appear.
    """

    covered: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()
    as_nobody: bool = False
    first: tuple[str, ...] = ()
    severity: str = "error"
    code: int = 1
    static: tuple[str, int] = ("error", 1)
    fix: str = ""
    never: tuple[str, ...] = (r"reach/.*", r"wsl/.*", r"nvidia/gpu-unknown-to-driver")


def parts(libcuda: str, *, has_jax: bool) -> dict[str, Part]:
    """Return the parts to break; `libcuda` is the path of the library that the loader takes."""
    folder = Path(libcuda).parent
    whole = Path(libcuda).resolve()
    release = whole.name.partition(".so.")[2]
    nvml = (folder / "libnvidia-ml.so.1").resolve()
    compiler = (folder / f"libnvidia-ptxjitcompiler.so.{release}").resolve()
    without_nvml = Part(
        covered=(str(nvml),),
        first=("nvidia/nvml-library-missing",),
        static=("warning", 0),
        fix="Delete the files without content|Install the driver's libraries again|See whether",
        never=(*Part().never, "jax/.*"),
    )
    found = {
        "nothing": Part(severity="", code=0, static=("", 0)),
        "/dev/nvidiactl is another device": Part(
            covered=("/dev/nvidiactl",),
            first=("nvidia/device-files-wrong",),
            fix="Make /dev/nvidiactl anew",
        ),
        "/dev/nvidia0 is another device": Part(
            covered=("/dev/nvidia0",),
            first=("nvidia/device-files-wrong",),
            fix="Make /dev/nvidia0 anew",
        ),
        "/dev/nvidia-uvm is another device": Part(
            covered=("/dev/nvidia-uvm",),
            first=("cuda/driver-lost-its-memory-module",),
            fix="Make the device files? anew",
        ),
        "/dev/nvidia0 is closed to this user": Part(
            closed=("/dev/nvidia0",),
            as_nobody=True,
            first=("nvidia/nvml-insufficient-permissions",),
            fix="Give the device files the mode|Join the group|See to which group",
        ),
        "libcuda.so.1 has no content": Part(
            covered=(str(whole),),
            first=("cuda/driver-library-missing",),
            fix="Delete the files without content|Install the driver's libraries again",
        ),
        "libnvidia-ml.so.1 has no content": without_nvml
        if has_jax
        else without_nvml._replace(severity="warning", code=0),
        "the compiler for PTX has no content": Part(
            covered=(str(compiler),),
            first=("cuda/ptx-compiler-missing",),
            severity="note",
            code=0,
            static=("note", 0),
        ),
    }
    return {
        name: part
        for name, part in found.items()
        if all(map(os.path.exists, (*part.covered, *part.closed)))
    }


def broken_parts(python: Path, folder: Path) -> Iterator[tuple[str, bool, Any]]:
    """Yield what was looked at, whether it is as it must be, and what doctor said."""
    here = os.geteuid() == 0 and Path("/dev/nvidiactl").exists() and shutil.which("unshare")
    yield "this is root, on a machine with NVIDIA's driver", bool(here), os.geteuid()
    if not here:
        return
    # doctor and its target have to be readable for a user without rights.
    folder.chmod(0o755)
    _, report, text = _checked(python, folder / "facts", Part(), _STATIC)
    facts = report["facts"]
    libcuda = str(facts.get("nvidia.libcuda", {}).get("value") or "")
    yield "the loader finds libcuda.so.1", bool(libcuda), text
    has_jax = bool(facts.get("package.jax.version", {}).get("value"))
    wanted = parts(libcuda, has_jax=has_jax) if libcuda else {}
    runs = [
        (f"{name}, {'static' if static else 'asked'}", part, static)
        for name, part in wanted.items()
        for static in (True, False)
    ]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        calls = [
            partial(_checked, python, folder / str(number), part, _STATIC if static else _CHECKS)
            for number, (_, part, static) in enumerate(runs)
        ]
        for (name, part, static), ran in zip(runs, pool.map(_called, calls), strict=True):
            code, report, text = ran
            wrong = list(_complaints(part, static=static, code=code, report=report, text=text))
            yield name, not wrong, [wrong, text]


def _called(call: partial[tuple[int, dict[str, Any], str]]) -> tuple[int, dict[str, Any], str]:
    return call()


def _checked(
    python: Path, folder: Path, part: Part, options: tuple[str, ...]
) -> tuple[int, dict[str, Any], str]:
    """Let doctor check where a part is broken; return exit code, report and text."""
    folder.mkdir()
    folder.chmod(0o777)
    report = folder / "report.json"
    argv = [sys.executable, "-m", "doctor", "check", "--python", str(python)]
    argv += ["--report", f"json={report}", *options]
    ran = subprocess.run(
        _in_mounts(part, folder, argv),
        cwd=folder,
        env={**os.environ, "HOME": str(folder), "TMPDIR": str(folder), "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        timeout=_LIMIT,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if not report.exists():
        return ran.returncode, {"findings": [], "facts": {}}, ran.stdout + ran.stderr
    return ran.returncode, json.loads(report.read_text(encoding="utf-8")), ran.stdout


def _in_mounts(part: Part, folder: Path, argv: list[str]) -> list[str]:
    lines = ["set -e", *(f"mount --bind /dev/null '{path}'" for path in part.covered)]
    for number, path in enumerate(part.closed):
        status = Path(path).stat()
        kind = f"c {os.major(status.st_rdev)} {os.minor(status.st_rdev)}"
        assert stat.S_ISCHR(status.st_mode), f"{path} is no device file"
        copies = f"{folder}/closed{number}"
        lines += [
            f"mkdir '{copies}'",
            f"mount -t tmpfs -o mode=755,dev tmpfs '{copies}'",
            f"mknod -m 600 '{copies}/file' {kind}",
            f"mount --bind '{copies}/file' '{path}'",
        ]
    user = f"setpriv --reuid {_NOBODY} --regid {_NOBODY} --clear-groups " if part.as_nobody else ""
    lines.append(f'exec {user}"$@"')
    return ["unshare", "-m", "--propagation", "private", "sh", "-c", "\n".join(lines), "sh", *argv]


def _complaints(
    part: Part, *, static: bool, code: int, report: dict[str, Any], text: str
) -> Iterator[str]:
    severity, wanted = part.static if static else (part.severity, part.code)
    findings = report["findings"]
    ids = [f"{one['severity']} {one['id']}" for one in findings]
    if code != wanted:
        yield f"exit code {code}, expected {wanted}"
    # A user without rights has caches of its own that cannot be written; that is a note.
    grave = [one for one in findings if one["severity"] != "note" or severity == "note"]
    if not part.first:
        yield from [f"found {ids}, expected nothing"] if grave else []
        return
    if not grave or not any(re.fullmatch(rule, grave[0]["id"]) for rule in part.first):
        yield f"found {ids}, expected {part.first} first"
        return
    yield from _about_first(part, grave, severity)
    for one in findings:
        if any(re.fullmatch(rule, one["id"]) for rule in part.never):
            yield f"{one['id']} must not be found"
    if "WSL" in text:
        yield "the report speaks of WSL"


def _about_first(part: Part, grave: list[dict[str, Any]], severity: str) -> Iterator[str]:
    if grave[0]["severity"] != severity:
        yield f"{grave[0]['id']} is {grave[0]['severity']}, expected {severity}"
    errors = [one["id"] for one in grave if one["severity"] == "error"]
    if len(errors) > 1:
        yield f"found {errors}, expected one error"
    shown = grave[0].get("fixes") or [{}]
    if part.fix and not re.search(part.fix, str(shown[0].get("title"))):
        yield f"the first fix is {shown[0].get('title')!r}, expected {part.fix!r}"
