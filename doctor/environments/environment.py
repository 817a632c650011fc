"""Describe an environment: where it lies, what kind it is, and whether it may be changed."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from doctor.host import Host, read_regular
from doctor.host.reading import VERSION_FILE
from doctor.observe.installed.editables import folder_of
from doctor.observe.scene import Interpreter
from doctor.observe.targets import describe

_SHARES_SYSTEM = re.compile(r"(?im)^include-system-site-packages[ \t]*=[ \t]*true[ \t]*$")
_CONFIG_LIMIT = 1 << 16


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """One Python environment.

    `root` is its prefix, `python` an interpreter in it. `folders` are all site-packages on the
    path; those below `root` are `own_folders`. `kind` is `venv`, `conda` or `system`. `base` is the
    prefix of the interpreter that a virtual environment borrows, else `root`. `why_closed` says why
    no installer can change it, and is empty where `writable`. `editable` are the source folders of
    editable installs (PEP 610).
    """

    root: Path
    python: Path
    folders: tuple[Path, ...]
    kind: str
    base: Path
    version: str
    shares_system: bool = False
    writable: bool = True
    why_closed: str = ""
    editable: tuple[Path, ...] = ()

    @property
    def own_folders(self) -> tuple[Path, ...]:
        """Return the site-packages below the prefix."""
        return tuple(folder for folder in self.folders if folder.is_relative_to(self.root))

    @property
    def scripts(self) -> Path:
        """Return the folder of the interpreter and of the console scripts."""
        return self.python.parent

    def moved(self, root: Path) -> Environment:
        """Return the same environment under another prefix."""
        return msgspec.structs.replace(
            self,
            root=root,
            python=_moved(self.python, self.root, root),
            folders=tuple(_moved(folder, self.root, root) for folder in self.folders),
            editable=tuple(_moved(folder, self.root, root) for folder in self.editable),
            base=root if self.base == self.root else self.base,
        )


@lru_cache(maxsize=8)
def interpreter_of(environment: Environment) -> Interpreter:
    """Return how the interpreter of an environment describes itself; it is started once.

    For what does not change with packages: its release, its tags, its markers. Raises
    `doctor.observe.targets.TargetError` where it does not start.
    """
    return describe(Host(), environment.python)


def environment_at(python: Path, host: Host, interpreter: Interpreter | None = None) -> Environment:
    """Describe the environment of an interpreter, which is started once unless it is described.

    No package of it is imported. Raises `doctor.observe.targets.TargetError` where the interpreter
    does not start.
    """
    told = interpreter or describe(host, python)
    root, base = Path(told.prefix), Path(told.base_prefix)
    kind = "conda" if (root / "conda-meta").is_dir() else "system" if root == base else "venv"
    config = read_regular(root / "pyvenv.cfg", _CONFIG_LIMIT) or b""
    folders = _unique(told.site_packages)
    own = tuple(folder for folder in folders if folder.is_relative_to(root))
    why = _why_closed(host, told, kind, own)
    return Environment(
        root=root,
        python=_inside(Path(told.executable), python, root),
        folders=folders,
        kind=kind,
        base=base,
        version=told.version,
        shares_system=bool(_SHARES_SYSTEM.search(config.decode("utf-8", "replace"))),
        writable=not why,
        why_closed=why,
        editable=tuple(dict.fromkeys(_editable(own))),
    )


def _inside(executable: Path, python: Path, root: Path) -> Path:
    """Return the path of the interpreter that lies below the prefix, if one does."""
    return next((path for path in (executable, python) if path.is_relative_to(root)), executable)


def _unique(folders: Sequence[str]) -> tuple[Path, ...]:
    """Return each folder once; `lib64` of a virtual environment is a link to `lib`."""
    found: dict[str, Path] = {}
    for folder in folders:
        found.setdefault(os.path.realpath(folder), Path(folder))
    return tuple(found.values())


def _why_closed(host: Host, told: Interpreter, kind: str, own: Sequence[Path]) -> str:
    mark = Path(told.stdlib, "EXTERNALLY-MANAGED")
    if kind == "system" and host.exists(mark):
        return "pip refuses to install into this Python of the operating system (PEP 668)"
    if not own:
        return f"{told.prefix} has no site-packages folder"
    for folder in (*own, Path(told.executable).parent):
        if _is_read_only(folder):
            return f"{folder} lies on a read-only file system"
        if not os.access(folder, os.W_OK | os.X_OK):
            return f"this user cannot write to {folder}{_owner(folder)}"
    return ""


def _is_read_only(folder: Path) -> bool:
    if not hasattr(os, "statvfs"):
        return False
    with contextlib.suppress(OSError):
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    return False


def _owner(folder: Path) -> str:
    with contextlib.suppress(OSError, KeyError, NotImplementedError, ImportError):
        if (owner := folder.stat().st_uid) != os.geteuid():
            import pwd

            return f", which belongs to {pwd.getpwuid(owner).pw_name}"
    return ""


def _editable(folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the source folders that direct_url.json and .egg-link files name."""
    for folder in folders:
        for path in (*folder.glob("*.dist-info/direct_url.json"), *folder.glob("*.egg-link")):
            text = (read_regular(path, VERSION_FILE) or b"").decode("utf-8", "replace")
            source = text.split("\n")[0].strip() if path.suffix == ".egg-link" else folder_of(text)
            if source and "\0" not in source and Path(source).is_absolute():
                yield Path(source)


def _moved(path: Path, old: Path, new: Path) -> Path:
    return new / path.relative_to(old) if path.is_relative_to(old) else path
