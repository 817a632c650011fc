"""Run check scripts in a target interpreter and turn what they leave behind into outcomes."""

from __future__ import annotations

from doctor.observe.runner.devices import answered, beyond, first_step, next_steps
from doctor.observe.runner.scheduler import Line, failed
from doctor.observe.runner.start import is_precompiled
from doctor.observe.runner.units import Plan, Unit, skipped, units
from doctor.observe.runner.verdicts import Batch

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
