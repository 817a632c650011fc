"""Write the files that a person asks for: reports, snapshots, summaries, configuration.

A file is written whole or not at all. A pipe, a device and a descriptor are written to as what they
are, and never replaced. A checkout can bring links along, so links decide nothing: the last name of
a path is no link that is followed, but for those of /dev and /proc, which are the system's; and a
path that begins at the current folder does not leave it through one.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import stat
import time
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import NoReturn

from doctor.base.errors import WriteError
from doctor.base.lazy_pattern import Pattern

_SYSTEM = (Path("/dev"), Path("/proc"))
_DESCRIPTOR = Pattern(
    r"(?:/dev/fd|/proc/(?P<pid>self|thread-self|[0-9]{1,9})/fd)/(?P<number>[0-9]{1,9})"
)
_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_READER_SECONDS = 10.0
"""How long a named pipe may wait for whoever reads it."""
_ANY = os.O_WRONLY | getattr(os, "O_BINARY", 0)
_FILE = _ANY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
_NO_FILE = _ANY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


class _Link(WriteError):
    """A path ends in a link."""


def write(path: Path, text: str, *, private: bool = False) -> None:
    """Write a file as a whole or not at all; raises WriteError.

    A file that is there keeps its mode, and its owner where this user may give files away. A new
    one has the mode that the umask leaves; a `private` one is for its owner alone.
    """
    with _as_write_error(path):
        place = _place(path)
        descriptor = _as_it_is(place, path)
        if descriptor is None:
            _replace(place, _bytes(text), private=private)
        else:
            _pour(place, descriptor, _bytes(text))


def create(path: Path, text: str) -> None:
    """Write a file that is not there yet, and the folders above it.

    Raises FileExistsError where it is there, else WriteError.
    """
    with _as_write_error(path):
        place = _place(path)
        try:
            descriptor = _as_it_is(place, path)
        except _Link:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        if descriptor is None:
            _make_folder(place.parent, path)
            descriptor = os.open(place, _FILE | os.O_EXCL, 0o666)
            with _undone_by_failure(place):
                _put(descriptor, _bytes(text))
        else:
            _pour(place, descriptor, _bytes(text))


def append(path: Path, text: str) -> None:
    """Write at the end of a file, all of the text or nothing of it; raises WriteError."""
    with _as_write_error(path):
        place = _place(path)
        descriptor = _as_it_is(place, path)
        if descriptor is not None:
            _pour(place, descriptor, _bytes(text))
            return
        with os.fdopen(os.open(place, _FILE | os.O_APPEND, 0o666), "ab", buffering=0) as file:
            before, whole = os.fstat(file.fileno()).st_size, False
            try:
                _write_all(file.fileno(), _bytes(text))
                whole = True
            finally:
                if not whole:
                    file.truncate(before)


@contextlib.contextmanager
def _as_write_error(path: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError:
        raise
    except (OSError, ValueError) as error:
        _refuse(path, str(getattr(error, "strerror", None) or error))


def _refuse(path: Path, why: str, kind: type[WriteError] = WriteError) -> NoReturn:
    raise kind(f"{path} cannot be written: {why}") from None


def _bytes(text: str) -> bytes:
    """Encode a text; a name in it that is no Unicode is written with escapes."""
    return text.encode("utf-8", "backslashreplace")


def _place(path: Path) -> Path:
    """Return a path whose folders are followed to where they are.

    Raises WriteError where a link leads out of where the path begins.
    """
    folder = Path(os.path.realpath(path.parent))
    if not path.is_absolute():
        upwards = takewhile(lambda part: part == "..", Path(os.path.normpath(path.parent)).parts)
        if not folder.is_relative_to(os.path.realpath(Path(*upwards))):
            _refuse(
                path,
                f"a link in it leads elsewhere, and a checkout may bring links; to mean that "
                f"file, name it {folder / path.name}",
            )
    return folder / path.name


def _as_it_is(place: Path, path: Path) -> int | None:
    """Open what is there and no file: a descriptor of this process, a pipe, a device.

    None where a file is, or is to be.

    Raises WriteError for a link that is not followed, and for what takes no text.
    """
    if (number := _descriptor(place)) is not None:
        return os.dup(number)
    try:
        seen = place.lstat()
        of_system = stat.S_ISLNK(seen.st_mode) and any(
            place.is_relative_to(folder) for folder in _SYSTEM
        )
        seen = place.stat() if of_system else seen
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(seen.st_mode) or (of_system and stat.S_ISREG(seen.st_mode)):
        _refuse(
            path,
            f"it is a link, and a checkout may bring links; to mean that file, name it "
            f"{os.path.realpath(place)}",
            _Link,
        )
    if stat.S_ISREG(seen.st_mode):
        return None
    if not _takes_text(seen.st_mode):
        _refuse(
            path,
            "it is a folder"
            if stat.S_ISDIR(seen.st_mode)
            else "it is neither a file nor a pipe nor a terminal",
        )
    return _open_as_it_is(place, path, follow=of_system, is_pipe=stat.S_ISFIFO(seen.st_mode))


def _takes_text(mode: int) -> bool:
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def _descriptor(place: Path) -> int | None:
    """Return the descriptor that a path of /dev or /proc names; None for another path.

    Its target is then not opened again.
    """
    found = _DESCRIPTOR.fullmatch(str(place))
    if found and found["pid"] in (None, "self", "thread-self", str(os.getpid())):
        return int(found["number"])
    return _STREAMS.get(str(place))


def _open_as_it_is(place: Path, path: Path, *, follow: bool, is_pipe: bool) -> int:
    flags = _NO_FILE if follow else _NO_FILE | getattr(os, "O_NOFOLLOW", 0)
    descriptor = _opened_for_reader(place, path, flags) if is_pipe else os.open(place, flags)
    if not _takes_text(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        _refuse(path, "it was exchanged while it was opened")
    if hasattr(os, "O_NONBLOCK") and not is_pipe:
        os.set_blocking(descriptor, True)
    return descriptor


def _opened_for_reader(place: Path, path: Path, flags: int) -> int:
    """Open a named pipe as soon as somebody reads from it."""
    deadline = time.monotonic() + _READER_SECONDS
    while True:
        try:
            return os.open(place, flags)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
        if time.monotonic() > deadline:
            _refuse(path, f"nobody has read from it for {_READER_SECONDS:g} s")
        time.sleep(0.05)


def _pour(place: Path, descriptor: int, data: bytes) -> None:
    """Write to what is no file; raise BrokenPipeError where the reader of a named pipe has gone.

    Whoever reads a stream of this process (`/dev/stdout`, `>(head)`) and goes has read enough.
    """
    is_own = _descriptor(place) is not None
    with contextlib.suppress(BrokenPipeError) if is_own else contextlib.nullcontext():
        _put(descriptor, data)


def _put(descriptor: int, data: bytes) -> None:
    """Write all of it and close; a file system that is full may say so only then."""
    try:
        _write_all(descriptor, data)
    except BaseException:
        with contextlib.suppress(OSError):
            os.close(descriptor)
        raise
    os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    """Write all of it.

    Raises TimeoutError where the reader of a pipe that was opened here takes nothing for some
    seconds.
    """
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            if not select.select([], [descriptor], [], _READER_SECONDS)[1]:
                raise TimeoutError(
                    errno.ETIMEDOUT, f"nobody has read from it for {_READER_SECONDS:g} s"
                ) from None


def _make_folder(folder: Path, path: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        _refuse(path, f"{path.parent} is no folder")


@contextlib.contextmanager
def _undone_by_failure(place: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            place.unlink()
        raise


def _replace(place: Path, data: bytes, *, private: bool) -> None:
    """Put a new file in a place.

    It is written under a name that nobody can foresee, which may not be there (O_EXCL follows no
    link).
    """
    try:
        before = place.lstat()
    except FileNotFoundError:
        before = None
    temporary = place.with_name(f".doctor-{os.urandom(12).hex()}")
    with _undone_by_failure(temporary):
        descriptor = os.open(temporary, _FILE | os.O_EXCL, 0o600 if private or before else 0o666)
        if before:
            _give(descriptor, before)
        _put(descriptor, data)
        temporary.replace(place)


def _give(descriptor: int, before: os.stat_result) -> None:
    """Copy owner and mode of a file to the one that replaces it, as far as permitted."""
    with contextlib.suppress(OSError, AttributeError):
        if (before.st_uid, before.st_gid) != (
            os.fstat(descriptor).st_uid,
            os.fstat(descriptor).st_gid,
        ):
            os.fchown(descriptor, before.st_uid, before.st_gid)
    with contextlib.suppress(OSError, AttributeError):
        os.fchmod(descriptor, stat.S_IMODE(before.st_mode) & 0o777)
