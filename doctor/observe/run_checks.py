"""Every check whose needs are met.

First the one that proves torch and its devices alive, then what leans on it, side by side.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from doctor.facts.derive.devices import of_gpus, target_arch
from doctor.host import Host
from doctor.host.scratch import Scratch, ScratchError
from doctor.model.checks import Check, Kind
from doctor.model.facts import Fact, Facts, State, absent, present, unknown, value_of
from doctor.model.observation import Target, TargetKind
from doctor.model.outcomes import RED, Outcome, refused
from doctor.model.roles import Role
from doctor.model.watching import Watcher
from doctor.observe.cache import Store
from doctor.observe.runner import (
    Batch,
    Line,
    Plan,
    Unit,
    answered,
    beyond,
    failed,
    first_step,
    is_precompiled,
    next_steps,
    skipped,
    units,
)
from doctor.observe.surroundings import FACT, culprit

_MEMORY_SHARE = 0.85
"""Of the memory that is free.

Above it a check is stopped, before the kernel chooses whom to stop.
"""
_LONGEST = 200


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What the checks gave, in their order; an interrupt leaves the rest skipped."""

    outcomes: tuple[Outcome, ...]
    facts: Mapping[str, Fact]
    interrupted: bool = False


Plans: TypeAlias = Mapping[TargetKind, Plan]
"""How checks run in each kind of target that is here."""


def plans_for(targets: Iterable[Target], host: Host, facts: Facts) -> Plans:
    """Return how checks run in each target.

    What they are told of it, and the memory they may take.
    """
    free = value_of(facts, "host.memory_available_bytes")
    memory = int(free * _MEMORY_SHARE) if free else None
    return {
        target.kind: msgspec.structs.replace(_plan(target, host, facts), memory=memory)
        for target in targets
    }


def _plan(target: Target, host: Host, facts: Facts) -> Plan:
    path = value_of(facts, "torch.path")
    settings = {
        "CANARY_TOOLKIT": value_of(facts, "cuda.home"),
        "CANARY_TOOLKIT_SELECTED": "0" if value_of(facts, "cuda.selected") is False else None,
        "CANARY_OWN_KERNELS": "0" if _has_no_triton_kernels(facts) else None,
        **_gpu_settings(target.kind, facts),
    }
    if target.kind is TargetKind.CARGO:
        # What a workspace has to do with is cargo; the script that calls it is ours, and so is the
        # interpreter that it runs in.
        settings |= {
            "CANARY_WORKSPACE": target.path,
            "CANARY_CARGO": value_of(facts, "rust.bin"),
            "CANARY_FEATURES": " ".join(value_of(facts, "cargo.features") or ()),
        }
        command: tuple[str, ...] = (sys.executable, "-I", "-B", "-u", "-X", "faulthandler")
    else:
        settings |= {"CANARY_SITE": (value_of(facts, "python.site_packages") or [None])[0]}
        command = (target.path,)
    return Plan(
        exclusive=_takes_one_process(facts),
        command=command,
        target=target.name,
        host=host,
        settings={name: str(value) for name, value in settings.items() if value},
        precompiled=is_precompiled(Path(path)) if path else True,
    )


def _gpu_settings(kind: TargetKind, facts: Facts) -> dict[str, str | None]:
    """Return what checks are told of the GPUs.

    For which architecture to compile, and how many are visible.
    """
    count = value_of(dict(of_gpus(facts)), "nvidia.gpu_count")
    return {
        "CANARY_ARCH": target_arch(facts, torch=kind is TargetKind.INTERPRETER),
        "CANARY_GPUS": str(count) if count else None,
    }


def _has_no_triton_kernels(facts: Facts) -> bool:
    """Say whether nothing here is known to compile a program around a Triton kernel of its own."""
    own = facts.get("project.triton_kernels")
    at_risk = value_of(facts, "fla.delta_rule_disabled") is False
    return own is not None and own.state is State.ABSENT and not at_risk


def _takes_one_process(facts: Facts) -> bool:
    """Say whether a GPU of this environment takes one process at a time.

    Two checks side by side would keep each other out.
    """
    cards = value_of(facts, "nvidia.visible") or value_of(facts, "nvidia.gpus") or ()
    return any(card.get("compute_mode", "default") != "default" for card in cards)


