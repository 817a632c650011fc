"""Explain a release that Poetry has locked and that has no wheel for its environment.

| what the log shows | exact | family |
| --- | --- | --- |
| a release of torch and the Python of the environment | the Pythons it has wheels for | – |
| torch or TensorFlow after the last one for Intel Macs | the last release for them | – |
| wheels skipped for the tags of Python, or of the system | – | the half that differs |

Poetry makes an environment with its own Python unless it is handed another, and pipx and Homebrew
install Poetry with the newest one (https://python-poetry.org/docs/managing-environments/).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.version import Version

from doctor.analyzers import offers
from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import NAME, Inventory, distinct, is_version
from doctor.analyzers.recipes import code, command
from doctor.analyzers.wheel_recipes import bare_name
from doctor.model.events import Event
from doctor.model.facts import value_of
from doctor.model.issues import Recipe

_LAST_FOR_INTEL = {
    "torch": ("2.2.2", "2.3"),
    "torchvision": ("0.17.2", "0.18"),
    "torchaudio": ("2.2.2", "2.3"),
    "tensorflow": ("2.16.2", "2.17"),
}
"""The last release with wheels for Intel Macs, and the first one without, by their files."""
_MAC = re.compile(r"\b(?:mac ?os|osx|darwin)\b|/Cellar/|/opt/homebrew/|\bMac(?:Book|mini)\b", re.I)
_SILICON = re.compile(r"/opt/homebrew/|\barm64\b|\bM[1-5](?: Pro| Max| Ultra)?\b|Apple silicon")
_SKIPPED = re.compile(
    r"wheel\(s\) were skipped as your project's environment does not support the identified (abi|"
    r"python|platform) tags"
)
_CONTRADICTED = ("torch/no-wheel-for-this-python", "torch/locked-for-another-platform")
_MOST = 400


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each release that Poetry finds no file of."""
    events = [one for one in distinct(case, "no-fitting-wheel") if one.speaker == "Poetry"]
    inventory = Inventory(case)
    lines = [line[:_MOST] for line in case.log.lines]
    tag = next((match[1] for line in lines if (match := _SKIPPED.search(line))), "")
    intel = _on_intel(case, lines, events)
    for event in events:
        name, release = bare_name(event.objects["requirement"]), event.objects["version"]
        if not NAME.fullmatch(name):
            continue
        if not is_version(release) or "+" in release:
            yield _tagged(event, name, release, tag)
            continue
        if name in _LAST_FOR_INTEL and intel and tag in ("", "platform"):
            last, gone = _LAST_FOR_INTEL[name]
            if Version(release) >= Version(gone) and _is_for(case, name, release, inventory):
                yield _intel(event, name, release, last)
                continue
        yield _python(case, event, (name, release), inventory.python(), tag)


def _on_intel(case: Case, lines: list[str], events: list[Event]) -> bool:
    """Say whether the log shows a Mac with an Intel processor, or one that only it can be."""
    system = str(value_of(case.facts, "host.os") or case.context.os or "")
    if system not in ("", "macos") and not any("/Cellar/" in line for line in lines):
        return False
    if any(_SILICON.search(line) for line in lines):
        return False
    if system == "macos" or any(_MAC.search(line) for line in lines):
        return True
    # Only there do both have no wheel for a Python that both were released for.
    late = {
        bare_name(event.objects["requirement"])
        for event in events
        if _is_late(event.objects["requirement"], event.objects["version"])
    }
    return {"torch", "tensorflow"} <= late


def _is_for(case: Case, name: str, release: str, inventory: Inventory) -> bool:
    """Say whether a release has wheels for the Python of the log, as far as it is known."""
    pythons = offers.pythons_of_torch(case.catalog, release) if name == "torch" else ()
    return inventory.python() in (None, *pythons) or not pythons


def _is_late(requirement: str, release: str) -> bool:
    known = _LAST_FOR_INTEL.get(bare_name(requirement))
    return known is not None and is_version(release) and Version(release) >= Version(known[1])


