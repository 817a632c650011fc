"""Checks that share the imports of the first, run as doctor would run them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from doctor.catalog.check_headers import read_check
from doctor.host import Host
from doctor.host.scratch import Scratch
from doctor.model.outcomes import Outcome
from doctor.model.watching import Watcher
from doctor.observe.runner import Line, Plan, units
from tests.faults.standins import script

_TORCH = 'needs = ["torch"]\n'
_FIRST = (
    "import builtins\nbuiltins.shared = os.getpid()\n{}FORK_SERVER()\nput(None, "
    "verdict='passed', data={{'pid': os.getpid()}})\n"
)


def run_shared(
    folder: Path,
    seconds: Mapping[str, str],
    *,
    before: str = "",
    timeout: float = 10,
    devices: str = "each",
) -> dict[str, Outcome]:
    """Run a script that becomes a fork server, then others; return their outcomes by name."""
    plan = Plan(command=(sys.executable,), target="interpreter", host=Host(), timeout=timeout)
    first = script(
        folder, _FIRST.format(before), name="first", more=_TORCH + "fork_server = true\n"
    )
    others = [
        script(folder, body, name=name, more=_TORCH + f'devices = "{devices}"\n')
        for name, body in seconds.items()
    ]
    with Scratch() as scratch:
        line = Line(scratch, Watcher())
        line.add(units(read_check(first), plan))
        found = {}
        for unit, batch in line:
            (found[unit.check.id],) = batch.outcomes
            if unit.check.id == "first":
                line.add(unit for path in others for unit in units(read_check(path), plan))
        assert list(scratch.folder.glob("*/result.json")) == []
    assert not scratch.folder.exists()
    return found
