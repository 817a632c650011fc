"""Explain a release by the oldest, the newest and the nearest ones that an index offers."""

from __future__ import annotations

from packaging.version import Version

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.pip_names import named_torch
from doctor.analyzers.wheel_recipes import see_python
from doctor.model.events import Event
from doctor.model.facts import value_of
from doctor.model.issues import Action, Option, Recipe


def outside(
    case: Case, event: Event, asked: tuple[str, str, str], versions: list[Version]
) -> Explanation:
    """Explain a release by the oldest and the newest one that are offered."""
    name, wanted, here = asked
    final = [one for one in versions if not one.is_prerelease]
    first, last = (final or versions)[0], (final or versions)[-1]
    side = Version(wanted)
    if name == "pytorch":
        return named_torch(event, wanted)
    if side > last:
        return explanation(
            event,
            f"{name} {wanted} is not offered for {here}: {last} is the newest one here",
            f"Newer releases have no wheel for this Python, system or processor, or {wanted} does "
            f"not exist. Mostly Python is too old for it.",
            (*((newest(name, last, here),) if final else ()), see_python()),
            name="release-not-offered",
            exact=False,
        )
    if side < first:
        mac = str(value_of(case.facts, "host.os") or case.context.os) == "macos"
        return explanation(
            event,
            f"{name} {wanted} is not offered for {here}: {first} is the oldest one here",
            f"Older releases have no wheel for this Python, system or processor: Python, "
            f"{'or a Mac with an M processor, ' if mac else ''}is mostly newer than {name} "
            f"{wanted}.",
            (*((newest(name, first, here, oldest=True),) if final else ()), see_python()),
            name="release-not-offered",
            exact=False,
        )
    near = [str(one) for one in versions if one.release[:2] == side.release[:2]][-4:]
    below, above = [one for one in final if one < side], [one for one in final if one > side]
    return explanation(
        event,
        f"There is no {name} {wanted} on the index that was asked",
        f"It offers {', '.join(near)} of that line." if near else f"It offers {first} to {last}.",
        tuple(
            _nearest(name, side, one)
            # A release of another major version is the last choice.
            for one in sorted((*below[-1:], *above[:1]), key=lambda one: one.major != side.major)
        ),
        name="release-not-offered",
        exact=False,
    )


def _nearest(name: str, wanted: Version, version: Version) -> Recipe:
    where = "before" if version < wanted else "after"
    return _install(f"Take {name} {version}, the nearest release {where} it", name, version)


def newest(name: str, version: Version, here: str, *, oldest: bool = False) -> Recipe:
    """Return the recipe that takes the newest, or the oldest, release that is offered."""
    which = "oldest" if oldest else "newest"
    return _install(f"Take the {which} {name} that is offered for {here}", name, version)


def _install(title: str, name: str, version: Version) -> Recipe:
    companions = ("torchvision", "torchaudio") if name == "torch" else ()
    return Recipe(
        title=title,
        use_if=("nothing needs that very release",),
        steps=(
            Action(
                install=(f"{name}=={version.public}",),
                companions=companions,
                options=() if name == "torch" else (Option.HOLD_TORCH,),
            ),
        ),
    )
