"""Explain names that a module does not have: gone, not there yet, moved, or hidden by a file.

| event | exact | family |
| --- | --- | --- |
| cannot import name, module has no attribute | a package of the timeline, Python | others |
| object has no attribute | a class of the timeline, or of Python | – |
| partially initialized module | a file that hides a package | a circle of imports |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.borrowed_names import explain_elsewhere
from doctor.analyzers.case import Case, Explanation, detection
from doctor.analyzers.inventory import (
    NAME,
    Caller,
    Inventory,
    caller_of,
    distinct,
    frames,
    is_library,
    package_of,
)
from doctor.analyzers.name_findings import (
    explain_hidden,
    explain_inconsistent,
    explain_release,
    explain_standard,
    explain_without_code,
    hides,
)
from doctor.analyzers.python_path import explain_search_path
from doctor.analyzers.recipes import again, command, newest
from doctor.analyzers.releases import Fit, fit, narrowed
from doctor.analyzers.unknown_names import (
    NAMESPACES,
    explain_own,
    explain_present,
    explain_unknown,
    for_python,
    without_version,
)
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Confidence
from doctor.timelines import names
from doctor.timelines.names import History
from doctor.timelines.standard_library import (
    standard_attribute,
    standard_module,
    standard_name,
)

_PASSING = re.compile(
    r"\bwarn|not available|will not be|will be disabled|optional|Error caught was|falling back"
    r"|fall back|skipp|disabl|could not be imported, so"
    r"|Unable to initialize backend|\bINFO\b|\bDEBUG\b",
    re.IGNORECASE,
)
"""What a line says that only reports that a program goes on without something."""
_QUOTED = re.compile(r"'[\w.]{1,200}'")
"""A name in a message, such as 'warnings', which says nothing of how grave it is."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each name that is missing."""
    inventory = Inventory(case)
    for event in distinct(case, *_EXPLAINED):
        if is_passing(event):
            continue
        if (found := _EXPLAINED[event.kind](case, event, inventory)) is not None:
            yield found


def is_passing(event: Event) -> bool:
    """Say whether a line only reports that a program goes on without something."""
    return bool(_PASSING.search(_QUOTED.sub("", event.text)))


