"""Recipes become fixes, or are dropped."""

from __future__ import annotations

from typing import Any

from doctor.fixes.prescribe import prescribe
from doctor.match import diagnose
from doctor.model.fixes import Fix
from doctor.model.issues import FixKind, Recipe
from tests import toy

FACTS = {"torch.version": "1.13.1", "python.executable": "/venv/bin/python", "python.has_pip": True, "host.package_manager": "apt"}


def fixes(*recipes: Recipe, **facts: Any) -> list[Fix]:
    observation = toy.seen({**FACTS, **facts}, log="the sum is off by 3")
    diagnosis = diagnose(observation, toy.catalog(torch__wrong_sum=toy.issue(fixes=recipes)))
    return list(prescribe(diagnosis, observation.facts).findings[0].fixes)


def recipe(**changes: Any) -> Recipe:
    return Recipe(**{"kind": FixKind.UPGRADE, "title": "Take torch 2", **changes})


def test_a_recipe_is_filled_with_what_was_seen() -> None:
    (fix,) = fixes(
        recipe(title="From {torch.version} by {log.amount}", install=("torch>=2.{log.amount}",), verify="{python.executable} -V")
    )
    assert fix.title == "From 1.13.1 by 3"
    assert fix.steps[0].argv == ("/venv/bin/python", "-m", "pip", "install", "torch>=2.3")
    assert fix.verify == "/venv/bin/python -V"


def test_a_recipe_that_does_not_fit_this_machine_is_dropped() -> None:
    kept = fixes(
        recipe(install=("x=={cuda.version}",)),
        recipe(when=(toy.condition("host.os", equals="macos"),), install=("y",)),
        recipe(system={"dnf": ("gcc",)}),
        recipe(install=("z",)),
        **{"host.os": "linux"},
    )
    assert [fix.steps[-1].argv[-1] for fix in kept] == ["z"]


def test_an_order_that_works_and_variables_where_they_belong() -> None:
    (fix,) = fixes(recipe(system={"apt": ("g++",)}, uninstall=("b",), run=(("mkdir", "-p", "d"),), install=("a",), env={"MAX_JOBS": "2"}))
    assert [step.argv[0] for step in fix.steps] == ["apt-get", "/venv/bin/python", "mkdir", "/venv/bin/python"]
    assert fix.steps[-1].env == {"MAX_JOBS": "2"}
    assert fix.sudo


def test_variables_alone_are_exported_last() -> None:
    (fix,) = fixes(recipe(kind=FixKind.SET_ENV, run=(("ln", "-s", "a", "b"),), env={"LIBRARY_PATH": "/b"}))
    assert [step.argv for step in fix.steps] == [("ln", "-s", "a", "b"), ()]


def test_a_system_interpreter_is_not_safe_to_install_into() -> None:
    (fix,) = fixes(recipe(install=("a",)), **{"python.externally_managed": True})
    assert not fix.safe


def test_cargo_is_run_in_the_workspace() -> None:
    (fix,) = fixes(recipe(run=(("cargo", "update", "-p", "half"), ("rm", "x"))), **{"cargo.workspace": "/ws"})
    assert [step.cwd for step in fix.steps] == ["/ws", None]


def test_an_edit_shows_before_and_after() -> None:
    (fix,) = fixes(recipe(kind=FixKind.EDIT, edit={"file": "build.rs", "before": "let b", "after": "let mut b"}))
    assert (fix.before, fix.after, fix.steps) == ("let b", "let mut b", ())


def test_an_edit_of_a_file_that_was_not_found_is_dropped() -> None:
    change = recipe(kind=FixKind.EDIT, edit={"file": "{crate.candle-flash-attn.path}/build.rs", "before": "let b", "after": "let mut b"})
    assert fixes(change) == []
    assert [fix.file for fix in fixes(change, **{"crate.candle-flash-attn.path": "/ws/attn"})] == ["/ws/attn/build.rs"]
