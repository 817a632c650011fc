"""A page for each check: what it does, what it needs, what its failure means."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.model.catalog import Catalog
from doctor.model.checks import Check, Reach
from doctor.model.observation import TargetKind
from doctor.site.markdown import between, block, bullets, closed, code, grid, link, page, prose

_DEVICES = {
    Reach.EACH: "every device that answers, each in a process of its own",
    Reach.HOST: "none: it looks at the machine",
}
_TARGETS = {TargetKind.INTERPRETER: "an interpreter", TargetKind.CARGO: "a Cargo workspace"}


def path(id_: str) -> str:
    """Return the path of a check's page."""
    return f"checks/{id_}.md"


def check_page(check: Check, catalog: Catalog) -> str:
    """Return what one check says of itself, and the known issues that lean on it."""
    header = check.header
    rows = {
        "kind": header.kind.value,
        "about": _TARGETS[header.target],
        "tier": f"{header.tier.value}, {header.timeout:.0f} s at most",
        "needs": ", ".join(map(code, header.needs)),
        "devices": _DEVICES[header.devices],
        "cases": ", ".join(map(code, header.cases)),
        "Python": code(check.requires_python) if check.requires_python else "",
    }
    parts = [
        prose(header.summary) + ".",
        *(prose(part) for part in check.explanation.split("\n\n")),
        grid(("", ""), [(label, text) for label, text in rows.items() if text]),
        *_leaning(check.id, catalog),
        "## By hand",
        "With the interpreter in question, from a checkout of doctor:",
        block([f"python checks/{check.path.parent.name}/{check.path.name}"], "sh"),
    ]
    return page(f"{check.id}: the check", parts, header.summary)


def _leaning(id_: str, catalog: Catalog) -> list[str]:
    issues = sorted(
        name
        for name, issue in catalog.issues.items()
        if any(proof.check == id_ for proof in issue.proofs)
    )
    linked = [
        link(prose(closed(catalog.issues[name].title)), between(path(id_), f"issues/{name}.md"))
        for name in issues
    ]
    return ["## Known issues that it shows", bullets(linked)] if linked else []


def index(checks: Mapping[str, Check]) -> str:
    """Return the list of checks."""
    rows = [
        (link(code(name), f"{name}.md"), prose(check.header.summary), check.header.tier.value)
        for name, check in checks.items()
    ]
    told = (
        "Each does one fragile thing in miniature, in a process of its own, and compares the "
        "result with an oracle."
    )
    return page("Checks and canaries", [told, grid(("check", "what it does", "tier"), rows)])
