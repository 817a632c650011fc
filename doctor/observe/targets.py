"""The environment under examination: which interpreter it is, and what that says of itself.

A virtual environment is a folder with pyvenv.cfg (PEP 405). The interpreter describes itself in a
process of its own, with a time limit: a `sitecustomize` or a dead network drive may keep it from
starting.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import msgspec

from doctor.base.lazy_pattern import Pattern
from doctor.base.refusals import RefusedError
from doctor.host import CompletedCommand, Host, Termination
from doctor.observe.checkouts import is_tracked, upwards
from doctor.observe.descriptions import (
    BEGIN,
    END,
    TargetError,
    interpreter_of,
    parse_description,
)
from doctor.observe.scene import Interpreter
from doctor.redact import without_secrets

_COMMAND = Pattern(r"(python|pypy)[\d.]*t?")
_VERSION = Pattern(r"(\d+)(?:\.(\d+))?(?:\.\d+)?")
_WHERE = (
    "bin/python",
    "bin/python3",
    "Scripts/python.exe",
    "python.exe",
    ".pixi/envs/default/bin/python",
)
_STACKS = ("torch", "jax", "tensorflow", "onnxruntime")
_IN_PROJECT = (".venv", "venv", ".pixi/envs/default")

# Runs in the other interpreter, so its grammar is that of any Python. `ascii` instead of json:
# importing json costs more than the start of the interpreter. '' goes first of all, or a random.py
# in the current folder would be imported here.
_PROGRAM = f"""
import sys
sys.path[:] = [p for p in sys.path if p]
import os, sysconfig
v = sys.version_info
impl = getattr(getattr(sys, 'implementation', None), 'name', 'unknown')
free = bool(sysconfig.get_config_var('Py_GIL_DISABLED'))
tag = {{'cpython': 'cp', 'pypy': 'pp'}}.get(impl, impl)
uname = getattr(os, 'uname', None)
kind = {{'alpha': 'a', 'beta': 'b', 'candidate': 'rc'}}.get(v[3])
told = {{
    'executable': sys.executable or '',
    'version': '%d.%d.%d' % tuple(v[:3]) + ('%s%d' % (kind, v[4]) if kind else ''),
    'implementation': impl,
    'tag': '%s%d%d%s' % (tag, v[0], v[1], 't' if free else ''),
    'bits': 64 if sys.maxsize > 2 ** 32 else 32,
    'free_threaded': free,
    'prefix': sys.prefix,
    'base_prefix': getattr(sys, 'base_prefix', sys.prefix),
    'path': list(sys.path),
    'site_packages': [
        p for p in sys.path if os.path.basename(p) in ('site-packages', 'dist-packages')
    ],
    'include': sysconfig.get_path('include') or '',
    'platform': sys.platform,
    'machine': uname()[4] if uname else os.environ.get('PROCESSOR_ARCHITECTURE', ''),
    'stdlib': sysconfig.get_path('stdlib') or '',
}}
try:
    text = ascii(told)
except NameError:
    text = repr(told)
data = ('\\n{BEGIN}' + text + '{END}\\n').encode('ascii')
while data:
    data = data[os.write(1, data):]
"""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The interpreter that was chosen, and why.

    `own` says that it is the one doctor itself runs in, for want of another.

    `by_chance` says that neither the user, nor the shell, nor the project named it: it is what PATH
    happens to hold.
    """

    path: Path
    chosen_by: str
    own: bool = False
    by_chance: bool = False


