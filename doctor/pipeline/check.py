"""`doctor check`: from a request to a report.

The catalog is loaded, and what judges is imported, while the interpreter describes itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from doctor.catalog import loading
from doctor.host import Host
from doctor.model.checks import Check
from doctor.model.observation import Log, Observation
from doctor.model.report import Report
from doctor.model.watching import Watcher
from doctor.observe import observation as observation_stage
from doctor.observe import selection
from doctor.pipeline.assumptions import parse_assumptions
from doctor.pipeline.logs import read_logs
from doctor.pipeline.requests import CheckRequest, NameOption, ObserveRequest, flag

_NOBODY = Watcher()

RECORDING = Path(__file__).parents[1] / "recordings" / "demo.json"
"""The snapshot that `doctor demo` judges."""


def check(
    request: CheckRequest,
    watcher: Watcher = _NOBODY,
    *,
    first: Callable[[Report, Sequence[str]], object] | None = None,
    name_option: NameOption = flag,
    meanwhile: Callable[[], object] = bool,
    host: Host | None = None,
) -> Report:
    """Observe the target, or read the snapshot, and judge it.

    `first` receives the report on files and tools before any check has run, and the ids of the
    checks. `meanwhile` is called while the interpreter describes itself. `host` is the machine to
    look at, for example one with other variables than this process has. Raises UsageError for a
    mistake in the request, another DoctorError where the target cannot be examined.
    """
    begun = time.monotonic()
    suppressions = request.policy.suppressions()
    checks = _checks() if request.only or request.observe.canaries else {}
    # A mistake in what is asked of the catalog ends the run before anything is looked at.
    asked = request.matrices or request.logs or request.only
    catalog = loading.load(request.matrices) if asked else None
    logs = read_logs(request.logs, catalog) if catalog else ()
    issues, globs = (
        selection.selected_ids(request.only, catalog, checks, name_option("only"))
        if catalog
        else ((), ())
    )
    declared = parse_assumptions(request.assume, loading.load)

    def judge(seen: Observation, expect: tuple[str, ...]) -> Report:
        from doctor.pipeline.assess import assess
        from doctor.pipeline.policy import Policy, Selection

        only_checks = bool(request.only) and globs != selection.NONE
        return assess(
            seen,
            catalog or loading.load(),
            Policy(fail_on=request.policy.fail_on, expect=expect, suppressions=suppressions),
            selection=Selection(only=issues, skip=request.skip, only_checks=only_checks),
            seconds=observation_stage.left_to_judge(request.observe.budget, begun),
        )

    def static(seen: Observation, ids: Sequence[str]) -> None:
        if first:  # no check has run, so no device can have been reached
            first(judge(msgspec.structs.replace(seen, static=True), ()), ids)

    if request.snapshot is not None:
        from doctor.pipeline.snapshots import replay

        observation = replay(request.snapshot, logs, declared)
    else:
        chosen = observation_stage.selected_checks(checks, globs, request.skip)
        observation = observation_stage.observe(
            _to_observe(request.observe, chosen, logs, declared, host),
            msgspec.structs.replace(watcher, static=static) if first else watcher,
            meanwhile=partial(_prepare, meanwhile),
        )
    return judge(observation, request.expect)


def check_whole(
    request: CheckRequest, watcher: Watcher = _NOBODY, *, host: Host | None = None
) -> Report:
    """Return a report as `check` does, but none of half a run.

    Raises KeyboardInterrupt where a person ended it: what was not tried must not count as healthy.
    """
    report = check(request, watcher, host=host)
    if report.observation.interrupted:
        raise KeyboardInterrupt
    return report


def observe(request: ObserveRequest, watcher: Watcher = _NOBODY) -> Observation:
    """Look at a target, every check included, and judge nothing: `doctor snapshot`."""
    every = tuple(_checks().values())
    return observation_stage.observe(_to_observe(request, every, (), {}), watcher)


def demo() -> Report:
    """Judge the recording of a broken machine that comes with doctor."""
    from doctor.pipeline.assess import assess
    from doctor.pipeline.snapshots import read_observation

    recorded = msgspec.structs.replace(read_observation(RECORDING), recording=True)
    return assess(recorded, loading.load())


def _checks() -> Mapping[str, Check]:
    from doctor.catalog.check_headers import load_checks  # a check of files alone does without

    return load_checks()


def _prepare(more: Callable[[], object]) -> None:
    """Load what judges an observation, and do more."""
    loading.load()
    import doctor.pipeline.assess  # noqa: F401

    more()


def _to_observe(
    request: ObserveRequest,
    checks: Sequence[Check],
    logs: tuple[Log, ...],
    declared: Mapping[str, Any],
    host: Host | None = None,
) -> observation_stage.Request:
    return observation_stage.Request(
        host=host or Host(),
        project=selection.folder(request.project),
        python=request.python,
        features=selection.features(request.features),
        checks=checks,
        bounds=observation_stage.Bounds(
            canaries=request.canaries,
            fresh=request.fresh,
            changed=request.changed,
            tier=request.tier,
            timeout=request.timeout,
            budget=request.budget,
        ),
        assumed=declared,
        settings=selection.sources(request.flash_attn, network=request.network),
        logs=logs,
    )
