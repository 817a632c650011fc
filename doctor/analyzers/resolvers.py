"""Explain requirements that exclude each other, by the statement of the resolver.

| resolver | what is read |
| --- | --- |
| pip | "The conflict is caused by": the two rules about one package that exclude each other |
| uv, Poetry | "depends on … and …", the same |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.companions_of_torch import of_companions
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import NAME, distinct, is_version
from doctor.analyzers.resolver_rules import (
    LONGEST,
    MOST,
    Rule,
    exclude,
    is_own,
    no_rules,
    pip_rules,
    poetry_rules,
    read_rules,
    uv_rules,
)
from doctor.analyzers.same_requirement import of_same_requirement
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe, Snippet
from doctor.model.scales import Confidence, Severity

_SPAN = 80


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each statement of a resolver."""
    titles: set[str] = set()  # the first line of a conflict and its rules are two events
    for event in distinct(case, *_EXPLAINED, most=4):
        if event.speaker == "conda":
            continue
        found = _EXPLAINED[event.kind](case, event)
        if found is not None and found.detection.title not in titles:
            titles.add(found.detection.title)
            yield found


def _after(case: Case, event: Event) -> list[str]:
    """Return the lines of a statement, with the one before them."""
    return [line[:LONGEST] for line in case.log.lines[max(event.at - 4, 0) : event.at + _SPAN]]


def _conflict(case: Case, event: Event) -> Explanation | None:
    """Explain two rules that exclude each other."""
    lines = _after(case, event)
    rules = {
        "pip": pip_rules,
        "uv": uv_rules,
        "Poetry": poetry_rules,
    }.get(event.speaker, no_rules)(lines)
    pair = next(
        (
            (one, other)
            for one, other in combinations(rules[:MOST], 2)
            if one.name == other.name and one.who != other.who and exclude(one, other)
        ),
        None,
    )
    if pair is None:
        return (
            _not_offered(case, event)
            or of_same_requirement(case, event)
            or (of_companions(case, event) if event.speaker == "pip" else None)
            or _unread(event)
        )
    one, other = sorted(pair, key=lambda rule: is_own(rule.who))
    title = f"{_says(one)}, and {_says(other)}: no {one.name} is both"
    return explanation(
        event,
        title,
        "The resolver tried every choice, and these two rules exclude each other. One of them has "
        "to go: the pin, or the release of the package that sets the other rule.",
        _loosened(one, other)
        if "you" in {one.who, other.who}
        else _rewritten(one, other, _extra_asked(lines)),
        contradicts=("torch/pins-contradict",) if event.speaker in ("pip", "uv") else (),
    )


def _not_offered(case: Case, event: Event) -> Explanation | None:
    """Explain packages that no index which was asked has for this Python.

    pip lists them under a sentence of their own; some programs print its errors last.
    """
    near = case.log.lines[max(event.at - _SPAN, 0) : event.at + _SPAN]
    text = " ".join(" ".join(line[:LONGEST] for line in near).split())
    _, found, after = text.partition(_NOT_OFFERED)
    lacking = tuple(
        name
        for name in after.partition(" To fix this")[0].split()
        if NAME.fullmatch(name.rstrip(":"))
    )[:_LACKING]
    if not found or not lacking:
        return None
    names = ", ".join(lacking)
    return explanation(
        event,
        f"The index that pip asked has no {names} for this Python",
        "The rules do not exclude each other: each release asks for a package that the index does "
        "not offer, as with --index-url and an index that holds torch alone.",
        (
            Recipe(
                title=f"Install {names} from the usual index first, then repeat the command",
                note="--extra-index-url in the place of --index-url asks both at once.",
                steps=(Action(install=lacking),),
            ),
        ),
        name="requirement-not-offered",
    )


_NOT_OFFERED = "no matching distributions available for your environment:"
_LACKING = 8


def _unread(event: Event) -> Explanation | None:
    """Explain a conflict whose rules the log does not show."""
    asked = event.objects.get("requirements")
    if not asked:
        return None
    return explanation(
        event,
        f"No choice of releases lets these be installed together: {asked[:200]}",
        "pip names the rules that exclude each other below this line, under the words that the "
        "conflict is caused by. The log does not show two that do.",
        exact=False,
    )


