"""Host compilers and build tools, each asked for its version at the same time as the others.

The versions of GCC and Clang that nvcc accepts are in host_config.h of the toolkit, not here.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import msgspec

from doctor.base.lazy_pattern import Pattern
from doctor.host import CompletedCommand, Host, Termination
from doctor.host.threads import run_in_threads
from doctor.model.facts import Fact, FactStream, absent, present, unknown
from doctor.observe.scene import ProbeInput
from doctor.redact import without_secrets

WAITS = True
BOUND = 6.0

_C = ("cc", "gcc", "clang", "cl")
_CXX = ("c++", "g++", "clang++", "cl")
_VERSION = Pattern(r"\b(\d+\.\d+(?:\.\d+)*)")
_CCBIN = Pattern(
    r"(?<!\S)(?:-ccbin|--compiler-bindir)(?:\s{0,8}=\s{0,8}|\s{1,8})(\"[^\"]{1,4096}\"|\S{1,4096})"
)
_BUILD = ("ninja", "cmake", "git")


class Tool(msgspec.Struct, frozen=True):
    """A command that was chosen, and what chose it; `path` is None where it cannot be found."""

    wanted: str
    source: str
    path: str | None


def probe(scene: ProbeInput, *, patience: float = 3.0) -> FactStream:
    """Yield `compiler.*` and `build.*`.

    A tool that gives no answer within `patience` seconds costs its own version.
    """
    host = scene.host
    c, cxx, cuda = _chosen(host, "CC", _C), _chosen(host, "CXX", _CXX), cuda_host(host)
    found = {name: _build_tool(scene, name) for name in _BUILD}
    asked = {tool.path for tool in (cxx, cuda) if tool.path} | {
        path for path, version in found.values() if path and not version
    }
    ran = _ask(host, sorted(asked), patience)
    yield "compiler.cc", _path(c)
    yield "compiler.cxx", _path(cxx)
    kind, version, major = _identity(cxx, ran)
    yield "compiler.cxx_kind", kind
    yield "compiler.cxx_version", version
    yield "compiler.cxx_major", major
    yield "compiler.cuda_host", _path(cuda)
    kind, _, major = _identity(cuda, ran)
    yield "compiler.cuda_host_kind", kind
    yield "compiler.cuda_host_major", major
    for name, (path, known) in found.items():
        yield f"build.{name}", _build_version(name, path, known, ran)


def _chosen(host: Host, variable: str, names: tuple[str, ...]) -> Tool:
    if value := host.env.get(variable, "").strip():
        return _named(host, value, variable)
    path = next((found for name in names if (found := host.which(name))), None)
    return Tool(", ".join(names), "PATH", path)


def _named(host: Host, value: str, source: str) -> Tool:
    """Return the compiler that a variable names.

    It is a path, a folder (`-ccbin` takes one), or words that begin with ccache.
    """
    if Path(value).is_dir():
        path = next(
            (found for name in ("gcc", "g++", "clang") if (found := host.which(f"{value}/{name}"))),
            None,
        )
        return Tool(value, source, path)
    try:
        words = shlex.split(value)
    except ValueError:
        words = [value]
    paths = [found for word in words if not word.startswith("-") and (found := host.which(word))]
    launchers = [path for path in paths if Path(path).name in {"ccache", "sccache", "distcc"}]
    return Tool(value, source, next((path for path in paths if path not in launchers), None))


def cuda_host(host: Host) -> Tool:
    """Return the host compiler that nvcc would call in a torch build."""
    for variable in ("NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS"):
        if flag := _CCBIN.search(host.env.get(variable, "")):
            return _named(host, flag[1].strip('"'), variable)
    # torch hands CC on as -ccbin, and a flag outranks NVCC_CCBIN; CUDAHOSTCXX is CMake's.
    for variable in ("CC", "NVCC_CCBIN", "CUDAHOSTCXX"):
        if value := host.env.get(variable, "").strip():
            return _named(host, value, variable)
    names = ("cl",) if host.platform == "win32" else ("gcc", "g++")
    return Tool(
        names[0], "PATH", next((found for name in names if (found := host.which(name))), None)
    )


def _build_tool(scene: ProbeInput, name: str) -> tuple[str | None, str]:
    """Return the path, and the version if a file gives it.

    The wheels' commands are slow Python scripts, and so is cmake.
    """
    python = scene.interpreter
    folder = Path(python.executable).parent if python else None
    if folder and (inside := scene.host.which(str(folder / name))):
        told = next((each.version for each in scene.distributions if each.name == name), "")
        return inside, told
    path = scene.host.which(name)
    return path, _shared_folder(scene.host, path) if path and name == "cmake" else ""


def _shared_folder(host: Host, path: str) -> str:
    """Return cmake's major.minor out of the name of the one folder share/cmake-3.25 beside it."""
    share = Path(path).resolve().parent.parent / "share"
    found = [name for name in host.list(share) if re.fullmatch(r"cmake-\d+\.\d+", name)]
    return found[0].removeprefix("cmake-") if len(found) == 1 else ""


