"""Ask the installer for other releases of one package, while everything else stays as it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from doctor.base.requirements import may_meet
from doctor.base.versions import parse, public
from doctor.environments.answers import Resolution
from doctor.environments.installer import dry_run
from doctor.fixes import installer
from doctor.host import Host
from doctor.model.facts import Facts
from doctor.model.fixes import Command
from doctor.repair.reading import Unmet

_SYSTEM = "--break-system-packages"
_MOST_HELD, _MOST_LINES, _SECONDS = 1000, 16, 60.0


class Shelf:
    """The releases of packages that fit an environment in a given state.

    `here` has the releases of the state, `own` are packages that no index may know. `problems` are
    requirements that may not be met: who asks for them is not looked at where another one moves.
    """

    def __init__(
        self,
        here: Mapping[str, str],
        own: Collection[str],
        problems: Sequence[Unmet],
        facts: Facts,
        host: Host,
    ) -> None:
        self._here, self._own, self._facts, self._host = dict(here), frozenset(own), facts, host
        self._unmet = [
            one for one in problems if not may_meet(self._here.get(one.wanted, ""), one.specifier)
        ]
        self._known: dict[tuple[str, str], str] = {}

    def newest(self, name: str, specifier: str) -> str:
        """Return the newest release in a range that moves nothing else; empty where none does."""
        key = (name, specifier)
        if key not in self._known:
            self._known[key] = self._ask(name, specifier)
        return self._known[key]

    def lines(self, name: str, *, up: bool) -> tuple[str, ...]:
        """Return the last release of each line above or below the installed one, nearest first."""
        bound = f"{'>' if up else '<'}{public(self._here[name])}"
        found: list[str] = []
        specifier = bound
        while len(found) < _MOST_LINES and (release := self.newest(name, specifier)):
            found.append(release)
            specifier = f"{bound},<{_line(release)}"
        return tuple(reversed(found) if up else found)

    def _ask(self, name: str, specifier: str) -> str:
        free = self._own | {one.package for one in self._unmet if one.wanted != name}
        held = [
            f"{one}=={version}"
            for one, version in self._here.items()
            if one != name and one not in free and one != "pip"
        ][:_MOST_HELD]
        python = installer.python(self._facts)
        if self._host.which("uv") is not None:
            head: tuple[str, ...] = ("uv", "pip", "install", "--python", python, _SYSTEM)
        else:
            head = (python, "-m", "pip", "install", _SYSTEM)
        command = Command(argv=(*head, *held, f"{name}{specifier}"))
        answer = dry_run(command, self._host, sizes=False, timeout=_SECONDS)
        if not isinstance(answer, Resolution) or answer.builds:
            return ""
        after = {one.name: one.after for one in answer.changes}
        others = {one: release for one, release in after.items() if one != name}
        if any(self._here.get(one, release) != release for one, release in others.items()):
            return ""
        return after.get(name) or ""


def _line(release: str) -> str:
    """Return where the line of a release begins: `4.25` for `4.25.3`."""
    version = parse(release)
    return f"{version.major}.{version.minor}" if version is not None else release
