"""Names that a package passed on from elsewhere, and names that were gone before the timeline."""

from __future__ import annotations

import re

from doctor.analyzers.case import Explanation, Precision, detection
from doctor.analyzers.inventory import NAME, Caller
from doctor.analyzers.releases import Fit
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe, Snippet
from doctor.timelines import names
from doctor.timelines.standard_library import standard_module

_SAFE_PATH = re.compile(r"[\w./\\: +~@=-]{1,300}")


def explain_borrowed(
    event: Event, module: str, name: str, caller: Caller | None
) -> Explanation | None:
    """Explain a module of Python that code reaches through another package, such as np.warnings.

    What a package imports for itself is no part of what it offers, and comes and goes.
    """
    if module == "scipy" and names.importable("numpy", name) is not None:
        home, since = "numpy", ", and passes on no more since 1.12"
    elif standard_module(name) is not None and "." not in module:
        home, since = "", ""
    else:
        return None
    recipes: tuple[Recipe, ...] = (
        Recipe(
            title=f"Take {name} from numpy" if home else f"Import {name} itself",
            use_if=("the line is the program's own",),
            snippet=Snippet(
                where=caller.path if caller and _SAFE_PATH.fullmatch(caller.path) else "the line",
                before=f"{module}.{name}",
                after=f"numpy.{name}" if home else f"import {name}",
            ),
            note="" if home else f"Then write {name} in the place of {module}.{name}.",
        ),
    )
    if caller is not None and caller.kind == "package" and NAME.fullmatch(caller.name):
        newer = Recipe(
            title=f"Update {caller.name}, which asks for it",
            steps=(Action(install=(caller.name,), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
        )
        recipes = (newer, *recipes)
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{module} has no {name}: it is numpy's, which {module} once passed on{since}"
            if home
            else f"{module} has no {name}: it is Python's own module, which {module} once imported "
            "for itself",
            "Older releases could be asked for it by chance. Nothing has to be installed.",
            recipes=recipes,
            name="name-not-in-release",
        ),
    )


_GONE_BEFORE = {
    "scipy.misc": (
        frozenset(("imread", "imresize", "imsave", "imshow", "toimage", "imfilter", "imrotate")),
        "scipy<1.2",
        ("from scipy import misc", "import imageio.v2 as misc"),
    ),
}
"""Names that were gone before the first release of the timeline."""


def as_old_as(found: Fit, caller: Caller, module: str, name: str) -> tuple[Recipe, ...]:
    """Return what helps where no known release has a name."""
    names_, requirement, (before, after) = _GONE_BEFORE.get(
        module, (frozenset[str](), "", ("", ""))
    )
    if name in names_:
        return (
            Recipe(
                title="Read and write images with imageio, which has the same functions",
                use_if=("the program's own code asks for it",),
                snippet=Snippet(where=caller.path, before=before, after=after),
                note="imageio has no imresize: PIL.Image.resize does that.",
            ),
            Recipe(
                title="Go back to the last releases that had it",
                use_if=("Python 3.7 or older",),
                steps=(Action(install=(requirement, "pillow")),),
            ),
        )
    if caller.kind == "package" and NAME.fullmatch(caller.name):
        return (
            Recipe(
                title=f"Update {caller.name}, which asks for it",
                steps=(
                    Action(install=(caller.name,), options=(Option.UPGRADE, Option.HOLD_TORCH)),
                ),
                note=f"If that is no better, it is made for another {found.distribution}: its "
                "requirements name which.",
            ),
        )
    return ()
