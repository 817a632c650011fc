"""Explain arguments that a function does not take, or misses.

| event | exact | family |
| --- | --- | --- |
| unexpected keyword argument | a function of the timeline with it | whose call |
| missing argument | a parameter that came with a release | – |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from packaging.version import Version

from doctor.analyzers.called_classes import called_class, explain_call
from doctor.analyzers.case import Case, Explanation, detection
from doctor.analyzers.inventory import Caller, Inventory, caller_of, distinct, frames, package_of
from doctor.analyzers.name_findings import explain_release
from doctor.analyzers.python_names import is_passing, mentions
from doctor.analyzers.recipes import program_requirements
from doctor.analyzers.releases import TORCH, Fit, fit
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Confidence
from doctor.timelines import names
from doctor.timelines.names import Signature

_MOST = 8
_PACKAGES = 20
_TOGETHER = 3
_SOME = 40
_ABOVE, _LONGEST = 4, 1000
_CLASS = re.compile(r"[A-Za-z][a-z0-9]{0,40}[A-Z]\w{2,80}")
"""The name of a class with more than one word: short ones are everybody's."""
_METHOD = re.compile(r"[A-Z]\w{2,80}\.[a-z]\w{2,80}")
"""A class with its method: both together are hardly ever anybody else's."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each argument that does not fit."""
    inventory = Inventory(case)
    for event in distinct(case, "keyword-not-accepted", "argument-missing", most=_MOST):
        if is_passing(event):
            continue
        wanted = event.kind == "keyword-not-accepted"
        found = _before_timeline(case, event, inventory) if wanted else None
        found = found or _known(case, event, inventory, wanted=wanted)
        found = found or (explain_call(case, event) or _family(case, event) if wanted else None)
        if found is not None:
            yield found


def _known(case: Case, event: Event, inventory: Inventory, *, wanted: bool) -> Explanation | None:
    """Explain an argument by the releases whose function has the parameter."""
    function, parameter = event.objects["function"], event.objects["name"]
    owners = _mentioned(case, event)
    function = function.removesuffix(".__new__")  # a named tuple
    if function == "__init__":
        name, package = called_class(case, event)
        function = f"{name}.__init__" if name else function
        owners = [one for one in (names.distribution_of(package),) if one] or owners
    owners = list(dict.fromkeys((*owners, *_only_owner(function))))
    found: list[tuple[Signature, Fit]] = []
    for distribution in owners:
        for signature in _signatures(function, distribution):
            history = signature.parameters.get(parameter)
            if history is None or history.always:
                continue
            one = fit(history, inventory.release(distribution))
            # The call shows which side the installed release is on.
            if (one.way == "present") is wanted and one.version:
                continue
            found.append((signature, one))
    if len({(one.distribution, one.way, one.since, one.gone) for _, one in found}) != 1:
        # Classes of one name, in several modules, may have lost the parameter together.
        lost = {(one.distribution, one.gone) for _, one in found if one.gone}
        if not wanted or len(lost) != 1 or not all(one.gone for _, one in found):
            return None
    signature, one = found[0]
    caller = _caller(case, event, signature.module.partition(".")[0])
    name = f"the parameter {parameter} of {signature.name}"
    if wanted:
        if one.way not in ("new", "old", "outside"):
            return None
        return explain_release(event, one, name, (signature.module, parameter), caller)
    return _required(event, one, name, caller)


