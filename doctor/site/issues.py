"""A page for each known issue, and one for each component."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from doctor.fixes.lines import LineKind, recipe_lines
from doctor.fixes.shell import line
from doctor.model.catalog import Catalog
from doctor.model.checks import Check
from doctor.model.fixes import Command
from doctor.model.issues import Expect, KnownIssue, Proof, Recipe, Signature
from doctor.report.reference.conditions import VERIFIED, condition_text, row_text
from doctor.report.view.words import flags
from doctor.site.commands import commands, filled
from doctor.site.markdown import (
    between,
    block,
    bullets,
    closed,
    code,
    grid,
    link,
    page,
    plain,
    prose,
)

_MESSAGES, _LINES = 3, 6
"""How many messages a page shows, and how many lines at the end of each."""


_HOW_TO_READ = (
    "Best first. `doctor check` puts in what stands between `<` and `>` where it can find it out, "
    "and uses the installer of the environment (with uv, `uv pip` takes the place of "
    "`python -m pip`)."
)


def path(id_: str) -> str:
    """Return the path of an issue's page."""
    return f"issues/{id_}.md"


def issue_page(id_: str, catalog: Catalog, checks: Mapping[str, Check]) -> str:
    """Return what is known about one issue."""
    issue = catalog.issues[id_]
    component = id_.partition("/")[0]
    parts = [
        f"{code(id_)} · **{issue.severity.value}** · "
        + link(plain(component), between(path(id_), f"issues/{component}/index.md")),
        *_seen(issue),
        "## Why",
        prose(issue.cause),
        *_fixes(issue),
        *_prevention(id_, issue),
        "## How doctor recognises it",
        *_facts(issue),
        *_texts(issue.signatures),
        _proofs(issue.proofs, path(id_), checks),
        *_relatives(id_, catalog),
        *_sources(issue),
    ]
    return page(closed(issue.title), parts, issue.cause)


def _seen(issue: KnownIssue) -> list[str]:
    """Return messages that people met, out of the examples."""
    logs = {
        "\n".join(example.log.strip().splitlines()[-_LINES:]): None
        for example in issue.examples
        if example.expect is Expect.MATCH and example.log and example.log.strip()
    }
    shown = sorted(logs, key=len)[:_MESSAGES]
    return ["## What you see", *(block(text.splitlines()) for text in shown)] if shown else []


def _prevention(id_: str, issue: KnownIssue) -> list[str]:
    """Return how the issue is met early, as far as its entry tells."""
    ci, run, plan = (between(path(id_), name) for name in ("ci.md", "logs.md", "plan.md"))
    lines = []
    if issue.fixes and any(step.install for step in issue.fixes[0].steps):
        lines.append(
            f"Before you install or upgrade, {link('`doctor plan`', plan)} names releases that go "
            "together on your machine. Pin them in the project."
        )
    if issue.affected or issue.proofs:
        how = "files and tools alone" if issue.affected else "its canaries"
        lines.append(
            f"{link('`doctor check` in CI', ci)} finds it by {how}, before a program fails."
        )
    if issue.signatures:
        lines.append(
            f"{link('`doctor run -- COMMAND`', run)} recognises it in the output of a command."
        )
    return ["## How to prevent it", bullets(lines)] if lines else []


def _facts(issue: KnownIssue) -> list[str]:
    if not issue.affected:
        return []
    rows = [
        code(row_text(row)) + (f": {row.predicts.value} by itself" if row.predicts else "")
        for row in issue.affected
    ]
    sure = "These facts alone prove it." if issue.certain else "These facts alone are no proof."
    return [
        "It applies where any of these holds:" if len(rows) > 1 else "It applies where this holds:",
        bullets(rows),
        sure,
    ]


def _texts(signatures: tuple[Signature, ...]) -> list[str]:
    lines = ["In a log it is this text, as a regular expression:"] if signatures else []
    for signature in signatures:
        lines.append(block([signature.pattern]))
        lines += (
            [f"where the same log also holds {' and '.join(map(code, signature.also))}"]
            if signature.also
            else []
        )
        lines += (
            [f"unless the log holds {' or '.join(map(code, signature.unless))}"]
            if signature.unless
            else []
        )
    return lines


