"""Explain a method that gets more arguments than it takes, from the package that calls it.

A class that derives from a package's own overrides its methods. A newer release of the package
hands in one argument more: the timelines know since when the package's own method takes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inside_packages import NEVER
from doctor.analyzers.inventory import NAME, distinct, owners_of
from doctor.analyzers.python_names import is_passing
from doctor.analyzers.recipes import code, newest
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Confidence
from doctor.timelines import names

_POSITIONAL = re.compile(
    r"\bTypeError: ([\w.<>]{1,120})\(\) takes (?:from \d{1,2} to )?(\d{1,2}) positional arguments? "
    r"but (\d{1,2}) (?:was|were) given"
)
_BASES = ("Trainer", "PreTrainedModel", "LightningModule", "Callback", "Layer", "SFTTrainer")
"""Classes whose methods programs override; a message names the deriving class, or none."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield who calls a method with more arguments than it takes, and since which release."""
    for event in distinct(case, "exception", most=4):
        if not is_passing(event) and (found := _explained(case, event)) is not None:
            yield found


def _explained(case: Case, event: Event) -> Explanation | None:
    call = _POSITIONAL.search(event.text)
    owners = owners_of(case, event)
    if call is None or not owners or not owners[0] or owners[0] in NEVER:
        return None
    function, takes, given = call[1].rpartition(".")[2], int(call[2]), int(call[3])
    if given <= takes or not function.isidentifier():
        return None
    calling = names.distribution_of(owners[0]) or owners[0]
    other = next((one for one in owners[1:] if one and one not in NEVER), "")
    other = _home(call[1].rpartition(".")[0], calling) or other
    since = _since(call[1], function, calling, given - takes)
    return Explanation(
        event=event,
        precision=Precision.EXACT if since else Precision.FAMILY,
        detection=detection(
            event,
            f"{calling} hands {given} arguments to {call[1]}(), which takes {takes}",
            f"The method was written for an older {calling}, which handed in fewer"
            + (f": {calling} {since} added one." if since else "."),
            recipes=tuple(
                _recipes(calling, function, names.distribution_of(other) or other, since)
            ),
            name="argument-not-accepted",
            confidence=Confidence.MEDIUM,
        ),
    )


def _recipes(calling: str, function: str, other: str, since: str) -> Iterator[Recipe]:
    if NAME.fullmatch(other):
        yield newest(
            other, title=f"Take the newest {other}", use_if=("no other package here pins it",)
        )
    if since:
        yield Recipe(
            title=f"Go back to the last {calling} that hands in as many as the method takes",
            steps=(Action(install=(f"{calling}<{since}",), options=(Option.HOLD_TORCH,)),),
            note="Where a package brings the method, its newest release mostly takes the new one.",
        )
    yield code(
        "Let the method take further arguments, where it is your own",
        f"the class that defines {function}()",
        f"def {function}(self, *args, **kwargs):",
        note=f"It overrides a method of {calling}, which hands in more since a newer release.",
    )


def _home(owner: str, calling: str) -> str:
    """Return the package that the class in the message belongs to, where it is another one."""
    homes = {one.distribution for one in names.class_attributes(owner)} if owner else set()
    return homes.pop() if len(homes) == 1 and calling not in homes else ""


def _since(named: str, function: str, distribution: str, more: int) -> str:
    """Return the minor release of a package that first hands in `more` arguments than before."""
    for name in (named, *(f"{base}.{function}" for base in _BASES)):
        for signature in names.functions(name, distribution):
            came = [
                one.first
                for one in signature.parameters.values()
                if one.first and one.first != signature.history.first and not one.has_left
            ]
            if len(came) == more and len(set(came)) == 1:
                return ".".join((came[0] or "").split(".")[:2])
    return ""
