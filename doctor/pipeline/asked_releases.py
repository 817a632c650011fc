"""Keep the releases that a command asked for in the fixes for its failure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doctor.base.versions import in_range
from doctor.model.catalog import Catalog
from doctor.model.findings import Finding
from doctor.model.fixes import Fix, Step

_REQUIREMENT = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._-]{0,100})(?:\[[^\]]{0,100}\])?(?:[<>]|[=<>!~]=)[^\s]{1,100}"
)
"""A requirement with a release, as an installer takes it (PEP 508)."""
_PINNED = re.compile(r"torch==\d+\.\d+\.\*")


def with_asked_releases(
    findings: Sequence[Finding], argv: Sequence[str], catalog: Catalog
) -> tuple[Finding, ...]:
    """Return findings whose fixes install what `argv` asked for, in the release that it named.

    A fix that installs a package by its bare name would bring another release. Where ready wheels
    decide which torch goes with it, the fix gets that torch.
    """
    asked = {
        _name(found[1]): part for part in argv if (found := _REQUIREMENT.fullmatch(part.strip()))
    }
    if not asked:
        return tuple(findings)
    torch = _torch_for(asked.get("flash-attn", ""), catalog)
    return tuple(
        msgspec.structs.replace(found, fixes=tuple(_fix(fix, asked, torch) for fix in found.fixes))
        for found in findings
    )


def _name(text: str) -> str:
    return re.sub(r"[-_.]+", "-", text).lower()


def _fix(fix: Fix, asked: Mapping[str, str], torch: str) -> Fix:
    names = {part for command in fix.commands for part in command.argv}
    steps = tuple(_step(step, asked, torch if "flash-attn" in names else "") for step in fix.steps)
    return msgspec.structs.replace(fix, steps=steps)


def _step(step: Step, asked: Mapping[str, str], torch: str) -> Step:
    if step.command is None or "install" not in step.command.argv:
        return step
    argv = tuple(
        torch if torch and _PINNED.fullmatch(part) else asked.get(part, part)
        for part in step.command.argv
    )
    return msgspec.structs.replace(step, command=msgspec.structs.replace(step.command, argv=argv))


def _torch_for(requirement: str, catalog: Catalog) -> str:
    """Return the newest torch with an official wheel of a release of flash-attn; else empty."""
    table = catalog.tables.get("flash-attn")
    release = requirement.partition("==")[2]
    for row in table.rows if table is not None and release else ():
        cell: Any = row.get("flash-attn")
        minors = row.get("torch")
        if not isinstance(cell, dict) or not isinstance(minors, list):
            continue
        if in_range(release, introduced=cell.get("from"), fixed=cell.get("before")):
            return f"torch=={minors[-1]}.*"
    return ""
