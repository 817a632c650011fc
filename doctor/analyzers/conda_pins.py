"""Two lines of a conda list that exclude each other, as the classic solver prints them.

It lists each specification that it found in conflict, and behind an arrow what that one requires:
`- pytorch 1.0.1* -> cudatoolkit[version='>=10.0,<10.1']` beside `- cudatoolkit 10.1*`.
"""

from __future__ import annotations

import re

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import is_version
from doctor.model.events import Event
from doctor.model.issues import Recipe, Snippet

_BELOW = 60
_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,60}")
_LONG = re.compile(r"\[version='([^']{1,80})'\]$")
_SHORT = re.compile(r"[<>=!~]{0,2}\d[\w.*,<>=|]{0,80}$")


def _read(text: str) -> tuple[str, str] | None:
    """Return the name of a specification and the releases that it allows, "" for any."""
    name = _NAME.match(text)
    if name is None:
        return None
    rest = text[name.end() :].strip()
    if not rest:
        return name[0], ""
    if long := _LONG.match(rest):
        return name[0], long[1]
    plain = rest.lstrip("=")
    wanted = plain.partition("=")[0] if plain[:1].isdigit() else rest
    return (name[0], wanted) if _SHORT.match(wanted) else None


def explain_pins(case: Case, event: Event) -> Explanation | None:
    """Explain a release that is asked for, and another line that requires another one."""
    asked: dict[str, str] = {}
    required: list[tuple[str, str, str, str]] = []
    for line in case.log.lines[event.at : event.at + _BELOW]:
        parts = line[:400].strip().removeprefix("- ").split(" -> ")
        one, other = _read(parts[0]), _read(parts[-1]) if len(parts) > 1 else None
        if one is not None and other is not None:
            required.append((*one, *other))
        elif one is not None and one[1] and len(parts) == 1:
            asked.setdefault(*one)
    for who, version, name, needs in required:
        have = asked.get(name, "")
        if have and needs and _exclude(have, needs):
            return _clash(event, (who, version), (name, have), needs)
    return None


_TOP = re.compile(
    r"^[├└]─ (?P<name>[a-z][\w.-]{0,60}) +(?P<spec>[<>=!~]{0,2}\d[\w.*,<>=|]{0,60}) .{0,80}?"
    r"(?P<how>is not installable|is requested|is installable|can be installed)"
)
_DEEPER = re.compile(
    r"^[│ ] .{0,40}[├└]─ (?P<name>[a-z][\w.-]{0,60}) +(?P<spec>[<>=!~]{0,2}\d[\w.*,<>=|]{0,60})"
)


def explain_tree(case: Case, event: Event) -> Explanation | None:
    """Explain a package of mamba's tree each build of which needs another release than is asked."""
    lines = [line[:300] for line in case.log.lines[event.at : event.at + _BELOW]]
    tops = [match for line in lines if (match := _TOP.match(line))]
    asked = {one["name"]: one["spec"] for one in tops if one["how"] != "is not installable"}
    refused: re.Match[str] | None = None
    required: dict[str, list[str]] = {}
    above = ""
    for line in lines:
        if top := _TOP.match(line):
            refused = top if top["how"] == "is not installable" else None
        elif refused and "would require" in above and (one := _DEEPER.match(line)):
            required.setdefault(one["name"], []).append(one["spec"])
        above = line
    last = next((one for one in tops if one["how"] == "is not installable"), None)
    for name, needs in required.items():
        have = asked.get(name, "")
        if have and last and all(_exclude(have, one) for one in needs):
            return _clash(event, (last["name"], last["spec"]), (name, have), "|".join(needs[:3]))
    return None


def _exclude(have: str, needs: str) -> bool:
    """Say whether a release that is asked for is none of those that are required."""
    number = have.lstrip("=").rstrip("*").rstrip(".")
    if not is_version(number):
        return False
    for choice in needs.split("|"):
        plain = choice.lstrip("=").rstrip("*").rstrip(".")
        if is_version(plain):
            if number == plain or number.startswith(f"{plain}.") or plain.startswith(f"{number}."):
                return False
            continue
        try:
            specifiers = SpecifierSet(choice.replace(".*", ""))
        except InvalidSpecifier:
            return False
        # 10.1 asks for any 10.1.x, so that a patch release inside counts.
        if any(one in specifiers for one in (Version(number), Version(f"{number}.999"))):
            return False
    return True


def _clash(event: Event, owner: tuple[str, str], asked: tuple[str, str], needs: str) -> Explanation:
    who, version = owner
    name, have = asked[0], asked[1].lstrip("=").rstrip("*").rstrip(".")
    first = re.search(r"\d[\w.]{0,20}", needs)
    number = ".".join(first[0].rstrip("*").rstrip(".").split(".")[:2]) if first else ""
    plain = version.lstrip("=").rstrip("*").rstrip(".")
    return explanation(
        event,
        f"{who}{f' {plain}' if plain else ''} needs {name} {needs}, and {name} {have} is asked for",
        "Both stand in the list or the command, and no build has both. One of them has to change.",
        (
            Recipe(
                title=f"Take {name} {number}, which this {who} needs",
                snippet=Snippet(
                    where="the environment.yml or the command",
                    before=f"{name}={have}",
                    after=f"{name}={number}",
                ),
                note="Where the line ends in a build (=name=1.0=py38_0), leave the build away.",
            ),
            Recipe(
                title=f"Let conda choose the {who} for {name} {have}",
                snippet=Snippet(
                    where="the environment.yml or the command",
                    before=f"{who}={plain}" if plain else who,
                    after=who,
                ),
            ),
        ),
        name="conda-conflict",
        contradicts=("torch/conda-*", "*/conda-unsatisfiable"),
    )