def _between(one: Rule, other: Rule) -> tuple[Recipe, ...]:
    """Return what helps where two packages exclude each other: a newer one, or an override."""
    old, new = (one, other) if _is_bounded(one) else (other, one)
    package, _, version = old.who.partition(" ")
    recipes = []
    if NAME.fullmatch(package) and is_version(version):
        recipes.append(
            _install(
                f"Take a {package} after {version}, whose rule may be wider",
                (f"{package}>{version}",),
                f"{package} has a newer release",
            )
        )
    wanted, asking = new.name + str(new.specifier), new.who.partition(" ")[0]
    if str(new.specifier) and NAME.fullmatch(asking):
        recipes.append(
            Recipe(
                title=f"Have uv pass over the rule of {old.who}",
                use_if=(f"{package} works with {wanted} all the same, or is not needed",),
                note="The file overrides.txt is made in the current folder. Where the project is a "
                f"clone, write its folder, such as -e ., instead of {asking}.",
                steps=(
                    Action(run=("sh", "-c", f"echo '{wanted}' > overrides.txt")),
                    Action(run=("uv", "pip", "install", "--override", "overrides.txt", asking)),
                ),
                lasting=False,
            )
        )
    return tuple(recipes)


def _is_bounded(rule: Rule) -> bool:
    """Say whether a rule excludes newer releases."""
    return any(spec.operator in ("<", "<=", "==", "~=") for spec in rule.specifier)


def _rewritten(one: Rule, other: Rule, asked: str) -> tuple[Recipe, ...]:
    """Return what to change in the list of a project; its own name is no name for an installer."""
    if extras := _two_extras(one.who, other.who, asked):
        return extras
    if not is_own(other.who) or not str(one.specifier):
        return () if is_own(one.who) or is_own(other.who) else _between(one, other)
    package, _, version = one.who.partition(" ")
    where = "the dependencies in pyproject.toml"
    unpinned = Recipe(
        title=f"Keep {other.text}, and let the installer choose {package}",
        use_if=(f"the release of {package} is not needed",),
        snippet=Snippet(where=where, before=f"{package}=={version}", after=package),
    )
    return (
        Recipe(
            title=f"Let {other.name} be what {one.who} wants",
            use_if=(f"nothing needs {other.text}",),
            snippet=Snippet(where=where, before=other.text, after=one.name + str(one.specifier)),
        ),
        *((unpinned,) if NAME.fullmatch(package) and is_version(version) else ()),
    )


_EXTRA = re.compile(r"([A-Za-z][\w.-]{0,80})\[([\w.-]{1,60})\]$")


_EXTRA_ASKED = re.compile(r"\buv .{0,200}--extra[ =]([\w.-]{1,60})")


def _extra_asked(lines: list[str]) -> str:
    """Return the extra that the command of the log asks for."""
    return next((match[1] for line in lines if (match := _EXTRA_ASKED.search(line))), "")


def _two_extras(one: str, other: str, asked: str) -> tuple[Recipe, ...]:
    """Return what helps where two extras of one project exclude each other.

    uv locks all extras of a project together, unless they are declared as conflicts
    (https://docs.astral.sh/uv/concepts/projects/config/#conflicting-dependencies).
    """
    first, second = _EXTRA.match(one), _EXTRA.match(other)
    if not first or not second or first[1] != second[1] or first[2] == second[2]:
        return ()
    wanted = asked or min((first[2], second[2]), key=lambda extra: (extra != "all", extra))
    return (
        Recipe(
            title=f"Install the extra {wanted} alone, without locking the project",
            note="Then start the installed program itself, not by uv run, which locks again.",
            steps=(Action(run=("uv", "pip", "install", "-e", f".[{wanted}]")),),
        ),
        Recipe(
            title="Tell uv that nobody installs both extras together",
            snippet=Snippet(
                where="pyproject.toml",
                after="[tool.uv]\nconflicts = [\n"
                f'    [{{ extra = "{first[2]}" }}, {{ extra = "{second[2]}" }}],\n]',
            ),
        ),
    )


