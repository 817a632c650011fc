"""Bisect two environments: the smallest set of package moves that turns a good one bad.

Each trial is a clone of the good environment with some of the moves. docs/bisect.md says what
counts as good, bad and unresolved.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from doctor.base.errors import DoctorError
from doctor.base.requirements import InvalidRequirement, meets
from doctor.base.text import one_line
from doctor.base.versions import parse, public
from doctor.environments.answers import Resolution
from doctor.environments.clone import Clone, clone
from doctor.environments.environment import Environment, environment_at
from doctor.environments.installer import dry_run
from doctor.environments.inventory import installed, problems
from doctor.environments.workspace import workspace
from doctor.host import Host, Termination, UnreadableFile
from doctor.model.checks import Progress
from doctor.model.fixes import Command
from doctor.model.plans import Change
from doctor.observe.installed import distributions
from doctor.observe.targets import describe
from doctor.repair.delta import Answer, Edge, roots, smallest_closed, turn
from doctor.repair.judges import Judge, Judged
from doctor.repair.sides import Side, read_side

_INSTALL_SECONDS = 1800.0
_MOST_RELEASES = 80
_KEPT = frozenset({"pip"})
"""Packages that never move: pip may be the installer."""


class BisectError(DoctorError):
    """One of the two environments cannot be made or copied."""


class BisectRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to bisect. Without a command, the checks of doctor judge.

    `options` go to the installer, such as `--index-url`. `python` makes the environments of lists
    and locks.
    """

    good: str
    bad: str
    command: tuple[str, ...] = ()
    python: str | None = None
    timeout: float = 600.0
    options: tuple[str, ...] = ()


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """One trial: the moves that were made in a clone, and what came of it."""

    moves: tuple[Change, ...]
    answer: str
    why: str
    seconds: float


class Bisection(msgspec.Struct, frozen=True, kw_only=True):
    """What a bisection found.

    `verdict` is `found`, `same` (nothing differs), `not_green` (the good one fails), `not_red`
    (all moves together do not fail: the cause is no package) or `unresolved`. `moves` are the
    smallest set; `along` are moves that its requirements bring. `last_good` and `first_bad` are
    releases of the one package in `moves`; `untested` lie between them.
    """

    verdict: str
    why: str = ""
    differences: int = 0
    moves: tuple[Change, ...] = ()
    along: tuple[Change, ...] = ()
    last_good: str | None = None
    first_bad: str | None = None
    untested: tuple[str, ...] = ()
    trials: tuple[Tried, ...] = ()
    seconds: float = 0.0


def bisect(request: BisectRequest, progress: Progress, host: Host | None = None) -> Bisection:
    """Return the smallest set of moves that turns the good environment bad.

    Neither environment is changed, and nothing is left behind. Raises UsageError, BisectError and
    the errors of a clone.
    """
    host = host or Host()
    good, bad = read_side(request.good, host), read_side(request.bad, host)
    begun = time.monotonic()
    with workspace(Path(tempfile.gettempdir())) as scratch:
        maker = _EnvironmentMaker(request, host, scratch.folder, progress)
        base = good.environment or maker.environment(good, _likeness(request, bad))
        wanted = bad.releases
        if bad.requirements:
            wanted = installed(maker.environment(bad, str(base.python)))
        bench = _Bench(request, host, base, maker, progress)
        found = _search(bench, _differences(installed(base), wanted))
    return msgspec.structs.replace(
        found, trials=tuple(bench.trials), seconds=round(time.monotonic() - begun, 1)
    )


def _likeness(request: BisectRequest, other: Side) -> str:
    """Return the interpreter from which the environment of a list is made."""
    if request.python:
        return request.python
    return str(other.environment.python) if other.environment else sys.executable


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, Change]:
    return {
        name: Change(name=name, before=before.get(name), after=after.get(name))
        for name in sorted({*before, *after} - _KEPT)
        if before.get(name) != after.get(name)
    }


