"""One known issue, one check, and the lists of both."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from doctor.model.checks import Check, Header, Kind, Reach
from doctor.model.compat import Column, Newest, Origin, Source, Table
from doctor.model.issues import (
    Action,
    Affected,
    Condition,
    Edit,
    KnownIssue,
    Option,
    Proof,
    Range,
    Recipe,
    Signature,
)
from doctor.model.scales import Severity, Tier
from doctor.report.reference import explain, families, listing
from doctor.report.reference.families import FAMILIES
from doctor.report.reference.search import document, matching
from tests import toy

ROOT = Path(__file__).parents[2]

CHECK = Check(
    id="toy-add",
    path=Path("/checks/canaries/toy_add.py"),
    header=Header(
        kind=Kind.CANARY,
        summary="Adds [bold]toys",
        needs=("torch",),
        tier=Tier.DEEP,
        timeout=600,
        devices=Reach.EACH,
        cases=("sum",),
    ),
    requires_python=">=3.8",
    explanation="Adding works.\n\nA failure means\nthat it does not.",
)
TABLE = Table(
    title="Toys that go together",
    columns={"torch": Column(fact="torch.minor", key=True)},
    sources={"here": Source(what="x", opened=date(2026, 1, 1), evidence=Origin.SOURCE)},
    rows=({"torch": "2.7"},),
    newest=Newest(release="2.7", read=date(2026, 1, 1)),
)


def told(issue: KnownIssue, *, width: int = 80, unicode: bool = True) -> str:
    """Explain an issue without colour."""
    return explain.render("toy/wrong-sum", issue, width=width, colour=False, unicode=unicode)


def test_an_issue_says_what_it_is_and_how_it_is_known() -> None:
    """Title, cause, rows, signature, proof, fix, source and the day somebody looked."""
    text = told(toy.issue())
    for words in (
        "toy/wrong-sum",
        "Sums are off by one.",
        "torch before 2.0",
        "sum is off by",
        "toy-add, case sum",
        "torch>=2.0",
        "https://example.org/1",
        "2026-11-21",
    ):
        assert words in text
    assert "{torch.version}" not in text.splitlines()[0]


@pytest.mark.parametrize(
    ("operator", "words"),
    [
        ({"range": Range(introduced="1", fixed="2")}, "toy.fact from 1, before 2"),
        ({"range": Range(introduced="1")}, "toy.fact from 1 on"),
        ({"range": Range()}, "toy.fact of any version"),
        ({"equals": False}, "toy.fact is false"),
        ({"one_of": ("a", "b")}, "toy.fact is one of a, b"),
        ({"matches": "^a"}, "toy.fact matches ^a"),
        ({"present": True}, "toy.fact is there"),
        ({"present": False}, "toy.fact is not there"),
        ({"absent": True}, "toy.fact is not there"),
    ],
)
def test_every_operator_has_words(operator: dict[str, object], words: str) -> None:
    """A row reads as a sentence."""
    assert words in told(
        toy.issue(affected=(Affected(when=(toy.condition("toy.fact", **operator),)),))
    )


def test_every_act_of_a_recipe_is_told() -> None:
    """Installing, removing, system packages, variables, programs and edits."""
    fixes = (
        Recipe(
            title="Pin",
            steps=(
                Action(system={"apt": ("c",)}, sudo=True),
                Action(uninstall=("b",)),
                Action(install=("a==1",), options=(Option.NO_DEPS,)),
            ),
            lasting=False,
        ),
        Recipe(
            title="Set",
            use_if=("it is raining",),
            steps=(
                Action(run=("ln", "-s", "x")),
                Action(env={"TOY": "{cuda.home}"}),
            ),
        ),
        Recipe(
            title="Edit",
            steps=(Action(edit=Edit(file="train.py", before="a = 1", after="a = 2")),),
            safe=False,
        ),
    )
    text = " ".join(told(toy.issue(fixes=fixes)).split())
    for words in (
        "install a==1 (no-deps)",
        "uninstall b",
        "apt: install c",
        "needs sudo",
        "workaround",
        "export TOY={cuda.home}",
        "ln -s x",
        "if it is raining",
        "in train.py:",
        "- a = 1",
        "+ a = 2",
        "risky",
    ):
        assert words in text


def test_signatures_say_what_must_stand_beside_them() -> None:
    """`also` and `unless` are part of how an issue is recognised."""
    text = " ".join(
        told(
            toy.issue(
                signatures=(Signature(pattern="x", also=("y",), unless=("z",)),),
                proofs=(Proof(check="toy-add", devices=("mps",)),),
            )
        ).split()
    )
    assert "x with y but not with z" in text
    assert "toy-add on mps" in text


def test_an_explanation_can_be_shown_anywhere() -> None:
    """Narrow, and without Unicode."""
    text = told(toy.issue(title="Fünf [bold]"), width=40, unicode=False)
    assert text.isascii()
    assert "[bold]" in text


def test_a_check_says_what_it_proves_and_costs() -> None:
    """Its docstring, by paragraphs, and its header."""
    text = explain.render_check(CHECK, width=80, colour=False, unicode=True)
    for words in (
        "toy-add",
        "Adds [bold]toys",
        "A failure means that it does not.",
        "torch",
        "600 s",
        "sum",
        "python /checks/canaries/toy_add.py",
    ):
        assert words in text


def test_the_list_is_an_overview_and_a_query_finds_ids() -> None:
    """Checks, numbers of issues by component, tables; then what fits the words."""
    known = toy.catalog(
        {"toys": TABLE},
        torch__wrong_sum=toy.issue(severity=Severity.WARNING),
        candle__dark=toy.issue(title="[/x] {cuda.home}"),
    )
    checks = {"toy-add": CHECK}
    text = listing.render(known, checks, width=80, colour=False, unicode=False)
    for words in (
        "1 check",
        "toy-add",
        "deep, 600 s",
        "2 known issues",
        "candle 1, torch 1",
        "1 compatibility table",
        "toys",
    ):
        assert words in text
    for query, ids in (
        (("candle",), ["candle/dark"]),
        (("*/wrong-*",), ["torch/wrong-sum"]),
        (("TOY",), ["toy-add", "toys"]),
        (("torch", "dark"), []),
        ((), ["toy-add", "candle/dark", "torch/wrong-sum", "toys"]),
    ):
        found = matching(query, known, checks)
        assert [*found.checks, *found.issues, *found.tables] == ids, query
        text = listing.render(known, checks, found, width=80, colour=False, unicode=False)
        assert all(name in text for name in ids)
        assert [
            one["id"] for group in document(found, known, checks).values() for one in group
        ] == ids


def test_every_id_of_a_generic_rule_is_explained() -> None:
    written = {
        prefix
        for room in ("judge", "fleet")
        for path in (ROOT / "doctor" / room).rglob("*.py")
        for prefix in re.findall(r'id=f?"([a-z]+)/', path.read_text(encoding="utf-8"))
    }
    assert written <= set(FAMILIES)
    assert {"requires", "canary", "expect", "failure", "ignore", "compat"} <= set(FAMILIES)
    text = families.render("requires/xfuser", width=80, colour=False, unicode=False)
    assert "requires/xfuser" in text


def test_a_fix_names_its_index_its_companions_and_its_values() -> None:
    recipe = Recipe(
        title="Move it",
        use_if=(Condition(fact="host.wsl", absent=True),),
        steps=(
            Action(
                install=("torch==<release>",), companions=("torchvision",), index="https://i/cu"
            ),
        ),
        ask={"release": "the release of the program"},
    )
    page = told(toy.issue(fixes=(recipe,)), width=200)
    assert "if this is not WSL: Move it" in page
    assert (
        "install torch==<release> (with torchvision, where installed) (from https://i/cu)" in page
    )
    assert "<release> is the release of the program" in page
