"""A known issue: data with its own tests inside."""

from __future__ import annotations

from datetime import date
from enum import Enum
from typing import Any

import msgspec

from doctor.model.scales import Confidence, Severity


class CatalogEntry(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Base of what authors write: unknown keys are errors."""


class Range(CatalogEntry, frozen=True, kw_only=True):
    """Half-open range of versions, `[introduced, fixed)`; a missing end is open."""

    introduced: str | None = None
    fixed: str | None = None


class Condition(CatalogEntry, frozen=True, kw_only=True):
    """One thing that must hold of one fact; exactly one of the operators is given.

    `range` compares versions, `equals` and `one_of` values, `matches` searches a regular expression
    in the text of the value (for a list: in any of its items), `present` and `absent` ask for the
    state.
    """

    fact: str
    range: Range | None = None
    equals: Any = msgspec.UNSET
    one_of: tuple[Any, ...] | None = None
    matches: str | None = None
    present: bool | None = None
    absent: bool | None = None


class Affected(CatalogEntry, frozen=True, kw_only=True):
    """One affected row: every package range and every condition must hold.

    Several ranges of one package are alternatives.

    `predicts` is the severity that these facts justify by themselves, with neither a log nor a
    check: a note where it is left out, and nothing where the row only narrows where the text can
    come from (`exposes: false`). `title` and `cause` stand for the issue's own where the row holds
    and every placeholder can be filled: they say what these facts tell.
    """

    packages: dict[str, tuple[Range, ...]] = msgspec.field(default_factory=dict)
    when: tuple[Condition, ...] = ()
    predicts: Severity | None = None
    exposes: bool = True
    title: str = ""
    cause: str = ""


class Signature(CatalogEntry, frozen=True, kw_only=True):
    """A text that recognises the issue in a log, searched line by line.

    `pattern` is a regular expression; its named groups are captured and can be used in fixes as
    `{log.NAME}`. `also` must be found somewhere in the same log, `unless` must not.
    """

    pattern: str
    also: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


class Proof(CatalogEntry, frozen=True, kw_only=True):
    """A case of a check that shows the issue.

    `devices` are kinds (`cpu`, `cuda`, `mps`), empty for all.
    """

    check: str
    case: str | None = None
    devices: tuple[str, ...] = ()


class Option(Enum):
    """What an installer is told beside the requirements."""

    UPGRADE = "upgrade"
    REINSTALL = "reinstall"
    NO_DEPS = "no-deps"
    NO_BUILD_ISOLATION = "no-build-isolation"
    NO_BINARY = "no-binary"
    NO_CACHE = "no-cache"
    PRE = "pre"
    HOLD_TORCH = "hold-torch"


class Edit(CatalogEntry, frozen=True, kw_only=True):
    """A change of a file whose path is known: `before` is replaced by `after`."""

    file: str
    before: str
    after: str


class Snippet(CatalogEntry, frozen=True, kw_only=True):
    """Code to compare with one's own: `where` says in words which code is meant."""

    where: str
    before: str = ""
    after: str


class Action(CatalogEntry, frozen=True, kw_only=True):
    """One step of a fix: exactly one of `install`, `uninstall`, `system`, `run`, `edit` or `env`.

    - `install`, `uninstall`: requirements for the installer of the target. `companions` join
      `install` where their package is installed; a second one behind a space, `torchaudio
      torch<=2.14.1`, comes along. `index` (the only one), `find_links` (a page of wheels),
      `options` and `build` (`cmake.define.USE_CUDA: ON`) go to the same installer.
    - `system`: packages of the operating system, by package manager.
    - `run`: one command, as its arguments.
    - `env`: variables of that command; alone, variables of the program that failed.
    - `source`: `run` changes the shell itself (`. setvars.sh`), so no new process can do it.
    """

    title: str = ""
    install: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    index: str | None = None
    find_links: str | None = None
    options: tuple[Option, ...] = ()
    build: dict[str, str] = msgspec.field(default_factory=dict)
    uninstall: tuple[str, ...] = ()
    system: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    run: tuple[str, ...] = ()
    env: dict[str, str] = msgspec.field(default_factory=dict)
    edit: Edit | None = None
    sudo: bool = False
    reboot: bool = False
    source: bool = False


class Recipe(CatalogEntry, frozen=True, kw_only=True):
    """A fix with placeholders: `{fact.name}` and `{log.group}` are filled with what was observed.

    A recipe whose placeholders cannot be filled is dropped, unless a log alone is judged and its
    reader can look the fact up. `use_if` lists what must hold:
    conditions over facts, and sentences that only a reader can judge. `steps` are carried out in
    order. `snippet` shows code where no path is known. `ask` explains each `<name>` that a reader
    has to fill in. `lasting` is false for a workaround, `safe` for what may cost more than it
    heals.

    The log decides too, by regular expressions: one of `shown` in it answers the sentences and puts
    the fix first, one of `unless` rules the fix out.
    """

    title: str
    use_if: tuple[Condition | str, ...] = ()
    shown: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    note: str = ""
    steps: tuple[Action, ...] = ()
    snippet: Snippet | None = None
    ask: dict[str, str] = msgspec.field(default_factory=dict)
    verify: tuple[str, ...] = ()
    safe: bool = True
    lasting: bool = True

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Return the items of `use_if` that facts decide."""
        return tuple(one for one in self.use_if if isinstance(one, Condition))

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return the items of `use_if` that only a reader can judge."""
        return tuple(one for one in self.use_if if isinstance(one, str))


class Reference(CatalogEntry, frozen=True, kw_only=True):
    """A source that somebody opened, on the day given."""

    url: str
    what: str
    opened: date


class Verification(str, Enum):
    """How an entry is known to be true: reproduced, confirmed in a thread, or documented."""

    REPRODUCED = "reproduced"
    THREAD = "thread"
    DOCUMENTED = "documented"


class Verified(CatalogEntry, frozen=True, kw_only=True):
    """How the entry is known to be true, and when that was checked."""

    how: Verification
    checked: date
    note: str = ""


class Expect(str, Enum):
    """What must come of an example."""

    MATCH = "match"
    NO_MATCH = "no-match"
    UNDECIDED = "undecided"
    RULED_OUT = "ruled-out"


class Example(CatalogEntry, frozen=True, kw_only=True):
    """A test of the entry: a log, facts (plain values.

    Null is absent), results of checks, and what must come of them.

    `expect` is `match`, `no-match`, `undecided` or `ruled-out`; `checks` maps `check/case@device`
    to a verdict. `source` is the thread that the log comes from, where that is another one than
    those under `references`, which the signatures were written from.
    """

    name: str
    expect: Expect
    log: str = ""
    source: str = ""
    facts: dict[str, Any] = msgspec.field(default_factory=dict)
    checks: dict[str, str] = msgspec.field(default_factory=dict)
    severity: Severity | None = None
    confidence: Confidence | None = None


class Milder(CatalogEntry, frozen=True, kw_only=True):
    """A circumstance in which the issue costs less: nothing selects the broken toolkit, say."""

    severity: Severity
    when: tuple[Condition, ...]


class KnownIssue(CatalogEntry, frozen=True, kw_only=True):
    """One entry of the catalog; its id is its path, `component/slug`.

    `certain`: the facts of a row prove it. `conclusive`: its text can mean nothing else, so that it
    counts in a log of another machine too. `general`: many packages fail with its text, so that an
    issue that knows which of them it is comes before it. `gathers`: where so many of its symptoms
    are found together it is reported as their cause, even without other evidence.
    """

    title: str
    severity: Severity
    cause: str
    references: tuple[Reference, ...]
    verified: Verified
    examples: tuple[Example, ...]
    certain: bool = False
    conclusive: bool = False
    general: bool = False
    gathers: int = 0
    affected: tuple[Affected, ...] = ()
    signatures: tuple[Signature, ...] = ()
    proofs: tuple[Proof, ...] = ()
    fixes: tuple[Recipe, ...] = ()
    related: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    milder: tuple[Milder, ...] = ()
