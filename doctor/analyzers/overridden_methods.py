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
from doctor.timelines.names import History

_POSITIONAL = re.compile(
    r"\bTypeError: ([\w.<>]{1,120})\(\) takes (?:from \d{1,2} to )?(\d{1,2}) positional arguments? "
    r"but (\d{1,2}) (?:was|were) given"
)
_HOOK = re.compile(
    r"compute_loss|(?:training|validation|test|predict(?:ion)?|optimizer|lr_scheduler)_step"
    r"|evaluation_loop|_?(?:save|load|log|maybe)_\w{2,50}|_save|log|configure_\w{2,40}"
    r"|create_(?:optimizer|scheduler|optimizer_and_scheduler)|get_(?:train|eval|test)_dataloader"
    r"|_get_\w{2,40}|on_\w{2,50}|prepare_inputs_for_generation|_inner_training_loop"
    r"|_prepare_\w{2,40}|_init_weights|_set_gradient_checkpointing|_?update_\w{2,40}"
    r"|tie_weights|resize_token_embeddings|call|build|get_config"
)
"""Methods that a package calls, and that programs write anew."""
_BASES = ("Trainer", "PreTrainedModel", "LightningModule", "Callback", "Layer", "SFTTrainer")
"""Classes whose methods programs override; a message names the deriving class, or none."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield who calls a method with more arguments than it takes, and since which release."""
    for event in distinct(case, "exception", most=4):
        if not is_passing(event) and (found := _explained(case, event)) is not None:
            yield found
    for event in distinct(case, "keyword-not-accepted", most=4):
        if not is_passing(event) and (found := _keyword(case, event)) is not None:
            yield found


def _keyword(case: Case, event: Event) -> Explanation | None:
    """Explain a hook of a base class that a program wrote anew without one of its parameters."""
    owner, _, function = event.objects["function"].rpartition(".")
    parameter = event.objects["name"]
    bases = [base for base in _BASES if owner == base or owner.endswith(base)]
    if not owner or not bases or not _HOOK.fullmatch(function) or not parameter.isidentifier():
        return None
    owners = owners_of(case, event)
    if owners and (not owners[0] or owners[0] in NEVER):
        return None  # the program itself makes the call, with an argument of its own
    calling = names.distribution_of(owners[0]) or owners[0] if owners else _caller_of(bases[0])
    history = _parameter(bases[0], function, parameter, calling)
    since = history.first if history and history.first != history.releases[0] else None
    gone = history is not None and history.has_left
    if owner == bases[0] and not owners and history is None:
        return None
    came = f": {calling} {_short(since)} added it" if since and not gone else ""
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("*/newer-than-*", "*/older-than-*"),
        detection=detection(
            event,
            f"{calling} hands {parameter} to {owner}.{function}(), which the program wrote anew "
            "without it",
            f"{owner} overrides {function}() of {calling}, and was written for a release that did "
            f"not hand in {parameter}{came}.",
            recipes=tuple(_for_keyword(calling, function, parameter, since, gone=gone)),
            name="argument-not-accepted",
            confidence=Confidence.MEDIUM,
        ),
    )


def _for_keyword(
    calling: str, function: str, parameter: str, since: str | None, *, gone: bool
) -> Iterator[Recipe]:
    yield code(
        "Let the method take it, and whatever comes later",
        f"the class of the program that defines {function}()",
        f"def {function}(self, ..., {parameter}=None, **kwargs):",
        before=f"def {function}(self, ...):",
        note="Where a package brings the class, its newest release mostly takes it.",
    )
    if since and not gone:
        yield Recipe(
            title=f"Go back to the last {calling} that does not hand it in",
            steps=(Action(install=(f"{calling}<{_short(since)}",), options=(Option.HOLD_TORCH,)),),
        )
    elif NAME.fullmatch(calling) and calling != "torch":
        yield newest(
            calling,
            title=f"Take the newest {calling}, where the program is the newer one",
            use_if=("the program names no release of it",),
        )


def _short(release: str | None) -> str:
    return ".".join((release or "").split(".")[:2])


def _caller_of(base: str) -> str:
    """Return the distribution whose base class it mostly is, for a log without frames."""
    return {"LightningModule": "pytorch-lightning", "Layer": "keras", "SFTTrainer": "trl"}.get(
        base, "transformers"
    )


def _parameter(base: str, function: str, parameter: str, distribution: str) -> History | None:
    for signature in names.functions(f"{base}.{function}", distribution):
        if (found := signature.parameters.get(parameter)) is not None:
            return found
    return None


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
