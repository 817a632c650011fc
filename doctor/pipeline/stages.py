"""What the stages between an observation and a report hand on. Each is built once.

Request -> Observation -> Derived -> Diagnosis -> Findings -> Report
"""

from __future__ import annotations

import msgspec

from doctor.model.facts import Facts
from doctor.model.findings import Finding
from doctor.model.observation import Observation


class Derived(msgspec.Struct, frozen=True, kw_only=True):
    """An observation with the facts that follow from it, ready to be judged."""

    observation: Observation

    @property
    def facts(self) -> Facts:
        """Return the observed facts and those that follow from them."""
        return self.observation.facts


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What a report shows, by rank, with fixes; and the ids of the baseline that are gone."""

    shown: tuple[Finding, ...]
    fixed: tuple[str, ...] = ()
