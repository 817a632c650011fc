"""Every scenario by its name."""

from __future__ import annotations

from tests.rig.scenario import Scenario
from tests.rig.scenarios import healthy, refusing

SCENARIOS: dict[str, Scenario] = {**healthy.SCENARIOS, **refusing.SCENARIOS}
