"""The machine: operating system, C libraries, container, WSL, Rosetta, Jetson, package manager."""

from __future__ import annotations

import os
import platform
import re
import shlex
from pathlib import Path

from doctor.base.lazy_pattern import Pattern
from doctor.host import Host, Termination
from doctor.model.facts import Fact, FactStream, absent, present, unknown
from doctor.observe.binaries.loader_cache import find_library
from doctor.observe.scene import ProbeInput

BOUND = 3.0

_SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}
_MANAGERS = {
    "apt": ("debian", "ubuntu"),
    "dnf": ("fedora", "rhel", "centos", "amzn"),
    "zypper": ("suse", "opensuse"),
    "pacman": ("arch",),
    "apk": ("alpine",),
}
_CGROUP_MARKS = (
    ("kubepods", "kubernetes"),
    ("/docker", "docker"),
    ("libpod", "podman"),
    ("/lxc", "lxc"),
)
_GLIBC = Pattern(rb"GNU C Library[^\n]{0,80}? version (\d+\.\d+)")
_GLIBCXX = Pattern(rb"GLIBCXX_(3\.4(?:\.\d+)?)\0")


def probe(scene: ProbeInput, *, patience: float = 2.0) -> FactStream:
    """Yield the `host.*` facts that do not change while the machine runs.

    On macOS, sysctl may take `patience` seconds.
    """
    host = scene.host
    yield "host.os", present(_SYSTEMS.get(host.platform, host.platform), "sys.platform")
    yield "host.kernel", _kernel(host)
    if hasattr(os, "geteuid"):
        yield "host.root", present(os.geteuid() == 0, "geteuid")
    yield from _distribution(host)
    yield "host.glibc", _glibc(host)
    yield "host.glibcxx_max", _glibcxx(host)
    yield "host.container", _container(host)
    yield "host.wsl", _wsl(host)
    yield "host.wsl_dxg", _dxg(host)
    yield "host.wsl_windows_cuda", _windows_cuda(host)
    yield "host.jetson", _jetson(host)
    yield from _processor(scene, patience)


def _kernel(host: Host) -> Fact:
    release = (host.read("/proc/sys/kernel/osrelease", limit=256) or "").strip()
    return (
        present(release, "/proc/sys/kernel/osrelease")
        if release
        else present(platform.release(), "uname")
    )


def _release(host: Host) -> tuple[dict[str, str], str]:
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        if (text := host.read(path, limit=1 << 16)) is not None:
            pairs = (
                line.partition("=")
                for line in text.splitlines()
                if "=" in line and not line.startswith("#")
            )
            return {key.strip(): _unquoted(value) for key, _, value in pairs}, path
    return {}, "/etc/os-release"


def _unquoted(value: str) -> str:
    try:
        return "".join(shlex.split(value)[:1])
    except ValueError:
        return value.strip().strip("\"'")


def _distribution(host: Host) -> FactStream:
    release, source = _release(host)
    name = release.get("PRETTY_NAME") or " ".join(
        filter(None, (release.get("NAME"), release.get("VERSION_ID")))
    )
    for fact, value in (
        ("host.distribution", name),
        ("host.distribution_id", release.get("ID")),
        ("host.distribution_version", release.get("VERSION_ID")),
    ):
        yield fact, present(value, source) if value else absent(source)
    yield "host.package_manager", _package_manager(host, release)


def _package_manager(host: Host, release: dict[str, str]) -> Fact:
    family = {
        part.split("-")[0]
        for part in f"{release.get('ID', '')} {release.get('ID_LIKE', '')}".split()
    }
    for manager, names in _MANAGERS.items():
        if family & set(names):
            return present(manager, "ID and ID_LIKE of os-release")
    commands = (
        ("brew",)
        if host.platform == "darwin"
        else ("apt-get", "dnf", "zypper", "pacman", "apk", "brew")
    )
    found = next((command for command in commands if host.which(command)), None)
    return present(found.removesuffix("-get"), "PATH") if found else absent("os-release and PATH")


def _glibc(host: Host) -> Fact:
    if host.platform != "linux":
        return absent("only Linux has it")
    path = find_library(host, "libc.so.6")
    if path and (match := _GLIBC.search(host.read_bytes(path, limit=8 << 20) or b"")):
        return present(match[1].decode(), path)
    if any(True for _ in host.glob("/lib", "ld-musl-*")):
        return absent("/lib/ld-musl-*")
    try:
        name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    except (OSError, ValueError):
        name, version = "", ""
    return (
        present(version, "confstr")
        if name == "glibc"
        else unknown("neither libc.so.6 nor confstr tells its version")
    )


