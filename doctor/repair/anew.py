"""Plan the shortest moves for an environment once more, without what the program needs as it is."""

from __future__ import annotations

from doctor.model.plans import Plan
from doctor.repair.nearest import nearest
from doctor.repair.reading import is_spoken_of, unmet
from doctor.repair.requests import Original
from doctor.repair.states import Trials


def anew(original: Original, trials: Trials, held: frozenset[str]) -> Plan | None:
    """Return the plan of the shortest moves for the original, without what has to stay."""
    problems, environment = unmet(original.problems), original.environment
    concerned = [one for one in problems if is_spoken_of(one, original.watched, environment)]
    report = original.report
    return nearest(report, concerned, problems, environment, trials.asking(), held=held)
