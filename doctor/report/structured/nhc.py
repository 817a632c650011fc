"""The verdict in one line, for health checks of nodes: Slurm, node-problem-detector, NHC.

Slurm's HealthCheckProgram acts on nothing by itself: a script around this line drains the node
(https://slurm.schedmd.com/slurm.conf.html#OPT_HealthCheckProgram).
"""

from __future__ import annotations

from doctor.base.text import neutralize_commands, one_line
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.report.view.assumptions import as_if

_LONGEST = 300


def render(report: Report) -> str:
    """Return `OK`, `ERROR` or `UNKNOWN`, a colon, and why; the exit code says the same."""
    declared = as_if(report.observation.facts)
    text = f"{_line(report)}; {declared}" if declared else _line(report)
    return neutralize_commands(one_line(text, _LONGEST)) + "\n"


def _line(report: Report) -> str:
    if report.observation.interrupted:
        return "UNKNOWN: doctor was interrupted"
    counted = report.counted
    if report.exit_code == 1 and counted:
        more = f" (and {len(counted) - 1} more)" if len(counted) > 1 else ""
        title = one_line(counted[0].title, 200)
        return f"ERROR: {one_line(counted[0].id, 80)}: {title}{more}"
    if report.exit_code == 4:
        return "UNKNOWN: there was nothing to judge"
    if report.exit_code:
        return f"ERROR: doctor ended with {report.exit_code}"
    warnings = sum(found.severity is Severity.WARNING for found in counted)
    return f"OK: {warnings} warning{'' if warnings == 1 else 's'}"
