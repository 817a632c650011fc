"""The gates of a run: the ignores of its project, and the baseline that was named."""

from __future__ import annotations

from pathlib import Path

import typer

from doctor.cli import configuration
from doctor.judge.suppressions import Gates


def gates(context: typer.Context, baseline: Path | None) -> Gates:
    """Return what findings have to pass to count here and today."""
    known = None
    if baseline is not None:
        from doctor.judge.baseline import read_baseline

        known = read_baseline(baseline)
    return Gates(
        ignores=configuration.of(context).ignores, baseline=known, today=configuration.today()
    )
