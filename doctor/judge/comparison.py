"""Compare two reports: facts that changed, and findings that came and went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from doctor.judge.suppressions import BaselineFinding, Suppressions, suppress
from doctor.model.comparison import Change, Comparison, Judged
from doctor.model.document import FindingDocument
from doctor.model.facts import Facts, State, value_of
from doctor.model.scales import Severity

_REMARKS = "ignore/"

GROUPS: dict[str, tuple[str, ...]] = {
    "torch": (
        "torch.version",
        "torch.imports",
        "torch.build",
        "torch.cuda_version",
        "torch.hip_version",
        "torch.cxx11_abi",
        "torch.*",
    ),
    "driver": (
        "nvidia.driver_version",
        "nvidia.cuda_version",
        "nvidia.libcuda*",
        "nvidia.forward_compatibility",
        "nvidia.fabric_manager",
    ),
    "GPU": (
        "nvidia.gpu_names",
        "nvidia.capabilities",
        "torch.devices",
        "nvidia.*",
        "metal.*",
        "host.iommu",
        "host.acs",
    ),
    "toolkit": ("cuda.version", "cuda.home", "cuda.*", "compiler.*", "triton.ptxas*"),
    "libraries": ("libs.resolved.*", "libs.*"),
    "packages": (
        "triton.version",
        "crate.candle*",
        "package.*.version",
        "package.*.commit",
        "package.*",
        "crate.*",
        "candle.*",
        "cudarc.*",
    ),
    "environment": ("env.*",),
    "the rest": (
        "python.version",
        "host.kernel",
        "host.distribution",
        "host.glibc",
        "host.container",
        "python.*",
        "host.*",
        "rust.*",
        "*",
    ),
}
"""Groups in the order in which they are told, each with its facts in theirs."""

_HOME, _SHORTEST = "python.prefix", 5
"""A prefix such as /usr is no environment that moves."""
_ELSEWHERE = {"torch.devices": "GPU"}
_UNTOLD = (
    "torch.release",
    "torch.minor",
    "torch.local",
    "torch.cuda_major",
    "torch.cuda_tag",
    "torch.cuda_devices",
    "torch.cxx11_abi_tag",
    "torch.git_version",
    "torch.import_*",
    "torch.wanted_tag",
    "nvidia.driver_branch",
    "nvidia.capability_*",
    "nvidia.gpu_count",
    "nvidia.gpus",
    "cuda.toolkits",
    "cuda.matches_torch",
    "compiler.cxx_major",
    "libs.resolved",
    "packages",
    "package.torch.version",
    "package.triton.version",
    "package.*.installed_at",
    "package.*.location",
    "package.*.local",
    "package.*.wheel_*",
    "requires.*",
    "compat.*",
    "stack.*",
    "gpu.*",
    "build.max_jobs",
    "cache.*",
    "log.*",
    "host.memory_available_bytes",
    "host.tmp_free_bytes",
)
"""Facts that follow from others, or move by themselves."""


def compare(before: Judged, after: Judged, fail_on: Severity) -> Comparison:
    """Compare two sides; the exit code is 1 where a finding came at or above `fail_on`."""
    came = _came(before, after)
    failing = any(found.severity >= fail_on for found in came)
    was = {found.id: found.severity for found in reversed(before.findings)}
    return Comparison(
        before=before.side,
        after=after.side,
        changes=tuple(changes(before.facts, after.facts)),
        came=came,
        worse={
            found.id: was[found.id]
            for found in came
            if found.id in was and was[found.id] is not found.severity
        },
        went=_went(before, after),
        exit_code=int(failing),
    )


def _came(before: Judged, after: Judged) -> tuple[FindingDocument, ...]:
    known = tuple(
        BaselineFinding(id=one.id, target=one.target, severity=one.severity, title=one.title)
        for one in before.findings
    )
    counted = [
        one for one in after.findings if one.suppressed is None and not one.id.startswith(_REMARKS)
    ]
    decisions = suppress(counted, Suppressions(baseline=known)).decisions
    return tuple(one for one, by in zip(counted, decisions, strict=True) if by is None)


def _went(before: Judged, after: Judged) -> tuple[FindingDocument, ...]:
    there = {(one.id, one.target) for one in after.findings}
    counted = [
        one for one in before.findings if one.suppressed is None and not one.id.startswith(_REMARKS)
    ]
    return tuple(one for one in counted if (one.id, one.target) not in there)


def changes(before: Facts, after: Facts) -> list[Change]:
    """Return the facts that both sides tell and that differ, in the order in which they matter."""
    old, new = _at_home(before, after), _at_home(after, before)
    both = {
        name
        for name in (*old, *new)
        if (name in old and name in new) or _is_listed(name, before, after)
    }
    moved = [name for name in both if old.get(name) != new.get(name)]
    ordered = sorted(moved, key=lambda name: _rank(name, before, after))
    return [
        Change(group=_group(name), fact=name, before=old.get(name), after=new.get(name))
        for name in ordered
    ]


def _at_home(facts: Facts, other: Facts) -> dict[str, Any]:
    """Return what a side tells.

    Where the other has its environment elsewhere, paths within are named from it, and so are alike.
    """
    home = value_of(facts, _HOME)
    told = dict(_told(facts))
    if not isinstance(home, str) or len(home) < _SHORTEST or value_of(other, _HOME) in (None, home):
        return told
    return {name: value if name == _HOME else _from(home, value) for name, value in told.items()}


def _from(home: str, value: Any) -> Any:
    if isinstance(value, str):
        return value.replace(home, "<environment>")
    if isinstance(value, list | tuple):
        return [_from(home, each) for each in value]
    return (
        {key: _from(home, each) for key, each in value.items()}
        if isinstance(value, dict)
        else value
    )


def _is_listed(name: str, before: Facts, after: Facts) -> bool:
    """Say whether both sides have the whole list that holds a fact.

    A name that is missing from a whole list is not installed.
    """
    if name.startswith("package.") and not name.endswith(".version"):
        return False
    whole = {"package": "packages", "libs": "libs.resolved"}.get(name.partition(".")[0], "")
    return value_of(before, whole) is not None and value_of(after, whole) is not None


def _told(facts: Facts) -> Iterator[tuple[str, Any]]:
    """Yield what is known to be there, or known not to be: None."""
    yield from (
        (f"package.{name}.version", version) for name, version in _entries(facts, "packages")
    )
    for name, one in _entries(facts, "libs.resolved"):
        yield f"libs.resolved.{name}", one.get("path") if isinstance(one, dict) else one
    for name, fact in facts.items():
        if fact.state is not State.UNKNOWN and not any(
            fnmatchcase(name, pattern) for pattern in _UNTOLD
        ):
            yield name, fact.value if fact.state is State.PRESENT else None


def _entries(facts: Facts, name: str) -> Iterable[tuple[str, Any]]:
    value = value_of(facts, name)
    kept = value.items() if isinstance(value, dict) else ()
    return [(key, one) for key, one in kept if f"package.{key}.version" not in _UNTOLD]


def _group(name: str) -> str:
    found = (
        group
        for group, patterns in GROUPS.items()
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    )
    return _ELSEWHERE.get(name) or next(found)


def _rank(name: str, before: Facts, after: Facts) -> tuple[int, int, bool, str]:
    """Order by group, then by its facts.

    Of the packages, those of the GPU stack first, which are the ones whose folder was noted.
    """
    group = _group(name)
    fact = next(
        number for number, pattern in enumerate(GROUPS[group]) if fnmatchcase(name, pattern)
    )
    place = name.rpartition(".")[0] + ".location"
    aside = name.startswith("package.") and place not in before and place not in after
    return list(GROUPS).index(group), fact, aside, name
