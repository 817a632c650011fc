"""Observations in files: a snapshot, a JSON report, or the text of collect_env."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from doctor import __version__
from doctor.base.errors import InputError, UsageError
from doctor.host.reading import DOCUMENT, UnreadableFile, read_given
from doctor.model.catalog import Catalog
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
    from doctor.logs.environment import environment_facts
    from doctor.logs.log import log_facts

    log = reading.read(io.BytesIO(content), str(path), ())
    if not environment_facts(log.lines):
        why = snapshots.why_not(content)
        raise InputError(
            f"{path}: no snapshot of doctor, no JSON report, and no report of collect_env "
            f"(PyTorch's, vLLM's, detectron2's, MMCV's or Lightning's) or transformers env{why}. "
            "python -m torch.utils.collect_env makes one on the other machine, and "
            "doctor diagnose FILE reads a log"
        )
    target = Target(
        name="interpreter",
        kind=TargetKind.INTERPRETER,
        path=str(path),
        chosen_by="the text of collect_env",
    )
    return Observation(
        doctor_version=__version__, targets=(target,), facts=log_facts(log), logs=(log,)
    )


def replay(
    path: Path, logs: tuple[Log, ...], declared: Mapping[str, Any], catalog: Catalog | None
) -> Observation:
    """Read an observation, and add logs and declared facts to it.

    A text that is none is read as a log, as `doctor diagnose` does; it has no target.
    """
    content = read_document(path)
    saved = _of_log(content, path, catalog) if _is_log(content) else observation_in(content, path)
    return msgspec.structs.replace(
        saved, facts=with_assumed(saved.facts, declared), logs=(*saved.logs, *logs)
    )


def _is_log(content: bytes) -> bool:
    """Say whether a text is neither JSON nor a report of an environment."""
    import io

    from doctor.logs import reading
    from doctor.logs.environment import environment_facts

    if not content.strip() or b"\0" in content or content.lstrip()[:1] == b"{":
        return False
    return _is_other_text(content) and not environment_facts(
        reading.read(io.BytesIO(content), "", ()).lines
    )


def _is_other_text(content: bytes) -> bool:
    """Say whether a file is UTF-8, and no JSON, not even a bare word or number of it."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    try:
        msgspec.json.decode(content)
    except RecursionError:
        return False
    except ValueError:
        return True
    return False


def _of_log(content: bytes, path: Path, catalog: Catalog | None) -> Observation:
    import io

    from doctor.catalog import loading
    from doctor.pipeline.logs import observation_from_logs, read_log

    log = read_log(str(path), io.BytesIO(content), catalog or loading.load())
    return observation_from_logs((log,))
