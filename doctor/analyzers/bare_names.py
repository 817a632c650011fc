"""Explain an AttributeError whose message is a name alone: a module that makes its names itself.

Such a module (`jax.core`, `numpy`) raises the name where it does not have it. Which package has a
name of that spelling is known by the timeline.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inventory import Inventory
from doctor.analyzers.recipes import newest
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.timelines import names
from doctor.timelines.names import Attributes

_TOGETHER = {"jax": ("jax", "jaxlib"), "jaxlib": ("jax", "jaxlib")}
"""Packages that move in one release."""
_LINES = 4000


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each bare name that one package of the log has."""
    seen: set[str] = set()
    for event in case.of("bare-attribute-missing"):
        name = event.objects["name"]
        if name not in seen and (found := _explained(case, event, name)) is not None:
            seen.add(name)
            yield found


def _explained(case: Case, event: Event, name: str) -> Explanation | None:
    text = "\n".join(line[:400] for line in case.log.lines[:_LINES])
    owners = [
        one
        for one in names.class_attributes(name)
        if re.search(rf"\b(?:import|from) {re.escape(one.module.partition('.')[0])}\b", text)
        and one.history.first
    ]
    if len({one.distribution for one in owners}) != 1:
        return None
    owner = owners[0]
    caller = _caller(text, owner.module.partition(".")[0])
    return _finding(case, event, owner, caller)


_IMPORTS = re.compile(
    r"-packages[/\\](\w{2,40})[/\\][^\n]{0,200}(?:\n[^\n]{0,300}){0,12}?\n[^\n]{0,40}"
    r"(?:import|from) (\w{2,40})"
)


def _caller(text: str, package: str) -> str:
    """Return the last package of the traceback that imports another one; empty for none."""
    asking = [found[1] for found in _IMPORTS.finditer(text[:60_000]) if found[1] != package]
    return asking[-1] if asking else ""


def _finding(case: Case, event: Event, owner: Attributes, caller: str) -> Explanation:
    package, history = owner.distribution, owner.history
    here = Inventory(case).release(package)
    together = _TOGETHER.get(package, (package,))
    left = history.has_left
    since = f"{history.first} or older" if history.first == history.releases[0] else history.first
    has = f"{owner.module} has it from {since}" + (f" to {history.last}" if left else "")
    named = f" {here}" if here else ""
    asks = caller or "the program"
    upgrade = newest(
        *together,
        title=f"Take the newest {' and '.join(together)} together",
        use_if=(f"{package} is older than {asks}",),
    )
    bounded = Recipe(
        title=f"Take the last {package} that has {owner.name}",
        use_if=(f"{package} is newer than {history.last}",),
        steps=(
            Action(
                install=tuple(f"{one}<={history.last}" for one in together),
                options=(Option.HOLD_TORCH,),
            ),
        ),
    )
    module = names.distribution_of(caller) if caller else None
    released = _released(module, package) if module else ()
    return Explanation(
        event=event,
        precision=Precision.EXACT if here or caller else Precision.FAMILY,
        detection=detection(
            event,
            f"{package}{named} has no {owner.name}, which {asks} uses",
            f"{has}. Where {package} is older, {' and '.join(together)} move up together; "
            "restart a notebook afterwards. Where it is newer, the caller has to move.",
            recipes=(upgrade, *released, *((bounded,) if left else ())),
            name="name-of-another-release",
            captures={"name": owner.name, "package": package},
        ),
    )


def _released(module: str, package: str) -> tuple[Recipe, ...]:
    return (
        Recipe(
            title=f"Take a released {module} that fits this {package}",
            use_if=(f"{module} came from its repository, and not from PyPI",),
            steps=(Action(install=(module,), options=(Option.REINSTALL, Option.NO_DEPS)),),
        ),
    )
