"""Isolate doctor from variables for the target's Python, before any foreign import.

PYTHONPATH and its like are set for the interpreter under examination (modules of a cluster, images
of NGC, ROS), hold packages that were built for that one, and break any other. So where one of them
is set, the same command is started once more without them: a `sitecustomize` among them may have
changed this process already. They are kept aside meanwhile, and stand in `os.environ` again before
anything is looked at: to the patient they matter. So is an LD_LIBRARY_PATH with another runtime of
C++: doctor's own extensions would be linked to that one.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys

TYPE_CHECKING = (
    False  # importing `typing` costs more than all of this, and PYTHONPATH may hold another one
)
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

_THEIRS = (
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONWARNINGS",
    "PYTHONOPTIMIZE",
    "PYTHONSTARTUP",
    "PYTHONDEVMODE",
)
_ASIDE = "CANARY_ASIDE_"
_RUNTIMES = ("libstdc++.so.6", "libgcc_s.so.1")
"""What RE2 and the extensions in Rust are linked to; one that is older, or cut off, ends doctor."""
_HERE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120 - see above
_FAULT, _INTERRUPTED = 3, 130
_LEAST_MEMORY = 64 << 20
_STACK = 1 << 20


def main() -> NoReturn:
    """Run the command line; a start that fails ends with 3, for 1 is a finding."""
    # A run is short and makes few cycles. Collecting them costs more than it frees, most of all
    # while modules are imported.
    gc.disable()
    try:
        _hold_streams()
        _set_apart()
        _spare_memory()
        run = _imported()
        hold_memory()
    except KeyboardInterrupt:
        _say("interrupted")
        sys.exit(_INTERRUPTED)
    except Exception as error:
        if is_debugging():
            raise
        # A library that there is no memory for is an ImportError.
        refused = isinstance(error, (OSError, MemoryError)) or "failed to map segment" in str(error)
        why = "this machine does not let doctor start" if refused else "cannot start"
        _say(f"{why}: {type(error).__name__}: {error} ({sys.executable}; --debug shows the trace)")
        sys.exit(_FAULT)
    run()


def is_debugging() -> bool:
    """Say whether `--debug` is given: an error may end the run before any option is parsed."""
    return "--debug" in sys.argv


def _import_msgspec() -> None:
    """Import msgspec as if typing_extensions were not installed.

    It would take three names from there that `typing` has, and pay more for them than for all the
    rest of itself: that module imports `inspect`, and builds every class that any Python lacks.
    See https://docs.python.org/3/reference/import.html#the-module-cache for the None.
    """
    name = "typing_extensions"
    if name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules[name]


def _imported() -> Callable[[], NoReturn]:
    try:
        _import_msgspec()
        from doctor.cli.border import main as run
    except ModuleNotFoundError:
        # Somebody may have put what doctor leans on nowhere else.
        sys.path += [
            entry
            for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep)
            if entry and entry not in sys.path
        ]
        from doctor.cli.border import main as run
    return run


def _hold_streams() -> None:
    """Open the null device for each closed standard stream.

    The next file that is opened would take its descriptor, and reports would be written into it.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def hold_memory(size: int = _LEAST_MEMORY) -> None:
    """Raise MemoryError where `ulimit -v` leaves too little memory.

    Rust and C++ libraries abort where Python raises.
    """
    import mmap  # what stands on PYTHONPATH is set apart by now

    try:
        mmap.mmap(-1, size).close()
    except OSError as error:
        raise MemoryError(
            f"less than {size >> 20} MB of address space are left (ulimit -v)"
        ) from error


def _spare_memory() -> None:
    """Give each thread a stack of 1 MB where `ulimit -v` bounds the address space.

    Eight, the usual ones, soon use it up. A thread that finds no memory at its start ends before it
    says that it has begun, and `Thread.start` of CPython waits for that word for ever.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        import _thread

        _thread.stack_size(_STACK)


def _set_apart() -> None:
    if sys.path and _real(sys.path[0]) == _real(os.curdir) != _real(_HERE):
        del sys.path[0]  # `python -m` puts the current folder first
    aside = [name for name in os.environ if name.startswith(_ASIDE)]
    for name in aside:
        if value := os.environ.pop(name):
            os.environ[name[len(_ASIDE) :]] = value
        else:
            os.environ.pop(name[len(_ASIDE) :], None)
    # CPython looks at this one once more when it ends, and would ask for input.
    inspect = os.environ.pop("PYTHONINSPECT", "")
    ours, foreign = _entries()
    theirs = {
        name: value
        for name in _THEIRS
        if (value := os.environ.get(name, "")) and (foreign or name != "PYTHONPATH")
    }
    if brings_a_runtime(os.environ.get("LD_LIBRARY_PATH", "")):
        theirs["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
    if aside or sys.flags.ignore_environment or not (theirs or inspect):
        return
    if os.name == "posix" and _is_our_program():
        given = _given()
        env = {
            name: value for name, value in given.items() if name not in (*theirs, "PYTHONINSPECT")
        }
        env |= {_ASIDE + name: given.get(name, "") for name in ("PYTHONPATH", *theirs)}
        with contextlib.suppress(OSError):
            os.execve(  # noqa: S606
                sys.executable,
                [sys.executable, *sys.orig_argv[1:]],
                {**env, "PYTHONPATH": os.pathsep.join(ours)},
            )
    sys.path[:] = [entry for entry in sys.path if _real(entry) not in foreign]
    if "PYTHONWARNINGS" in theirs:
        import warnings

        warnings.resetwarnings()
        warnings.simplefilter("ignore")


def brings_a_runtime(listed: str) -> bool:
    """Say whether LD_LIBRARY_PATH has a runtime of C++, and this interpreter starts without it."""
    folders = [one for one in listed.split(":") if one]
    found = [
        one
        for one in folders
        if any(os.path.exists(os.path.join(one, name)) for name in _RUNTIMES)  # noqa: PTH110, PTH118
    ]
    if not found:
        return False
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
            loaded = {os.path.dirname(line.split(maxsplit=5)[-1].rstrip()) for line in file}  # noqa: PTH120
    except OSError:
        return False
    # A Python of a cluster's module finds its own libpython there.
    return not {_real(one) for one in folders} & {_real(one) for one in loaded if one[:1] == "/"}


def _given() -> dict[str, str]:
    """Return the environment that this process was started with, where the system keeps it.

    A `sitecustomize` on PYTHONPATH may have changed `os.environ`: PATH, for one. See
    proc_pid_environ(5).
    """
    try:
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - see above
            entries = os.fsdecode(file.read()).split("\0")
    except OSError:
        return dict(os.environ)
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)


def _entries() -> tuple[list[str], set[str]]:
    """Return the entries of PYTHONPATH with this doctor, and the real paths of the others."""
    entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    ours = [entry for entry in entries if _real(entry) == _real(_HERE)]
    return ours, {_real(entry) for entry in entries if entry not in ours}


def _is_our_program() -> bool:
    """Say whether this process is the command, not a program that calls it.

    `os.execve` of Windows would not keep its number.
    """
    name = os.path.basename(sys.argv[0]).rpartition(".py")  # noqa: PTH119
    return bool(sys.executable) and (name[0] or name[2]) in (
        "doctor",
        "canary-doctor",
        "canary_doctor",
        "__main__",
    )


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # it is relative, and the current folder is gone
        return path


def _say(text: str) -> None:
    if sys.stderr is not None:
        try:
            sys.stderr.write(f"doctor: {text}\n")
            sys.stderr.flush()
        except (OSError, ValueError):
            return
