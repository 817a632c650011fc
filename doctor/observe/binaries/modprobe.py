"""What keeps the kernel from a module: modprobe's configuration, and the kernel's command line.

The sources are modprobe.d(5) and https://docs.kernel.org/admin-guide/kernel-parameters.html.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from doctor.host import Host

FOLDERS = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")
"""Where modprobe's configuration lies; a file hides its namesakes in the folders after its own."""
_COMMAND_LINE = "/proc/cmdline"
_NOTHING = frozenset(
    f"{folder}/bin/{name}" for folder in ("", "/usr") for name in ("true", "false")
)
_AT_START = frozenset({"modprobe.blacklist", "module_blacklist", "rd.driver.blacklist"})


def forbidding(host: Host, names: frozenset[str]) -> Iterator[str]:
    """Yield the files of modprobe, and the kernel's command line, that block a module."""
    for path in files(host, FOLDERS, ".conf"):
        lines = (host.read(path, limit=1 << 16) or "").splitlines()
        if any(_forbids(line, names) for line in lines):
            yield path
    words = [
        word.partition("=") for word in (host.read(_COMMAND_LINE, limit=1 << 13) or "").split()
    ]
    if any(name in _AT_START and names & set(modules.split(",")) for name, _, modules in words):
        yield _COMMAND_LINE


def files(host: Host, folders: Iterable[str], ending: str) -> Iterator[str]:
    """Yield the files of configuration; one hides its namesakes in the folders after its own."""
    seen: set[str] = set()
    for folder in folders:
        for name in host.list(folder):
            if name.endswith(ending) and name not in seen:
                seen.add(name)
                yield f"{folder}/{name}"


def _forbids(line: str, names: frozenset[str]) -> bool:
    match line.partition("#")[0].split():
        case ["blacklist", name] | ["alias", name, "off"]:
            return name in names
        case ["install", name, instead]:
            return name in names and instead in _NOTHING
        case _:
            return False