def _intel(event: Event, name: str, release: str, last: str) -> Explanation:
    older = code(
        f"Take {name} {last}, the last one for Intel Macs",
        "the dependencies in pyproject.toml, then: poetry update " + name,
        f'{name} = "{last}"',
        before=f'{name} = "{release}"',
        use_if=("the Mac has an Intel processor",),
        note="It wants numpy 1 and Python 3.12 or older." if name.startswith("torch") else "",
    )
    return explanation(
        event,
        f"{name} {release} has no wheel for a Mac with an Intel processor: {last} was the last one",
        "Newer releases are built for Apple silicon alone. A Python for Intel that runs translated "
        "on Apple silicon ends here, too.",
        (
            older,
            command(
                "Give Poetry a Python for Apple silicon",
                "poetry",
                "env",
                "use",
                "/opt/homebrew/bin/python3",
                use_if=("the Mac has an Apple processor",),
                note="uname -m prints arm64 there, and x86_64 in a translated shell.",
            ),
        ),
        name="no-wheel-for-intel-mac",
        contradicts=_CONTRADICTED,
    )


def _python(
    case: Case, event: Event, what: tuple[str, str], python: str | None, tag: str
) -> Explanation:
    """Explain a release that has no wheel for the Python of Poetry's environment."""
    name, release = what
    if name != "torch":
        return _tagged(event, name, release, tag)
    pythons = _usual_pythons(offers.pythons_of_torch(case.catalog, release), release, case)
    take = offers.usual(tuple(one for one in pythons if one != python) or pythons)
    if take is None:
        return _tagged(event, name, release, tag)
    span = offers.span(pythons)
    here = f"Python {python}" if python and python not in pythons else "another Python"
    if not python and tag == "platform":
        return _tagged(event, name, release, tag)
    return explanation(
        event,
        f"torch {release} has wheels for {span}, and Poetry's environment has {here}",
        "torch has no source archive, so that a release without a fitting wheel cannot be "
        "installed. Poetry takes its own Python, mostly the newest one, until it is handed "
        "another.",
        (_use(take), *_newer(release, python)),
        name="no-wheel-for-poetry",
        contradicts=_CONTRADICTED,
    )


def _usual_pythons(pythons: tuple[str, ...], release: str, case: Case) -> tuple[str, ...]:
    """Return the Pythons with wheels on each system: the newest one came to Linux first."""
    first_on_linux = {"1.13": "3.11", "2.5": "3.13"}
    late = first_on_linux.get(".".join(release.split(".")[:2]))
    return pythons if case.context.os == "linux" else tuple(one for one in pythons if one != late)


def _use(python: str) -> Recipe:
    return Recipe(
        title=f"Have Poetry use Python {python}",
        note=f"uv python install {python} brings it where it is missing; pyproject.toml has to "
        "allow it.",
        steps=(
            *command("", "poetry", "env", "use", python).steps,
            *command("", "poetry", "install").steps,
        ),
    )


def _newer(release: str, python: str | None) -> tuple[Recipe, ...]:
    here = f"Python {python}" if python else "this Python"
    return (
        command(
            f"Move the lock to a torch that has wheels for {here}",
            "poetry",
            "add",
            f"torch@>{release}",
            use_if=(f"the project works with a torch after {release}",),
        ),
    )


def _tagged(event: Event, name: str, release: str, tag: str) -> Explanation:
    platform = tag == "platform"
    what = "this system or processor" if platform else "the Python of Poetry's environment"
    return explanation(
        event,
        f"{name} {release} has no wheel for {what if tag else 'this Python, system or processor'}",
        (f"Poetry skipped its wheels for their {tag} tags. " if tag else "")
        + "Each wheel is made for one Python and one system."
        + ("" if platform else " Poetry takes its own Python until it is handed another."),
        (
            command(
                "See the Python, the system and the folder of the environment",
                "poetry",
                "env",
                "info",
                look=True,
            ),
            *(() if platform else (_use("3.12"),)),
        ),
        name="no-wheel-for-poetry",
        exact=False,
    )
