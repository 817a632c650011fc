"""Make every entry of a clone by its layout."""

from __future__ import annotations

import os
import posixpath
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from doctor.environments.conda_files import with_binary_prefix
from doctor.environments.layout import Action, CloneError, Item, Layout
from doctor.environments.prefixes import with_prefix
from doctor.environments.records import Rewrite, corrected, is_record
from doctor.environments.transfer import Transfer

Progress = Callable[[int, int], None]
"""Called with the number of finished entries and the number of all."""

_TICK = 512


def build(
    plan: Layout,
    transfer: Transfer,
    names: Sequence[str],
    target: Path,
    progress: Progress | None = None,
) -> None:
    """Make all entries below `target`, where texts have its path for each of `names`.

    Raises CloneError where the disk has too little space, and OSError.
    """
    target.mkdir(0o700)
    made = _Build(transfer, names, target)
    for number, item in enumerate(plan.items):
        if progress and number % _TICK == 0:
            progress(number, len(plan.items))
        made.make(item)
    made.finish([item for item in plan.items if item.action is Action.FOLDER])
    if progress:
        progress(len(plan.items), len(plan.items))


class _Build:
    def __init__(self, transfer: Transfer, names: Sequence[str], target: Path) -> None:
        self._transfer, self._names, self._target = transfer, names, str(target)
        self._rewrites: dict[str, Rewrite] = {}
        self._records: list[Item] = []

    def make(self, item: Item) -> None:
        """Make one entry; a RECORD waits for the files that it lists."""
        path = self._path(item)
        match item.action:
            case Action.FOLDER:
                os.mkdir(path, 0o700)  # noqa: PTH102 - thousands of times
            case Action.LINK:
                os.symlink(item.target, path)  # noqa: PTH211 - a Path changes the text of some
                _give_time(path, item)
            case Action.PIPE:
                os.mkfifo(path, item.entry.mode & 0o777)
                _give_time(path, item)
            case Action.SHARED:
                self._transfer.share(item, path)
            case Action.COPIED if is_record(item.entry):
                self._records.append(item)
            case Action.COPIED:
                self._copy(item, path)

    def finish(self, folders: Sequence[Item]) -> None:
        """Write the RECORDs, and give each folder its mode and time."""
        for item in self._records:
            self._transfer.copy(item, self._path(item), self._corrected(item))
        for item in reversed(folders):
            path, entry = self._path(item), item.entry
            os.utime(path, ns=(entry.changed, entry.changed))
            # A clone is there to be changed, also that of an environment without permission.
            os.chmod(path, entry.mode & 0o777 | 0o700)  # noqa: PTH101 - thousands of times

    def _path(self, item: Item) -> str:
        return f"{self._target}/{item.entry.path}"

    def _copy(self, item: Item, path: str) -> None:
        found = self._transfer.copy(item, path, lambda data: self._changed(data, item))
        if found:
            self._rewrites[item.entry.path] = Rewrite(before=found[0], after=found[1])

    def _changed(self, data: bytes, item: Item) -> bytes:
        if not item.placeholder:
            return with_prefix(data, self._names, self._target)
        if sys.platform == "darwin":
            return data  # a change would break the signature of the binary
        found = with_binary_prefix(data, self._names, self._target, item.placeholder)
        if found is None:
            raise CloneError(
                f"{item.source} contains the prefix, and {self._target} is too long to replace it"
            )
        return found

    def _corrected(self, item: Item) -> Callable[[bytes], bytes]:
        site = posixpath.dirname(item.entry.parent)
        return lambda data: with_prefix(
            corrected(data, site, self._rewrites), self._names, self._target
        )


def _give_time(path: str, item: Item) -> None:
    if os.utime in os.supports_follow_symlinks:
        os.utime(path, ns=(item.entry.changed, item.entry.changed), follow_symlinks=False)
