"""Objects that another release of their package wrote: pickled models and whole saved modules.

Pickle restores the attributes that were saved, and calls no `__init__`. The code of a newer release
then asks the object for an attribute that the older one did not set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inventory import Inventory, distinct, frames, package_of
from doctor.analyzers.recipes import code
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.timelines import names

_SAVING = {
    "sklearn": "scikit-learn",
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "torch": "torch",
    "gensim": "gensim",
}
"""Packages whose objects are saved as pickles, by their import names."""
_LIBRARIES_OF_LAYERS = (
    *("timm", "ultralytics", "torchvision", "transformers", "segmentation-models-pytorch"),
    *("sentence-transformers", "pyannote-audio", "mmcv"),
)
"""Libraries whose layers stand in models that were saved whole."""
_WROTE = re.compile(
    r"Trying to unpickle estimator \w{1,60} from version (\d[\w.]{0,20}) when using version"
)
_FRAME_OF_IPYTHON = re.compile(r"[/\\](?:site|dist)-packages[/\\](\w{2,40})[/\\]\S{1,200} in \w")
_NN = re.compile(r"[/\\]torch[/\\]nn[/\\]modules[/\\]")
_LONGEST = 1000
_ABOVE = 60
_MOST = 3


def explain(case: Case) -> Iterator[Explanation]:
    """Yield that an object was written by another release of the package that reads it."""
    inventory = Inventory(case)
    for event in distinct(case, "object-attribute-missing", most=_MOST):
        package = _inner(case, event) or _of_torch(case, event)
        distribution = _SAVING.get(package, "")
        name = event.objects["class"].rpartition(".")[2]
        if not distribution or not _is_of(case, event, package, name, distribution):
            if package == "torch" and (found := _layer_of_others(event, name, inventory)):
                yield found
            continue
        yield _explanation(case, event, name, distribution, inventory.release(distribution) or "")


def _layer_of_others(event: Event, name: str, inventory: Inventory) -> Explanation | None:
    """Explain a layer of a library beside torch that lacks what a newer release of it sets."""
    attribute = event.objects["name"]
    if attribute == "generate":
        return None  # a method, which no pickle holds
    since = {
        (distribution, one.first)
        for distribution in _LIBRARIES_OF_LAYERS
        for each in names.class_attributes(name, distribution)
        if (one := each.attributes.get(attribute)) and one.first != one.releases[0]
    }
    if len(since) != 1:
        return None
    distribution, first = since.pop()
    line = ".".join((first or "").split(".")[:2])
    here = inventory.release(distribution)
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The {name} was saved by a {distribution} from before {attribute} came, and "
            f"{f'{distribution} {here}' if here else 'a newer one'} is here",
            f"A pickle holds the attributes of its day, and loading it does not run __init__. "
            f"{distribution} {first} has the attribute, and an earlier release saved the model.",
            recipes=(
                Recipe(
                    title=f"Load it with an older {distribution}",
                    steps=(
                        Action(install=(f"{distribution}<{line}",), options=(Option.HOLD_TORCH,)),
                    ),
                    note="A package that brings the model may have a newer release, with a model "
                    "that was saved anew.",
                ),
            ),
            name="object-of-another-release",
            captures={"attribute": attribute},
        ),
    )


def _of_torch(case: Case, event: Event) -> str:
    """Return "torch" for a layer of torch in a text without frames, whose attribute came later."""
    if any(True for _ in frames(case, event)) or Inventory(case).release("torch"):
        return ""
    return "torch" if _came_later(event) else ""


def _came_later(event: Event) -> bool:
    """Say whether an attribute of a layer came after the first known torch."""
    name, attribute = event.objects["class"].rpartition(".")[2], event.objects["name"]
    return any(
        (one := each.attributes.get(attribute)) is not None and one.first != one.releases[0]
        for each in names.class_attributes(name, "torch")
        if each.module.startswith("torch.nn")
    )


def _inner(case: Case, event: Event) -> str:
    """Return the package of the innermost frame; "" where the program itself asks."""
    for path in frames(case, event):
        return package_of(path) or ""
    for line in reversed(case.log.lines[max(event.at - _ABOVE, 0) : event.at]):
        if found := _FRAME_OF_IPYTHON.search(line[:_LONGEST]):
            return found[1]
    return ""


def _is_of(case: Case, event: Event, package: str, name: str, distribution: str) -> bool:
    """Say whether a class belongs to the package whose own code asks it for the attribute."""
    if package == "torch":
        paths = list(frames(case, event))
        inside = any(_NN.search(path) for path in paths) or (not paths and _came_later(event))
        return inside and any(
            one.module.startswith("torch.nn") for one in names.class_attributes(name, "torch")
        )
    return bool(names.class_attributes(name, distribution))


def _explanation(case: Case, event: Event, name: str, distribution: str, here: str) -> Explanation:
    attribute = event.objects["name"]
    wrote = {found[1] for line in case.log.lines if (found := _WROTE.search(line[:_LONGEST]))}
    release = wrote.pop() if len(wrote) == 1 and distribution == "scikit-learn" else "<release>"
    asks = (
        {}
        if release != "<release>"
        else {
            "release": f"the release of {distribution} that saved it; its authors or their "
            "requirements name it"
            + (", and so does a warning at loading" if distribution == "scikit-learn" else "")
        }
    )
    back = Recipe(
        title=f"Load it with the {distribution} that saved it",
        use_if=() if distribution != "torch" else ("the program runs with that torch",),
        steps=(
            Action(
                install=(f"{distribution}=={release}",),
                options=() if distribution == "torch" else (Option.HOLD_TORCH,),
            ),
        ),
        ask=asks,
        note="Where both releases are needed, do so in an environment of its own."
        if distribution == "torch"
        else "Or train and save the model again with the release that is here.",
    )
    set_it = code(
        f"Give the loaded modules the attribute {attribute}",
        "the program, right after torch.load",
        f"for one in model.modules():\n    if isinstance(one, torch.nn.{name}):\n"
        f"        one.{attribute} = None  # the default of {name}.__init__ in this torch",
    )
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The {name} was saved by another release of {distribution}: the one that is here"
            f"{f' ({here})' if here else ''} expects the attribute {attribute}",
            "A pickle holds the attributes of its day, and loading it does not run __init__. "
            f"{distribution} does not promise that another release can use it.",
            recipes=(set_it, back) if distribution == "torch" else (back,),
            name="object-of-another-release",
            captures={"attribute": attribute},
        ),
    )
