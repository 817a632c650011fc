"""The context of a log: where it was printed, and by which commands."""

from __future__ import annotations

import msgspec


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What a log shows of where it was printed; an empty value means that it does not show it.

    `os` is "linux", "windows" or "macos"; `vendors` are those of the GPUs that the log names
    ("nvidia", "amd", "intel", "apple"); `gpus` the names; `tools` the installers and build tools
    that speak in it; `commands` what was typed at a prompt or printed as started; `indexes` the
    package indexes that were asked (without credentials). `built_from_source` is set where a
    compiler ran.
    """

    os: str = ""
    distribution: str = ""
    shell: str = ""
    machine: str = ""
    container: bool = False
    wsl: bool = False
    jetson: bool = False
    conda: bool = False
    notebook: bool = False
    vendors: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    built_from_source: bool = False
