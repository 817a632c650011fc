"""Requirements that are met in two ways: what is asked for moves, or who asks."""

from __future__ import annotations

import msgspec
import pytest

from doctor.fixes.lines import command_line
from doctor.model.facts import present
from doctor.model.plans import Plan
from tests.planning.environments import judged, made_up

_HERE = {"transformers": "4.21.3", "tokenizers": "0.20.3", "huggingface-hub": "0.26.5"}
_OLD = ("transformers", "tokenizers", "!=0.11.3,<0.13,>=0.11.1")


def _plan(needs: list[tuple[str, str, str]], moved: str = "") -> Plan:
    seen = made_up(_HERE, needs)
    came = {"package": moved, "at": "2026-11-22T10:00:00Z", "later_than": "2026-11-22T09:00:00Z"}
    facts = {"requires.transformers.tokenizers.moved": present(came, "")} if moved else {}
    _, _, plan = judged(msgspec.structs.replace(seen, facts={**seen.facts, **facts}))
    return plan


def _movers(plan: Plan) -> list[list[str]]:
    return [[one.name for one in each.changes] for each in (plan, *plan.alternatives)]


@pytest.mark.parametrize(
    ("moved", "movers"),
    [
        ("", [["transformers"], ["tokenizers"]]),
        ("transformers", [["transformers"], ["tokenizers"]]),
        ("tokenizers", [["tokenizers"], ["transformers"]]),
    ],
)
def test_what_came_last_moves_and_the_other_way_is_an_alternative(
    moved: str, movers: list[list[str]]
) -> None:
    assert _movers(_plan([_OLD], moved)) == movers


def test_the_installer_chooses_the_release_that_takes_what_is_installed() -> None:
    plan = _plan([_OLD])
    assert plan.title == "Move transformers to a release that takes tokenizers 0.20.3"
    (step,) = plan.steps
    assert command_line(step).endswith("--upgrade 'transformers>=4.21.3' tokenizers==0.20.3")
    assert not plan.leaves


def test_what_moves_fewer_packages_comes_first() -> None:
    plan = _plan([_OLD, ("transformers", "huggingface-hub", "<0.20")], moved="tokenizers")
    assert _movers(plan) == [["transformers"], ["huggingface-hub", "tokenizers"]]


def test_who_asks_for_a_later_release_falls_within_its_major_release() -> None:
    plan = _plan([("transformers", "tokenizers", ">=0.22")], moved="transformers")
    (step,) = plan.steps
    assert command_line(step).endswith("'transformers>=4,<4.21.3' tokenizers==0.20.3")


def test_the_parts_of_jax_for_a_gpu_move_with_jaxlib() -> None:
    """Their METADATA does not ask for it, and beside another jaxlib JAX ends without a word."""
    parts = ("jaxlib", "jax-cuda12-plugin", "jax-cuda12-pjrt")
    here = {"jax": "0.4.30", **dict.fromkeys(parts, "0.4.23")}
    _, _, plan = judged(made_up(here, [("jax", "jaxlib", "<=0.4.30,>=0.4.27")]))
    moved = [set(names) & set(parts) for names in _movers(plan)]
    assert moved == [set(), set(parts)]
