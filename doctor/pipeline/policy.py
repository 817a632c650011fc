"""What counts: the selection of known issues, the expected devices, and what fails a run."""

from __future__ import annotations

import msgspec

from doctor.judge.suppressions import Suppressions
from doctor.model.facts import Facts, State, value_of
from doctor.model.findings import Finding
from doctor.model.observation import Observation
from doctor.model.outcomes import refused_what
from doctor.model.roles import Role, has_role
from doctor.model.scales import Severity
from doctor.observe.observation import FRAMEWORKS, ran_anything

_CANDLE = "crate.candle-core.version"
_VERSIONS = (
    *("torch.version" if name == "torch" else f"package.{name}.version" for name in FRAMEWORKS),
    _CANDLE,
)


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """Select known issues by globs of their ids: none in `only` selects all.

    `only_checks` is true where `--only` names checks, so that nothing but their outcomes is asked
    for.
    """

    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    only_checks: bool = False

    @property
    def is_partial(self) -> bool:
        """Whether some findings of this machine are not asked for."""
        return bool(self.only or self.skip or self.only_checks)


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What fails a run: the least severity, the devices that must answer, the suppressions."""

    fail_on: Severity = Severity.ERROR
    expect: tuple[str, ...] = ()
    suppressions: Suppressions = Suppressions()


def exit_code(
    command: str,
    observation: Observation,
    findings: tuple[Finding, ...],
    policy: Policy,
    selection: Selection,
) -> int:
    """Return 130 for an interrupt, 1 for a finding that fails, 4 where nothing was judged, else 0.

    Checks of an interpreter that were to run and were
    all skipped judged nothing. Without checks (`--no-canaries`) a framework's files are judged, and
    so is the lock of a workspace, whose checks mostly wait for `--tier deep`. Where the machine did
    not let torch be imported, nothing was judged either, whatever was observed of compilers.
    """
    if observation.interrupted:
        return 130
    if any(one.suppressed is None and one.severity >= policy.fail_on for one in findings):
        return 1
    if command in ("diagnose", "run"):
        return 0 if findings else 4
    outcomes, facts = observation.outcomes, observation.facts
    if any(has_role(one.id, Role.PROVES_TORCH) and refused_what(one.reason) for one in outcomes):
        return 4
    by_facts = value_of(facts, _CANDLE) is not None or (not outcomes and has_framework(facts))
    return 0 if ran_anything(outcomes) or (by_facts and not selection.only_checks) else 4


def has_framework(facts: Facts) -> bool:
    """Say whether the targets hold a framework.

    A torch of an unknown version is one all the same.
    """
    states = {name: fact.state for name in _VERSIONS if (fact := facts.get(name)) is not None}
    return State.PRESENT in states.values() or states.get("torch.version") is State.UNKNOWN
