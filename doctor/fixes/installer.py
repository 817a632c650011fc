"""Render requirements for the installer that looks after the target."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from doctor.base.versions import major
from doctor.facts.devices import texts
from doctor.host.which import OWN_UV
from doctor.model.facts import Facts, State, value_of
from doctor.model.fixes import Command
from doctor.model.issues import Option

_NAME = re.compile(r"^(?:[A-Za-z0-9][A-Za-z0-9._-]*|<[a-z-]+>)")
_DRIVER = re.compile(r"nvidia-driver-\d+")
_TORCH = re.compile(r"torch(?![A-Za-z0-9._-])")
_OF_CONDA_FORGE = re.compile(r"\.post\d{3}$")
"""Releases such as 2.3.1.post300, which only conda-forge has: pip finds none of them."""
_CUDA_LIBRARIES = re.compile(
    r"nvidia-[a-z]+(?:-[a-z]+)?-cu1[1-9](?![0-9])|[A-Za-z0-9._-]+\[[^\]]*\b(?:with-)?cu(?:da|dnn)"
)
_OF_TORCH = {"torch", "torchvision", "torchaudio"}
_OTHER_BUILD = re.compile(r"rocm\d+\.\d+(?:\.\d+)?|xpu")
_UV = {
    Option.NO_DEPS: "--no-deps",
    Option.NO_BUILD_ISOLATION: "--no-build-isolation",
    Option.NO_CACHE: "--no-cache",
    Option.PRE: "--prerelease=allow",
}
PIP_FLAGS = {
    Option.NO_DEPS: "--no-deps",
    Option.NO_BUILD_ISOLATION: "--no-build-isolation",
    Option.NO_CACHE: "--no-cache-dir",
    Option.PRE: "--pre",
    Option.UPGRADE: "--upgrade",
    Option.REINSTALL: "--force-reinstall",
}
SYSTEM_COMMANDS = {
    "apt": ("apt-get", "install", "-y"),
    "dnf": ("dnf", "install", "-y"),
    "zypper": ("zypper", "install", "-y"),
    "pacman": ("pacman", "-S", "--noconfirm"),
    "apk": ("apk", "add"),
    "brew": ("brew", "install"),
}
_MANAGERS = {"windows": (), "macos": ("brew",)}
"""Package managers of systems that have not those of Linux."""


def install(
    requirements: Sequence[str],
    options: Sequence[Option],
    index: str | None,
    facts: Facts,
    *,
    find_links: str | None = None,
    build: Mapping[str, str] | None = None,
) -> tuple[Command, ...]:
    """Return the commands that install `requirements` into the target.

    `hold-torch` gives the torch that is here to the same resolver, which then refuses what would
    move it. Without `no-deps` torch is also held beside requirements that bring libraries of CUDA:
    torch pins its own, and a cuDNN of another generation keeps it from being imported.
    """
    where = (
        *(("--index-url", index) if index else ()),
        *(("--find-links", find_links) if find_links else ()),
        *(part for name, value in (build or {}).items() for part in ("-C", f"{name}={value}")),
    )
    if Option.NO_BINARY in options:
        where += tuple(part for name in _named(requirements) for part in ("--no-binary", name))
    torch = value_of(facts, "torch.release")
    held = (
        (f"torch=={torch}",)
        if torch
        and (Option.HOLD_TORCH in options or _brings_cuda(requirements, options))
        and not _OF_CONDA_FORGE.search(str(torch))
        and not any(map(_TORCH.match, requirements))
        else ()
    )
    if _uses_uv(facts):
        flags = [_UV[option] for option in options if option in _UV]
        return (
            _uv(
                facts,
                "install",
                (*flags, *_uv_choices(requirements, options), *where, *requirements, *held),
            ),
        )
    flags = [PIP_FLAGS[option] for option in options if option in PIP_FLAGS]
    return (*_pip_first(facts), _pip(facts, "install", (*flags, *where, *requirements, *held)))


def _brings_cuda(requirements: Sequence[str], options: Sequence[Option]) -> bool:
    return Option.NO_DEPS not in options and any(map(_CUDA_LIBRARIES.match, requirements))


def install_set(
    requirements: Sequence[str],
    facts: Facts,
    *,
    newer: Sequence[str] = (),
    again: Sequence[str] = (),
    beside: str | None = None,
) -> tuple[Command, ...]:
    """Return the commands that install several requirements in one resolution.

    `newer` may go beyond the release that is here; the files of `again` are written once more.
    `beside` is an index to ask as well as the default one.
    """
    where = ("--extra-index-url", beside) if beside else ()
    if _uses_uv(facts):
        choices = (
            *where,
            *(part for name in newer for part in ("--upgrade-package", name)),
            *(part for name in again for part in ("--reinstall-package", name)),
        )
        return (_uv(facts, "install", (*choices, *requirements)),)
    commands = [*_pip_first(facts)]
    plain = [one for one in requirements if _bare(one) not in again]
    rewritten = [one for one in requirements if _bare(one) in again]
    if plain:
        upgrade = ("--upgrade",) if newer else ()
        commands.append(_pip(facts, "install", (*upgrade, *where, *plain)))
    if rewritten:
        # pip would write every dependency once more as well.
        flags = ("--force-reinstall", "--no-deps")
        commands.append(_pip(facts, "install", (*flags, *where, *rewritten)))
    return tuple(commands)


def index_of_build(requirements: Sequence[str], facts: Facts) -> str | None:
    """Return the index that torch for AMD or Intel GPUs came from; None for every other torch.

    PyPI has builds for NVIDIA and the CPU only, so a newer torch from there computes on no GPU:
    https://pytorch.org/get-started/locally/
    """
    names = {_bare(one) for one in requirements}
    if "torch" not in names or not names <= _OF_TORCH or value_of(facts, "nvidia.gpu_present"):
        return None
    tag = str(value_of(facts, "torch.version") or "").partition("+")[2]
    return f"https://download.pytorch.org/whl/{tag}" if _OTHER_BUILD.fullmatch(tag) else None


def _bare(requirement: str) -> str:
    found = _NAME.match(requirement)
    return found[0].lower() if found else ""


def uninstall(names: Sequence[str], facts: Facts) -> tuple[Command, ...]:
    """Return the command that removes distributions from the target."""
    if _uses_uv(facts):
        return (_uv(facts, "uninstall", names),)
    return (*_pip_first(facts), _pip(facts, "uninstall", ("-y", *names)))


def system(packages: dict[str, tuple[str, ...]], facts: Facts) -> Command | None:
    """Return the command that installs packages of the operating system.

    None where its package manager is not named.

    Where nobody could look which one it is, the likely one of the system.
    """
    fact = facts.get("host.package_manager")
    if (only := _MANAGERS.get(str(value_of(facts, "host.os")))) is not None:
        packages = {name: each for name, each in packages.items() if name in only}
        if not packages:
            return None  # a log of Windows asks for no apt
    kind = likely(packages) if fact is None or fact.state is State.UNKNOWN else str(fact.value)
    wanted = packages.get(kind)
    return (
        Command(argv=(*SYSTEM_COMMANDS[kind], *_with_open_module(wanted, facts)))
        if wanted and kind in SYSTEM_COMMANDS
        else None
    )


def _with_open_module(names: Sequence[str], facts: Facts) -> Iterator[str]:
    """Yield names of packages, NVIDIA's driver with the module that the GPU needs.

    Only the open module serves Blackwell (10.0 and newer):
    https://developer.nvidia.com/blog/nvidia-transitions-fully-towards-open-source-gpu-kernel-modules/
    """
    is_blackwell = (major(str(value_of(facts, "nvidia.capability_max") or "")) or 0) >= 10
    for name in names:
        yield f"{name}-open" if is_blackwell and _DRIVER.fullmatch(name) else name


def likely(packages: dict[str, tuple[str, ...]]) -> str:
    """Return the package manager to write a command for where nothing is known of the system."""
    return "apt" if "apt" in packages else next(iter(packages))


def lower_folders(facts: Facts) -> tuple[str, ...]:
    """Return the site-packages that a virtual environment sees and that belong to another one.

    That is the system's with `include-system-site-packages`, and what a `.pth` file adds.
    """
    prefix = str(value_of(facts, "python.prefix") or "")
    if not prefix or value_of(facts, "python.virtual_environment") is not True:
        return ()
    own = prefix.rstrip("/\\")
    folders = texts(facts, "python.site_packages")
    return tuple(one for one in folders if not one.startswith((f"{own}/", f"{own}\\")))


def _uses_uv(facts: Facts) -> bool:
    # uv sees no packages of a lower environment, and would install all of them once more:
    # https://docs.astral.sh/uv/reference/cli/#uv-venv--system-site-packages
    if value_of(facts, "python.uv") is None or lower_folders(facts):
        return False
    return value_of(facts, "python.installer") == "uv" or not value_of(facts, "python.has_pip")


def _uv(facts: Facts, verb: str, arguments: Sequence[str]) -> Command:
    # Where nobody knows the interpreter, uv takes that of the active environment.
    known = python(facts)
    where = () if known in ("python", "python3") else ("--python", known)
    return Command(argv=(uv_of(facts), "pip", verb, *where, *arguments))


def uv_of(facts: Facts) -> str:
    """Return what starts uv: its name, or its path where no PATH leads to it."""
    fact = facts.get("python.uv")
    return str(fact.value) if fact is not None and fact.source == OWN_UV else "uv"


def _uv_choices(requirements: Sequence[str], options: Sequence[Option]) -> tuple[str, ...]:
    flag = (
        "--reinstall-package"
        if Option.REINSTALL in options
        else "--upgrade-package"
        if Option.UPGRADE in options
        else None
    )
    if flag is None:
        return ()
    return tuple(part for name in _named(requirements) for part in (flag, name))


def _named(requirements: Sequence[str]) -> list[str]:
    return [found[0] for requirement in requirements if (found := _NAME.match(requirement))]


def _pip(facts: Facts, verb: str, arguments: Sequence[str]) -> Command:
    return Command(argv=(python(facts), "-m", "pip", verb, *arguments))


def _pip_first(facts: Facts) -> tuple[Command, ...]:
    if value_of(facts, "python.has_pip") is False:
        return (Command(argv=(python(facts), "-m", "ensurepip", "--upgrade")),)
    return ()


def _python(facts: Facts) -> str:
    return python(facts)


def python(facts: Facts) -> str:
    """Return the interpreter of the target.

    Where nobody knows it, the name that the system gives it.

    Windows has no `python3`; `python` is the one of the active environment.
    """
    known = value_of(facts, "python.executable")
    return str(known or ("python" if value_of(facts, "host.os") == "windows" else "python3"))
