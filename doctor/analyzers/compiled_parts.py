"""A part of a package that is not there: no build, another Python, or files of two releases."""

from __future__ import annotations

import re

from doctor.analyzers.case import Explanation, Precision, detection
from doctor.analyzers.inventory import Caller
from doctor.analyzers.recipes import again
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Confidence
from doctor.timelines import names

COMPILED = re.compile(r"(?:^|\.)(?:_\w{0,60}|\w{0,60}_(?:ext|cuda|kernels?|ops|C|lib|cpp))$")
"""Names that compiled modules have."""


def compiled_part(event: Event, module: str, caller: Caller | None) -> Explanation | None:
    """Explain a part of a package that was left out of its build."""
    package = module.partition(".")[0]
    if not COMPILED.search(module) or (caller and caller.kind != "package"):
        return None
    if module == package and caller is not None:
        package = caller.name
    own = caller is not None and caller.name == package
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"The compiled part {module} of {package} is missing"
            if module != package
            else f"The compiled module {module} is missing",
            f"{package} is there, but {module}, which is compiled, is not: the package was "
            "installed without its build, or runs from its source folder."
            if module != package
            else "It is part of a package that was installed without its build, or that runs from "
            "its source folder.",
            recipes=(
                Recipe(
                    title=f"See where {package} is imported from",
                    use_if=("it runs in a folder with the sources of the package",),
                    steps=(
                        Action(
                            run=(
                                "{python.executable}",
                                "-c",
                                f"import importlib.util as i; print(i.find_spec('{package}'))",
                            )
                        ),
                    ),
                    note="From another folder the installed package is imported.",
                    lasting=False,
                ),
                *(_whole(package) if own or caller is None else ()),
            )
            if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,60}", package) and package != module
            else (),
            name="compiled-part-missing",
            confidence=Confidence.MEDIUM if own else Confidence.LOW,
        ),
    )


def _whole(package: str) -> tuple[Recipe, ...]:
    """Return the recipe for a wheel that fits this Python, in the place of one that does not."""
    distribution = names.distribution_of(package)
    if distribution is None:
        return ()
    return (
        Recipe(
            title=f"Install {distribution} again, in a build for this Python",
            use_if=("its folder lies in site-packages, and was made for another Python",),
            note="A wheel fits the Python of its name alone (cp35 is Python 3.5); under another "
            "name it installs, and its compiled part is not found.",
            steps=(
                Action(
                    install=(distribution,),
                    options=(Option.REINSTALL, Option.NO_DEPS, Option.NO_CACHE),
                ),
                Action(install=(distribution,), options=(Option.HOLD_TORCH,)),
            ),
        ),
    )


def explain_mixed(event: Event, parent: str, distribution: str) -> Explanation:
    """Explain a part of an installed package that is a file where it has to be a folder."""
    root = parent.partition(".")[0]
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("python/*",),
        detection=detection(
            event,
            f"The files of {distribution} do not belong together: {parent} is no folder there",
            f"{parent} is a part of {distribution} with modules of its own. Here it is a single "
            "file or was left out: the installation is damaged, is of two releases, or is much "
            "older than the program.",
            recipes=(
                again(distribution),
                Recipe(
                    title=f"See which files Python takes for {distribution}",
                    steps=(
                        Action(
                            run=(
                                *("{python.executable}", "-c"),
                                f"import {root}; print({root}.__file__, {root}.__version__)",
                            )
                        ),
                    ),
                    note="A second copy in another folder (conda beside pip, ~/.local beside the "
                    "environment) mixes with the first: remove one of them.",
                    lasting=False,
                ),
            ),
            name="package-of-two-releases",
        ),
    )
