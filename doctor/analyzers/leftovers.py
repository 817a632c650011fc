"""Explain packages of which only a folder, or the compiled part of another state, is left.

A folder without `__init__.py` is a namespace (PEP 420): it has no attribute at all, and no
`__version__`. A compiled part without a name that its own sources ask for was built from others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inventory import NAME, distinct
from doctor.analyzers.recipes import command
from doctor.model.events import Event
from doctor.model.facts import value_of
from doctor.model.issues import Action, Option, Recipe
from doctor.timelines import names

_COMPILED = re.compile(r"^(?!torch\.)([A-Za-z]\w{1,60})(?:\.\w{1,60}){0,3}\.(?:_C|_ext|_cext)$")
_ALIASES = {"mmcv": ("mmcv", "mmcv-full", "mmcv-lite")}
"""Distributions that bring one module, so that each removes files of the others."""
_FRESH = {"detectron2": "git+https://github.com/facebookresearch/detectron2.git"}


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what is left of a package that an import finds."""
    for event in distinct(case, "module-attribute-missing"):
        module, name = event.objects["module"], event.objects["name"]
        if value_of(case.facts, "python.shadowed"):
            return  # a file that hides the package was found
        if name == "__version__" and (distribution := _distribution(module)):
            yield _shell(event, module, distribution)
        elif found := _COMPILED.match(module):
            yield _stale(event, found[1], module, name)


def _distribution(module: str) -> str:
    """Return the distribution of a module that always had a `__version__`."""
    if module in _ALIASES:
        return module
    history = names.importable(module, "__version__") if "." not in module else None
    return history.distribution if history is not None and history.always else ""


def _shell(event: Event, module: str, distribution: str) -> Explanation:
    every = _ALIASES.get(module, (distribution,))
    release = Recipe(
        title=f"Uninstall {' and '.join(every)}, and install one release anew",
        note=f"If a folder {module} is left in site-packages after that, move it away first. Keep "
        "the --index-url of your own installation.",
        steps=(
            Action(uninstall=every),
            Action(install=(f"{every[0]}==<release>",), options=(Option.NO_CACHE,)),
        ),
        ask={"release": "the release that the program is made for"},
    )
    look = command(
        f"See which folder is imported as {module}",
        "{python.executable}",
        "-c",
        f"import {module}; print({module}.__path__)",
        look=True,
        note="A folder beside your program is to be renamed; one in site-packages is the rest of "
        "an uninstalled package.",
    )
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("python/torch-shadowed",),
        detection=detection(
            event,
            f"Only a folder named {module} is imported, without the code of the package",
            f"Every release of {module} has a __version__. Python found a folder of that name "
            "without an __init__.py: what an uninstall or a stopped update left in site-packages, "
            "or a folder beside the program.",
            recipes=(look, release),
            name="folder-without-code",
        ),
    )


def _stale(event: Event, package: str, module: str, name: str) -> Explanation:
    distribution = names.distribution_of(package) or package
    sources = command(
        f"Build {package} again from the sources that are imported",
        "{python.executable}",
        "-m",
        "pip",
        "install",
        "--no-build-isolation",
        "--force-reinstall",
        "--no-deps",
        "-v",
        "-e",
        ".",
        use_if=(f"the current folder holds the sources of {package}",),
        note="Remove the folder build and the *.so files of the old build before.",
    )
    fresh = _FRESH.get(package)
    wheel = Recipe(
        title=f"Install {package} again",
        use_if=("no sources of it lie beside the program",),
        steps=(
            Action(
                install=(fresh or distribution,),
                options=(
                    (Option.REINSTALL, Option.NO_DEPS, Option.NO_BUILD_ISOLATION)
                    if fresh
                    else (Option.REINSTALL, Option.NO_DEPS)
                ),
            ),
        ),
    )
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{module} was built from another state of {package}: it has no {name}",
            f"The Python files of {package} ask the compiled part for {name}. The part was built "
            f"before it came or after it went: the sources were updated without a new build, or a "
            f"second {package} is installed.",
            recipes=(sources, wheel) if NAME.fullmatch(distribution) else (sources,),
            name="compiled-part-of-other-state",
        ),
    )