def _proofs(proofs: tuple[Proof, ...], here: str, checks: Mapping[str, Check]) -> str:
    items = []
    for proof in proofs:
        name = (
            link(code(proof.check), between(here, f"checks/{proof.check}.md"))
            if proof.check in checks
            else code(proof.check)
        )
        case = f", case {code(proof.case)}" if proof.case else ""
        items.append(
            f"the check {name}{case}"
            + (f", on {plain(', '.join(proof.devices))}" if proof.devices else "")
        )
    return ("It is shown by:\n\n" + bullets(items)) if items else ""


def _fixes(issue: KnownIssue) -> list[str]:
    if not issue.fixes:
        return []
    parts = [
        "## What to do",
        _HOW_TO_READ,
    ]
    for number, recipe in enumerate(issue.fixes, 1):
        parts += [f"### {number}\\. {prose(closed(recipe.title))}", *_recipe(recipe)]
    return parts


def _recipe(recipe: Recipe) -> list[str]:
    conditions = [
        prose(one) if isinstance(one, str) else code(condition_text(one)) for one in recipe.use_if
    ]
    noted = flags(recipe)
    parts = ([f"If {' and '.join(conditions)}."] if conditions else []) + (
        [f"*{plain(noted)}*"] if noted else []
    )
    for label, shown in commands(recipe):
        parts += [f"{plain(label)}:"] if label else []
        parts.append(block(shown, "powershell" if label == "PowerShell" else "sh"))
    lines = list(recipe_lines(recipe))
    change = [one.marked for one in lines if one.kind in (LineKind.REMOVED, LineKind.ADDED)]
    parts += [block(change, "diff")] if change else []
    parts += [prose(recipe.note)] if recipe.note else []
    return parts + (
        ["Check:", block([line(Command(argv=tuple(map(filled, recipe.verify))))], "sh")]
        if recipe.verify
        else []
    )


def _relatives(id_: str, catalog: Catalog) -> list[str]:
    issue = catalog.issues[id_]
    explained = sorted(other for other, known in catalog.issues.items() if id_ in known.symptoms)
    rows = (
        ("It explains", issue.symptoms),
        ("It may be explained by", explained),
        ("See also", issue.related),
    )
    items = [
        f"{label} {', '.join(_named(other, id_, catalog) for other in ids)}"
        for label, ids in rows
        if ids
    ]
    return ["## Related", bullets(items)] if items else []


def _named(other: str, here: str, catalog: Catalog) -> str:
    return (
        link(code(other), between(path(here), path(other)))
        if other in catalog.issues
        else code(other)
    )


def _sources(issue: KnownIssue) -> list[str]:
    verified = issue.verified
    how = f"{VERIFIED.get(verified.how, verified.how)}, {verified.checked.isoformat()}"
    told = (
        f"Verified: {plain(how)}"
        + (f" ({plain(issue.verified.note)})" if issue.verified.note else "")
        + "."
    )
    items = [
        f"{link(prose(each.what), each.url)} (opened {each.opened.isoformat()})"
        for each in issue.references
    ]
    return ["## Sources", bullets(items), told]


def component_pages(catalog: Catalog) -> dict[str, str]:
    """Return an index of all issues by component, and one for each component."""
    pages, rows = {}, []
    for component, ids in groupby(sorted(catalog.issues), key=lambda id_: id_.partition("/")[0]):
        names, here = list(ids), f"issues/{component}/index.md"
        listed = [
            (catalog.issues[id_].severity.value, _titled(id_, here, catalog), code(id_))
            for id_ in names
        ]
        title = f"{component}: known issues"
        pages[here] = page(
            title,
            [grid(("severity", "issue", "id"), listed)],
            f"Known issues of {component}, their causes and fixes.",
        )
        rows.append((link(plain(component), f"{component}/index.md"), str(len(names))))
    told = (
        f"{len(catalog.issues)} known issues; the newest source was opened on "
        f"{catalog.newest_source}. The search also finds error messages."
    )
    pages["issues/index.md"] = page(
        "Known issues by component", [told, grid(("component", "issues"), rows)]
    )
    return pages


def _titled(id_: str, here: str, catalog: Catalog) -> str:
    return link(prose(closed(catalog.issues[id_].title)), between(here, path(id_)))
