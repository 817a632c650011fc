"""The workspace's own cargo, bounded, offline, and with every output of it in our folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, NamedTuple

LOGGED = 60_000
"""Characters of an output that the log keeps: doctor keeps 256 KiB of all of them."""
ROOM = 1 << 30
"""Bytes that have to be free where cargo builds.

Candle-core for the processor takes a quarter of it.
"""


class Undone(Exception):
    """Why nothing can be said here: the reason of a skip."""


class CommandResult(NamedTuple):
    """How a command ended; a negative code is a signal."""

    code: int
    out: str
    err: str
    seconds: float


class Cargo:
    """Cargo and rustc as the workspace would use them."""

    def __init__(self) -> None:
        self.workspace = Path(os.environ.get("CANARY_WORKSPACE") or os.getcwd()).absolute()
        folders = [os.environ.get("CANARY_CARGO"), os.environ.get("PATH")]
        self.path = os.pathsep.join(folder for folder in folders if folder)
        self.network = os.environ.get("CANARY_NETWORK") == "1"
        found = shutil.which("cargo", path=self.path)
        if found is None:
            raise Undone("there is no cargo on PATH")
        self.cargo = found

    def run(
        self, *arguments: str, bound: float = 60.0, quiet: bool = False, **extra: str
    ) -> CommandResult:
        """Run cargo in the workspace, so that its `.cargo/config.toml` and toolchain file count."""
        return self.start([self.cargo, *arguments], self.workspace, bound, quiet=quiet, **extra)

    def start(
        self, command: list[str], folder: Path, bound: float, *, quiet: bool = False, **extra: str
    ) -> CommandResult:
        """Run a command; the log has it and, unless it is quiet, what it printed."""
        print("$", " ".join(command), flush=True)
        started = time.monotonic()
        try:
            ran = subprocess.run(
                command,
                cwd=folder,
                env=self.environment(**extra),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=bound,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Undone(
                f"{Path(command[0]).name} {command[1]} was still running after {bound:.0f} s"
            ) from None
        except OSError as error:
            raise Undone(f"{command[0]} cannot be started: {error.strerror}") from None
        done = CommandResult(ran.returncode, ran.stdout, ran.stderr, time.monotonic() - started)
        if not quiet:
            print(shortened(done.out), end="")
        print(
            shortened(done.err),
            f"-- ended with {done.code} after {done.seconds:.1f} s",
            sep="",
            flush=True,
        )
        return done

    def environment(self, **extra: str) -> dict[str, str]:
        """The environment of every command.

        The user's, without wrappers (caches of the user's), and offline unless that was allowed.
        """
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in ("CARGO_BUILD_TARGET_DIR", "CARGO_NET_OFFLINE")
        }
        return {
            **kept,
            **({} if self.network else {"CARGO_NET_OFFLINE": "true"}),
            "PATH": self.path,
            "LC_ALL": "C",
            "CARGO_TERM_COLOR": "never",
            "RUSTC_WRAPPER": "",
            "RUSTC_WORKSPACE_WRAPPER": "",
            "RUSTUP_AUTO_INSTALL": "0",
            "RUST_BACKTRACE": "0",
            **extra,
        }

    def metadata(self, manifest: Path, *arguments: str) -> dict[str, Any]:
        """Return what a manifest resolves to: from the cache, else from the network if allowed."""
        command = [
            "metadata",
            "--format-version",
            "1",
            "--manifest-path",
            str(manifest),
            *arguments,
        ]
        done = self.run(*command, "--offline", quiet=True)
        if done.code and self.network:
            done = self.run(*command, bound=300.0, quiet=True)
        if done.code:
            missing = (
                "; `cargo fetch --locked` brings what is missing" if "offline" in done.err else ""
            )
            raise Undone(
                "cargo does not resolve this "
                f"workspace{'' if self.network else ' offline'}: "
                f"{complaint(done.err)}{missing}"
            )
        told: dict[str, Any] = json.loads(done.out)
        return told

    def host(self) -> str:
        """Return the platform that rustc compiles for by itself."""
        rustc = shutil.which("rustc", path=self.path)
        if rustc is None:
            raise Undone("there is no rustc on PATH")
        done = self.start([rustc, "-vV"], self.workspace, 30.0, quiet=True)
        host = next(
            (line[len("host: ") :] for line in done.out.splitlines() if line.startswith("host: ")),
            "",
        )
        if not host:
            raise Undone(f"rustc does not say what it is: {complaint(done.err)}")
        return host

    def building(self, target: Path) -> dict[str, str]:
        """Return the settings that keep everything a build writes within a folder of ours."""
        free = shutil.disk_usage(target.parent).free
        if free < ROOM:
            raise Undone(f"{free >> 20} MiB are free in {target.parent}: too little to build in")
        return {
            "CARGO_TARGET_DIR": str(target),
            "CARGO_BUILD_BUILD_DIR": str(target),
            "CARGO_INCREMENTAL": "0",
        }


def complaint(output: str) -> str:
    """Return cargo's first error in one line, with the innermost of its causes."""
    lines = [line.strip() for line in output.splitlines()]
    first = next((index for index, line in enumerate(lines) if line.startswith("error")), None)
    if first is None:
        return next((line for line in reversed(lines) if line), "it said nothing")[:400]
    causes = [
        lines[index + 1]
        for index, line in enumerate(lines[:-1])
        if line == "Caused by:" and index > first
    ]
    return "; ".join([lines[first], *causes[-1:]])[:400]


def shortened(output: str) -> str:
    """Return an output without its middle where it is too long for the log."""
    if len(output) <= LOGGED:
        return output
    return (
        f"{output[: LOGGED // 2]}\n[... {len(output) - LOGGED} characters ...]\n"
        f"{output[-LOGGED // 2 :]}"
    )
