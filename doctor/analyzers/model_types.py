"""Explain a checkpoint whose kind of model no release of transformers has.

Which kinds a release has is known by its modules, `transformers.models.<kind>`. A kind in none of
them belongs to a project of its own, and a newer transformers does not help.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.recipes import code, newest
from doctor.model.events import Event
from doctor.model.issues import Recipe
from doctor.timelines import names

_PARTS = ("_text", "_vision", "_audio", "_encoder", "_decoder", "_model")
"""What the kind of a part of a model ends in: its code lies in the module of the whole one."""
_TRIED = (
    *(
        "newest transformers",
        "latest transformers",
        "upgraded transformers",
        "upgrade transformers",
    ),
    *(
        "updated transformers",
        "different transformers",
        "transformers版本",
        "reinstalled transformers",
    ),
)
"""How people write that they took another transformers already."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of a kind of model that transformers never had."""
    for event in case.of("model-type-unknown"):
        kind = event.objects.get("type", "")
        if kind and not _is_of_transformers(kind):
            yield _of_project(case, event, kind)
            return


def _is_of_transformers(kind: str) -> bool:
    """Say whether a release has this kind; True where that is not known."""
    plain = kind.replace("-", "_").lower()
    plain = next((plain.removesuffix(one) for one in _PARTS if plain.endswith(one)), plain)
    history = names.module_history(f"transformers.models.{plain}")
    return history is None or history.first is not None


def _of_project(case: Case, event: Event, kind: str) -> Explanation:
    text = "\n".join(line[:400] for line in case.log.lines[:4000])
    tried = any(one in text for one in _TRIED)
    has_map = '"auto_map"' in text
    newest_known = getattr(names.module_history("transformers.models.bert"), "newest_known", "")
    own = code(
        f"Put the code of {kind} beside the checkpoint, and name it in config.json",
        "config.json of the checkpoint",
        '"auto_map": {"AutoConfig": "configuration_<kind>.<Kind>Config", '
        '"AutoModelForCausalLM": "modeling_<kind>.<Kind>ForCausalLM"},'.replace(
            "<kind>", kind
        ).replace("<Kind>", "<Class>"),
        note=f"Copy configuration_{kind}.py and modeling_{kind}.py (and the tokenizer's code) from "
        "the project into the folder of the checkpoint, and load it with trust_remote_code=True. "
        "Without auto_map that option alone gives the same error. It runs the project's code: read "
        "it first.",
    )
    own = _asking(own)
    register = code(
        "Make the class known before the model is loaded",
        "the top of the program",
        f'AutoConfig.register("{kind}", <Class>Config)\n'
        "AutoModelForCausalLM.register(<Class>Config, <Class>ForCausalLM)",
        use_if=("the project's classes can be imported",),
    )
    register = _asking(register)
    upgrade = newest(
        "transformers",
        title="Take the newest transformers, which may have it by now",
        use_if=(f"{kind} is newer than transformers {newest_known}",),
    )
    remote = code(
        "Let the checkpoint bring its own code",
        "the call that loads the model",
        "from_pretrained(name, trust_remote_code=True)",
        before="from_pretrained(name)",
        note="It runs code of the checkpoint's author: read it first.",
    )
    recipes = (remote, register) if has_map else (own, register)
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("transformers/model-type-unknown",),
        detection=detection(
            event,
            f"No release of transformers has models of the type {kind}: it is a project's own",
            f"Up to {newest_known} transformers has no code for it. The project brings that code: "
            "in files beside the checkpoint, which config.json names in auto_map, or as classes "
            "that register themselves.",
            recipes=recipes if tried else (*recipes, upgrade),
            name="model-type-of-a-project",
            captures={"type": kind},
        ),
    )


def _asking(recipe: Recipe) -> Recipe:
    """Return a recipe that asks for the name of the class."""
    asked = {"Class": "the beginning of the class's name, as architectures in config.json has it"}
    return msgspec.structs.replace(recipe, ask=asked)
