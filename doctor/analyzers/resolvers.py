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
from typing import NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import NAME, distinct, each_match, is_version
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe, Snippet
from doctor.model.scales import Confidence, Severity

_SPAN = 80

_LONGEST = 4000

_MOST = 60

_PIP_RULE = re.compile(
    r"^\s{2,12}(?P<who>The user requested(?: \(constraint\))?|\S{1,100} \d\S{0,60} depends on|"
    r"\S{1,100} depends on) (?P<what>[^;]{1,200})"
)

_WORDS = r"[A-Za-z][\w.-]{0,80}(?:\[[\w,.-]{1,80}\])?"

_RANGE = r"(?:[<>=!~]=?=?[\w.*+!]{1,40}(?:,\s?[<>=!~]=?=?[\w.*+!]{1,40}){0,6})"

_UV_RULE = (
    rf"(?P<who>(?:your (?:project|workspace)|{_WORDS}(?:{_RANGE})?) (?:depends on|requires)|"
    rf"you require|all of: )\s{{1,4}}(?P<what>{_WORDS}(?:\{{[^}}]{{1,80}}\}})?(?:{_RANGE})?)"
)

_POETRY_RULE = (
    rf"(?P<who>{_WORDS}(?: \([^)]{{1,80}}\))?) depends on (?P<what>{_WORDS} \([^)]{{1,80}}\))"
)


class _Rule(NamedTuple):
    """One rule: who asks, and for which releases of which package."""

    who: str
    text: str
    name: str
    specifier: SpecifierSet


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each statement of a resolver."""
    for event in distinct(case, *_EXPLAINED, most=4):
        if event.speaker == "conda":
            continue
        if (found := _EXPLAINED[event.kind](case, event)) is not None:
            yield found


def _after(case: Case, event: Event) -> list[str]:
    """Return the lines of a statement, with the one before them."""
    return [line[:_LONGEST] for line in case.log.lines[max(event.at - 2, 0) : event.at + _SPAN]]


def _conflict(case: Case, event: Event) -> Explanation | None:
    """Explain two rules that exclude each other."""
    lines = _after(case, event)
    rules = {
        "pip": _pip_rules,
        "uv": _uv_rules,
        "Poetry": _poetry_rules,
    }.get(event.speaker, _no_rules)(lines)
    pair = next(
        (
            (one, other)
            for one, other in combinations(rules[:_MOST], 2)
            if one.name == other.name and one.who != other.who and _exclude(one, other)
        ),
        None,
    )
    if pair is None:
        return _unread(event)
    one, other = sorted(pair, key=lambda rule: _is_own(rule.who))
    title = f"{_says(one)}, and {_says(other)}: no {one.name} is both"
    return explanation(
        event,
        title,
        "The resolver tried every choice, and these two rules exclude each other. One of them has "
        "to go: the pin, or the release of the package that sets the other rule.",
        _loosened(one, other) if "you" in {one.who, other.who} else _rewritten(one, other),
    )


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


def _between(one: _Rule, other: _Rule) -> tuple[Recipe, ...]:
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


def _is_bounded(rule: _Rule) -> bool:
    """Say whether a rule excludes newer releases."""
    return any(spec.operator in ("<", "<=", "==", "~=") for spec in rule.specifier)


def _rewritten(one: _Rule, other: _Rule) -> tuple[Recipe, ...]:
    """Return what to change in the list of a project; its own name is no name for an installer."""
    if not _is_own(other.who) or not str(one.specifier):
        return () if _is_own(one.who) or _is_own(other.who) else _between(one, other)
    return (
        Recipe(
            title=f"Let {other.name} be what {one.who} wants",
            use_if=(f"nothing needs {other.text}",),
            snippet=Snippet(
                where="the dependencies in pyproject.toml",
                before=other.text,
                after=one.name + str(one.specifier),
            ),
        ),
    )


def _is_own(who: str) -> bool:
    return who in ("you", "your project", "your workspace")


def _says(rule: _Rule) -> str:
    wants = rule.name + str(rule.specifier) if str(rule.specifier) else rule.name
    return f"you ask for {wants}" if rule.who == "you" else f"{rule.who} wants {wants}"


def _no_rules(lines: list[str]) -> list[_Rule]:
    del lines
    return []


def _rule(who: str, what: str) -> Iterator[_Rule]:
    text = re.sub(r"\{[^}]{1,80}\}", "", what).replace(" and ", ",").strip().rstrip(",.")
    text = re.sub(r"\s\((?=\d)", " (==", text)
    text = re.sub(r"\s\((.{1,80})\)$", r"\1", text)
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return
    yield _Rule(who, text, canonicalize_name(requirement.name), requirement.specifier)


def _pip_rules(lines: list[str]) -> list[_Rule]:
    rules: list[_Rule] = []
    for line in lines:
        if match := _PIP_RULE.match(line):
            who = match["who"]
            asked = "you" if who.startswith("The user") else who.removesuffix(" depends on")
            rules += _rule(asked, match["what"])
    return rules


def _uv_rules(lines: list[str]) -> list[_Rule]:
    text = " ".join(line.strip().lstrip("│╰─▶ ") for line in lines)[:20_000]
    rules: list[_Rule] = []
    for at, match in each_match(_UV_RULE, text):
        if text[:at].endswith("conclude that "):
            continue  # it only repeats two rules
        who = match.groups["who"].removesuffix(" depends on").removesuffix(" requires")
        asked = "you" if who in ("you require", "all of: ") else who.replace("==", " ")
        rules += _rule(asked, match.groups["what"])
    return rules


def _poetry_rules(lines: list[str]) -> list[_Rule]:
    text = " ".join(line.strip() for line in lines)[:20_000]
    rules: list[_Rule] = []
    for _, match in each_match(_POETRY_RULE, text):
        who = match.groups["who"].replace(" (", " ").replace(")", "")
        rules += _rule(who, match.groups["what"])
    return rules


def _exclude(one: _Rule, other: _Rule) -> bool:
    """Say whether no release fulfils both: the ends of both, and what lies next to them."""
    edges = [spec.version.rstrip(".*") for rule in (one, other) for spec in rule.specifier]
    near: set[Version] = set()
    for edge in edges:
        if not is_version(edge):
            return False
        version = Version(edge)
        parts = [*version.release, 0, 0][:3]
        near.add(version)
        for at in range(3):
            for step in (-1, 1):
                moved = [*parts[:at], parts[at] + step, *([0] * (2 - at))]
                if moved[at] >= 0:
                    near.add(Version(".".join(str(part) for part in moved)))
    try:
        return bool(near) and not any(
            one.specifier.contains(version, prereleases=True)
            and other.specifier.contains(version, prereleases=True)
            for version in near
        )
    except InvalidSpecifier:
        return False


def _loosened(one: _Rule, other: _Rule) -> tuple[Recipe, ...]:
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
    rules = list(_rule(event.objects.get("package", "a package"), requirement))
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
    rules = list(_rule(package, requirement))
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