def _says(rule: Rule) -> str:
    wants = rule.name + str(rule.specifier) if str(rule.specifier) else rule.name
    return f"you ask for {wants}" if rule.who == "you" else f"{rule.who} wants {wants}"


def _loosened(one: Rule, other: Rule) -> tuple[Recipe, ...]:
    """Return what lets one of two rules go."""
    rules = (one, other)
    own = [rule for rule in rules if rule.who == "you"]
    asking = [rule for rule in rules if rule.who != "you"]
    recipes = []
    if own and asking:
        package = asking[0].who.partition(" ")[0].partition("[")[0]
        pin = asking[0].name + str(asking[0].specifier)
        if NAME.fullmatch(package):
            recipes = [
                _install(
                    f"Let {own[0].name} be what {asking[0].who} wants",
                    (pin, asking[0].who.replace(" ", "==", 1))
                    if is_version(asking[0].who.partition(" ")[2])
                    else (pin, package),
                    f"nothing needs {own[0].text}",
                ),
                _install(
                    f"Keep {own[0].text}, and let the installer choose {package}",
                    (own[0].text, package),
                    f"the release of {package} is not needed",
                ),
            ]
    return tuple(recipes)


def _install(title: str, requirements: tuple[str, ...], condition: str) -> Recipe:
    return Recipe(
        title=title,
        use_if=(condition,),
        steps=(Action(install=requirements, options=(Option.HOLD_TORCH,)),),
    )


def _unmet(case: Case, event: Event) -> Explanation | None:
    """Explain an installed release that another package refuses."""
    requirement = event.objects["requirement"].strip()
    rules = list(read_rules(event.objects.get("package", "a package"), requirement))
    if not rules:
        return None
    rule, installed = rules[0], event.objects["installed"]
    package = (
        f"{event.objects.get('package', 'a package')} {event.objects.get('version', '')}".strip()
    )
    if is_version(installed) and rule.specifier.contains(installed, prereleases=True):
        return None
    del case
    wants = rule.name + str(rule.specifier)
    torch = rule.name in ("torch", "torchvision", "torchaudio", "triton")
    recipes: tuple[Recipe, ...] = ()
    if not torch and str(rule.specifier):
        recipes = (
            Recipe(
                title=f"Take a {rule.name} that {package} accepts",
                use_if=("nothing needs the installed release",),
                steps=(Action(install=(wants,), options=(Option.HOLD_TORCH,)),),
            ),
        )
    name = event.objects.get("package", "")
    if NAME.fullmatch(name) and name not in ("torch", "torchvision", "torchaudio"):
        recipes += (
            Recipe(
                title=f"Take a {name} for {rule.name} {installed}",
                use_if=(f"{name} has such a release",),
                steps=(Action(install=(name,), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
            ),
        )
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{package} wants {wants}, and {rule.name} {installed} is installed",
            f"pip put it there for another package, and says so only afterwards. {package} may "
            f"fail, or work all the same; where it does, nothing has to be done.",
            recipes=recipes,
            severity=Severity.NOTE if event.level.value == "warning" else Severity.ERROR,
            confidence=Confidence.HIGH,
        ),
    )


def _absent(case: Case, event: Event) -> Explanation | None:
    """Explain a distribution that pkg_resources does not find."""
    del case
    requirement, package = event.objects["requirement"], event.objects["package"]
    rules = list(read_rules(package, requirement))
    if not rules:
        return None
    return explanation(
        event,
        f"{package} needs {requirement}, which is not installed for this Python",
        "Its start script reads what is installed for the Python that it was installed with.",
        (
            Recipe(
                title=f"Install {rules[0].name}",
                steps=(
                    Action(
                        install=(rules[0].name + str(rules[0].specifier),),
                        options=(Option.HOLD_TORCH,),
                    ),
                ),
            ),
        ),
    )


_EXPLAINED = {
    "resolver-conflict": _conflict,
    "requirement-unmet": _unmet,
    "requirement-absent": _absent,
}
