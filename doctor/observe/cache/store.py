"""Keep verdicts in a file per fingerprint, in a folder that only this user can write.

A verdict is trusted only if nobody else could have written it. So owner and
mode of the folder are checked.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from pathlib import Path

import msgspec

from doctor import __version__
from doctor.base.bundled import bundled
from doctor.base.errors import WriteError
from doctor.host import read_regular, writing
from doctor.model.checks import Kind
from doctor.model.observation import TargetKind
from doctor.model.outcomes import Verdict, refused_what
from doctor.observe.runner import Batch, Unit

_AGE = timedelta(hours=24)
"""A verdict that is older is found anew, whatever has not changed."""
_FILES, _BYTES = 16, 4 << 20
"""How many environments are remembered, and how much of a file is read."""


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    ran: datetime
    batch: Batch


class _File(msgspec.Struct, frozen=True, kw_only=True):
    entries: Mapping[str, _Entry] = msgspec.field(default_factory=dict)


def folder(env: Mapping[str, str]) -> Path | None:
    """Return the folder of verdicts: DOCTOR_CACHE_DIR, below XDG_CACHE_HOME, or below ~/.cache.

    None where DOCTOR_CACHE_DIR is empty, which switches this off, and where the place is not an
    absolute path.
    """
    if (own := env.get("DOCTOR_CACHE_DIR")) is not None:
        return Path(own) if Path(own).is_absolute() else None
    cache, home = env.get("XDG_CACHE_HOME", ""), env.get("HOME", "")
    root = Path(cache) if Path(cache).is_absolute() else Path(home) / ".cache"
    return root / "canary-doctor" if root.is_absolute() else None


class Store:
    """The verdicts of one environment.

    Without a folder, or without a fingerprint, it holds nothing and keeps nothing.

    Only what passed is kept, or was skipped by the script itself. Where the machine shows a GPU
    (`has_gpu`), that is no more than the canaries on the processor: a driver and a card can fail
    between two runs with nothing changed.
    """

    def __init__(
        self, where: Path | None, fingerprint: str, *, has_gpu: bool = False, fresh: bool = False
    ) -> None:
        self._where, self._fingerprint = where, fingerprint
        self._has_gpu, self._fresh = has_gpu, fresh
        self._known = dict(_read(where, f"{fingerprint}.json")) if where and fingerprint else {}
        self._changed = False

    def recall(self, unit: Unit) -> Batch | None:
        """Return what a unit gave when it last ran here, each outcome with that time.

        None where it has to run.
        """
        entry = self._known.get(_key(unit)) if self._may_keep(unit) and not self._fresh else None
        if entry is None or not timedelta() <= datetime.now(timezone.utc) - entry.ran < _AGE:
            return None
        ran = entry.ran.isoformat(timespec="seconds")
        outcomes = tuple(
            msgspec.structs.replace(outcome, cached_from=ran) for outcome in entry.batch.outcomes
        )
        return msgspec.structs.replace(entry.batch, outcomes=outcomes)

    def remember(self, unit: Unit, batch: Batch) -> None:
        """Take note of what a unit gave; what is not to be kept replaces what was."""
        if (
            any(outcome.cached_from for outcome in batch.outcomes)
            or self._where is None
            or not self._fingerprint
        ):
            return
        key = _key(unit)
        if self._may_keep(unit) and _is_green(batch):
            self._known[key] = _Entry(ran=datetime.now(timezone.utc), batch=batch)
            self._changed = True
        elif self._known.pop(key, None):
            self._changed = True

    def save(self, fingerprint: Callable[[], str]) -> None:
        """Write the new verdicts, if the environment still has the fingerprint of the start.

        Does nothing where that cannot be written: the next run does without.
        """
        if not self._changed or self._where is None or fingerprint() != self._fingerprint:
            return
        content = msgspec.json.encode(_File(entries=self._known)).decode()
        with contextlib.suppress(OSError, WriteError):
            self._where.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_private(self._where):
                writing.write(self._where / f"{self._fingerprint}.json", content, private=True)
                _forget(self._where)

    def _may_keep(self, unit: Unit) -> bool:
        header = unit.check.header
        return header.target is TargetKind.INTERPRETER and not (
            self._has_gpu and (unit.device != "cpu" or header.kind is Kind.FACTS)
        )


def _read(where: Path, name: str) -> Mapping[str, _Entry]:
    content = read_regular(where / name, _BYTES) if _is_private(where) else None
    try:
        return msgspec.json.decode(content, type=_File).entries if content else {}
    except (ValueError, RecursionError):
        return {}


def _key(unit: Unit) -> str:
    """Return the key of a unit: a digest of its script, its device and all its inputs."""
    plan = unit.plan
    told = (
        __version__,
        unit.check.id,
        unit.device,
        unit.asked,
        plan.tier.value,
        plan.command,
        sorted(plan.settings.items()),
    )
    digest = hashlib.blake2b(repr(told).encode("utf-8", "backslashreplace"), digest_size=20)
    digest.update(unit.check.path.read_bytes())
    digest.update(_sources())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _sources() -> bytes:
    """Return all that check scripts are made of: they share modules."""
    return b"".join(path.read_bytes() for path in sorted(bundled("checks").rglob("*.py")))


def _is_green(batch: Batch) -> bool:
    """Say whether a script came to its own end and had nothing to complain of."""
    return bool(batch.outcomes) and all(
        outcome.exit_code == 0
        and outcome.verdict in (Verdict.PASSED, Verdict.SKIPPED)
        and not refused_what(outcome.reason)
        for outcome in batch.outcomes
    )


def _is_private(where: Path) -> bool:
    """Say whether this user owns a folder and nobody else can write it.

    Elsewhere somebody could plant a verdict.
    """
    try:
        state = where.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(state.st_mode)
        and state.st_uid == os.geteuid()
        and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _forget(where: Path) -> None:
    """Remove all files but the newest."""
    found = sorted(where.iterdir(), key=lambda path: path.lstat().st_mtime, reverse=True)
    for path in found[_FILES:]:
        path.unlink(missing_ok=True)
