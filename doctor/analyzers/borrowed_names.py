"""Names that a package passed on from elsewhere, and names that were gone before the timeline."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inventory import NAME, Caller
from doctor.analyzers.releases import Fit
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe, Snippet
from doctor.timelines import names
from doctor.timelines.names import History
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


def explain_elsewhere(
    case: Case, event: Event, asked: tuple[str, str], caller: Caller | None, history: History | None
) -> Explanation | None:
    """Explain a name that no release has in a module; `asked` is the module and the name."""
    if history is None:
        return explain_borrowed(event, *asked, caller) or explain_unheard(event, *asked, caller)
    return None if history.present else explain_below(case, event, *asked)


def explain_below(case: Case, event: Event, module: str, name: str) -> Explanation | None:
    """Explain a name that no release has in a module, and one has in a module right below it."""
    place = names.below(module, name)
    if place is None:
        return None
    last, inner = module.rpartition(".")[2], place.rpartition(".")[2]
    called = re.compile(rf"\b((?:\w{{1,60}}\.){{0,6}}{re.escape(last)})\.{re.escape(name)}\b")
    lines = (line[:_LONGEST] for line in case.log.lines[:_LINES])
    shown = next((found[1] for line in lines if (found := called.search(line))), module)
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{name} is not in {module}, but in {place}",
            "No release has the name in the place where the code looks for it: a part of its path "
            "was left out. Another release changes nothing.",
            recipes=(
                Recipe(
                    title=f"Name {inner} as well",
                    snippet=Snippet(
                        where="the line that asks for it",
                        before=f"{shown}.{name}",
                        after=f"{shown}.{inner}.{name}",
                    ),
                ),
            ),
            name="name-in-another-module",
        ),
    )


_LONGEST = 600
_LINES = 2000
_GONE_BEFORE = {
    "scipy.misc": (
        frozenset(("imread", "imresize", "imsave", "imshow", "toimage", "imfilter", "imrotate")),
        "scipy<1.2",
        ("from scipy import misc", "import imageio.v2 as misc"),
    ),
}
"""Names that were gone before the first release of the timeline."""


_BEFORE_TORCH = {
    "torch.legacy": "0.4.1",
    "torch.utils.ffi": "0.4.1",
    "torch.utils.serialization": "0.4.1",
    **dict.fromkeys(("torch.btrifact", "torch.gesv", "torch.potrf", "torch.trtrs"), "1.1.0"),
}
"""The last release with a name that is older than the timeline (the release notes of torch)."""


def explain_unheard(
    event: Event, module: str, name: str, caller: Caller | None
) -> Explanation | None:
    """Explain a name that no release of the timeline has."""
    history = names.module_history(module)
    if history is None or not history.releases:
        return None
    distribution, first, last = history.distribution, history.releases[0], history.releases[-1]
    until = _BEFORE_TORCH.get(f"{module}.{name}", "")
    packaged = caller is not None and caller.kind == "package" and NAME.fullmatch(caller.name)
    if not until and not packaged:
        return None  # a misspelled name is likelier in a program's own code
    recipes: tuple[Recipe, ...] = ()
    if caller and packaged:
        asking = names.distribution_of(caller.name) or caller.name
        recipes = (
            Recipe(
                title=f"Update {caller.name}, which asks for it",
                steps=(Action(install=(asking,), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
            ),
        )
    if until:
        python = "3.7" if until.startswith("1.") else "3.6"
        where = ("-c", "pytorch", f"python={python}", f"pytorch={until}")
        recipes += (
            Recipe(
                title=f"Run it with torch {until}, the last that has it, in an environment of its "
                "own",
                use_if=("a GPU of that time, or the CPU, will do",),
                steps=(Action(run=("conda", "create", "-y", "-n", f"torch-{until}", *where)),),
            ),
        )
    return Explanation(
        event=event,
        precision=Precision.EXACT if until else Precision.FAMILY,
        detection=detection(
            event,
            f"{module}.{name} is gone since before {distribution} {first}: {until} was the last "
            "with it"
            if until
            else f"No release of {distribution} from {first} to {last} has {module}.{name}",
            f"The code that asks for it is written for a {distribution} that is older."
            if until
            else f"The code that asks for it is written for a {distribution} before {first}, for "
            "one that came later, or for another build of it.",
            recipes=recipes,
            name="name-not-in-release",
        ),
    )


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
