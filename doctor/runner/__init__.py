"""Run check scripts in a target interpreter and turn what they leave behind into outcomes."""

from __future__ import annotations

from doctor.runner.run import Plan, Progress, ScratchError, is_precompiled, run_checks, skipped
from doctor.runner.verdicts import Batch

__all__ = ["Batch", "Plan", "Progress", "ScratchError", "is_precompiled", "run_checks", "skipped"]
