"""Write what is to be said of a name by the releases that have it, or by the file that hides it."""

from __future__ import annotations

import re

from doctor.analyzers.borrowed_names import as_old_as
from doctor.analyzers.case import Explanation, Precision, detection
from doctor.analyzers.inventory import NAME, Caller, Inventory
from doctor.analyzers.recipes import again, variables
from doctor.analyzers.releases import TORCH, Fit, fixes
from doctor.analyzers.unloaded_parts import COMPILED, explain_unloaded
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe, Snippet
from doctor.model.scales import Confidence, Severity
from doctor.timelines import names
from doctor.timelines.standard_library import Since

_OTHER_WAY = {
    # The asked package is too new, so that the asking one is no newer than it.
    "new": ("*/newer-than-*",),
    "old": ("*/*-removed", "*/*-gone", "*/names-gone-*", "*/name-moved", "*/moved-names"),
}
"""Known issues that say that it is the other way round."""


_SAFE_PATH = re.compile(r"[\w./\\: +~@=-]{1,300}")


def explain_release(
    event: Event,
    found: Fit,
    name: str,
    asked: tuple[str, str],
    caller: Caller | None,
    place: str | None = None,
) -> Explanation:
    """Explain a name by the releases that have it; `asked` is its module and the bare name."""
    module, bare = asked
    if found.way == "never" and COMPILED.search(module):
        return explain_unloaded(event, found.distribution, name, module)
    here = f"{found.distribution} {found.version or ''}".strip()
    title = {
        "new": f"{here} no longer has {name}: {found.have_it}",
        "old": f"{here} does not have {name} yet: {found.distribution} {found.since} brought it"
        if found.version
        else f"The installed {here} is too old: {name} came with {found.since}",
        "outside": f"The installed {here} lacks {name}: {found.have_it}",
        "never": f"No known release of {found.distribution} has {name} in {module}",
    }[found.way]
    causes = [_who(caller, found, name)]
    if place:
        causes.append(f"It is {place} now.")
    recipes = fixes(found, caller)
    if not recipes and found.way == "never" and caller is not None:
        recipes = as_old_as(found, caller, module, bare)
    if place and place != f"{module}.{bare}":
        recipes = _imports(module, bare, place, caller, recipes)
    return Explanation(
        event=event,
        precision=Precision.EXACT if found.way != "never" else Precision.FAMILY,
        contradicts=_OTHER_WAY.get(found.way, ()),
        detection=detection(
            event,
            title,
            " ".join(causes),
            recipes=recipes,
            confidence=Confidence.HIGH if found.version else Confidence.MEDIUM,
            name="name-not-in-release",
            captures={"distribution": found.distribution, "releases": found.requirement},
        ),
    )


def _who(caller: Caller | None, found: Fit, name: str) -> str:
    """Say who asks, and for which release that was written."""
    if found.way == "never":
        return (
            f"Releases {_span(found.distribution)} were looked through. The name is misspelled, "
            f"belongs to a fork, or is newer than these."
        )
    age = {"new": "an older", "old": "a newer", "outside": "another"}[found.way]
    who = {
        "package": f"The package {caller.name} asks for it" if caller else "",
        "model": f"The code that the model brings along ({caller.name}) asks for it"
        if caller
        else "",
        "addon": f"The add-on {caller.name} asks for it" if caller else "",
        "project": f"The program {caller.name} asks for it".replace("  ", " ") if caller else "",
    }.get(caller.kind if caller else "", "")
    who = who or f"The code that asks for {name}"
    joined = ", and was" if caller else " was"
    return f"{who}{joined} written for {age} release of {found.distribution}: {found.have_it}."


def _span(distribution: str) -> str:
    history = names.module_history(distribution.replace("-", "_"))
    return f"up to {history.newest_known}" if history else "that are known"


