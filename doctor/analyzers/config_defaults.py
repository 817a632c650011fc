"""Configurations without the defaults that transformers 4 gave to each of them.

PretrainedConfig of transformers 4 set the ids of special tokens and the parameters of generation on
every configuration. PreTrainedConfig of transformers 5 leaves them to the configuration of a model.
Models with code of their own, and old packages, still ask for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inventory import Inventory, distinct
from doctor.analyzers.python_names import mentions
from doctor.model.issues import Action, Option, Recipe
from doctor.timelines import names

_PACKAGE = "transformers"
_MAJOR = 5
_MOST = 4


def explain(case: Case) -> Iterator[Explanation]:
    """Yield that a configuration lacks what transformers 4 set on each."""
    for event in distinct(case, "object-attribute-missing", most=_MOST):
        owner, name = event.objects["class"].rpartition(".")[2], event.objects["name"]
        release = Inventory(case).release(_PACKAGE)
        if not lost_default(owner, name) or not is_new(release):
            continue
        if not names.class_attributes(owner, _PACKAGE) and not mentions(case, _PACKAGE):
            continue
        yield Explanation(
            event=event,
            precision=Precision.EXACT,
            detection=detection(
                event,
                f"transformers {_MAJOR} no longer sets {name} on each configuration; the code of "
                f"this model reads it from {owner}",
                f"Up to 4.57 the base class gave {name} to every configuration. From "
                f"{_MAJOR}.0 on only the configuration of a model sets it.",
                recipes=(
                    Recipe(
                        title="Run the model with transformers 4",
                        steps=(
                            Action(
                                install=(f"{_PACKAGE}>=4.40,<{_MAJOR}",),
                                options=(Option.HOLD_TORCH,),
                            ),
                        ),
                        note="An older model may ask for an older release still: its README or "
                        "config.json (transformers_version) names it.",
                    ),
                ),
                name="config-default-gone",
            ),
        )


def lost_default(owner: str, name: str) -> bool:
    """Say whether transformers 4 gave each configuration an attribute that 5 does not."""
    return owner.endswith("Config") and name in _lost()


@lru_cache(maxsize=1)
def _lost() -> frozenset[str]:
    """Return what the base class of transformers 4 had to its end, and that of 5 has not."""
    old = {
        name
        for each in names.class_attributes("PretrainedConfig", _PACKAGE)
        for name, history in each.attributes.items()
        if (history.last or "").startswith("4.57.")
    }
    new = {
        name
        for each in names.class_attributes("PreTrainedConfig", _PACKAGE)
        for name in each.attributes
    }
    return frozenset(name for name in old - new if new and not name.startswith("_"))


def is_new(release: str | None) -> bool:
    """Say whether a release may be of the major release without the defaults."""
    major = (release or "").partition(".")[0]
    return not major.isdigit() or int(major) >= _MAJOR