def _before_timeline(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    """Explain a parameter that each release of the timeline has: the installed one is older.

    The statement above has to call the function by the name of its package.
    """
    function, parameter = event.objects["function"], event.objects["name"]
    statement = "\n".join(
        one[:_LONGEST] for one in case.log.lines[max(event.at - _ABOVE, 0) : event.at]
    )
    for distribution in _mentioned(case, event):
        for signature in _signatures(function, distribution):
            history = signature.parameters.get(parameter)
            root = signature.module.partition(".")[0]
            if history is None or not (history.always and signature.history.always):
                continue
            if not re.search(rf"\b{root}\.(?:\w+\.){{0,6}}{function}\(", statement):
                continue
            first, here = history.releases[0], inventory.release(distribution)
            if here is not None and Version(here) >= Version(first):
                continue
            name = f"the parameter {parameter} of {signature.name}"
            one = Fit("old", first, None, here, distribution)
            found = explain_release(
                event, one, name, (signature.module, parameter), _caller(case, event, root)
            )
            return _with_note(found, _BESIDE_TORCH) if distribution == "xformers" else found
    return None


_BESIDE_TORCH = (
    "Each xformers is built for one torch and moves it: 0.0.16 for 1.13.1, 0.0.20 for 2.0.1, "
    "0.0.23 for 2.1.1. Name the one for the torch that the program needs."
)


def _with_note(found: Explanation, note: str) -> Explanation:
    recipes = tuple(
        msgspec.structs.replace(one, note=f"{one.note} {note}".strip())
        for one in found.detection.recipes
    )
    return msgspec.structs.replace(
        found, detection=msgspec.structs.replace(found.detection, recipes=recipes)
    )


def _signatures(function: str, distribution: str) -> list[Signature]:
    """Return the functions that a message may mean: Python 3.9 and older leave out the class."""
    if function in ("__init__", "__call__", "forward", "<lambda>", "wrapper", "decorator"):
        return []
    return names.functions(function, distribution)[:_SOME]


def _only_owner(function: str) -> list[str]:
    """Return the distribution of a class that no other one has, for a log that names none."""
    name = function.removesuffix(".__init__")
    if not _CLASS.fullmatch(name) and not _METHOD.fullmatch(name):
        return []
    found = {one.distribution for one in names.functions(function)[:_SOME]}
    return list(found) if len(found) == 1 else []


def _mentioned(case: Case, event: Event) -> list[str]:
    """Return the distributions with a timeline that a log names, those of the traceback first."""
    packages = [package_of(path) for path in frames(case, event)]
    near = [names.distribution_of(one) for one in packages if one]
    every = [one for one in names.covered() if mentions(case, one)]
    return list(dict.fromkeys([one for one in (*near, *every) if one]))[:_PACKAGES]


def _caller(case: Case, event: Event, package: str) -> Caller | None:
    return caller_of(case, event, package)


def _required(event: Event, one: Fit, name: str, caller: Caller | None) -> Explanation | None:
    """Explain a parameter that came with a release, and that the caller does not know."""
    if one.since is None or (one.way == "old" and one.version):
        return None
    other = Fit("new", None, one.since, one.version, one.distribution)
    found = explain_release(event, other, f"a way without {name}", (name, name), caller)
    here = f"{one.distribution} {one.version or ''}".strip()
    return _titled(
        found,
        f"{here} asks for {name}, which came with {one.since}",
        f"The caller was written for a {one.distribution} before {one.since}.",
    )


def _titled(found: Explanation, title: str, cause: str) -> Explanation:
    return msgspec.structs.replace(
        found,
        detection=msgspec.structs.replace(found.detection, title=title, message=cause),
    )


def _family(case: Case, event: Event) -> Explanation | None:
    """Explain a call between two packages whose releases are not known."""
    function, parameter = event.objects["function"], event.objects["name"]
    owners = [package_of(path) for path in frames(case, event)]
    inner = next(iter(owners), None)
    if inner is None:
        return _of_program(case, event, function, parameter)
    asking = [one for one in dict.fromkeys(owners) if one][:_TOGETHER]
    known = [name for one in asking if (name := names.distribution_of(one)) and name not in TORCH]
    recipes = (
        (
            Recipe(
                title=f"Bring {' and '.join(known)} to releases of one time",
                use_if=("nothing holds one of them at its release",),
                steps=(Action(install=tuple(known), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
                note="One of them passes on an argument that another one does not know yet, or no "
                "longer. The newest releases of all know each other.",
            ),
        )
        if known
        else ()
    )
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{inner} calls {function}() with {parameter}, which the installed one does not take",
            f"{inner} was written for another release of the package that {function} comes from, "
            f"or passes on an argument that its caller wrote for another release. The release "
            f"notes of that package say since when {parameter} exists, or until when.",
            recipes=recipes,
            confidence=Confidence.LOW,
            name="argument-not-accepted",
        ),
    )


def _of_program(case: Case, event: Event, function: str, parameter: str) -> Explanation | None:
    """Explain a program's call of a class whose package nobody names."""
    own = next(frames(case, event), "")
    name = function.removesuffix(".__init__")
    if not own or name == function or not _CLASS.fullmatch(name):
        return None
    file = re.split(r"[/\\]", own)[-1]
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{file} hands {parameter} to {name}, which the installed {name} does not take",
            f"The program was written for another release of the package that {name}, or the class "
            f"below it, comes from.",
            recipes=program_requirements("the releases that the program was written for"),
            confidence=Confidence.LOW,
            name="argument-not-accepted",
        ),
    )