def _search(bench: _Bench, moves: dict[str, Change]) -> Bisection:
    if not moves:
        return Bisection(verdict="same", why="both have the same releases of every package")
    count = len(moves)
    start = bench.tried({})
    if start.answer is not Answer.GOOD:
        return Bisection(verdict="not_green", why=start.why, differences=count)
    end = bench.tried(moves, is_whole=True)
    if end.answer is not Answer.BAD:
        verdict = "not_red" if end.answer is Answer.GOOD else "unresolved"
        return Bisection(verdict=verdict, why=end.why, differences=count)
    needs = bench.needs(moves)

    def test(part: tuple[str, ...]) -> Answer:
        return bench.tried({name: moves[name] for name in sorted(part)}).answer

    whole = smallest_closed(tuple(moves), needs, test)
    guilty = roots(whole, needs)
    found = Bisection(
        verdict="found",
        differences=count,
        moves=tuple(moves[name] for name in guilty),
        along=tuple(moves[name] for name in sorted(whole.difference(guilty))),
    )
    edge = _edge(bench, found.moves, {name: moves[name] for name in sorted(whole)})
    if edge is None:
        return found
    return msgspec.structs.replace(
        found, last_good=edge.good, first_bad=edge.bad, untested=edge.unknown
    )


def _edge(bench: _Bench, guilty: Sequence[Change], moves: Mapping[str, Change]) -> Edge[str] | None:
    """Return where the releases of the one guilty package turn bad; None for several packages."""
    if len(guilty) != 1 or not guilty[0].before or not guilty[0].after:
        return None
    one = guilty[0]
    before, after = str(one.before), str(one.after)
    between = bench.releases(one)
    releases = [before, *between, after]

    def test(release: str) -> Answer:
        change = msgspec.structs.replace(one, after=release)
        return bench.tried({**moves, one.name: change}).answer

    return turn(releases, test)


class _EnvironmentMaker:
    """Makes environments of lists, and changes clones, by uv or by pip."""

    def __init__(
        self, request: BisectRequest, host: Host, folder: Path, progress: Progress
    ) -> None:
        self._options, self._host, self._folder = request.options, host, folder
        self._progress, self._number = progress, 0
        self._uv = host.which("uv")

    def environment(self, side: Side, python: str) -> Environment:
        """Return a new environment with the packages of a side; raises BisectError."""
        self._number += 1
        root = self._folder / f"side{self._number}"
        make = (self._uv, "venv", "--python", python) if self._uv else (python, "-m", "venv")
        self._run((*make, str(root)), f"make an environment for {side.name}")
        inner = next(
            (path for path in (root / "bin/python", root / "Scripts/python.exe") if path.exists()),
            root,
        )
        path = side.requirements or self._folder / f"side{self._number}.txt"
        deps: tuple[str, ...] = ()
        if side.requirements is None:
            lines = [f"{name}=={version}\n" for name, version in side.releases.items()]
            path.write_text("".join(lines), encoding="utf-8")
            deps = ("--no-deps",)
        words = self.install(str(inner), (*deps, "-r", str(path)))
        self._run(words, f"install {side.name}")
        return environment_at(inner, self._host)

    def install(self, python: str, words: Sequence[str]) -> tuple[str, ...]:
        """Return the command that installs into an environment."""
        own = (self._uv, "pip", "install", "--python", python) if self._uv else None
        return (*(own or (python, "-m", "pip", "install")), *self._options, *words)

    def uninstall(self, python: str, names: Sequence[str]) -> tuple[str, ...]:
        """Return the command that removes packages."""
        if self._uv:
            return (self._uv, "pip", "uninstall", "--python", python, *names)
        return (python, "-m", "pip", "uninstall", "--yes", *names)

    def _run(self, words: Sequence[str], what: str) -> None:
        done = self._host.run(tuple(words), timeout=_INSTALL_SECONDS, cwd=self._host.cwd)
        self._progress(what, 0.0)
        if done.ended is not Termination.ITSELF or done.code != 0:
            said = f"{done.output}\n{done.errors}\n{done.why}"
            raise BisectError(f"cannot {what}: {_last_line(said)}")