def check_all(
    checks: Sequence[Check], plans: Plans, facts: Facts, watcher: Watcher, store: Store
) -> Checked:
    """Run checks in their targets, but for those whose verdict is in the store.

    `facts` is what the probes saw.

    Never raises for what a check does.
    """
    run = _Run(checks, plans, facts, store, watcher)
    try:
        with Scratch() as scratch:
            run.through(Line(scratch, watcher, store.recall))
    except ScratchError as error:
        run.skip_the_rest(refused(error.what, str(error)))
    except KeyboardInterrupt:
        run.skip_the_rest("interrupted")
        return Checked(outcomes=run.in_order(), facts=run.seen, interrupted=True)
    return Checked(outcomes=run.in_order(), facts=run.seen)


class _Run:
    """Which checks and units are still to come, and what the others gave."""

    def __init__(
        self,
        checks: Sequence[Check],
        plans: Plans,
        facts: Facts,
        store: Store,
        watcher: Watcher,
    ) -> None:
        self._checks, self._plans, self._store = tuple(checks), dict(plans), store
        self._facts, self._watcher = facts, watcher
        self._reported = set[str]()
        self.seen: dict[str, Fact] = {}
        self._outcomes: list[Outcome] = []
        self._to_come, self._open = list(checks), list[Unit]()
        self._tried: tuple[str, ...] = ()

    def through(self, line: Line) -> None:
        """Begin with what proves torch alive and with what does without torch.

        The rest follows once the devices are known.
        """
        first = [check for check in self._checks if _proves_torch(check)]
        leaning = [
            check
            for check in self._checks
            if first and check not in first and "torch" in check.header.needs
        ]
        self._enter(line, first)
        self._enter(line, [check for check in self._checks if check not in (*first, *leaning)])
        if not self._proves():
            self._enter(line, leaning)
        self._report_ended()
        for unit, batch in line:
            self._open.remove(unit)
            self._store.remember(unit, batch)
            self._outcomes += batch.outcomes
            self.seen |= _reported(unit.check, batch.facts)
            self._look_for_culprit(line, unit, batch)
            if _proves_torch(unit.check):
                try:
                    self._proved(line, unit, batch)
                except Exception as error:  # noqa: BLE001 - the border of what torch said of itself, which may be anything
                    self._outcomes.append(failed(unit, error))
                if not self._proves():
                    self._enter(line, leaning)
            self._report_ended()

    def _report_ended(self) -> None:
        """Tell the watcher each check that has ended on all of its devices, once."""
        waiting = {check.id for check in self._to_come} | {unit.check.id for unit in self._open}
        for check in self._checks:
            if check.id not in waiting and check.id not in self._reported:
                self._reported.add(check.id)
                ended = tuple(outcome for outcome in self.in_order() if outcome.id == check.id)
                self._watcher.check(ended, len(self._reported), len(self._checks))

    def _look_for_culprit(self, line: Line, unit: Unit, batch: Batch) -> None:
        """Find the variable that stops a check, once: the same one stops the others."""
        if FACT in self.seen:
            return
        try:
            found = culprit(unit, batch, line.again)
        except Exception as error:  # noqa: BLE001 - the border of runs that nobody asked for
            self.seen[FACT] = unknown(f"{type(error).__name__}: {error}"[:_LONGEST], unit.check.id)
            return
        self.seen |= {name: present(value, unit.check.id) for name, value in found.items()}

    def _proves(self) -> bool:
        return any(_proves_torch(unit.check) for unit in self._open)

    def _proved(self, line: Line, unit: Unit, batch: Batch) -> None:
        """Go on with what is to be proved next.

        Afterwards the devices that answered are those of every check.
        """
        if unit.device is None:
            self.seen |= _import_fact(unit.check, batch)
        facts = {**self._facts, **self.seen}
        more = next_steps(unit.check, unit.plan, unit, facts)
        if any(":" in (each.device or "") for each in more) and (why := beyond(facts)):
            self._outcomes.append(skipped(unit.check, unit.plan, why))
        self._open += more
        self._tried += tuple(each.device for each in more if each.device)
        line.add(more)
        alive = answered(outcome for outcome in self._outcomes if outcome.id == unit.check.id)
        if value_of(self.seen, "torch.devices") is not None:
            self.seen["torch.devices"] = present(list(alive), unit.check.id)
        plan = self._plans[TargetKind.INTERPRETER]
        settings = {
            **plan.settings,
            "CANARY_PEERS": ",".join(device for device in alive if ":" in device),
        }
        self._plans[TargetKind.INTERPRETER] = msgspec.structs.replace(
            plan, devices=alive, settings=settings
        )

    def _enter(self, line: Line, checks: Sequence[Check]) -> None:
        """Put those checks whose needs are met into the line."""
        facts = {**self._facts, **self.seen}
        for check in checks:
            self._to_come.remove(check)
            plan = self._plans[check.header.target]
            if why := unmet_need(check, facts):
                self._outcomes.append(skipped(check, plan, why))
            else:
                found = (first_step(check, plan),) if _proves_torch(check) else units(check, plan)
                self._open += found
                line.add(found)

    def skip_the_rest(self, why: str) -> None:
        """Say of everything that has not ended why there is nothing to say."""
        self._outcomes += [unit.skipped(why) for unit in self._open]
        self._outcomes += [
            skipped(check, self._plans[check.header.target], why) for check in self._to_come
        ]

    def in_order(self) -> tuple[Outcome, ...]:
        """Return the outcomes in the order of the checks, and of the devices within each."""
        checks = [check.id for check in self._checks]
        devices = [
            None,
            "cpu",
            *dict.fromkeys(self._tried),
            *(device for plan in self._plans.values() for device in plan.devices),
        ]
        last = len(devices)
        return tuple(
            sorted(
                self._outcomes,
                key=lambda outcome: (
                    checks.index(outcome.id),
                    devices.index(outcome.device) if outcome.device in devices else last,
                ),
            )
        )