def _missing(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    """Explain a name that a module does not have."""
    name = event.objects["name"]
    module = event.objects.get("module") or _asked_module(case, event, name)
    if not module:
        return None
    package, path = module.partition(".")[0], event.objects.get("path", "")
    caller = caller_of(case, event, package)
    if hidden := explain_search_path(case, event, path, package):
        return hidden
    if package != "torch" and standard_module(package):
        return _of_python(event, inventory, module, name, caller)
    if "unknown location" in event.text:
        near = " ".join(line[:_LONGEST] for line in case.log.lines[:_LINES])
        return explain_without_code(event, module, caller, near=near)
    if path and not is_library(path) and names.distribution_of(package) and hides(path, package):
        return explain_hidden(event, path, package)
    history = names.importable(module, name)
    if history is None and names.module_history(module) is None:
        return (
            explain_own(case, event, (module, name), caller)
            or _stranger(case, event, package, name, caller)
            or _other(event, module, name, caller)
            or explain_unknown(event, module, name, caller)
        )
    elsewhere = explain_elsewhere(case, event, (module, name), caller, history)
    if elsewhere or history is None:
        return elsewhere
    version = inventory.release(history.distribution)
    found = narrowed(fit(history, version), history, _beside(case, event, module, name))
    found = for_python(found, inventory)
    if caller is None and frames_inside(case, event, package):
        return explain_inconsistent(event, found, module, name)
    if found.way == "present":
        return explain_present(event, found, module, name)
    moved = names.importable(module, name, at=version)
    place = moved.moved_to if moved else None
    return explain_release(
        event, found, name, (module, name), caller, place if found.way != "old" else None
    )


def _asked_module(case: Case, event: Event, name: str) -> str:
    """Return the module of the import statement that the traceback shows last for a name.

    A relative module is read from the folder of the frame above it.
    """
    for at in range(event.at - 1, max(event.at - _ABOVE, -1), -1):
        line = case.log.lines[at][:_LONGEST]
        statement = _FROM.search(line)
        if statement is None or not re.search(rf"\b{re.escape(name)}\b", statement[2]):
            continue
        if not statement[1].startswith("."):
            return statement[1]
        return _absolute(statement[1], next(frames(case, event), ""))
    return ""


def _absolute(relative: str, path: str) -> str:
    """Return the full name of a module that a file in site-packages asks for by dots."""
    inside = _SITE.search(path)
    if inside is None:
        return ""
    dots = len(relative) - len(relative.lstrip("."))
    folders = re.split(r"[/\\]", inside[1])[:-dots]
    return ".".join([*folders, relative.lstrip(".")]) if folders else ""


_ABOVE = 12
_FROM = re.compile(r"\bfrom (\.{0,4}[\w.]{1,200}) import \(?([\w, ]{1,900})")
_SITE = re.compile(r"[/\\](?:site|dist)-packages[/\\](.{1,400})$")


def _beside(case: Case, event: Event, module: str, name: str) -> list[History]:
    """Return the histories of the names to the left of one in its import statement."""
    for line in reversed(case.log.lines[max(event.at - 4, 0) : event.at]):
        statement = _IMPORT.search(line[:_LONGEST])
        if statement and statement[1] == module:
            left = re.split(rf"\b{re.escape(name)}\b", statement[2], maxsplit=1)
            if len(left) < 2:
                return []
            found = (names.importable(module, one) for one in re.findall(r"[A-Za-z_]\w*", left[0]))
            return [one for one in found if one is not None and one.present][:_SOME]
    return []


_IMPORT = re.compile(r"\bfrom ([\w.]{1,200}) import \(?([\w, ]{1,900})")

_LONGEST, _LINES, _SOME = 1000, 400, 12


def frames_inside(case: Case, event: Event, package: str) -> bool:
    """Say whether only code of a package itself stands in the traceback."""
    owners = {
        package_of(path)
        for path in frames(case, event)
        if package_of(path) is not None or not is_library(path)
    }
    return owners == {package}


def _of_python(
    event: Event, inventory: Inventory, module: str, name: str, caller: Caller | None
) -> Explanation | None:
    """Explain a name that a module of the standard library does not have."""
    if name == "__version__":
        return without_version(event, module)
    return explain_standard(
        event, inventory, standard_name(module, name), f"{module}.{name}", caller
    )


def _other(event: Event, module: str, name: str, caller: Caller | None) -> Explanation | None:
    """Explain a name that a program's import does not find, where nobody knows the module.

    A folder without `__init__.py` is imported as an empty namespace (PEP 420): a clone beside the
    program hides the package in it.
    """
    if event.kind != "module-attribute-missing" or not NAME.fullmatch(module) or "." in module:
        return None
    if caller is None or caller.kind != "project" or module in NAMESPACES:
        return None
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"What Python imported as {module} has no {name}: a folder of that name, or another "
            "release",
            f"A folder {module} beside the program, such as a clone, is imported before the "
            "installed package, and is empty for Python where its package lies one folder deeper. "
            "Otherwise the program is written for another release.",
            recipes=(
                Recipe(
                    title=f"Install the package from the clone {module}",
                    use_if=(f"the current folder holds a clone named {module}",),
                    steps=(Action(install=("-e", f"./{module}"), options=(Option.HOLD_TORCH,)),),
                    note="Start the program from another folder afterwards, or restart the "
                    "notebook.",
                ),
                command(
                    "See what was imported",
                    "{python.executable}",
                    "-c",
                    f"import {module}; print({module}, getattr({module}, '__version__', ''))",
                    look=True,
                    note="(namespace) means a folder without the package.",
                ),
            ),
            name="module-of-another-place",
            confidence=Confidence.LOW,
        ),
    )


