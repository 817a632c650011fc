"""The edits of a project on disk: read its manifests, and print their unified diff."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from doctor.catalog.loading import load
from doctor.host.reading import UnreadableFile, read_whole
from doctor.model.facts import Facts
from doctor.model.plans import Plan
from doctor.observe.probes.manifests import shown_from
from doctor.planning.pins import ProjectEdits, edits_for, unified_diff

__all__ = ["patch_text", "project_edits", "reader", "unified_diff"]

_LARGEST = 4 << 20


def project_edits(
    plan: Plan, facts: Facts, project: Path, env: Mapping[str, str] | None = None
) -> ProjectEdits:
    """Return the edits that make a plan last in a project; `facts` are those of its report.

    `env` is the environment of the host, in which a CI runner names the checkout.
    """
    root = shown_from(project, os.environ if env is None else env)
    return edits_for(plan, facts, reader(root), root=str(root), tables=load().tables)


def patch_text(
    plan: Plan, facts: Facts, project: Path, env: Mapping[str, str] | None = None
) -> str:
    """Return the same edits as a unified diff; empty where no file changes.

    Its paths start at the root of the repository, where `git apply` and `patch -p1` run.
    """
    return unified_diff(project_edits(plan, facts, project, env).files)


def reader(root: Path) -> Callable[[str], str | None]:
    """Return a function that reads a file below `root` by its path, line ends as they are.

    It gives None for what lies elsewhere, also by a link, for what is too large or no regular
    file, and for a text that is not UTF-8.
    """
    inside = root.resolve()

    def read(path: str) -> str | None:
        try:
            real = (inside / path).resolve(strict=True)
            if not real.is_relative_to(inside) or real.stat().st_size > _LARGEST:
                return None
            data = read_whole(real, _LARGEST)
            return None if data is None else data.decode("utf-8")
        except (OSError, RuntimeError, ValueError, UnreadableFile):
            return None

    return read
