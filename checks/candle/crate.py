"""Write a small crate in its own folder that depends on the workspace's packages."""

from __future__ import annotations

import shutil
from pathlib import Path

from candle import builds, workspace
from candle.cargo import Cargo, CommandResult, Undone
from candle.workspace import Workspace, toml

PLAIN = "[profile.dev]\ndebug = 0\n"
"""Without debug information candle-core takes half the disk and two thirds of the time."""


class Crate:
    """A manifest, the workspace's lock beside it, and the folder that its builds go to."""

    def __init__(
        self,
        cargo: Cargo,
        folder: Path,
        package: str,
        programs: dict[str, Path],
        needs: dict[str, str],
    ) -> None:
        self.cargo, self.folder, self.target = cargo, folder, folder / "target"
        self.manifest = folder / "Cargo.toml"
        self.text = "".join(
            [
                f"[package]\n{package}publish = false\nautobins = false\n\n[workspace]\n",
                *(
                    f"\n[[bin]]\nname = {toml(name)}\npath = {toml(str(path))}\n"
                    for name, path in programs.items()
                ),
                "\n[dependencies]\n",
                *(f"{toml(name)} = {entry}\n" for name, entry in needs.items()),
            ]
        )

    def lay(self, lock: Path) -> None:
        """Put the crate into its folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.manifest.write_text(f"{self.text}\n{PLAIN}", encoding="utf-8")
        shutil.copyfile(lock, self.folder / "Cargo.lock")
        print(self.manifest.read_text(encoding="utf-8"), flush=True)

    def same(self, whole: Workspace) -> Workspace:
        """Resolve the crate.

        Where what decides about candle would not be the workspace's own, nothing built from it
        counts.
        """
        told = self.cargo.metadata(self.manifest, "--filter-platform", whole.host)
        mine = Workspace(told, whole.host)
        other = workspace.differing(mine, whole)
        if other:
            raise Undone(
                "a crate beside the workspace would not get the workspace's own "
                f"{', '.join(other[:4])}"
            )
        return mine

    def run(self, command: str, *arguments: str, bound: float, **extra: str) -> CommandResult:
        """Let cargo build or check the crate.

        The log has rustc's errors as a terminal would show them.
        """
        offline = () if self.cargo.network else ("--offline",)
        told = ["--message-format", "json", "--manifest-path", str(self.manifest), *offline]
        environment = {**self.cargo.building(self.target), **extra}
        done = self.cargo.run(command, *told, *arguments, bound=bound, quiet=True, **environment)
        print("".join(each.rendered for each in builds.errors(done.out))[:60_000], flush=True)
        return done