def choose_interpreter(
    host: Host, python: str | None, project: Path | None, *, own: Path | None = None
) -> Choice:
    """Choose the interpreter: by option, the active or the project's environment, or PATH.

    `own` is the prefix of doctor's own environment, which is taken only where nothing else is
    found. An environment that git tracks came with the project: it is somebody else's program, and
    not started until it is asked for. Raises `TargetError` where what was asked for, or what the
    shell has activated, holds no interpreter.
    """
    if python is not None:
        return Choice(path=_requested_path(host, python), chosen_by="--python")
    own = own or Path(sys.prefix)
    if found := _active(host, own):
        return found
    here = _in_project(host.cwd / project, own) if project else {}
    brought = [name for name in here if project and is_tracked(_plain(host.cwd / project / name))]
    for name, path in here.items():
        if name not in brought:
            return Choice(path=path, chosen_by=name)
    found = _conda(host, base=True) or _on_path(host, own)
    found = found or Choice(
        path=Path(sys.executable), chosen_by="nothing else was found", own=True, by_chance=True
    )
    why = (
        f"; {brought[0]} came with the repository, so it is examined with --python {brought[0]} "
        f"alone"
        if brought
        else ""
    )
    why += _broken_in_project(host.cwd / project) if project and not brought else ""
    return msgspec.structs.replace(found, chosen_by=found.chosen_by + why)


def _requested_path(host: Host, python: str) -> Path:
    path = (host.cwd / Path(python).expanduser()).absolute()
    bare = os.sep not in python and "/" not in python
    if path.is_file() and not bare:
        return path
    inside = _inside(path)
    version = _VERSION.fullmatch(python)
    name = f"python{version[1]}" + (f".{version[2]}" if version[2] else "") if version else python
    on_path = host.which(name) if bare else None
    # As in a shell: a name without a slash is a command, whatever lies in the current folder; `env`
    # or `venv` is a folder all the same.
    found = on_path if on_path and _COMMAND.fullmatch(name) else inside or on_path
    if found:
        return Path(found).absolute()
    if path.is_dir():
        raise TargetError(
            f"--python {python}: the folder holds no bin/python. Give an interpreter or a virtual "
            f"environment."
        )
    here = f" Say ./{python} for the file of this folder." if path.is_file() else ""
    raise TargetError(
        f"--python {python}: neither a file, nor an environment, nor a command on PATH. Check the "
        f"spelling.{here}"
    )


def is_environment(folder: Path) -> bool:
    """Say whether a folder holds an interpreter, or is an environment that has lost its own."""
    return _inside(folder) is not None or (folder / "pyvenv.cfg").is_file()


def _inside(folder: Path) -> Path | None:
    """Return the interpreter of an environment.

    The link itself, since behind it lies the base interpreter.
    """
    return next((folder / where for where in _WHERE if (folder / where).is_file()), None)


def _named(host: Host, variable: str) -> Choice | None:
    prefix = host.env.get(variable)
    if not prefix:
        return None
    if (path := _inside(Path(prefix))) is None:
        raise TargetError(
            f"{variable} is {prefix}, which holds no interpreter. Unset it, or say which with "
            f"--python."
        )
    return Choice(path=path, chosen_by=variable)


def _conda(host: Host, *, base: bool) -> Choice | None:
    # conda activates `base` in every shell: that says nothing about the project, so it ranks behind
    # the project's own.
    return (
        _named(host, "CONDA_PREFIX")
        if (host.env.get("CONDA_DEFAULT_ENV") == "base") is base
        else None
    )


def _active(host: Host, own: Path) -> Choice | None:
    # pre-commit activates the environment that it made for doctor alone.
    ours = _is_only_ours(Path(host.env.get("VIRTUAL_ENV") or "."), own)
    return (None if ours else _named(host, "VIRTUAL_ENV")) or _conda(host, base=False)


def _in_project(project: Path, own: Path) -> dict[str, Path]:
    """Return the interpreters of environments that lie in a project or above, by their folders.

    The search ends at the repository's root: what lies above belongs to something else.
    """
    found = {
        _relative(folder / name, project): _inside(folder / name)
        for folder in upwards(project)
        for name in _IN_PROJECT
        if not _is_only_ours(folder / name, own)
    }
    return {name: path for name, path in found.items() if path}


def _relative(path: Path, project: Path) -> str:
    try:
        return os.path.relpath(path, project)
    except ValueError:  # another drive of Windows
        return str(path)


