"""Run check scripts in a target interpreter and turn what they leave behind into outcomes."""

from __future__ import annotations

from doctor.runner.alive import answered, beyond, first_step, next_steps
from doctor.runner.line import Line, failed
from doctor.runner.start import is_precompiled
from doctor.runner.units import Plan, Unit, skipped, units
from doctor.runner.verdicts import Batch

__all__ = [
    "Batch",
    "Line",
    "Plan",
    "Unit",
    "answered",
    "beyond",
    "failed",
    "first_step",
    "is_precompiled",
    "next_steps",
    "skipped",
    "units",
]
