"""Plans in a project that pins and locks its packages."""

from __future__ import annotations

import msgspec

from doctor.fixes.lines import command_line
from doctor.model.facts import present
from doctor.model.plans import Plan
from tests.planning.environments import judged, made_up

_PACKAGES = {
    "torch": "2.13.0",
    "numpy": "1.26.4",
    "transformers": "4.50.0",
    "tokenizers": "0.23.1",
}
_NEEDS = [("transformers", "tokenizers", ">=0.21,<0.22")]


def _planned(**told: dict[str, str]) -> Plan:
    seen = made_up(_PACKAGES, _NEEDS, "13.0")
    facts = {f"project.{name}": present(value, "") for name, value in told.items()}
    return judged(msgspec.structs.replace(seen, facts={**seen.facts, **facts}))[2]


def _moved(plan: Plan) -> dict[str, str | None]:
    return {one.name: one.after for one in plan.changes}


def test_a_package_that_moves_goes_to_the_release_that_the_project_pins() -> None:
    assert _moved(_planned()).get("tokenizers") != "0.21.1"
    assert _moved(_planned(pinned={"tokenizers": "0.21.1"})) == {"tokenizers": "0.21.1"}


def test_a_pin_that_breaks_a_rule_is_not_followed() -> None:
    assert _moved(_planned(pinned={"tokenizers": "0.19.0"})).get("tokenizers") != "0.19.0"


def test_what_the_lock_says_is_the_plan_where_it_ends_every_finding() -> None:
    plan = _planned(locked={"tokenizers": "0.21.4", "numpy": "1.26.4", "transformers": "4.50.0"})
    assert _moved(plan) == {"tokenizers": "0.21.4"}
    assert plan.title == "Put back what uv.lock says: tokenizers"
    assert not plan.leaves


def test_what_the_project_pins_is_held_in_the_command() -> None:
    plan = _planned(pinned={"numpy": "1.26.4", "transformers": "4.50.0"})
    assert {"numpy", "transformers"}.isdisjoint(_moved(plan))
    words = command_line(plan.steps[-1]).split()
    assert {"numpy==1.26.4", "transformers==4.50.0"} <= {*words}


def test_a_pin_is_given_up_only_where_nothing_else_helps_and_a_note_says_so() -> None:
    plan = _planned(pinned={"tokenizers": "0.23.1", "transformers": "4.50.0"})
    assert any("The project pins" in note for note in plan.notes)
