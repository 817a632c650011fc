"""Small libraries that ask and give as told, compiled and linked here."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.hosts import put

RPATH, RUNPATH = "-Wl,--disable-new-dtags", "-Wl,--enable-new-dtags"

Build = Callable[..., Path]


def builder(compiler: str) -> Build:
    """Return a function that makes a library at a path, linked with others.

    `gives` are symbols that it defines, `asks` those that it cannot do without, `weak` those that
    it can; `search` is where it looks for what it needs, written as RPATH or RUNPATH.
    """

    def build(
        path: Path,
        *needed: Path,
        gives: Sequence[str] = (),
        asks: Sequence[str] = (),
        weak: Sequence[str] = (),
        search: str = "",
        kind: str = RUNPATH,
        code: str = "",
        flags: Sequence[str] = (),
    ) -> Path:
        lines = [
            f'int gives{n}(void) __asm__("{name}"); int gives{n}(void) {{ return {n}; }}'
            for n, name in enumerate(gives)
        ]
        for n, name in enumerate((*asks, *weak)):
            mark = "__attribute__((weak)) " if n >= len(asks) else ""
            lines.append(
                f'{mark}extern int asks{n}(void) __asm__("{name}"); int uses{n}(void) {{ '
                f"return asks{n} ? asks{n}() : 0; }}"
            )
        source = put(path.with_suffix(".c"), "\n".join([*lines, code, ""]))
        argv = [
            compiler,
            "-shared",
            "-fPIC",
            "-Wl,--no-as-needed",
            f"-Wl,-soname,{path.name}",
            *flags,
            str(source),
            *map(str, needed),
        ]
        subprocess.run(
            [*argv, *([kind, f"-Wl,-rpath,{search}"] if search else []), "-o", str(path)],
            check=True,
            timeout=60,
        )
        source.unlink()
        return path

    return build