def _imports(
    module: str, name: str, place: str, caller: Caller | None, others: tuple[Recipe, ...]
) -> tuple[Recipe, ...]:
    """Return the recipes with the new place of a name, first where the code is one's own."""
    home, _, inner = place.rpartition(".")
    edit = Recipe(
        title=f"Import it from {home}",
        use_if=("you can change the code that imports it",),
        snippet=Snippet(
            where=caller.path if caller and _SAFE_PATH.fullmatch(caller.path) else "the import",
            before=f"from {module} import {name}",
            after=f"from {home} import {inner}" + (f" as {name}" if inner != name else ""),
        ),
    )
    own = caller is None or caller.kind != "package"
    return (edit, *others) if own else (*others, edit)


def _emptied(distribution: str) -> Recipe:
    """Return the recipe that removes all files of torch or its companion, and installs one."""
    left = (
        "import shutil, sysconfig; "
        f"shutil.rmtree(sysconfig.get_path('purelib') + '/{distribution}', ignore_errors=True)"
    )
    of_conda = "pytorch" if distribution == "torch" else distribution
    return Recipe(
        title=f"Uninstall {distribution}, delete what is left of it, and install one release",
        note=f"Where conda list names {of_conda} too, "
        "remove it with conda first. Install with the --index-url that the others came from.",
        steps=(
            Action(uninstall=(distribution,)),
            Action(run=("{python.executable}", "-c", left)),
            Action(install=(f"{distribution}==<release>",), options=(Option.NO_CACHE,)),
        ),
        ask={"release": "the release that the program is made for"},
    )


def explain_inconsistent(event: Event, found: Fit, module: str, name: str) -> Explanation:
    """Explain a package whose own files do not go together."""
    distribution = found.distribution
    requirement = f"{distribution}=={found.version}" if found.version else distribution
    recipes = (_emptied(distribution),) if distribution in TORCH else (again(requirement),)
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"The files of {distribution} do not go together: {module} lacks {name}",
            "Files of two releases lie in one folder, which an update that stopped half-way, or a "
            "second copy earlier on the path, leaves behind."
            if not found.version or found.way == "present"
            else f"Its own code asks for a name that {distribution} {found.version} does not have.",
            recipes=recipes,
            name="package-inconsistent",
        ),
    )


def explain_without_code(
    event: Event, module: str, caller: Caller | None, *, near: str = ""
) -> Explanation:
    """Explain an import from a module without a file (PEP 420).

    Packages that load their parts late put an object without a file in their own place, so that
    Python says the same where a part of them failed. `near` are the lines of the log.
    """
    package = module.partition(".")[0]
    who = f" for {caller.name}" if caller and caller.name else ""
    is_late = package in _LATE
    name = event.objects.get("name", "a name")
    return Explanation(
        event=event,
        precision=Precision.FAMILY if is_late else Precision.EXACT,
        detection=detection(
            event,
            f"{package} does not give {name}: a part of it did not load, or it has no code"
            if is_late
            else f"A folder named {module} without code is imported{who}",
            f"{package} loads its parts when they are asked for. Where a part fails, as beside an "
            f"older TensorFlow, Python says the same as for a folder without code."
            if is_late
            else f"Python found no file of {module}, only a folder with its name: one beside the "
            f"program, a checkout without its code, or what an uninstall left in site-packages.",
            recipes=_without_code(package, module, is_late=is_late, near=near),
            severity=Severity.ERROR,
            name="module-not-loaded" if is_late else "module-without-code",
        ),
    )


_LATE = frozenset({"transformers"})
"""Packages whose module was, in some releases, an object that loads late and has no file."""
_TENSORFLOW = re.compile(r"\b(?:TF|[Tt]ensor[Ff]low)\b")


def _without_code(package: str, module: str, *, is_late: bool, near: str) -> tuple[Recipe, ...]:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.]{0,80}", module):
        return ()
    beside = (
        variables(
            f"Have {package} leave TensorFlow alone",
            {"USE_TF": "0"},
            use_if=("the program works with torch",),
            note="With TensorFlow wanted, update TensorFlow: an old one breaks the import.",
        ),
    )
    look = Recipe(
        title="See which folder is imported",
        steps=(
            Action(
                run=(
                    *("{python.executable}", "-c"),
                    f"import {package} as m; print(list(m.__path__))",
                )
            ),
        ),
        note="If it lies in the folder of the program, rename it or start elsewhere. If it lies in "
        "site-packages, leave it: that is the package, and it may have to be installed again.",
        lasting=False,
    )
    return (*(beside if is_late and _TENSORFLOW.search(near) else ()), look)


