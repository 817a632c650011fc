"""Keep verdicts in a file per fingerprint, in a folder that only this user can write."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from pathlib import Path

import msgspec

from doctor import __version__
from doctor.base.bundled import bundled
from doctor.base.errors import WriteError
from doctor.host import read_regular, writing
from doctor.host.keeping import is_private, make_private, newest
from doctor.model.checks import Kind
from doctor.model.observation import TargetKind
from doctor.model.outcomes import Verdict, refused_what
from doctor.observe.runner import Batch, Unit
from doctor.redact.report import without_any_secrets

_AGE = timedelta(hours=24)
"""A verdict that is older is found anew, whatever has not changed."""
_FILES, _BYTES = 16, 4 << 20
"""How many environments are remembered, and how much of a file is read."""


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    ran: datetime
    batch: Batch


class _File(msgspec.Struct, frozen=True, kw_only=True):
    entries: Mapping[str, _Entry] = msgspec.field(default_factory=dict)


class Store:
    """The verdicts of one environment.

    Without a folder, or without a fingerprint, it holds nothing and keeps nothing.

    Recalled is what passed, or was skipped by the script itself. Where the machine shows a GPU
    (`has_gpu`), that is no more than the canaries on the processor: a driver and a card can fail
    between two runs with nothing changed. With `changed`, whoever asks wants to know what a change
    has changed: failures and the verdicts of a GPU are recalled as well.
    """

    def __init__(
        self,
        where: Path | None,
        fingerprint: str,
        *,
        has_gpu: bool = False,
        fresh: bool = False,
        changed: bool = False,
    ) -> None:
        self._where, self._fingerprint = where, fingerprint
        self._has_gpu, self._fresh, self._changed_only = has_gpu, fresh, changed
        self._known = dict(_read(where, f"{fingerprint}.json")) if where and fingerprint else {}
        self._changed = False

    def recall(self, unit: Unit) -> Batch | None:
        """Return what a unit gave when it last ran here, each outcome with that time.

        None where it has to run.
        """
        entry = self._known.get(_key(unit)) if _may_keep(unit) and not self._fresh else None
        if entry is None or not (self._changed_only or self._holds_still(unit, entry.batch)):
            return None
        if not timedelta() <= datetime.now(timezone.utc) - entry.ran < _AGE:
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
        if _may_keep(unit) and _is_answer(batch):
            clean = without_any_secrets(batch)  # the log of a failure may hold some
            self._known[key] = _Entry(ran=datetime.now(timezone.utc), batch=clean)
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
            if make_private(self._where):
                writing.write(self._where / f"{self._fingerprint}.json", content, private=True)
                _forget(self._where)

    def _holds_still(self, unit: Unit, batch: Batch) -> bool:
        on_gpu = unit.device != "cpu" or unit.check.header.kind is Kind.FACTS
        return _is_green(batch) and not (self._has_gpu and on_gpu)


def _may_keep(unit: Unit) -> bool:
    return unit.check.header.target is TargetKind.INTERPRETER


def _read(where: Path, name: str) -> Mapping[str, _Entry]:
    content = read_regular(where / name, _BYTES) if is_private(where) else None
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


def _is_answer(batch: Batch) -> bool:
    """Say whether a script said something about its target, and the machine refused it nothing."""
    return bool(batch.outcomes) and not any(
        outcome.verdict in (Verdict.BROKEN, Verdict.TIMED_OUT)
        or (outcome.verdict is Verdict.SKIPPED and outcome.exit_code != 0)
        or refused_what(outcome.reason)
        for outcome in batch.outcomes
    )


def _is_green(batch: Batch) -> bool:
    """Say whether a script came to its own end and had nothing to complain of."""
    return bool(batch.outcomes) and all(
        outcome.exit_code == 0
        and outcome.verdict in (Verdict.PASSED, Verdict.SKIPPED)
        and not refused_what(outcome.reason)
        for outcome in batch.outcomes
    )


def _forget(where: Path) -> None:
    """Remove all files but the newest."""
    for path in newest(where)[_FILES:]:
        path.unlink(missing_ok=True)