def _ask(host: Host, paths: list[str], patience: float) -> Mapping[str, CompletedCommand]:
    def one(path: str) -> CompletedCommand:
        if _is_stub(host, path):
            return CompletedCommand(
                ended=Termination.NOT_STARTED, why="Apple's command line tools are not installed"
            )
        # Messages are matched below, so they must come untranslated.
        words = [path] if Path(path).name.lower() in {"cl", "cl.exe"} else [path, "--version"]
        return host.run(words, timeout=patience, limit=1 << 14, env={"LC_ALL": "C"}, cwd=Path("/"))

    return run_in_threads({path: partial(one, path) for path in paths})


def _is_stub(host: Host, path: str) -> bool:
    # Without the tools behind it, a command in /usr/bin of a Mac opens a window that offers to
    # install them.
    homes = ("/Library/Developer/CommandLineTools", "/Applications/Xcode.app")
    return (
        host.platform == "darwin"
        and path.startswith("/usr/bin/")
        and not any(map(host.exists, homes))
    )


def _path(tool: Tool) -> Fact:
    return present(tool.path, tool.source) if tool.path else absent(f"{tool.source}: {tool.wanted}")


def _identity(tool: Tool, ran: Mapping[str, CompletedCommand]) -> tuple[Fact, Fact, Fact]:
    """Return kind, version and first number of a compiler."""
    if tool.path is None:
        nothing = absent(f"{tool.source}: {tool.wanted}")
        return nothing, nothing, nothing
    told = ran[tool.path]
    kind, version = identify(told.output + "\n" + told.errors)
    source = f"{tool.path} --version"
    if kind is None or version is None:
        fact = unknown(_why(told), source)
        return (present(kind, source) if kind else fact), fact, fact
    return (
        present(kind, source),
        present(version, source),
        present(int(version.partition(".")[0]), source),
    )


def identify(text: str) -> tuple[str | None, str | None]:
    """Return kind and version of a compiler out of what it prints about itself."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    if found := re.search(r"(Apple )?\b(?:clang|LLVM) version (\d+(?:\.\d+)*)", text):
        return ("apple-clang" if found[1] else "clang"), found[2]
    named = (line.partition("Microsoft")[2].partition("Version ")[2] for line in text.splitlines())
    if found := next(filter(None, map(_VERSION.match, named)), None):
        return "msvc", found[1]
    command, _, rest = first.partition(" ")
    if "(GCC)" in first or (
        rest.startswith("(") and any(name in command for name in ("cc", "g++", "c++"))
    ):
        # The distribution's own version stands in the brackets: g++ (Debian 12.2.0-14+deb12u1)
        # 12.2.0
        version = _VERSION.search(re.sub(r"\([^()]*\)", " ", first).partition(" ")[2])
        return "gcc", version[1] if version else None
    return None, None


def _build_version(
    name: str, path: str | None, known: str, ran: Mapping[str, CompletedCommand]
) -> Fact:
    if path is None:
        return absent(f"PATH: {name}")
    if known:
        return present(known, f"files of {name}")
    found = _VERSION.search(ran[path].output) if ran[path].ok else None
    return present(found[1], f"{path} --version") if found else unknown(_why(ran[path]), path)


def _why(ran: CompletedCommand) -> str:
    if ran.ended is Termination.TIMEOUT:
        return "it did not tell its version in time"
    if ran.ended is Termination.NOT_STARTED:
        return ran.why
    said = without_secrets(ran.errors.strip() or ran.output.strip() or ran.why)[:120].partition(
        "\n"
    )[0]
    return f"exit code {ran.code}, and no version in: {said or '(nothing)'}"
