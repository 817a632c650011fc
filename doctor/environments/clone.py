"""Clone an environment for a trial: installers and programs change the clone, never the original.

docs/environments.md says what is shared with the original, what is copied, and what is refused.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from doctor.base.refusals import home_folder
from doctor.environments.build import Progress, build
from doctor.environments.environment import Environment
from doctor.environments.layout import CloneError, layout
from doctor.environments.prefixes import moved_text, spellings
from doctor.environments.transfer import Transfer, can_hard_link, can_reflink
from doctor.environments.tree import Entry, Kind, Tree, TreeError, scan
from doctor.environments.variables import variables
from doctor.environments.workspace import workspace
from doctor.host import CompletedCommand, Host, run
from doctor.host.scratch import Scratch, ScratchError, temporary_folders
from doctor.observe.descriptions import TargetError
from doctor.observe.targets import describe

_SPARE_BYTES = 256 << 20
"""Free space that a clone leaves on a disk."""


@dataclass(frozen=True)
class Clone:
    """A clone of an environment, to be used inside `with clone(…)`.

    `how` names the ways in which files came, with their numbers. `bytes` are those written,
    `notes` say what differs from the original beside the prefix. `host` has the variables of the
    original, with the paths of the clone in place of those of the original, and compiler caches in
    a temporary folder. `prefix` are words that go before every command that runs in the clone.
    """

    environment: Environment
    original: Environment
    host: Host
    how: Mapping[str, int]
    seconds: float
    bytes: int
    notes: tuple[str, ...]
    scratch: Scratch
    prefix: tuple[str, ...] = ()
    _names: tuple[str, ...] = ()
    _before: tuple[Entry, ...] = field(default=(), repr=False)

    def translated(self, word: str) -> str:
        """Return a word of a command with the paths of the original replaced."""
        return moved_text(word, self._names, str(self.environment.root))

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        silence: float | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        limit: int = 1 << 20,
        merge: bool = True,
        tick: Callable[[float], None] | None = None,
    ) -> CompletedCommand:
        """Run a command of the original in the clone: its paths and `env` are translated.

        Nothing that the command starts outlives doctor. A command without a folder is searched on
        the PATH of the clone.
        """
        words = [self.translated(word) for word in argv]
        words[0] = self.host.which(words[0]) or words[0]
        added = {name: self.translated(value) for name, value in (env or {}).items()}
        return run(
            [*self.prefix, *words],
            timeout=timeout,
            silence=silence,
            env={**self.host.env, **added},
            cwd=cwd or self.host.cwd,
            limit=limit,
            merge=merge,
            tick=tick,
            mark=self.scratch.mark(),
            supervisor=self.scratch.supervisor,
        )

    def disturbed(self) -> tuple[str, ...]:
        """Return the files of the original that changed since the clone was made, by size or time.

        Empty unless a program wrote into a shared file in place, or somebody changed the original.
        """
        return tuple(sorted(_changed(self.original.root, self._before)))


@contextlib.contextmanager
def clone(
    environment: Environment,
    host: Host,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Iterator[Clone]:
    """Clone an environment into a hidden folder, which is removed at the end.

    The clone lies in `folder`, by default beside the environment, so that files can be shared.
    Raises CloneError with the reason where no clone is possible.
    """
    if environment.kind == "system":
        raise CloneError(
            f"{environment.root} belongs to the system; doctor clones virtual and conda "
            f"environments only"
        )
    with contextlib.ExitStack() as stack:
        try:
            made = _made(environment, host, folder, progress, stack)
        except (TreeError, TargetError) as error:
            raise CloneError(str(error)) from error
        except OSError as error:
            what = error.filename or environment.root
            raise CloneError(f"no clone: {what}: {error.strerror or error}") from error
        yield made


def _made(
    environment: Environment,
    host: Host,
    folder: Path | None,
    progress: Progress | None,
    stack: contextlib.ExitStack,
) -> Clone:
    started = time.monotonic()
    tree = scan(environment.root)
    scratch, transfer = _place(environment, host, tree, folder, stack)
    target = scratch.folder / environment.root.name
    names = spellings(environment.root, host, environment.scripts)
    plan = layout(environment, tree, target)
    build(plan, transfer, names, target, progress)
    inner = msgspec.structs.replace(environment.moved(target), writable=True, why_closed="")
    inside = Host(env=variables(host.env, inner, names, scratch.folder), cwd=_working_folder(host))
    _require_own_prefix(inner, inside)
    return Clone(
        environment=inner,
        original=environment,
        host=inside,
        how={way: number for way, number in transfer.shared.items() if number},
        seconds=time.monotonic() - started,
        bytes=transfer.written,
        notes=(*plan.notes, *transfer.notes),
        scratch=scratch,
        _names=names,
        _before=tree.entries,
    )


def _working_folder(host: Host) -> Path | None:
    return host.cwd if host.root == Path("/") else None


def _place(
    environment: Environment,
    host: Host,
    tree: Tree,
    folder: Path | None,
    stack: contextlib.ExitStack,
) -> tuple[Scratch, Transfer]:
    """Choose where the clone lies: where files can be shared, else where a copy has space."""
    refused: list[str] = []
    trial = _trial_file(tree)
    places = [folder] if folder else list(dict.fromkeys(_places(environment, host)))
    for is_last in (False, True):
        for place in places:
            with contextlib.ExitStack() as attempt:
                try:
                    scratch = attempt.enter_context(workspace(place))
                except ScratchError as error:
                    refused.append(str(error))
                    continue
                source = f"{tree.root}/{trial.path}" if trial else ""
                shares = trial is None or can_reflink(source, scratch.folder, trial)
                links = trial is None or (
                    not is_overlay(host, tree) and can_hard_link(source, scratch.folder)
                )
                free = shutil.disk_usage(scratch.folder).free - _SPARE_BYTES
                if not (shares or links) and not (is_last and free > _needed(tree)):
                    refused.append(f"{place} has {max(free, 0) >> 20:,} MiB for a copy")
                    continue
                stack.push(attempt.pop_all())
                return scratch, Transfer(reflinks=shares, hard_links=links, most_bytes=free)
    raise CloneError(
        f"no place for a clone of {environment.root} ({tree.size >> 20:,} MiB): "
        f"{'; '.join(dict.fromkeys(refused))}"
    )


def is_overlay(host: Host, tree: Tree) -> bool:
    """Say whether a folder lies on overlayfs, as in a container.

    A hard link to a file of an image copies the file into the layer of the container, where it
    stays: https://docs.kernel.org/filesystems/overlayfs.html.
    """
    if host.platform != "linux":
        return False
    device = tree.top.inode[0]
    number = f"{os.major(device)}:{os.minor(device)}"
    mounts = (host.read("/proc/self/mountinfo", limit=1 << 20) or "").splitlines()
    return any(number in line.split()[2:3] and " - overlay " in line for line in mounts)


def _places(environment: Environment, host: Host) -> Iterator[Path]:
    yield environment.root.parent
    cache, home = host.env.get("XDG_CACHE_HOME", ""), home_folder()
    if Path(cache).is_absolute():
        yield Path(cache)
    elif home:
        yield home
    yield from map(Path, temporary_folders(host.env))


def _trial_file(tree: Tree) -> Entry | None:
    """Return the largest file, of this user if possible: it decides what a clone costs."""
    files = [entry for entry in tree.entries if entry.kind is Kind.FILE]
    mine = getattr(os, "geteuid", lambda: 0)()
    return max(files, key=lambda entry: (entry.owner == mine, entry.size), default=None)


def _needed(tree: Tree) -> int:
    """Return the bytes that a copy takes at most; what this user may not write is linked."""
    mine = getattr(os, "geteuid", lambda: 0)()
    return sum(
        entry.size for entry in tree.entries if entry.kind is Kind.FILE and mine in (0, entry.owner)
    )


def _require_own_prefix(environment: Environment, host: Host) -> None:
    """Raise CloneError where the interpreter of a clone takes another folder for its prefix."""
    told = describe(host, environment.python)
    if os.path.realpath(told.prefix) != os.path.realpath(environment.root):
        raise CloneError(
            f"the interpreter of the clone names {told.prefix} as its prefix; PYTHONHOME or a "
            f"wrapper in place of the interpreter may be the reason"
        )


def _changed(root: Path, before: Sequence[Entry]) -> Iterator[str]:
    for entry in before:
        if entry.kind is not Kind.FILE:
            continue
        try:
            status = os.lstat(f"{root}/{entry.path}")
        except OSError:
            yield entry.path
            continue
        if (status.st_size, status.st_mtime_ns) != (entry.size, entry.changed):
            yield entry.path
