"""Every scenario by its name."""

from __future__ import annotations

from tests.rig.scenario import Scenario
from tests.rig.scenarios import broken, causes, elsewhere, faulty, fleets, healthy, refusing

SCENARIOS: dict[str, Scenario] = {
    **healthy.SCENARIOS,
    **refusing.SCENARIOS,
    **broken.SCENARIOS,
    **causes.SCENARIOS,
    **elsewhere.SCENARIOS,
    **faulty.SCENARIOS,
    **fleets.SCENARIOS,
}
