"""The host as probes see it.

A test hands in another root and another environment instead of patching modules.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from doctor.base.refusals import current_folder
from doctor.host.process import CompletedCommand, Termination, run
from doctor.host.reading import read_regular, read_whole_text
from doctor.host.which import OWN_UV, which


class Host:
    """A machine to look at.

    `root` is where absolute paths of the operating system (`/proc`, `/sys`, `/etc`, `/usr`) are
    looked up: `/`, or a folder that stands for a machine. `env` is the environment that tools are
    started with and that `which` searches. `platform` is what `sys.platform` says there.
    """

    def __init__(
        self,
        *,
        root: Path = Path("/"),
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        platform: str = sys.platform,
    ) -> None:
        self.root, self.platform = root, platform
        self._is_whole = root == Path("/")
        self.env: Mapping[str, str] = dict(os.environ if env is None else env)
        self._cwd = cwd

    def with_env(self, env: Mapping[str, str]) -> Host:
        """Return this host with other variables."""
        return Host(root=self.root, env=env, cwd=self._cwd, platform=self.platform)

    def with_own_uv(self) -> Host:
        """Return this host with the uv beside this Python, where its PATH has none."""
        import sysconfig  # a static check starts without it

        own = which(str(Path(sysconfig.get_path("scripts"), "uv")))
        return self.with_env({**self.env, OWN_UV: own}) if own and not self.which("uv") else self

    @property
    def cwd(self) -> Path:
        """The folder that a command line is typed in; raises RefusedError where it is gone."""
        if self._cwd is None:
            self._cwd = current_folder()
        return self._cwd

    def at(self, path: str | Path) -> Path:
        """Return where an absolute path lies on this host."""
        path = path if isinstance(path, Path) else Path(path)
        if self._is_whole or path.is_relative_to(self.root):
            return path
        return self.root / path.relative_to(path.anchor)

    def read(self, path: str | Path, *, limit: int) -> str | None:
        """Return the beginning of a regular file as text, at most `limit` bytes.

        None where it cannot be read. Never blocks on a pipe.
        """
        data = self.read_bytes(path, limit=limit)
        return None if data is None else data.decode("utf-8", "replace")

    def read_bytes(self, path: str | Path, *, limit: int) -> bytes | None:
        """Return the first bytes of a regular file, at most `limit`.

        None where it cannot be read.
        """
        return read_regular(path if self._is_whole else self.at(path), limit)

    def whole(self, path: str | Path, limit: int) -> str | None:
        """Return the text of a regular file, None where there is none.

        Raises UnreadableFile as doctor.host.reading does.
        """
        return read_whole_text(self.at(path), limit)

    def exists(self, path: str | Path) -> bool:
        """Say whether a path is there; a path that may not be looked at counts as not there."""
        try:
            return self.at(path).exists()
        except (OSError, ValueError):
            return False

    def list(self, path: str | Path) -> tuple[str, ...]:
        """Return the sorted names in a folder; empty where it cannot be listed."""
        try:
            return tuple(sorted(entry.name for entry in self.at(path).iterdir()))
        except (OSError, ValueError):
            return ()

    def glob(self, folder: str | Path, pattern: str) -> Iterator[Path]:
        """Yield the sorted paths under a folder that match a pattern."""
        try:
            yield from sorted(self.at(folder).glob(pattern))
        except (OSError, ValueError):
            return

    def which(self, command: str) -> str | None:
        """Return the path of a command, as a shell would find it on this host's PATH.

        Relative entries of that are passed over. Where it has no uv, the one that a variable names.
        """
        if os.path.dirname(command):  # noqa: PTH120 - "./x" has one, and none as a Path
            return which(command)
        found = which(command, _absolute(self.env.get("PATH", os.defpath)))
        # On Windows the current folder is searched as well, and what lies there is found by a
        # relative path.
        if found and Path(found).is_absolute():
            return found
        own = self.env.get(OWN_UV, "") if command == "uv" else ""
        return own if own and Path(own).is_absolute() else None

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float = 5.0,
        silence: float | None = None,
        limit: int = 1 << 20,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> CompletedCommand:
        """Run a tool with this host's environment and `env` on top.

        A tool that is not there gives a `CompletedCommand` that says so.
        """
        found = self.which(argv[0])
        if found is None:
            return CompletedCommand(ended=Termination.NOT_STARTED, why=f"{argv[0]} is not on PATH")
        env = {**self.env, **(env or {})}
        return run(
            [found, *argv[1:]],
            timeout=timeout,
            silence=silence,
            limit=limit,
            env=env,
            cwd=cwd or self.cwd,
        )


@lru_cache(maxsize=16)
def _absolute(search: str) -> str:
    """Return the absolute entries of a PATH, which is asked for each tool."""
    return os.pathsep.join(
        folder for folder in search.split(os.pathsep) if Path(folder).is_absolute()
    )
