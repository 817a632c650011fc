"""A known issue: data with its own tests inside."""

from __future__ import annotations

from datetime import date
from enum import Enum
from typing import Any

import msgspec

from doctor.model.scales import Confidence, Severity


class _Entry(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Base of what authors write: unknown keys are errors."""


class Range(_Entry, frozen=True, kw_only=True):
    """Half-open range of versions, `[introduced, fixed)`; a missing end is open."""

    introduced: str | None = None
    fixed: str | None = None


class Condition(_Entry, frozen=True, kw_only=True):
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


class Affected(_Entry, frozen=True, kw_only=True):
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


class Signature(_Entry, frozen=True, kw_only=True):
    """A text that recognises the issue in a log, searched line by line.

    `pattern` is a regular expression; its named groups are captured and can be used in fixes as
    `{log.NAME}`. `also` must be found somewhere in the same log, `unless` must not.
    """

    pattern: str
    also: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


class Proof(_Entry, frozen=True, kw_only=True):
    """A case of a check that shows the issue.

    `devices` are kinds (`cpu`, `cuda`, `mps`), empty for all.
    """

    check: str
    case: str | None = None
    devices: tuple[str, ...] = ()


class FixKind(Enum):
    """The closed set of things a fix can be."""

    UPGRADE = "upgrade"
    PIN = "pin"
    REINSTALL = "reinstall"
    REBUILD = "rebuild"
    SET_ENV = "set-env"
    CONFIGURE = "configure"
    REPLACE = "replace"
    PATCH = "patch"
    EDIT = "edit"


class Recipe(_Entry, frozen=True, kw_only=True):
    """A fix with placeholders: `{fact.name}` and `{log.group}` are filled with what was seen.

    A recipe whose placeholders cannot be filled is dropped.

    Exactly one of the acts is given: `install` and `uninstall` are requirements for the target's
    own installer, `system` names packages of the operating system by package manager, `env` sets
    variables, `run` lists argument vectors, `edit` is a change in the user's own source (`before`,
    `after`). `companions` are requirements that join `install` where their package is installed; a
    second one behind a space, `torchaudio torch<=2.14.1`, comes along.
    """

    kind: FixKind
    title: str
    when: tuple[Condition, ...] = ()
    condition: str = ""
    install: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    uninstall: tuple[str, ...] = ()
    index: str | None = None
    options: tuple[str, ...] = ()
    system: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    env: dict[str, str] = msgspec.field(default_factory=dict)
    run: tuple[tuple[str, ...], ...] = ()
    edit: dict[str, str] = msgspec.field(default_factory=dict)
    safe: bool = True
    lasting: bool = True
    sudo: bool = False
    reboot: bool = False
    verify: str = ""


class Reference(_Entry, frozen=True, kw_only=True):
    """A source that somebody opened, on the day given."""

    url: str
    what: str
    opened: date


class Verified(_Entry, frozen=True, kw_only=True):
    """How the entry is known to be true: `reproduced` here, `thread` confirmed, or `documented`."""

    how: str
    checked: date
    note: str = ""


class Example(_Entry, frozen=True, kw_only=True):
    """A test of the entry: a log, facts (plain values.

    Null is absent), results of checks, and what must come of them.

    `expect` is `match`, `no-match`, `undecided` or `ruled-out`; `checks` maps `check/case@device`
    to a verdict. `source` is the thread that the log comes from, where that is another one than
    those under `references`, which the signatures were written from.
    """

    name: str
    expect: str
    log: str = ""
    source: str = ""
    facts: dict[str, Any] = msgspec.field(default_factory=dict)
    checks: dict[str, str] = msgspec.field(default_factory=dict)
    severity: Severity | None = None
    confidence: Confidence | None = None


class Milder(_Entry, frozen=True, kw_only=True):
    """A circumstance in which the issue costs less: nothing selects the broken toolkit, say."""

    severity: Severity
    when: tuple[Condition, ...]


class KnownIssue(_Entry, frozen=True, kw_only=True):
    """One entry of the catalog; its id is its path, `component/slug`.

    `certain`: the facts of a row prove it. `conclusive`: its text can mean nothing else, so that it
    counts in a log of another machine too. `general`: many packages fail with its text, so that an
    issue that knows which of them it is comes before it. `gathers`: where so many of its symptoms
    are found together it is told as their cause, though nothing else speaks for it.
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
