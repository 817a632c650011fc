"""The interpreter under examination, its packages, what installed them, and what hides them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from doctor.host import Host
from doctor.host.which import OWN_UV
from doctor.model.facts import Fact, FactStream, absent, present
from doctor.observe.installed.distributions import duplicates
from doctor.observe.installed.gpu_stack import in_stack
from doctor.observe.installed.modules import searched
from doctor.observe.probes.python.locked import departed, of_project
from doctor.observe.scene import Distribution, Interpreter, ProbeInput

BOUND = 10.0

_LOCKS = {"uv": "uv.lock", "poetry": "poetry.lock", "pdm": "pdm.lock", "pixi": "pixi.lock"}

# What `import torch` imports of the standard library, less what is frozen, built in or imported
# before the script starts.
_STDLIB = (
    "argparse array ast asyncio base64 binascii bisect bz2 calendar cmath collections concurrent "
    "contextlib contextvars copy"
    " copyreg csv ctypes dataclasses datetime difflib dis email enum fnmatch functools gettext "
    "glob grp gzip hashlib heapq"
    " html http importlib inspect json keyword linecache locale logging lzma math mmap "
    "multiprocessing numbers opcode operator"
    " optparse pathlib pdb pickle pickletools pkgutil platform pprint profile queue quopri random "
    "re reprlib secrets select"
    " selectors shutil signal socket ssl statistics string struct subprocess sysconfig tarfile "
    "tempfile textwrap threading"
    " timeit token tokenize traceback types typing unittest urllib uuid warnings weakref zipfile "
    "zlib"
)
_MODULES = (
    "torch torchvision torchaudio torchao torchgen triton numpy transformers diffusers accelerate "
    "peft trl datasets tokenizers"
    " safetensors huggingface_hub xformers flash_attn flashinfer vllm sglang bitsandbytes "
    "deepspeed apex mamba_ssm fla sympy"
    " networkx jinja2 filelock fsspec typing_extensions jax jaxlib onnxruntime cupy xfuser "
    "yunchang scipy PIL yaml einops"
    " packaging setuptools cuda nvidia"
)
_HIDEABLE = frozenset(_MODULES.split())
_HIDEABLE_FILES = _HIDEABLE | frozenset(_STDLIB.split())


def probe(scene: ProbeInput) -> FactStream:
    """Give python.*, packages and package.*; nothing where there is no interpreter."""
    if (interpreter := scene.interpreter) is None:
        return
    yield from _itself(interpreter)
    yield from _folders(scene.host, interpreter)
    yield from _installed_with(scene, interpreter)
    yield "python.shadowed", _shadowed(scene.host, interpreter)
    yield from _packages(scene, interpreter)


def _itself(interpreter: Interpreter) -> FactStream:
    source = interpreter.executable
    fields = (
        "executable",
        "version",
        "implementation",
        "tag",
        "bits",
        "free_threaded",
        "prefix",
        "base_prefix",
        "include",
    )
    for name in fields:
        yield f"python.{name}", present(getattr(interpreter, name), source)
    yield "python.site_packages", present(list(interpreter.site_packages), source)
    yield (
        "python.writable",
        present(all(os.access(folder, os.W_OK) for folder in _own(interpreter)), source),
    )
    yield (
        "python.virtual_environment",
        present(interpreter.prefix != interpreter.base_prefix, source),
    )


def _own(interpreter: Interpreter) -> list[str]:
    """Return the site-packages of the environment itself, without those that it borrows."""
    listed = interpreter.site_packages
    inside = [one for one in listed if Path(one).is_relative_to(interpreter.prefix)]
    return inside or list(listed)


def _folders(host: Host, interpreter: Interpreter) -> FactStream:
    conda, header = Path(interpreter.prefix, "conda-meta"), Path(interpreter.include, "Python.h")
    mark = Path(interpreter.stdlib, "EXTERNALLY-MANAGED")
    yield (
        "python.conda",
        present(interpreter.prefix, str(conda)) if host.exists(conda) else absent(str(conda)),
    )
    yield "python.headers", present(host.exists(header), str(header))
    alone = interpreter.prefix == interpreter.base_prefix
    yield "python.externally_managed", present(alone and host.exists(mark), str(mark))


def _installed_with(scene: ProbeInput, interpreter: Interpreter) -> FactStream:
    pip = next((one for one in scene.distributions if one.name == "pip"), None)
    yield "python.has_pip", present(pip is not None, str(pip.folder) if pip else interpreter.prefix)
    uv = scene.host.which("uv")
    source = OWN_UV if uv and uv == scene.host.env.get(OWN_UV) else "PATH"
    yield "python.uv", present(uv, source) if uv else absent(source)
    name, source = _installer(scene, interpreter)
    yield "python.installer", present(name, source) if name else absent(source)
    lock = scene.host.cwd / _LOCKS.get(name, "uv.lock")
    kept = (
        name in _LOCKS and lock.is_file() and (name != "uv" or _of_project(scene.host, interpreter))
    )
    yield (
        "python.lock",
        present(str(lock), str(scene.host.cwd)) if kept else absent(str(scene.host.cwd)),
    )
    yield (
        "python.lock_differs",
        departed(scene, lock) if kept and name == "uv" else absent(str(scene.host.cwd)),
    )
    yield "project.locked", of_project(scene)


def _installer(scene: ProbeInput, interpreter: Interpreter) -> tuple[str, str]:
    """Return what manages the environment, by the most specific sign: name and evidence."""
    prefix, host = Path(interpreter.prefix), scene.host
    if host.exists(prefix / "conda-meta"):
        pixi = ".pixi" in prefix.parts or host.exists(prefix / "conda-meta/pixi")
        return ("pixi" if pixi else "conda"), str(prefix / "conda-meta")
    config = prefix / "pyvenv.cfg"
    signs = {"poetry": ("pypoetry",), "pdm": (".pdm-build", "pdm")}
    for name, parts in signs.items():
        lock = host.cwd / _LOCKS[name]
        if lock.is_file() and (
            _of_project(host, interpreter) or any(part in prefix.parts for part in parts)
        ):
            return name, str(lock)
    settings = host.read(config, limit=1 << 16)
    # uv does not take the packages of the system into account, and would install them all again:
    # https://docs.astral.sh/uv/reference/cli/#uv-venv--system-site-packages
    shares = searched(settings, r"(?mi)^include-system-site-packages\s*=\s*(true)")
    linked = settings and len(_own(interpreter)) < len(interpreter.site_packages)
    if (shares or linked) and any(one.name == "pip" for one in scene.distributions):
        return "pip", str(config)
    if searched(settings, r"(?m)^uv\s*=\s*(\S+)"):
        return "uv", str(config)
    return _by_majority(scene.distributions, str(config if host.exists(config) else prefix))


def _of_project(host: Host, interpreter: Interpreter) -> bool:
    return Path(interpreter.prefix).is_relative_to(host.cwd)


def _by_majority(distributions: tuple[Distribution, ...], source: str) -> tuple[str, str]:
    named = [
        one.installer
        for one in distributions
        if one.installer in {"uv", "pip", "conda", "poetry", "pdm"}
    ]
    if named:
        return max(sorted(set(named)), key=named.count), "INSTALLER files"
    return (
        ("pip", "pip is installed")
        if any(one.name == "pip" for one in distributions)
        else ("", source)
    )


def _shadowed(host: Host, interpreter: Interpreter) -> Fact:
    """Find what a script started in the current folder would import in place of the stack.

    PYTHONSAFEPATH prevents that.
    """
    source = str(host.cwd)
    on_path = any(Path(entry) == host.cwd for entry in interpreter.path)
    if on_path or host.env.get("PYTHONSAFEPATH"):
        return absent(source)
    found = [name for name in host.list(host.cwd) if _hides(host.cwd / name)]
    return present(found, source) if found else absent(source)


def _hides(path: Path) -> bool:
    if path.suffix == ".py":
        return path.stem in _HIDEABLE_FILES
    return path.name in _HIDEABLE and (path / "__init__.py").is_file()


def _packages(scene: ProbeInput, interpreter: Interpreter) -> FactStream:
    listed = {one.name: one.version for one in scene.distributions}
    yield "packages", present(listed, ", ".join(interpreter.site_packages) or interpreter.prefix)
    others = duplicates(interpreter.path, scene.distributions)
    for one in scene.distributions:
        yield f"package.{one.name}.version", present(one.version, str(one.folder))
        if in_stack(one.name) or one.direct_url:
            yield from _details(one)
        if one.name in others:
            yield f"package.{one.name}.duplicates", present(list(others[one.name]), "sys.path")


def _details(one: Distribution) -> FactStream:
    name, source = f"package.{one.name}", str(one.folder)
    yield (
        f"{name}.installer",
        present(one.installer, f"{source}/INSTALLER") if one.installer else absent(source),
    )
    if one.installed_at:
        yield f"{name}.installed_at", present(utc(one.installed_at), source)
    yield f"{name}.location", present(str(one.folder.parent), source)
    for part, value in local_parts(one.version):
        yield f"{name}.{part}", present(value, source)
    for part, value in _origin(one.direct_url):
        yield f"{name}.{part}", present(value, f"{source}/direct_url.json")


def local_parts(version: str) -> Iterator[tuple[str, Any]]:
    """Read the local version of a wheel of the stack: `2.8.3+cu12torch2.8cxx11abiTRUE`."""
    local = version.partition("+")[2].lower()
    if not local:
        return
    yield "local", version.partition("+")[2]
    if torch := searched(local, r"torch(\d+\.\d+)"):
        yield "wheel_torch", torch
    elif short := re.search(r"pt(\d)(\d{1,2})(?!\d)", local):
        yield "wheel_torch", f"{short[1]}.{short[2]}"
    if cuda := re.search(r"cu(\d\d)(\d)?(?!\d)", local):
        yield "wheel_cuda", f"{cuda[1]}.{cuda[2]}" if cuda[2] else cuda[1]
    if abi := searched(local, r"cxx11abi(true|false)"):
        yield "wheel_abi", abi == "true"


def _origin(direct_url: str) -> Iterator[tuple[str, Any]]:
    """Read direct_url.json (PEP 610). Its address stays where it is: it may hold a password."""
    if not direct_url:
        return
    try:
        import json

        told = json.loads(direct_url)
    except (ValueError, RecursionError):
        return
    vcs, folder = (
        told.get(key) if isinstance(told, dict) else None for key in ("vcs_info", "dir_info")
    )
    if isinstance(vcs, dict) and isinstance(vcs.get("commit_id"), str):
        yield "commit", vcs["commit_id"]
    if isinstance(folder, dict):
        yield "editable", folder.get("editable") is True


def utc(seconds: float) -> str:
    """Return a moment in seconds since 1970 as a UTC time, `2026-11-21T09:08:10Z`."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