def _plain(path: Path) -> Path:
    """Return a path without `..`, and with its links: git knows the names of the checkout."""
    return Path(os.path.normpath(path))


def _broken_in_project(project: Path) -> str:
    """Say that an environment in the project or above has lost its interpreter.

    Its Python was removed or moved, and with it went what the link or pyvenv.cfg names.
    """
    for folder in upwards(project):
        for name in _IN_PROJECT:
            environment = folder / name
            if not (environment / "pyvenv.cfg").is_file() or _inside(environment):
                continue
            links = (environment / where for where in _WHERE[:2])
            link = next((path for path in links if path.is_symlink()), None)
            gone = f"its Python {link.readlink()} is gone" if link else "it holds no interpreter"
            return f"; {_relative(environment, project)} is broken, {gone}: make it again"
    return ""


def _is_only_ours(prefix: Path, own: Path) -> bool:
    """Say whether an environment is doctor's own, with nothing to examine in it."""
    same = prefix.is_dir() and prefix.resolve() == own.resolve()
    return same and not any(
        any(prefix.glob(f"{lib}/site-packages/{name}"))
        for lib in ("lib*/python*", "Lib")
        for name in _STACKS
    )


def _on_path(host: Host, own: Path) -> Choice | None:
    homes = {(own / "bin").resolve(), (own / "Scripts").resolve(), own.resolve()}
    for name in ("python3", "python"):
        for folder in host.env.get("PATH", os.defpath).split(os.pathsep):
            path = Path(folder, name + (".exe" if os.name == "nt" else ""))
            # Where PATH means the current folder, a checkout would say what is run.
            if (
                path.is_absolute()
                and os.access(path, os.X_OK)
                and path.is_file()
                and path.parent.resolve() not in homes
            ):
                return Choice(path=path.absolute(), chosen_by=f"{name} on PATH", by_chance=True)
    return None


def describe(host: Host, executable: str | Path, timeout: float = 10.0) -> Interpreter:
    """Start an interpreter once, bare, and let it say what it is.

    Raises `TargetError` where it does not.

    It starts as the user's programs do, PYTHONPATH and sitecustomize included: they may be part of
    the illness.
    """
    ran = host.run(
        [str(executable), "-c", _PROGRAM], timeout=timeout, env={"PYTHONDONTWRITEBYTECODE": "1"}
    )
    if ran.refused:
        raise RefusedError(ran.refused)
    told = parse_description(ran.output)
    if told is None:
        raise TargetError(
            f"{executable} {_silence(ran, timeout)} Say which interpreter to examine with --python."
        )
    interpreter = interpreter_of(told, executable)
    return (
        interpreter
        if interpreter.executable
        else msgspec.structs.replace(interpreter, executable=str(executable))
    )


def _silence(ran: CompletedCommand, timeout: float) -> str:
    """Say how an interpreter failed to describe itself."""
    lines = [
        line.strip() for line in reversed((ran.errors or ran.output).splitlines()) if line.strip()
    ]
    last = next((line for line in lines if "Error" in line), lines[0] if lines else "")
    said = f": {without_secrets(last)[:200].rstrip('.')}." if last else " and said nothing."
    match ran.ended:
        case Termination.NOT_STARTED:
            return f"could not be started: {ran.why}."
        case Termination.TIMEOUT:
            return (
                f"did not answer within {timeout:g} seconds; a sitecustomize or a dead network "
                f"drive may hold it up{said}"
            )
        case Termination.MEMORY:
            return "took too much memory while starting."
        case Termination.ITSELF if ran.code is not None and ran.code < 0:
            return f"crashed while starting, killed by {_signal(-ran.code)}{said}"
        case Termination.ITSELF if ran.code:
            return f"failed while starting, with exit code {ran.code}{said}"
        case Termination.ITSELF:
            return (
                "ended without describing itself: it is no Python interpreter, or only a wrapper "
                "around one."
            )


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