def _glibcxx(host: Host) -> Fact:
    if host.platform != "linux":
        return absent("only Linux has it")
    path = find_library(host, "libstdc++.so.6")
    if path is None:
        return absent("the loader finds no libstdc++.so.6")
    data = host.read_bytes(path, limit=64 << 20)
    if data is None:
        return unknown("it cannot be read", path)
    versions = {match.decode() for match in _GLIBCXX.findall(data)}
    newest = max(
        versions, key=lambda version: [int(part) for part in version.split(".")], default=None
    )
    return present(newest, path) if newest else unknown("no GLIBCXX_ version stands in it", path)


_CONTAINER_FILES = {
    "/.dockerenv": "docker",
    "/run/.containerenv": "podman",
    "/.singularity.d": "apptainer",
    # A shell in a pod need not have the variables of Kubernetes: sudo and ssh drop them.
    "/var/run/secrets/kubernetes.io": "kubernetes",
}
"""Files that a kind of container holds."""


def _container(host: Host) -> Fact:
    if "KUBERNETES_SERVICE_HOST" in host.env:
        return present("kubernetes", "KUBERNETES_SERVICE_HOST")
    for path in ("/proc/self/cgroup", "/proc/1/cgroup"):
        for mark, kind in _CGROUP_MARKS:
            if mark in (host.read(path, limit=1 << 16) or ""):
                return present(kind, path)
    for path, kind in _CONTAINER_FILES.items():
        if host.exists(path):
            return present(kind, path)
    # What https://systemd.io/CONTAINER_INTERFACE/ asks of whoever starts a container.
    told = {
        "the variable container": host.env.get("container", ""),
        "/run/systemd/container": host.read("/run/systemd/container", limit=64) or "",
    }
    started = re.search(
        r"(?:^|\0)container=([\w.-]+)", host.read("/proc/1/environ", limit=1 << 16) or ""
    )
    told["/proc/1/environ"] = started[1] if started else ""
    found = (
        (kind.strip(), place)
        for place, kind in told.items()
        if re.fullmatch(r"[\w.-]{1,32}", kind.strip())
    )
    kind, place = next(found, ("", ""))
    return (
        present(kind, place) if kind else absent("/.dockerenv, /run/.containerenv, /proc/1, cgroup")
    )


def _wsl(host: Host) -> Fact:
    version = host.read("/proc/version", limit=4096) or ""
    return (
        present(True, "/proc/version")
        if "microsoft" in version.lower()
        else absent("/proc/version")
    )


def _dxg(host: Host) -> Fact:
    """Say whether WSL has the device through which Windows hands GPUs of every vendor in."""
    return present(host.exists(_DXG), _DXG) if _wsl(host).value else absent("no WSL")


def _windows_cuda(host: Host) -> Fact:
    """Return the path of CUDA's library of Windows, where WSL hands no GPU in."""
    waits = _dxg(host).value is False
    found = next((path for path in _NVCUDA if waits and host.exists(path)), None)
    return present(found, found) if found else absent(", ".join(_NVCUDA))


_DXG = "/dev/dxg"
_NVCUDA = ("/mnt/c/Windows/System32/nvcuda.dll", "/usr/lib/wsl/lib/libcuda.so.1")
"""The library itself, and the one for Linux that NVIDIA's driver of Windows brings into WSL."""


def _jetson(host: Host) -> Fact:
    model = (host.read("/proc/device-tree/model", limit=4096) or "").strip("\0 \n")
    if "NVIDIA" in model or "Jetson" in model:
        return present(model, "/proc/device-tree/model")
    if (release := host.read("/etc/nv_tegra_release", limit=4096)) is not None:
        return present(
            release.partition(",")[0].lstrip("# ").strip() or "Tegra", "/etc/nv_tegra_release"
        )
    return absent("/proc/device-tree/model, /etc/nv_tegra_release")


def _processor(scene: ProbeInput, patience: float) -> FactStream:
    host, machine = scene.host, platform.machine()
    if host.platform != "darwin":
        yield "host.machine", present(machine, "uname")
        yield "host.rosetta", absent("only macOS has it")
        return
    asked = host.run(["sysctl", "-n", "hw.optional.arm64"], timeout=patience, cwd=Path("/"))
    if asked.ended is not Termination.ITSELF:
        yield "host.machine", present(machine, "uname")
        yield (
            "host.rosetta",
            unknown(
                asked.why or f"sysctl did not answer within {patience:g} s",
                "sysctl hw.optional.arm64",
            ),
        )
        return
    apple = asked.output.strip() == "1"
    yield "host.machine", present("arm64" if apple else machine, "sysctl hw.optional.arm64")
    # uname answers x86_64 to a translated process, so the interpreter's own word is what tells.
    process = scene.interpreter.machine if scene.interpreter else machine
    yield "host.rosetta", present(apple and process == "x86_64", "sysctl hw.optional.arm64")
