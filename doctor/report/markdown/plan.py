"""The plan of `doctor fix` in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from doctor.base.text import neutralize_commands
from doctor.model.facts import value_of
from doctor.model.plans import Plan
from doctor.model.report import Report
from doctor.report.markdown.blocks import blocks
from doctor.report.markdown.text import prose
from doctor.report.view import machine
from doctor.report.view.detail import ISSUE
from doctor.report.view.plan import plan as blocks_of


def render(
    report: Report,
    plan: Plan,
    remarks: Sequence[str] = (),
    told: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return a plan as GitHub's Markdown; `told` are titles of findings that are gone, by id."""
    seen = report.observation
    windows = value_of(seen.facts, "host.os") == "windows"
    targets = ", ".join(machine.target_name(target) for target in seen.targets)
    parts = [
        f"## Plan for {prose(targets)}",
        prose(", ".join(machine.wheel_tuple(seen.facts))),
        *blocks(blocks_of(plan, report.findings, ISSUE, windows=windows, told=told)),
        *map(prose, remarks),
    ]
    return neutralize_commands("\n\n".join(filter(None, parts))) + "\n"
