"""Read the rules in the statement of a resolver, and find two that exclude each other.

| resolver | what is read |
| --- | --- |
| pip | "The conflict is caused by": one rule a line |
| uv, Poetry | "depends on … and …" |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from doctor.analyzers.inventory import each_match, is_version
from doctor.base.patterns import compile_pattern

LONGEST = 4000
"""Characters of a line that are read."""
MOST = 60
"""Rules of one statement that are compared."""

_PIP_RULE = re.compile(
    r"^\s{2,12}(?P<who>The user requested(?: \(constraint\))?|\S{1,100} \d\S{0,60} depends on|"
    r"\S{1,100} depends on) (?P<what>[^;]{1,200})"
)

_WORDS = r"[A-Za-z][\w.-]{0,80}(?:\[[\w,.-]{1,80}\])?"

_RANGE = r"(?:[<>=!~]=?=?[\w.*+!]{1,40}(?:,\s?[<>=!~]=?=?[\w.*+!]{1,40}){0,6})"

_UV_RULE = (
    rf"(?P<who>(?:your (?:project|workspace)|{_WORDS}(?:{_RANGE})?) (?:depends on|requires)|"
    rf"you require|all of: )\s{{1,4}}"
    rf"(?P<what>(?:one of: )?{_WORDS}(?:\{{[^}}]{{1,200}}\}})?(?:{_RANGE})?)"
)

_ALL = re.compile(r"all versions of ([A-Za-z][\w.-]{0,80}) depend on")

_UV_CHOICE = rf"^ {_WORDS}{_RANGE} "

_UV_MORE = rf"^ and (?P<what>{_WORDS}{_RANGE}),"

_POETRY_RULE = (
    rf"(?P<who>{_WORDS}(?: \([^)]{{1,80}}\))?) depends on (?P<what>{_WORDS} \([^)]{{1,80}}\))"
)


class Rule(NamedTuple):
    """One rule: who asks, and for which releases of which package."""

    who: str
    text: str
    name: str
    specifier: SpecifierSet


def excluding(lines: Sequence[str], speaker: str) -> tuple[str, ...]:
    """Return the two rules of a resolver's statement that exclude each other, in words.

    `speaker` is `uv`, `pip` or `Poetry`. The last pair counts: a derivation ends in the widest
    rules, which name a range of releases instead of each one. Empty where no pair is read.
    """
    rules = {"pip": pip_rules, "uv": _uv_conclusions, "Poetry": poetry_rules}.get(
        speaker, no_rules
    )([line[:LONGEST] for line in lines])
    for one, other in combinations(reversed(rules[-MOST:]), 2):
        if one.name == other.name and one.who != other.who and exclude(one, other):
            return tuple(map(_asks, sorted((one, other), key=lambda rule: is_own(rule.who))))
    return ()


def _asks(rule: Rule) -> str:
    wants = rule.name + str(rule.specifier) if str(rule.specifier) else rule.name
    return f"you require {wants}" if rule.who == "you" else f"{rule.who} depends on {wants}"


def is_own(who: str) -> bool:
    """Say whether a rule is the user's own, or the project's."""
    return who in ("you", "your project", "your workspace")


def no_rules(lines: list[str]) -> list[Rule]:
    """Return no rules, for a resolver whose statement is not read."""
    del lines
    return []


def read_rules(who: str, what: str) -> Iterator[Rule]:
    """Yield the rule that a requirement states; nothing where it is none."""
    text = re.sub(r"\{[^}]{1,200}\}", "", what).replace(" and ", ",").strip().rstrip(",.")
    text = re.sub(r"\s\((?=\d)", " (==", text)
    text = re.sub(r"\s\((.{1,80})\)$", r"\1", text)
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return
    yield Rule(who, text, canonicalize_name(requirement.name), requirement.specifier)


def pip_rules(lines: list[str]) -> list[Rule]:
    """Return the rules that pip lists under "The conflict is caused by"."""
    rules: list[Rule] = []
    for line in lines:
        if match := _PIP_RULE.match(line):
            who = match["who"]
            asked = "you" if who.startswith("The user") else who.removesuffix(" depends on")
            rules += read_rules(asked, match["what"])
    return rules


def _uv_conclusions(lines: list[str]) -> list[Rule]:
    return uv_rules(lines, conclusions=True)


def uv_rules(lines: list[str], *, conclusions: bool = False) -> list[Rule]:
    """Return the rules of uv; with `conclusions` also those that follow from others."""
    text = " ".join(line.strip().lstrip("│╰─▶ ") for line in lines)[:20_000]
    if conclusions:
        text = _ALL.sub(r"\1 depends on", text)
    rules: list[Rule] = []
    for at, match in each_match(_UV_RULE, text):
        if not conclusions and text[:at].endswith("conclude that "):
            continue  # it only repeats two rules
        who = match.groups["who"].removesuffix(" depends on").removesuffix(" requires")
        asked = "you" if who in ("you require", "all of: ") else who.replace("==", " ")
        what = match.groups["what"]
        if what.startswith("one of: "):
            what = _hull(what.removeprefix("one of: "), text[at + len(match.text) :])
        rules += read_rules(asked, what)
        if conclusions and who == "you require":
            more = compile_pattern(_UV_MORE).search(text[at + len(match.text) :][:LONGEST])
            rules += read_rules("you", more.groups["what"]) if more else ()
    return rules


def _hull(first: str, after: str) -> str:
    """Return the range from the first of several ranges of a package to the last one.

    Each stands on a line of its own; a rule that excludes the whole range excludes each of them.
    """
    last, choice = first, compile_pattern(_UV_CHOICE)
    name = re.split("[<>=!~{[]", first)[0]
    for _ in range(_CHOICES):
        match = choice.search(after[:LONGEST])
        if match is None or not match.text.startswith(f" {name}"):
            break
        last, after = match.text.strip(), after[len(match.text) - 1 :]
    if last == first:
        return first
    lower = [one for one in first[len(name) :].split(",") if one[:1] in "=>"]
    upper = [one for one in last[len(name) :].split(",") if one[:1] in "=<"]
    ends = [one.replace("==", ">=") for one in lower] + [one.replace("==", "<=") for one in upper]
    return name + ",".join(ends)


_CHOICES = 20
"""Ranges of one rule that are read."""


def poetry_rules(lines: list[str]) -> list[Rule]:
    """Return the rules of Poetry."""
    text = " ".join(line.strip() for line in lines)[:20_000]
    rules: list[Rule] = []
    for _, match in each_match(_POETRY_RULE, text):
        who = match.groups["who"].replace(" (", " ").replace(")", "")
        rules += read_rules(who, match.groups["what"])
    return rules


def exclude(one: Rule, other: Rule) -> bool:
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
