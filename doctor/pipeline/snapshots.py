"""Observations in files: a snapshot, a JSON report, or the text of collect_env."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from doctor import __version__
from doctor.base.errors import InputError, UsageError
from doctor.host.reading import DOCUMENT, UnreadableFile, read_given
from doctor.model.observation import Log, Observation, Target, TargetKind
from doctor.observe.observation import with_assumed


def read_observation(path: Path) -> Observation:
    """Read a snapshot, a JSON report, which holds one, or the text of collect_env.

    Raises UsageError for a missing file, InputError for one that holds none of them.
    """
    return observation_in(read_document(path), path)


def read_document(path: Path) -> bytes:
    """Read a document from a file or a pipe.

    Raises UsageError for a missing file, InputError for one that is too large.
    """
    try:
        return read_given(path, DOCUMENT)
    except UnreadableFile as error:
        raise InputError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


def observation_in(content: bytes, path: Path) -> Observation:
    """Return the observation in the content of a file.

    Raises InputError as `read_observation` does.
    """
    from doctor.logs import snapshots

    saved = snapshots.observation(content, str(path))
    return _of_collect_env(content, path) if saved is None else saved


def _of_collect_env(content: bytes, path: Path) -> Observation:
    import io

    from doctor.logs import reading, snapshots
    from doctor.logs.described import described_facts

    log = reading.read(io.BytesIO(content), str(path), ())
    why = snapshots.why_not(content)
    facts = {} if why else described_facts(log)
    if not facts:
        raise InputError(
            f"{path}: no snapshot of doctor, no JSON report, and no text that describes an "
            f"environment (collect_env, pip list, nvidia-smi …){why}. "
            "python -m torch.utils.collect_env makes one on the other machine. "
            "If it is a log, doctor diagnose reads it"
        )
    target = _pasted(str(path))
    return Observation(doctor_version=__version__, targets=(target,), facts=facts, logs=(log,))


def _pasted(source: str) -> Target:
    return Target(
        name="interpreter",
        kind=TargetKind.INTERPRETER,
        path=source,
        chosen_by="a pasted environment",
    )


def with_described(seen: Observation) -> Observation:
    """Judge the first text that describes an environment, and no failure, as that environment."""
    from doctor.logs.described import described_facts

    for log in seen.logs:
        if facts := described_facts(log):
            return msgspec.structs.replace(
                seen, targets=(_pasted(log.source),), facts={**seen.facts, **facts}
            )
    return seen


def replay(path: Path, logs: tuple[Log, ...], declared: Mapping[str, Any]) -> Observation:
    """Read an observation, and add logs and declared facts to it."""
    saved = read_observation(path)
    return msgspec.structs.replace(
        saved, facts=with_assumed(saved.facts, declared), logs=(*saved.logs, *logs)
    )
