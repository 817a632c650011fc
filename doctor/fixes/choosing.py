"""Choose among the fixes of a finding by what is known of the machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

from doctor.base.requirements import InvalidRequirement, meets, read_line
from doctor.base.versions import parse
from doctor.facts.conditions import condition_holds, may_apply
from doctor.facts.placeholders import fill
from doctor.fixes.circumstances import circumstance
from doctor.model.facts import Facts, value_of
from doctor.model.issues import Condition, Recipe

_TORCH = re.compile(r"torch(?:[=<>~!]|$)")
_TAG = re.compile(r"/cu(\d{2,3})$")
_OF_TORCH = ("torch.release", "torch.version", "torch.build")
_NOT_SEEN = (
    *("cuda.gcc_max", "nvidia.driver_branch", "nvidia.fabric_wanted", "nvidia.uvm"),
    *("nvidia.xid_gsp", "nvidia.xid_restart", "python.minor"),
)
_UNKNOWN = tuple((name, True) for name in (*_OF_TORCH, *_NOT_SEEN))
"""Conditions by which authors say that nothing is known of something."""
_GUARDS = (
    *("nvidia.build_failed", "nvidia.module_left", "nvidia.undriven", "nvidia.visible"),
    *("nvidia.needs_legacy_driver", "nvidia.needs_older_driver", "nvidia.needs_open_module"),
)
"""Facts whose absence keeps a fix from machines on which it would do harm."""
_SETTING = ("host.", "python.conda", "python.uv", "nvidia.gpu_present")
"""Facts that say where a program runs, and not what is wrong with it."""
_RARE = ("host.jetson", "host.wsl", "host.rosetta", "nvidia.nvswitch", "nvidia.l4t_driver")
_RED_HATS = ("almalinux", "centos", "fedora", "ol", "rhel", "rocky")
_RARE_FAULTS = ("nvidia.libraries_empty",)
_RARE_CONTAINERS = ("^flatpak", "^lxc")
_BETWEEN = tuple(
    f"{major}.{minor}.{patch}" for major in (0, 1, 2) for minor in range(30) for patch in (0, 1)
)
"""Stand-ins for the releases of torch, for a requirement that lies between two of them."""
_NEWEST_GPUS = ("9.0", "10.0", "10.3", "11.0", "12.0", "12.1")
_NEWEST_TORCH = "2.15.0"
"""The release of torch that a log names where it is used; most logs are older."""


def applicable(
    recipes: Sequence[Recipe], facts: Facts, captures: Mapping[str, str] | None = None
) -> list[Recipe]:
    """Return the recipes that may apply, by preference.

    One that the facts confirm comes before those of which nobody knows whether they apply. Where
    the facts speak for both, the order of the entry stands: a sentence may be a mere caution. What
    is for a rare machine of which nothing shows comes later, and what no wheel exists for last,
    with that as its condition.
    """
    fitting = [_for_python(one, facts, captures or {}) for one in recipes if may_apply(one, facts)]
    possible = [recipe for recipe, lacks_wheel in fitting if not lacks_wheel]
    possible.sort(key=lambda one: is_rare(one, facts))
    ordered: list[Recipe] = []
    for recipe in possible:
        later: Callable[[Recipe, Facts], bool] | None = None
        if is_confirmed(recipe, facts):
            later = _is_guess
        elif is_general(recipe, facts):
            later = _asks_for_torch
        places = [at for at, one in enumerate(ordered) if later is not None and later(one, facts)]
        ordered.insert(places[0] if places else len(ordered), recipe)
    unserved = (recipe for recipe, lacks_wheel in fitting if lacks_wheel)
    return [*ordered, *sorted(unserved, key=lambda one: is_rare(one, facts))]


def is_rare(recipe: Recipe, facts: Facts) -> bool:
    """Say whether a recipe is for a kind of machine that few have, and of which nothing is known.

    A log of such a machine mostly shows what it is.
    """
    return any(
        condition_holds(one, facts).truth is None and _is_rare(one) for one in recipe.conditions
    )


def _is_rare(condition: Condition) -> bool:
    fact = condition.fact
    if fact in _RARE:
        return not condition.absent and condition.equals is not False
    if fact in _RARE_FAULTS:
        return bool(condition.present)
    if fact == "host.container":
        return (condition.matches or "").startswith(_RARE_CONTAINERS)
    if fact == "host.machine":
        return condition.equals in ("aarch64", "ppc64le")
    if fact == "python.newest_torch":  # a Python that no current torch serves
        return condition.equals is not msgspec.UNSET
    if fact == "host.distribution_id":
        return {condition.equals, *(condition.one_of or ())} <= {msgspec.UNSET, *_RED_HATS}
    if fact == "torch.release" and condition.range is not None:
        return condition.range.introduced == _NEWEST_TORCH
    return (
        fact in ("nvidia.capability_min", "nvidia.capability_max")
        and condition.range is not None
        and condition.range.introduced in _NEWEST_GPUS
    )


def is_open(recipe: Recipe, facts: Facts) -> bool:
    """Say whether a reader has to decide whether a recipe applies."""
    return bool(recipe.sentences) or any(
        condition_holds(one, facts).truth is None and open_sentence(one, recipe)
        for one in recipe.conditions
    )


def open_sentence(condition: Condition, recipe: Recipe) -> str:
    """Return an open condition as a sentence, empty where no reader has to be asked.

    That a machine is no Jetson goes without saying, unless the machine itself is changed; that a
    variable is not set does as well.
    """
    usual = condition.fact == "host.jetson" or condition.fact.startswith("env.")
    if usual and condition.absent and not on_machine(recipe):
        return ""
    return circumstance(condition)


def on_machine(recipe: Recipe) -> bool:
    """Say whether a recipe changes the machine itself, as its administrator."""
    return any(one.sudo or one.system for one in recipe.steps) and recipe.lasting


def is_blind(recipe: Recipe, facts: Facts) -> bool:
    """Say whether a recipe changes the machine for a reason that nobody has seen.

    Its condition is about a fact that is unknown, and that a reader cannot tell either.
    """
    return on_machine(recipe) and any(
        condition_holds(one, facts).truth is None
        and not circumstance(one)
        and not one.fact.startswith(_SETTING)
        for one in recipe.conditions
        if (one.fact, one.absent) not in _UNKNOWN
        and not (one.absent and one.fact in _GUARDS)
        and not (one.present and one.fact == "nvidia.libcuda")
    )


def is_confirmed(recipe: Recipe, facts: Facts) -> bool:
    """Say whether facts about the failure itself answer all conditions of a recipe."""
    return _speaks_for(recipe, facts) and not is_open(recipe, facts) and recipe.lasting


def _is_guess(recipe: Recipe, facts: Facts) -> bool:
    return is_open(recipe, facts) and not _speaks_for(recipe, facts)


def _speaks_for(recipe: Recipe, facts: Facts) -> bool:
    """Say whether a fact about the failure itself, not the lack of one, asks for a recipe."""
    return any(
        condition_holds(one, facts).truth
        for one in recipe.conditions
        if not one.absent and not one.fact.startswith(_SETTING)
    )


def is_general(recipe: Recipe, facts: Facts) -> bool:
    """Say whether a recipe is for where nothing is known of torch, and nothing else is open."""
    others = [one for one in recipe.conditions if not one.fact.startswith((*_OF_TORCH, "host."))]
    if recipe.sentences or any(condition_holds(one, facts).truth is None for one in others):
        return False
    return any(
        one.fact in _OF_TORCH and one.absent and condition_holds(one, facts).truth is None
        for one in recipe.conditions
    )


def _asks_for_torch(recipe: Recipe, facts: Facts) -> bool:
    return not is_general(recipe, facts) and any(
        one.fact.startswith("torch.") and condition_holds(one, facts).truth is None
        for one in recipe.conditions
    )


def _for_python(recipe: Recipe, facts: Facts, captures: Mapping[str, str]) -> tuple[Recipe, bool]:
    """Return a recipe, and whether it asks for a torch that was not released for this Python."""
    python = value_of(facts, "python.minor")
    newest = value_of(facts, "python.newest_torch")
    oldest = value_of(facts, "python.oldest_torch")
    tags = value_of(facts, "python.newest_torch_tags")
    if not (isinstance(newest, str) and isinstance(oldest, str)):
        return recipe, False
    for step in recipe.steps:
        wanted = [fill(text, facts, captures) or "" for text in step.install]
        torch = next((text for text in wanted if _TORCH.match(text)), "")
        if torch and (not _offered(torch, oldest, newest) or _is_newer(step.index, tags)):
            condition = (
                f"another Python is taken, since no such torch was released for Python {python}"
            )
            return msgspec.structs.replace(recipe, use_if=(condition, *recipe.use_if)), True
    return recipe, False


def _is_newer(index: str | None, tags: object) -> bool:
    """Say whether an index of PyTorch is for a newer CUDA than all that this Python has."""
    asked = _TAG.search(index or "")
    numbers = [int(found[1]) for one in _texts(tags) if (found := _TAG.search("/" + one))]
    return asked is not None and bool(numbers) and int(asked[1]) > max(numbers)


def _texts(value: object) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list | tuple) else []


def _offered(requirement: str, oldest: str, newest: str) -> bool:
    """Say whether any torch between two releases meets a requirement; True where that is open."""
    try:
        line = read_line(requirement)
    except InvalidRequirement:
        return True
    exact = line.specifier.removeprefix("==").partition("+")[0]
    if line.specifier.startswith("==") and (version := parse(exact)) is not None:
        low, high = parse(oldest), parse(newest)
        return low is None or high is None or low <= version <= high
    low, high = parse(oldest), parse(newest)
    if low is None or high is None:
        return True
    try:
        return any(
            meets(str(one), line.specifier)
            for one in (low, *map(parse, _BETWEEN), high)
            if one is not None and low <= one <= high
        )
    except InvalidRequirement:
        return True
