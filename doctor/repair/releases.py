"""Ask the installer for other releases of one package, while everything else stays as it is.

What installed packages ask of it counts. What is wrong elsewhere in the environment does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from doctor.base.versions import major, parse, public
from doctor.environments.answers import Resolution
from doctor.environments.installer import dry_run
from doctor.fixes import installer
from doctor.host import Host
from doctor.model.facts import Facts
from doctor.model.fixes import Command
from doctor.repair.links import Links

_SYSTEM = "--break-system-packages"
NO_LINKS = Links()
"""What is taken from an index."""
_HEAVY = ("torch", "nvidia")
_MOST_HELD, _MOST_LINES, _SECONDS = 1000, 16, 60.0


class AvailableReleases:
    """The releases of packages that fit an environment in a given state.

    `here` has the releases of the state. `asked` has what installed packages ask of each other:
    specifiers by name. `links` are the folders from which the project takes its own packages.
    """

    def __init__(
        self,
        here: Mapping[str, str],
        asked: Mapping[str, Sequence[str]],
        facts: Facts,
        host: Host,
        links: Links = NO_LINKS,
    ) -> None:
        self._here, self._asked, self._facts, self._host = dict(here), asked, facts, host
        self._known: dict[tuple[str, str], str] = {}
        self._links = links

    def newest(self, name: str, specifier: str) -> str:
        """Return the newest release in a range that moves nothing else; empty where none does."""
        key = (name, specifier)
        if key not in self._known:
            self._known[key] = self._ask(name, specifier)
        return self._known[key]

    def bound(self, name: str, *, up: bool, leap: bool = True) -> str:
        """Return the range above or below the installed release, without `leap` in its major."""
        here = public(self._here[name])
        end = "" if leap or not up else f",<{(major(here) or 0) + 1}"
        return f"{'>' if up else '<'}{here}{end}"

    def lines(self, name: str, *, up: bool, leap: bool = True) -> tuple[str, ...]:
        """Return the last release of each line above or below the installed one, nearest first."""
        bound = self.bound(name, up=up, leap=leap)
        found: list[str] = []
        if up and (sparse := self._far_apart(name, bound)):
            return sparse
        specifier = bound
        while len(found) < _MOST_LINES and (release := self.newest(name, specifier)):
            found.append(release)
            specifier = f"{bound},<{_line(release)}"
        return tuple(reversed(found) if up else found)

    def _far_apart(self, name: str, bound: str) -> tuple[str, ...]:
        """Return releases at growing distances where there are too many lines; else none."""
        here, top = parse(public(self._here[name])), parse(self.newest(name, bound))
        if here is None or top is None or top.major != here.major:
            return ()
        span = top.minor - here.minor
        if span <= _MOST_LINES:
            return ()
        ends = [here.minor + (1 << power) for power in range(span.bit_length())]
        texts = [f"{bound},<{here.major}.{end + 1}" for end in ends if end < top.minor]
        found = (self.newest(name, text) for text in texts)
        return tuple(dict.fromkeys((*(one for one in found if one), str(top))))

    def _twins(self, name: str) -> list[str]:
        """Return the packages that are released with one: `jaxlib` with `jax`, of one release."""
        here = self._here.get(name, "")
        return [
            one
            for one, version in self._here.items()
            if one != name
            and one.startswith(name)
            and version == here
            and here.count(".") > 1
            and not name.startswith(_HEAVY)
        ]

    def _ask(self, name: str, specifier: str) -> str:
        texts = [specifier, *self._asked.get(name, ())]
        requirement = name + ",".join(dict.fromkeys(text for text in texts if text))
        # What stays is a constraint: it counts where the release asks for it, and else not at all.
        free = {name, *self._twins(name)}
        held = [
            f"{one}=={public(version)}" for one, version in self._here.items() if one not in free
        ]
        python = installer.python(self._facts)
        if self._host.which("uv") is not None:
            head: tuple[str, ...] = ("uv", "pip", "install", "--python", python, _SYSTEM)
        else:
            head = (python, "-m", "pip", "install", _SYSTEM)
        with TemporaryDirectory() as folder:
            file = Path(folder) / "constraints.txt"
            file.write_text("\n".join(held[:_MOST_HELD]), encoding="utf-8")
            own = self._links.flags if name in self._links.names else ()
            command = Command(argv=(*head, *own, "--constraint", str(file), requirement))
            answer = dry_run(command, self._host, sizes=False, timeout=_SECONDS)
        if not isinstance(answer, Resolution) or answer.builds:
            return ""
        after = {one.name: one.after for one in answer.changes}
        others = {one: release for one, release in after.items() if one not in free}
        if any(self._here.get(one, release) != release for one, release in others.items()):
            return ""
        return after.get(name) or ""


def _line(release: str) -> str:
    """Return where the line of a release begins: `4.25` for `4.25.3`."""
    version = parse(release)
    return f"{version.major}.{version.minor}" if version is not None else release
