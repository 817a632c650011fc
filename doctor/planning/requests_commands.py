"""The commands that install what was chosen, for the installer of the target."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.base.versions import major, minor
from doctor.model.fixes import Command, Step
from doctor.planning.requests_builds import Build, order
from doctor.planning.requests_place import Place

NEW = ".venv"
"""The environment that is made where none is there."""
_GLIBC = ("2.17", "2.28", *(f"2.{number}" for number in range(31, 41)))
"""What uv can be told of a C library (`uv pip install --help`, `--python-platform`)."""
_ABI = "2.7"
"""From here on all wheels of torch for Linux have the new C++ ABI."""


def platform_of(place: Place) -> str:
    """Return a machine in uv's words: x86_64-manylinux_2_28."""
    machine = {"arm64": "aarch64", "AMD64": "x86_64"}.get(place.machine, place.machine)
    if place.os == "windows":
        return f"{machine}-pc-windows-msvc"
    if place.os == "macos":
        return f"{machine}-apple-darwin"
    if place.glibc:
        fitting = [one for one in _GLIBC if order(one) <= order(place.glibc)]
        if fitting:
            return f"{machine}-manylinux_{fitting[-1].replace('.', '_')}"
    return f"{machine}-unknown-linux-gnu"


def pip_platforms(place: Place) -> tuple[str, ...]:
    """Return a machine as the platform tags that pip is told, the newest first."""
    machine = "aarch64" if place.machine == "arm64" else place.machine
    if place.os == "windows":
        return ("win_arm64" if machine == "aarch64" else "win_amd64",)
    if place.os == "macos":
        newest = int((place.macos or "14").partition(".")[0])
        kind = "arm64" if machine == "aarch64" else "x86_64"
        return tuple(f"macosx_{number}_0_{kind}" for number in range(newest, 10, -1))
    glibc = order(place.glibc or "2.17").release[1]
    tags = tuple(f"manylinux_2_{number}_{machine}" for number in range(glibc, 16, -1))
    return (*tags, f"manylinux2014_{machine}")


def install(
    requirements: Sequence[str], python: str, *, uv: bool, index: str = "", options: str = ""
) -> Command:
    """Return the command that installs requirements into an environment."""
    more = (*from_index(index, uv=uv), *options.split())
    start = ("uv", "pip", "install", "--python", python) if uv else (python, "-m", "pip", "install")
    return Command(argv=(*start, *more, *requirements))


def from_index(index: str, *, uv: bool) -> tuple[str, ...]:
    """Return the options that take torch from one of its own indexes, and the rest as ever.

    https://docs.astral.sh/uv/guides/integration/pytorch/
    """
    if not index:
        return ()
    tag = index.rpartition("/")[2]
    return ("--torch-backend", tag) if uv else ("--extra-index-url", index)


def make_environment(place: Place, *, uv: bool) -> Step:
    """Return the step that makes a new environment."""
    argv: tuple[str, ...] = ("uv", "venv", "--python", place.python_minor, NEW)
    if not uv:
        python = "py" if place.os == "windows" else f"python{place.python_minor}"
        argv = (python, *((f"-{place.python_minor}",) if python == "py" else ()), "-m", "venv", NEW)
    return Step(
        title=f"Make an environment of Python {place.python_minor}", command=Command(argv=argv)
    )


def python_in_new(place: Place) -> str:
    """Return the interpreter of the new environment."""
    return f"{NEW}\\Scripts\\python.exe" if place.os == "windows" else f"{NEW}/bin/python"


def flash_wheel(version: str, build: Build, place: Place) -> str:
    """Return the requirement for the published wheel of flash-attn beside a torch.

    The name is the one that setup.py of flash-attn makes (get_wheel_url).
    """
    tag = f"cp{place.python_minor.replace('.', '')}"
    abi = "TRUE" if order(build.release) >= order(_ABI) or build.index else "FALSE"
    name = (
        f"flash_attn-{version}+cu{major(build.cuda)}torch{minor(build.release)}cxx11abi{abi}"
        f"-{tag}-{tag}-linux_x86_64.whl"
    )
    return (
        "flash-attn @ https://github.com/Dao-AILab/flash-attention/releases/download/"
        f"v{version}/{name}"
    )


def torch_specifier(allowed: Sequence[Build], every: Sequence[str]) -> str:
    """Return a specifier of the allowed releases among all that exist; empty for all of them."""
    here = sorted({build.release for build in allowed}, key=order)
    known = sorted(every, key=order)
    if not here or here == known:
        return ""
    low, high = here[0], here[-1]
    later = [one for one in known if order(one) > order(high)]
    parts = [f">={low}", *([f"<{later[0]}"] if later else [])]
    parts += [
        f"!={one}" for one in known if order(low) < order(one) < order(high) and one not in here
    ]
    return ",".join(parts)
