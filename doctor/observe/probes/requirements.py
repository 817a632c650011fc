"""What the packages of the GPU stack ask for, whether it is met, and what moved it where it is not.

What they ask of packages outside of the stack is told only where it is not met.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from doctor.base.requirements import InvalidRequirement, meets
from doctor.base.versions import parse
from doctor.host import UnreadableFile
from doctor.model.facts import Fact, FactStream, absent, present, unknown
from doctor.observe.installed.distributions import (
    Requirement,
    requirements,
)
from doctor.observe.installed.gpu_stack import asks_beside_stack, matters_to_stack
from doctor.observe.probes.python import utc
from doctor.observe.scene import Distribution, Interpreter, ProbeInput

BOUND = 10.0

_ROUNDS = 3
_MOST_UNREAD = 3
_SAME_RUN_SECONDS = 1.0
_STAND_INS = {
    "triton": (
        "pytorch-triton",
        "pytorch-triton-rocm",
        "pytorch-triton-xpu",
        "triton-windows",
        "triton-nightly",
    )
}


def probe(scene: ProbeInput) -> FactStream:
    """Give requires.*; nothing where there is no interpreter.

    Raises UnreadableFile at its end where a METADATA cannot be read.
    """
    if scene.interpreter is None:
        return
    by_name = {one.name: one for one in scene.distributions}
    members = [one for one in scene.distributions if asks_beside_stack(one.name)]
    unread: list[str] = []
    for one, wanted in _collect(members, scene.interpreter, unread):
        yield from _judged(one, wanted, _installed(wanted.name, by_name))
    if unread:
        raise UnreadableFile("; ".join(unread[:_MOST_UNREAD]))


def _collect(
    members: list[Distribution], interpreter: Interpreter, unread: list[str]
) -> list[tuple[Distribution, Requirement]]:
    """Collect the requirements of all members, with the extras that members request.

    `cuda-toolkit[cublas]` is one.
    """
    extras: dict[str, frozenset[str]] = {}
    asked: dict[str, tuple[Distribution, tuple[Requirement, ...]]] = {}
    for one in members:
        try:
            asked[one.name] = (one, requirements(one, interpreter))
        except UnreadableFile as error:
            unread.append(str(error))
    for _ in range(_ROUNDS):
        wider = dict(extras)
        for _, found in asked.values():
            for wanted in found:
                wider[wanted.name] = wider.get(wanted.name, frozenset()) | wanted.extras
        grown = [
            name for name in asked if wider.get(name, frozenset()) != extras.get(name, frozenset())
        ]
        for name in grown:
            asked[name] = (asked[name][0], requirements(asked[name][0], interpreter, wider[name]))
        extras = wider
        if not grown:
            break
    return [(one, wanted) for one, found in asked.values() for wanted in _merged(found)]


def _merged(found: tuple[Requirement, ...]) -> list[Requirement]:
    """Make one requirement of several lines that name the same distribution."""
    merged: dict[str, Requirement] = {}
    for one in found:
        known = merged.get(one.name, one)
        parts = dict.fromkeys(
            part for part in (*known.specifier.split(","), *one.specifier.split(",")) if part
        )
        merged[one.name] = Requirement(
            name=one.name, specifier=",".join(parts), address=known.address or one.address
        )
    return list(merged.values())


def _installed(name: str, by_name: Mapping[str, Distribution]) -> Distribution | None:
    stand_ins = (by_name[other] for other in _STAND_INS.get(name, ()) if other in by_name)
    return by_name.get(name) or next(stand_ins, None)


def _judged(one: Distribution, wanted: Requirement, other: Distribution | None) -> FactStream:
    name, source = f"requires.{one.name}.{wanted.name}", f"{one.folder}/METADATA"
    met = _met(one, wanted, other)
    if met.value is not False and not matters_to_stack(wanted.name):
        return
    yield f"{name}.met", met
    asked = f"@ {wanted.address}" if wanted.address else wanted.specifier
    yield f"{name}.specifier", present(asked, source)
    yield (
        f"{name}.installed",
        present(other.version, str(other.folder)) if other else absent(str(one.folder.parent)),
    )
    if met.value is False and other is not None:
        yield f"{name}.moved", _moved(one, other)


def _met(one: Distribution, wanted: Requirement, other: Distribution | None) -> Fact:
    source = f"{one.folder}/METADATA"
    if other is None:
        # conda satisfies `nvidia-cublas-cu12` with its own `libcublas`, and leaves the METADATA of
        # the wheel as it was.
        conda = one.installer == "conda"
        return (
            unknown(f"conda may bring {wanted.name} under another name", source)
            if conda
            else present(False, source)
        )
    if wanted.address:
        return unknown(
            f"{one.name} asks for {wanted.name} by an address, which says nothing about versions",
            source,
        )
    answer = _fits(other.version, wanted.specifier)
    if answer is None:
        return unknown(f"{other.version} and {wanted.specifier!r} cannot be compared", source)
    return present(answer, source)


def _fits(version: str, specifier: str) -> bool | None:
    """Say whether a version meets a specifier.

    A local part is ignored where the specifier names none.

    None is "cannot tell": one of the two makes no sense, or the version is a pre-release of a
    release that would do (`2.5.0a0+nv24.08` and `>=2.5`), which such builds often satisfy in fact.
    """
    parsed = parse(version)
    with suppress(InvalidRequirement):
        if meets(version, specifier):
            return True
        near = parsed is not None and parsed.is_prerelease and meets(parsed.base_version, specifier)
        return None if near else False
    return None


def _moved(one: Distribution, other: Distribution) -> Fact:
    """Say which of two that no longer fit came later."""
    earlier, later = sorted((one, other), key=lambda each: each.installed_at)
    source = "times of the dist-info folders"
    if not earlier.installed_at:
        return unknown("no time of installation", source)
    if later.installed_at - earlier.installed_at < _SAME_RUN_SECONDS:
        return absent(source)
    value: dict[str, Any] = {
        "package": later.name,
        "at": utc(later.installed_at),
        "installer": later.installer or None,
        "later_than": utc(earlier.installed_at),
    }
    return present(value, source)