def hides(path: str, package: str) -> bool:
    """Say whether a file is imported in the place of a package."""
    parts = re.split(r"[/\\]", path)
    return parts[-1].partition(".")[0] == package or (
        parts[-1] == "__init__.py" and len(parts) > 1 and parts[-2] == package
    )


def explain_hidden(event: Event, path: str, package: str) -> Explanation:
    """Explain a file that has the name of a package."""
    file = re.split(r"[/\\]", path)[-1]
    what = "folder" if file == "__init__.py" else f"file {file}"
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("*/older-than-*", "*/newer-than-*", "*/*-removed", "*/*-gone"),
        detection=detection(
            event,
            f"{path} hides the module {package}",
            f"Python looks in the folder of the program first, so that this {what} is imported in "
            f"place of the {package} that is meant.",
            recipes=_renamed(path, file),
            confidence=Confidence.HIGH,
            name="module-hidden",
        ),
    )


def _renamed(path: str, file: str) -> tuple[Recipe, ...]:
    note = "Remove __pycache__ beside it as well."
    if file == "__init__.py" or "\\" in path or not _SAFE_PATH.fullmatch(path):
        return ()
    return (
        Recipe(
            title=f"Give {file} another name",
            note=note,
            steps=(Action(run=("mv", "-i", path, path.removesuffix(".py") + "_own.py")),),
        ),
    )


def explain_standard(
    event: Event, inventory: Inventory, since: Since | None, name: str, caller: Caller | None
) -> Explanation | None:
    """Explain a name of the standard library by the releases of Python that have it."""
    if since is None:
        return None
    python = inventory.python()
    here = f"Python {python}" if python else "this Python"
    subject = name.replace("the ", "The ", 1) if name.startswith("the ") else name
    minor = tuple(int(part) for part in python.split(".")) if python else None
    first, last = (tuple(int(part) for part in one.split(".")) for one in (since.first, since.last))
    if since.without and (not since.new if minor is None else minor > last):
        title = f"{subject} is gone since Python {since.without}, and {here} runs the program"
        cause = "is older than this Python"
        until = since.without
        make = Recipe(
            title=f"Use Python {since.last} for it",
            use_if=("there is no release for the newer Python",),
            steps=(Action(run=("uv", "venv", "--python", since.last, ".venv-older")),),
            note="Install the packages into that environment.",
        )
    elif since.new and (minor is None or minor < first):
        title = f"{subject} came with Python {since.first}, and {here} runs the program"
        cause = f"needs Python {since.first} or later"
        until = ""
        make = Recipe(
            title=f"Use Python {since.first} or later",
            steps=(Action(run=("uv", "venv", "--python", since.first, ".venv-newer")),),
            note="Install the packages into that environment.",
        )
    else:
        return None
    who, recipes = _of_caller(caller, make, update=bool(until))
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            title,
            f"{who} {cause}.",
            recipes=recipes,
            confidence=Confidence.HIGH if python else Confidence.MEDIUM,
            name="name-not-in-python",
        ),
    )


def _of_caller(
    caller: Caller | None, make: Recipe, *, update: bool
) -> tuple[str, tuple[Recipe, ...]]:
    """Return who asks for a name of Python, and what to do about it."""
    who = "The program"
    recipes: tuple[Recipe, ...] = (make,)
    if caller and caller.kind == "package" and (distribution := names.distribution_of(caller.name)):
        who = distribution
        if update and distribution not in TORCH:
            recipes = (
                Recipe(
                    title=f"Take a newer {distribution}",
                    steps=(
                        Action(
                            install=(distribution,), options=(Option.UPGRADE, Option.HOLD_TORCH)
                        ),
                    ),
                ),
                make,
            )
    elif caller and NAME.fullmatch(caller.name):
        who = caller.name
    return who, recipes
