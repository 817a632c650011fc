"""Explain libraries that macOS loads from the wrong place, or not at all, for a wheel.

dyld names the place on the lines below its error: `Expected in:` and `tried:`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inventory import NAME, package_of
from doctor.analyzers.recipes import again, command
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe
from doctor.timelines import names

_EXPECTED = re.compile(r"Expected in:\s{0,8}(?:<[^>]{1,60}>)?\s{0,4}(/[^\n]{1,300})")
_BREW = re.compile(r"^/(?:opt/homebrew|usr/local)/(?:Cellar|opt)/([\w@.+-]{1,60})/")
_TRIED = re.compile(r"'(/[^']{1,300})' \(no such file\)")
_BELOW = 4
_PARTS = {"mlx": ("mlx", "mlx-metal")}
"""Packages whose libraries come in a second distribution."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what dyld took, or missed, for a file of a wheel."""
    for event in list(case.of("undefined-symbol"))[:2]:
        if event.speaker == "dyld" and (found := _other_copy(case, event)) is not None:
            yield found
    for event in list(case.of("library-not-found"))[:2]:
        if (found := _too_old(case, event)) is not None:
            yield found
    for event in list(case.of("library-not-found"))[:2]:
        if event.speaker == "dyld" and (found := _own_part(case, event)) is not None:
            yield found


def _below(case: Case, event: Event) -> str:
    return "\n".join(line[:2000] for line in case.log.lines[event.at : event.at + _BELOW])


def _other_copy(case: Case, event: Event) -> Explanation | None:
    """Explain a library of Homebrew that stands in for the wheel's own."""
    owner = package_of(event.objects.get("file", ""))
    place = _EXPECTED.search(_below(case, event))
    brew = _BREW.match(place[1]) if place else None
    if owner is None or place is None or brew is None:
        return None
    library = place[1].rstrip().rpartition("/")[2]
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{owner} of this environment gets {library} from Homebrew, which is another release",
            f"The loader took {place[1].strip()} in the place of the wheel's own library, and "
            "that copy lacks what the wheel needs.",
            recipes=(
                command(f"Take Homebrew's {brew[1]} out of the way", "brew", "unlink", brew[1]),
                *_whole(owner),
            ),
            name="library-of-homebrew",
            captures={"library": library},
        ),
    )


def _own_part(case: Case, event: Event) -> Explanation | None:
    """Explain a library that a wheel should hold itself."""
    library = event.objects.get("library", "")
    for path in _TRIED.findall(_below(case, event)):
        owner = package_of(path)
        if owner is not None and library and path.endswith("/" + library):
            return Explanation(
                event=event,
                precision=Precision.EXACT,
                detection=detection(
                    event,
                    f"{owner} is not whole: its own {library} is missing",
                    f"The loader looked for {path}, which belongs to {owner} itself or to a "
                    "package that comes with it.",
                    recipes=_whole(owner),
                    name="package-not-whole",
                    captures={"library": library},
                ),
            )
    return None


def _whole(owner: str) -> tuple[Recipe, ...]:
    name = names.distribution_of(owner) or owner
    return tuple(again(one) for one in _PARTS.get(name, (name,)) if NAME.fullmatch(one))


_UNKNOWN = re.compile(r"load command 0x[0-9A-Fa-f]{1,8} is unknown")


def _too_old(case: Case, event: Event) -> Explanation | None:
    """Explain a library that is there, in a form that this macOS does not know.

    dyld before macOS 12 knows no chained fixups (LC_DYLD_CHAINED_FIXUPS, 0x80000034).
    """
    below = case.log.lines[event.at : event.at + _BELOW + 2]
    if not any(_UNKNOWN.search(line[:1000]) for line in below):
        return None
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("torch/libomp-missing-on-mac",),
        detection=detection(
            event,
            "This macOS is older than the wheel: it does not know the form of the library",
            "The library is there. It was linked for a later macOS, whose loader knows more load "
            "commands than the one here.",
            recipes=(
                Recipe(
                    title="Take an older release of the package, which was linked for this macOS",
                    steps=(Action(install=("<package>==<release>",)),),
                    ask={
                        "package": "the package whose folder the message names, such as torch",
                        "release": "a release of the time of this macOS: torch 1.12.1 for 10.14",
                    },
                ),
                command(
                    "See which macOS this is, before it is updated",
                    *("sw_vers", "-productVersion"),
                    look=True,
                ),
            ),
            name="macos-too-old",
        ),
    )
