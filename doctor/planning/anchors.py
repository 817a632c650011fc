"""The torch that a plan is built around.

Where releases conflict, one of three: the torch that is here, the one that most of what is
installed (or the project) asks for, or the newest one for which every companion has a wheel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from doctor.base.requirements import meets
from doctor.base.versions import public
from doctor.facts.families import requirements
from doctor.model.facts import Facts, value_of
from doctor.planning.knowledge import Knowledge
from doctor.planning.overlay import meets_any

KEEP, ASKED, NEWEST = "keep", "asked", "newest"


def anchors(
    facts: Facts, knowledge: Knowledge, *, wanted: bool = True
) -> Iterator[tuple[str, str]]:
    """Yield kinds of anchors and their releases of torch, each release once.

    Where there is no torch, there are none unless it is `wanted`: by a finding, or by its fix.
    """
    if not wanted and not _has_torch(facts):
        return
    here = public(str(value_of(facts, "torch.release") or ""))
    found = {here} if here else set()
    if here:
        yield KEEP, here
    for kind, release in ((ASKED, _asked(facts, knowledge)), (NEWEST, _newest(facts, knowledge))):
        if release and release not in found:
            found.add(release)
            yield kind, release


def _has_torch(facts: Facts) -> bool:
    listed = value_of(facts, "packages")
    return bool(value_of(facts, "torch.release")) or (
        isinstance(listed, dict) and "torch" in listed
    )


def _asked(facts: Facts, knowledge: Knowledge) -> str:
    """Return the release of torch that the lock names, or most of the installed packages."""
    differs = value_of(facts, "python.lock_differs")
    locked = differs.get("torch") if isinstance(differs, dict) else None
    if locked:
        return public(str(locked))
    votes = Counter[str]()
    for one in requirements(facts, "specifier"):
        if one.wanted != "torch":
            continue
        specifier = one.text("specifier", facts)
        if specifier.startswith("==") and "*" not in specifier and "," not in specifier:
            votes[public(specifier.removeprefix("=="))] += 1
        elif "==" in specifier or "<" in specifier:
            fitting = [release for release in knowledge.torch_rows if meets(release, specifier)]
            votes.update(fitting[:1])
    return votes.most_common(1)[0][0] if votes else ""


def _newest(facts: Facts, knowledge: Knowledge) -> str:
    listed = value_of(facts, "packages")
    here: Mapping[str, str] = listed if isinstance(listed, dict) else {}
    served = [
        frozenset(torch for release in releases for torch in knowledge.torches(name, release) or ())
        for name in here
        if name != "torch"
        and (releases := knowledge.releases(name))
        and any(knowledge.torches(name, release) for release in releases)
    ]
    held = [
        one.text("specifier", facts)
        for one in requirements(facts, "specifier")
        if one.wanted == "torch" and not knowledge.releases(one.package)
    ]
    if "torch" not in here and not served and not held:
        return ""
    for release in knowledge.torch_rows:
        fits_all = all(release in torches for torches in served)
        if fits_all and all(meets_any(release, specifier) for specifier in held if specifier):
            return release
    return ""
