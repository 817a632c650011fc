"""Explain a method or an attribute that a class had from the base class of another package.

A message names the class of the program, or only `super`, and never the base class. The bases that
programs derive from are few, and the timelines know which release of each has which attribute.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.inventory import Inventory, caller_of, distinct
from doctor.analyzers.name_findings import explain_release
from doctor.analyzers.python_names import is_passing
from doctor.analyzers.releases import Fit, fit
from doctor.model.events import Event
from doctor.timelines import names
from doctor.timelines.names import Attributes

_BASES = (
    ("scikit-learn", ("BaseEstimator", "TransformerMixin", "ClassifierMixin", "RegressorMixin")),
    ("transformers", ("PreTrainedModel", "Trainer", "PreTrainedTokenizer", "PretrainedConfig")),
    ("pytorch-lightning", ("LightningModule", "LightningDataModule", "Trainer")),
    ("keras", ("Layer", "Model")),
    ("diffusers", ("DiffusionPipeline", "ModelMixin")),
    ("trl", ("SFTTrainer", "DPOTrainer", "GRPOTrainer", "PPOTrainer")),
    ("peft", ("LoraLayer", "BaseTuner")),
    ("vllm", ("LLMEngine",)),
)
"""Distributions, and the classes of theirs that other packages derive from."""
_CLASS = re.compile(r"super|[A-Z]\w{2,100}")
_TOO_COMMON = frozenset({"NoneType", "DataFrame", "Series", "Tensor", "Namespace"})


def explain(case: Case) -> Iterator[Explanation]:
    """Yield which release of the base class's package last had, or first has, an attribute."""
    inventory = Inventory(case)
    for event in distinct(case, "object-attribute-missing", most=4):
        if not is_passing(event) and (found := _explained(case, event, inventory)) is not None:
            yield found


def _explained(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    owner, name = event.objects["class"].rpartition(".")[2], event.objects["name"]
    if not _CLASS.fullmatch(owner) or owner in _TOO_COMMON or len(name) < len("_get_x"):
        return None
    if any(names.class_attributes(owner)):
        return None  # a class of a package itself, which python_names explains
    found = list(_in_bases(name, inventory))
    if len({one.distribution for _, one in found}) != 1:
        return None
    base, one = found[0]
    what = f"{base.name}.{name}, which {owner} derives from"
    if owner == "super":
        what = f"the method {name} of the base class {base.name}"
    caller = caller_of(case, event, base.module.partition(".")[0])
    return explain_release(event, one, what, (base.module, name), caller)


def _in_bases(name: str, inventory: Inventory) -> Iterator[tuple[Attributes, Fit]]:
    """Yield the bases that had an attribute once, and that have it no longer."""
    for distribution, classes in _BASES:
        for owner in classes:
            for each in names.class_attributes(owner, distribution):
                history = each.attributes.get(name)
                if history is None or not history.has_left:
                    continue
                one = fit(history, inventory.release(distribution))
                if one.way in ("new", "outside"):
                    yield each, one
                    break