def _proves_torch(check: Check) -> bool:
    return check.header.role is Role.PROVES_TORCH


def unmet_need(check: Check, facts: Facts) -> str:
    """Say what a check needs and its target lacks; empty where it can be started."""
    if check.header.target is TargetKind.CARGO:
        return _unmet_by_workspace(check, facts)
    for need in check.header.needs:
        if _is_missing(need, facts):
            return f"{need} is not installed in this interpreter"
        if (
            need == "torch"
            and (imports := facts.get("torch.imports")) is not None
            and imports.value is False
        ):
            return "import torch does not work here"
    return ""


def _is_missing(need: str, facts: Facts) -> bool:
    """Say whether a package is not installed.

    ONNX Runtime has one distribution for each kind of device.
    """
    name = f"{need}.version" if need in ("torch", "triton") else f"package.{need}.version"
    fact = facts.get(name)
    if need == "onnxruntime" and fact is None:
        return not any(
            name.startswith("package.onnxruntime-") and name.endswith(".version") for name in facts
        )
    return fact is None or fact.state is State.ABSENT


def concerns(check: Check, facts: Facts) -> bool:
    """Say whether a check has to do with these targets at all.

    One about a crate or a framework that is not here is not even skipped.
    """
    if check.header.target is not TargetKind.CARGO:
        about_framework = check.header.kind is Kind.FACTS and not _proves_torch(check)
        return not about_framework or not any(
            _is_missing(need, facts) for need in check.header.needs
        )
    return not any(
        (fact := facts.get(f"crate.{need}.version")) and fact.state is State.ABSENT
        for need in check.header.needs
    )


def _unmet_by_workspace(check: Check, facts: Facts) -> str:
    if not value_of(facts, "cargo.lock"):
        return "the workspace has no Cargo.lock"
    for need in check.header.needs:
        fact = facts.get(f"crate.{need}.version")
        if fact is not None and fact.state is State.UNKNOWN:
            return f"Cargo.lock: {fact.why}"
        if fact is None or fact.state is State.ABSENT:
            return f"{need} is not in Cargo.lock"
    if not value_of(facts, "rust.bin"):
        fact = facts.get("rust.cargo")
        return (
            f"no cargo: {fact.why}"
            if fact is not None and fact.why
            else "there is no cargo on PATH"
        )
    return ""


def _import_fact(check: Check, batch: Batch) -> dict[str, Fact]:
    if any(outcome.device is None and outcome.verdict in RED for outcome in batch.outcomes):
        return {"torch.imports": present(False, check.id)}
    return (
        {"torch.imports": present(True, check.id)} if "torch.import_seconds" in batch.facts else {}
    )


def _reported(check: Check, facts: Mapping[str, Any]) -> dict[str, Fact]:
    return {
        name: absent(check.id) if value is None else present(value, check.id)
        for name, value in facts.items()
    }
