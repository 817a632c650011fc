"""Explain crates for which cargo finds no release: candidates, `links` and features."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import NAME, distinct
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_SPAN = 40
_LONGEST = 2000


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each crate without a release that fits."""
    for event in distinct(case, "crate-conflict", most=4):
        yield _crate(case, event)


def _crate(case: Case, event: Event) -> Explanation:
    """Explain a crate for which cargo finds no release."""
    lines = case.log.lines[event.at : event.at + _SPAN]
    text = "\n".join(line[:_LONGEST] for line in lines)
    by = re.search(r"required by (?:package )?`([^`]{1,160})`", text)
    asking = by[1].partition(" (")[0] if by else "the workspace"
    found = _links(event, text) or _feature(event, text, asking) or _release(event, text, asking)
    return found or explanation(
        event,
        f"cargo finds no release of {event.objects['requirement']} that all its users accept",
        f"{asking} is one of them; the lines below name the others.",
        exact=False,
    )


def _links(event: Event, text: str) -> Explanation | None:
    """Explain two crates that link one library (the `links` key of Cargo.toml)."""
    if links := re.search(
        r"package `([^`]{1,100})` links to the native library `([^`]{1,100})`, but it conflicts "
        r"with a previous package which links to `[^`]{1,100}` as well:\s+package `([^`]{1,160})`",
        text,
    ):
        return explanation(
            event,
            f"Two crates link the native library {links[2]}: {links[1]} and "
            f"{links[3].partition(' (')[0]}",
            "cargo allows one of them in a program. Mostly they are two releases of one crate, "
            "which two dependencies ask for: bring these to releases that ask for the same one.",
            (
                Recipe(
                    title="See who asks for them",
                    steps=(Action(run=("cargo", "tree", "-i", links[1])),),
                    use_if=("cargo tree can be made, with the newer dependency taken out",),
                    lasting=False,
                ),
            )
            if NAME.fullmatch(links[1])
            else (),
            name="crate-links-twice",
        )
    return None


def _feature(event: Event, text: str, asking: str) -> Explanation | None:
    """Explain a feature that a crate does not have."""
    if feature := re.search(
        r"(?:depends on `(?P<crate>[^`]{1,100})`,? with features?:? `(?P<feature>[^`]{1,100})` but "
        r"`[^`]{1,100}` does not have (?:these|that) features?)",
        text,
    ):
        return explanation(
            event,
            f"The crate {feature['crate']} has no feature {feature['feature']}",
            f"{asking} asks for it. The feature came with another release of {feature['crate']}, "
            f"or is spelled differently there.",
            (
                Recipe(
                    title="See the features of the crate",
                    steps=(Action(run=("cargo", "info", feature["crate"])),),
                    lasting=False,
                ),
            )
            if NAME.fullmatch(feature["crate"])
            else (),
            name="crate-feature-missing",
        )
    return None


def _release(event: Event, text: str, asking: str) -> Explanation | None:
    """Explain a release that the index does not have."""
    requirement = event.objects["requirement"]
    if candidates := re.search(
        r"candidate versions found which didn't match: ([^\n]{1,300})", text
    ):
        offline = "offline mode" in text or "location searched: directory source" in text
        return explanation(
            event,
            f"{asking} asks for {requirement}, and there are only {candidates[1].strip()}",
            "cargo was offline, so that it saw only what lies on this machine."
            if offline
            else "That release was never published, was yanked, or the list of the index is old.",
            (
                Recipe(
                    title="Read the index anew",
                    steps=(Action(run=("cargo", "update")),),
                    use_if=("Cargo.lock may change",),
                ),
            )
            if not offline
            else (),
            name="crate-release-missing",
        )
    return None