class _Bench:
    """Tries moves in clones of the good environment, each set once."""

    def __init__(
        self,
        request: BisectRequest,
        host: Host,
        base: Environment,
        maker: _EnvironmentMaker,
        progress: Progress,
    ) -> None:
        self._host, self._base, self._maker, self._progress = host, base, maker, progress
        self._options = request.options
        self._judge = Judge(request.command, request.timeout, progress)
        self._known: dict[frozenset[Change], Judged] = {}
        self._accepted = _complaints(base, host)
        self._whole: dict[str, frozenset[str]] = {}
        self.trials: list[Tried] = []

    def tried(self, moves: Mapping[str, Change], *, is_whole: bool = False) -> Judged:
        """Return what comes of some moves. `is_whole`: all of them, whose faults are accepted."""
        key = frozenset(moves.values())
        if key not in self._known:
            begun = time.monotonic()
            judged = self._try([*moves.values()], is_whole=is_whole)
            self._known[key] = judged
            self.trials.append(
                Tried(
                    moves=tuple(moves.values()),
                    answer=judged.answer.value,
                    why=judged.why,
                    seconds=round(time.monotonic() - begun, 1),
                )
            )
        return self._known[key]

    def _try(self, moves: Sequence[Change], *, is_whole: bool) -> Judged:
        number, what = len(self.trials) + 1, _named(moves)
        self._progress(f"trial {number}, {what}: copying", 0.0)
        with clone(self._base, self._host) as copy:
            if why := self._changed(copy, moves):
                return Judged(Answer.UNRESOLVED, why)
            wrong = _complaints(copy.environment, copy.host)
            if is_whole:
                self._accepted |= wrong
                self._whole = dict(_requirements(copy.environment, self._host, moves))
            elif new := sorted(wrong - self._accepted):
                return Judged(Answer.UNRESOLVED, one_line(new[0], 200))
            return self._judge.answer(copy, f"trial {number}, {what}", is_start=not moves)

    def _changed(self, copy: Clone, moves: Sequence[Change]) -> str:
        """Make the moves in a clone; return why that failed."""
        python = str(copy.environment.python)
        gone = [one.name for one in moves if one.after is None]
        new = [f"{one.name}=={one.after}" for one in moves if one.after is not None]
        commands = [
            *([self._maker.uninstall(python, gone)] if gone else []),
            *([self._maker.install(python, ("--no-deps", *new))] if new else []),
        ]
        for words in commands:
            done = copy.run(words, timeout=_INSTALL_SECONDS)
            if done.ended is not Termination.ITSELF or done.code != 0:
                return one_line(_last_line(done.output or done.why), 200)
        return ""

    def needs(self, moves: Mapping[str, Change]) -> dict[str, frozenset[str]]:
        """Return for each move those that its requirements bring, at either end.

        A package whose new release asks for a newer neighbour takes the neighbour along; a
        neighbour whose new release the old package does not take brings the package along.
        """
        found: dict[str, set[str]] = {name: set() for name in moves}
        for name, partners in self._whole.items():
            found[name] |= partners
        for name, partners in _requirements(
            self._base, self._host, [_reversed(one) for one in moves.values()]
        ):
            for partner in partners:
                found[partner].add(name)
        return {name: frozenset(partners) for name, partners in found.items()}

    def releases(self, change: Change) -> list[str]:
        """Return the releases between the two ends of a change, those of the good one first.

        The installer names the newest below an end, until there is none.
        """
        low, high = sorted(
            (str(change.before), str(change.after)),
            key=lambda one: (parse(one) is None, parse(one)),
        )
        low, end = public(low), public(high)
        found: list[str] = []
        while len(found) < _MOST_RELEASES:
            self._progress(f"asking for releases of {change.name} below {end}", 0.0)
            wanted = f"{change.name}>{low},<{end}"
            words = self._maker.install(str(self._base.python), ("--no-deps", wanted))
            answer = dry_run(Command(argv=words), self._host, sizes=False)
            moved = answer.changes if isinstance(answer, Resolution) else ()
            end = next((str(one.after) for one in moved if one.name == change.name), "")
            if not end or end in found:
                break
            found.append(end)
        return found if parse(str(change.before)) == parse(high) else found[::-1]


def _complaints(environment: Environment, host: Host) -> set[str]:
    """Return which requirements are not met, whatever release is there instead."""
    return {text.partition(", but ")[0] for text in problems(environment, host)}


def _reversed(change: Change) -> Change:
    return Change(name=change.name, before=change.after, after=change.before)


def _requirements(
    environment: Environment, host: Host, moves: Sequence[Change]
) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield for each moved package those moved ones that it does not take as they were before."""
    changes = {one.name: one for one in moves}
    interpreter = describe(host, environment.python)
    path = [str(folder) for folder in environment.folders]
    for one in distributions.installed(path):
        if one.name not in changes:
            continue
        partners: set[str] = set()
        with contextlib.suppress(UnreadableFile):
            for requirement in distributions.requirements(one, interpreter):
                other = changes.get(requirement.name)
                if other is not None and not _takes(requirement.specifier, other.before):
                    partners.add(other.name)
        yield one.name, frozenset(partners)


def _takes(specifier: str, release: str | None) -> bool:
    if release is None:
        return False
    with contextlib.suppress(InvalidRequirement):
        return meets(release, specifier)
    return True


def _named(moves: Sequence[Change]) -> str:
    if not moves:
        return "no move"
    if len(moves) == 1:
        return f"{moves[0].name} {moves[0].after or 'removed'}"
    return f"{len(moves)} moves"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"
