"""Quote facts as evidence, in words."""

from __future__ import annotations

from typing import Any

from doctor.facts.conditions import lookup
from doctor.facts.families import extension_fact, requirement_of, table_cell
from doctor.facts.placeholders import as_text
from doctor.model.facts import Fact, Facts, value_of
from doctor.model.findings import Evidence, EvidenceKind


def fact_evidence(name: str, facts: Facts) -> Evidence:
    """Quote a fact as evidence; a requirement becomes a sentence."""
    fact = lookup(name, facts)
    shown = as_text(fact.value) if fact.value is not None else fact.state.value
    text = (
        requirement_sentence(name, facts)
        or _violation(name, facts)
        or _in_vain(name, fact)
        or _built_for(name, shown)
        or f"{name} = {shown}"
    )
    return Evidence(kind=EvidenceKind.FACT, text=text, source=fact.source, fact=name)


def requirement_sentence(name: str, facts: Facts) -> str:
    """Return `requires.PACKAGE.WANTED.met` or `.moved` as a sentence; empty for any other fact."""
    found = requirement_of(name)
    if found is None or found[1] not in ("met", "moved"):
        return ""
    one, member = found
    if member == "moved":
        return _moved(value_of(facts, name))
    version = as_text(value_of(facts, f"package.{one.package}.version") or "")
    if value_of(facts, name) is None:
        return " ".join(filter(None, (one.package, version, f"names no release of {one.wanted}")))
    wanted, here = one.wanted + one.text("specifier", facts), one.text("installed", facts)
    asked = " ".join(filter(None, (one.package, version, "asks for", wanted)))
    return f"{asked}; {f'{here} is installed' if here else 'it is not installed'}"


def _violation(name: str, facts: Facts) -> str:
    """Tell `compat.<table>.<column>` = violated by what the table wants.

    Empty for any other fact.
    """
    cell = table_cell(name)
    if cell is None or not cell.is_violated(facts) or cell.fact("wanted") not in facts:
        return ""
    return f"{cell.column} {cell.text('wanted', facts)} is wanted"


_IN_VAIN = {
    "undefined_symbols": "asks for the symbol {}, which what is installed does not define",
    "missing_libraries": "needs {}, which nothing here brings",
    "system_versions": "needs {}, which the C or C++ library here does not have",
}


def _in_vain(name: str, fact: Fact) -> str:
    """Tell what a compiled file asks for, `extension.PACKAGE.undefined_symbols`, as a sentence.

    Empty for any other fact.
    """
    of_package = extension_fact(name)
    kind = of_package.kind if of_package else name.removeprefix("libs.")
    if kind not in _IN_VAIN or not isinstance(fact.value, list | tuple) or not fact.value:
        return ""
    first, others = as_text(fact.value[0]), len(fact.value) - 1
    return f"{as_text(fact.source).rpartition('/')[2]} " + _IN_VAIN[kind].format(
        first + (f" (and {others} more)" if others else "")
    )


def _built_for(name: str, shown: str) -> str:
    """Tell `extension.PACKAGE.built_for` as a sentence; empty for any other fact."""
    one = extension_fact(name)
    if one is None or one.kind != "built_for":
        return ""
    return f"{shown} defines every symbol that it asks for"


def _moved(moved: Any) -> str:
    if not isinstance(moved, dict):
        return ""
    by = moved.get("installer") or "an installer that left no name"
    return (
        f"{moved.get('package')} was installed at {moved.get('at')} by {by}, after "
        f"{moved.get('later_than')}"
    )
