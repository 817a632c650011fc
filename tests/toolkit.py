"""Assemble a CUDA toolkit that compiles and links from the packages of an environment."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.environments import site_packages


def assemble(python: Path, dest: Path) -> Path:
    """Lay out `dest` as an installed toolkit from the pip packages beside `python`.

    Programs and headers are hard links: nvcc looks for its parts beside its own path, and a test
    may take any file of `dest` away. Libraries are symbolic links, each also under the name that a
    linker asks for, in `lib64` where nvcc looks.
    """
    source = site_packages(python) / "nvidia" / "cu13"
    for part in ("bin", "include", "nvvm"):
        shutil.copytree(source / part, dest / part, copy_function=_link)
    libraries = dest / "lib64"
    libraries.mkdir()
    (dest / "lib").symlink_to("lib64")
    for library in sorted((source / "lib").iterdir()):
        (libraries / library.name).symlink_to(library)
        plain = libraries / (library.name.partition(".so.")[0] + ".so")
        if ".so." in library.name and not plain.exists():
            plain.symlink_to(library.name)
    return dest


def replace(path: Path, data: bytes) -> None:
    """Give a file other contents without touching the file that it may be a hard link to."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_bytes(data)
    shutil.copymode(path, fresh)
    fresh.replace(path)


def _link(source: str, dest: str) -> str:
    try:
        os.link(source, dest)
    except OSError:
        shutil.copy2(source, dest)
    return dest
