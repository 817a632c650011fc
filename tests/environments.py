"""Real environments, made from public packages with uv and kept between runs."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_STALE_SECONDS = 6 * 3600
_TORCH = ("numpy", "setuptools")
_CUDA_13 = (
    "nvidia-cuda-nvcc==13.0.*",
    "nvidia-cuda-crt==13.0.*",
    "nvidia-nvvm==13.0.*",
    "nvidia-cuda-cccl==13.0.*",
)

PATIENTS: dict[str, tuple[str, ...]] = {
    "bare": (),
    "torch": ("torch==2.13.0", *_TORCH),
    "torch_pip": ("torch==2.13.0", *_TORCH, "pip"),
    "nvcc": ("torch==2.13.0", *_TORCH, *_CUDA_13),
    "torch260": ("torch==2.6.0", *_TORCH),
    "torch251": ("torch==2.5.1", *_TORCH),
}
"""What each patient holds; a patient is made again when its list changes."""

_AMX = "import torch; one = torch.ones(64, 64, dtype=torch.bfloat16); (one @ one).sum().item()"
"""Runs oneDNN's AMX kernel where the processor lists AMX."""

# What a first use leaves behind: without its bytecode, every start of torch would cost several
# seconds.
_WARM = "import torch, torch._dynamo, torch._inductor.compile_fx, torch.utils.cpp_extension, triton"


class UnavailableError(Exception):
    """An environment cannot be made here; the message says why."""


def root() -> Path:
    """Return the folder that keeps the patients."""
    return Path(os.environ.get("DOCTOR_PATIENTS") or _ROOT / ".patients").resolve()


def patient(name: str) -> Path:
    """Return the interpreter of a patient, made where it is not there yet.

    Raises UnavailableError where that fails.
    """
    folder, stamp = root() / name, root() / f"{name}.json"
    wanted = json.dumps(
        {"requirements": PATIENTS[name], "python": sys.version, "base": sys.base_prefix}
    )
    with _alone(root() / f"{name}.lock"):
        if not (
            stamp.is_file()
            and stamp.read_text(encoding="utf-8") == wanted
            and interpreter(folder).exists()
        ):
            stamp.unlink(missing_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
            make(folder, PATIENTS[name])
            _warm(interpreter(folder), PATIENTS[name])
            stamp.write_text(wanted, encoding="utf-8")
    if PATIENTS[name]:
        keep_off_amx(interpreter(folder))
    return interpreter(folder)


def keep_off_amx(python: Path) -> None:
    """Disable AMX for the programs that tests start, if this machine lists it and cannot run it.

    Some virtual machines do so (matrices/issues/torch/amx-not-run.yaml). It is a fault of the
    machine, and of no test. The answer is kept until the machine restarts.
    """
    if os.environ.get("ONEDNN_MAX_CPU_ISA") or "amx_tile" not in _text(Path("/proc/cpuinfo")):
        return
    kept, boot = root() / "amx.json", _text(Path("/proc/sys/kernel/random/boot_id"))
    with _alone(root() / "amx.lock"):
        if not kept.is_file() or json.loads(_text(kept))["boot"] != boot:
            code = subprocess.run(
                [str(python), "-c", _AMX], capture_output=True, timeout=300, check=False
            ).returncode
            kept.write_text(
                json.dumps({"boot": boot, "runs": code != -signal.SIGILL}), encoding="utf-8"
            )
        if not json.loads(_text(kept))["runs"]:
            os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_FP16"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def variant(name: str, *more: str) -> Path:
    """Return the interpreter of a new environment like a patient, for a test that breaks files.

    `more` goes to `uv pip install`.

    Its files are hard links into uv's cache: replace a file, never write into one.
    """
    like = patient(name)
    _forget()
    folder = root() / "variants" / uuid.uuid4().hex[:12]
    make(folder, PATIENTS[name])
    _link_bytecode(like.parents[1], folder)
    if more:
        install(interpreter(folder), *more)
    return interpreter(folder)


def _forget() -> None:
    """Remove the variants of runs that were killed before they could."""
    for folder in (root() / "variants").glob("*"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def remove(python: Path) -> None:
    """Remove a variant."""
    shutil.rmtree(python.parents[1], ignore_errors=True)


def install(python: Path, *arguments: str) -> None:
    """Run `uv pip install` for an environment."""
    _uv("pip", "install", "--python", str(python), *arguments)


def interpreter(folder: Path) -> Path:
    """Return the interpreter of an environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def site_packages(python: Path) -> Path:
    """Return the folder that holds the packages of an environment."""
    home = python.parents[1]
    return next(
        path
        for pattern in ("lib/python*/site-packages", "Lib/site-packages")
        for path in home.glob(pattern)
    )


def uv() -> str:
    """Return the path of uv: beside this interpreter, else on PATH."""
    found = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if found is None:
        raise UnavailableError("uv is not installed; it comes with the development dependencies")
    return found


def build_wheel(folder: Path) -> Path:
    """Build doctor's own wheel into a folder, with the installed build backend."""
    command = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "--target",
        "wheel",
        "--directory",
        str(folder),
    ]
    subprocess.run(command, cwd=_ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def make(folder: Path, requirements: Sequence[str]) -> None:
    """Make an environment that holds what is required."""
    _uv("venv", "--python", sys.executable, str(folder))
    if requirements:
        install(interpreter(folder), *requirements)


def _uv(*arguments: str) -> None:
    ran = subprocess.run(
        [uv(), *arguments, "--quiet"], capture_output=True, text=True, timeout=900, check=False
    )
    if ran.returncode:
        raise UnavailableError(f"uv {' '.join(arguments)}: {ran.stderr.strip()[-800:]}")


def _warm(python: Path, requirements: Sequence[str]) -> None:
    if requirements:
        environment = {
            name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
        }
        subprocess.run(
            [str(python), "-c", _WARM],
            env=environment,
            capture_output=True,
            timeout=300,
            check=False,
        )


def _link_bytecode(like: Path, folder: Path) -> None:
    """Share bytecode: the sources of both are the same files, so it is as valid here."""
    for cache in like.rglob("__pycache__"):
        home = folder / cache.relative_to(like)
        if home.parent.is_dir() and not home.exists():
            shutil.copytree(cache, home, copy_function=os.link)


def main() -> None:
    """Make the patients that are named, else all.

    One that cannot be made is left to the tests to tell.
    """
    for name in sys.argv[1:] or PATIENTS:
        with contextlib.suppress(UnavailableError, OSError):
            patient(name)


@contextlib.contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Let one process at a time make a patient."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    main()