def _stranger(
    case: Case, event: Event, package: str, name: str, caller: Caller | None
) -> Explanation | None:
    """Explain a name that an installed package without a timeline does not have."""
    path = event.objects.get("path", "")
    asked = not path and caller is not None and caller.kind == "package"
    if package_of(path) != package and not (asked and caller and caller.name != package):
        return None  # the folder of the program itself, or nobody knows where it lies
    distribution = names.distribution_of(package) or package
    own = caller is None
    if {package, caller.name if caller else ""} & NAMESPACES:
        return None
    recipes: tuple[Recipe, ...] = ()
    if own and names.distribution_of(package):
        recipes = (again(distribution),)
    elif package in _FOR_EACH_CUDA:
        recipes = (_upgrade_for_cuda(case),)
    elif caller and NAME.fullmatch(distribution) and distribution != "torch":
        asking = names.distribution_of(caller.name) or caller.name
        # Of an attribute without a path the name may be a module inside of the caller, and
        # another's on PyPI.
        imported = event.kind == "name-not-importable"
        known = bool(path or imported or names.distribution_of(package))
        recipes = (
            *(
                (_upgrade(f"Update {package}, where {caller.name} is the newer one", distribution),)
                if known
                else ()
            ),
            *(
                (_upgrade(f"Update {caller.name}, where it is the older one", asking),)
                if NAME.fullmatch(asking) and asking != "torch"
                else ()
            ),
        )
    who = f"{caller.name} asks for it" if caller else "Its own files ask for it"
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"The installed release of {package} has no {name}",
            f"{who}, so that the two do not go together."
            if caller
            else f"{who}: files of two releases lie in one folder.",
            recipes=recipes,
            name="name-not-in-release",
            confidence=Confidence.LOW if caller else Confidence.MEDIUM,
        ),
    )


_FOR_EACH_CUDA = frozenset(["cumm", "spconv"])
"""Modules of spconv: PyPI's packages of the same names have no CUDA and overwrite those with it."""
_SUFFIX = re.compile(r"\b(?:cumm|spconv)[-_](cu\d{2,3})\b")


def _upgrade_for_cuda(case: Case) -> Recipe:
    """Return the upgrade of spconv and cumm together, in the build that the log names."""
    suffixes = {found[1] for line in case.log.lines for found in _SUFFIX.finditer(line[:_LONGEST])}
    known = len(suffixes) == 1
    suffix = min(suffixes) if known else "<cuda>"
    return Recipe(
        title="Move spconv and cumm together to releases that go with each other",
        use_if=("no other package here pins them",),
        steps=(
            Action(
                install=(f"spconv-{suffix}", f"cumm-{suffix}"),
                options=(Option.UPGRADE, Option.HOLD_TORCH),
            ),
        ),
        ask={} if known else {"cuda": "the suffix of both in pip list, for example cu114"},
    )


def _upgrade(title: str, distribution: str) -> Recipe:
    return newest(distribution, title=title, use_if=("no other package here pins it",))


def _attribute(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    """Explain an attribute that an object does not have."""
    owner, name = event.objects["class"].rpartition(".")[2], event.objects["name"]
    if since := standard_attribute(event.objects["class"], name):
        caller = caller_of(case, event, "")
        return explain_standard(event, inventory, since, f"the method {name} of {owner}", caller)
    if owner in _TOO_COMMON:
        return None
    mentioned = [one for one in names.covered() if mentions(case, one)] or _TRAINERS
    found = []
    for distribution in mentioned[:_PACKAGES]:
        for each in names.class_attributes(owner, distribution):
            history = each.attributes.get(name)
            if history is None:
                continue
            one = fit(history, inventory.release(distribution))
            # What a base that is not known may have says nothing of a name that came later.
            if _may_be_saved(each.module, one):
                continue  # a pickled layer holds the attributes of its day
            if not each.dynamic.present or (one.way == "old" and not history.has_left):
                found.append((each, one))
    ways = {(one.distribution, one.way, one.since, one.gone) for _, one in found}
    if len(ways) != 1 or found[0][1].way == "present":
        return None
    each, one = found[0]
    caller = caller_of(case, event, each.module.partition(".")[0])
    return explain_release(event, one, f"{owner}.{name}", (each.module, name), caller)


def _may_be_saved(module: str, found: Fit) -> bool:
    """Say whether an object of a class may come from a file, and nothing tells the release here."""
    return found.way == "old" and found.version is None and module.startswith("torch.nn")


_TOO_COMMON = frozenset({"NoneType", "str", "dict", "list", "int", "tuple", "function", "type"})

_PACKAGES = 20
_TRAINERS = ["pytorch-lightning", "transformers", "trl", "keras", "torch"]
"""Packages whose classes a program subclasses: no frame of theirs need stand in a traceback."""


def mentions(case: Case, distribution: str) -> bool:
    """Say whether a log names a distribution, in a path or otherwise."""
    words = (distribution, distribution.replace("-", "_"))
    return any(word in line for line in case.log.lines for word in words)


_EXPLAINED = {
    "name-not-importable": _missing,
    "module-attribute-missing": _missing,
    "object-attribute-missing": _attribute,
}
