"""Recipes become fixes, or are dropped."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.fixes.prescribe import prescribe
from doctor.judge.match import diagnose
from doctor.model.fixes import Fix
from doctor.model.issues import FixKind, Recipe
from tests import toy

FACTS = {
    "torch.version": "1.13.1",
    "python.executable": "/venv/bin/python",
    "python.has_pip": True,
    "host.package_manager": "apt",
}


def fixes(*recipes: Recipe, **facts: Any) -> list[Fix]:
    observation = toy.seen({**FACTS, **facts}, log="the sum is off by 3")
    diagnosis = diagnose(observation, toy.catalog(torch__wrong_sum=toy.issue(fixes=recipes)))
    return list(prescribe(diagnosis, observation.facts).findings[0].fixes)


def recipe(**changes: Any) -> Recipe:
    return Recipe(**{"kind": FixKind.UPGRADE, "title": "Take torch 2", **changes})


def test_a_recipe_is_filled_with_what_was_seen() -> None:
    (fix,) = fixes(
        recipe(
            title="From {torch.version} by {log.amount}",
            install=("torch>=2.{log.amount}",),
            verify="{python.executable} -V",
        )
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
    (fix,) = fixes(
        recipe(
            system={"apt": ("g++",)},
            uninstall=("b",),
            run=(("mkdir", "-p", "d"),),
            install=("a",),
            env={"MAX_JOBS": "2"},
        )
    )
    assert [step.argv[0] for step in fix.steps] == [
        "apt-get",
        "/venv/bin/python",
        "mkdir",
        "/venv/bin/python",
    ]
    assert fix.steps[-1].env == {"MAX_JOBS": "2"}
    assert fix.sudo


def test_variables_alone_are_exported_last() -> None:
    (fix,) = fixes(
        recipe(kind=FixKind.SET_ENV, run=(("ln", "-s", "a", "b"),), env={"LIBRARY_PATH": "/b"})
    )
    assert [step.argv for step in fix.steps] == [("ln", "-s", "a", "b"), ()]


def test_what_is_met_already_is_no_fix() -> None:
    listed = {"packages": {"torch": "2.13.0+cu130", "numpy": "2.4.0", "vision-kit": "1.0"}}
    kept = fixes(
        recipe(install=("torch==2.13.0", "numpy>=2")),
        recipe(install=("numpy",)),
        recipe(install=("torch==2.13.0",), options=("upgrade",)),
        recipe(uninstall=("einops",)),
        recipe(install=("torch==2.13.0+cu126",)),
        recipe(install=("numpy<2",)),
        recipe(install=("torch==2.13.0", "einops")),
        recipe(install=("numpy",), options=("upgrade",)),
        recipe(install=("numpy",), options=("reinstall",)),
        recipe(install=("vision_kit[all]",)),
        recipe(uninstall=("Vision.Kit",)),
        **listed,
    )
    assert len(kept) == 7
    assert kept[0].steps[0].argv[-1] == "torch==2.13.0+cu126"
    assert len(fixes(recipe(install=("torch==1.13.1",)))) == 1  # nobody could list the packages


def test_what_asks_in_vain_is_not_met() -> None:
    again, here = (
        recipe(install=("torch==1.13.1",)),
        {"packages": {"torch": "1.13.1", "cuda-toolkit": "13.0", "nvidia-nccl-cu13": "2.0"}},
    )
    met = {
        "requires.torch.cuda-toolkit.met": True,
        "requires.cuda-toolkit.nvidia-nccl-cu13.met": True,
    }
    assert fixes(again, **here, **met) == []
    assert (
        len(fixes(again, **here, **{**met, "requires.cuda-toolkit.nvidia-nccl-cu13.met": False}))
        == 1
    )


def test_where_every_fix_is_met_already_the_finding_says_so() -> None:
    def told(*recipes: Recipe) -> str:
        observation = toy.seen(
            {**FACTS, "host.os": "linux", "packages": {"torch": "1.13.1"}},
            log="the sum is off by 3",
        )
        diagnosis = diagnose(observation, toy.catalog(torch__wrong_sum=toy.issue(fixes=recipes)))
        return prescribe(diagnosis, observation.facts).findings[0].message

    met = recipe(install=("torch==1.13.1",))
    assert told(met).endswith("it would change nothing.")
    assert "change nothing" not in told(met, recipe(install=("torch==2.0.0",)))
    assert "change nothing" not in told(
        recipe(install=("torch==1.13.1",), when=(toy.condition("host.os", equals="macos"),)),
        recipe(uninstall=("b",)),
    )


def test_a_variable_that_has_its_value_is_no_fix() -> None:
    setting = recipe(kind=FixKind.SET_ENV, env={"MAX_JOBS": "2"})
    assert fixes(setting, **{"env.MAX_JOBS": "2"}) == []
    assert len(fixes(setting, **{"env.MAX_JOBS": "8"})) == 1


def test_a_companion_joins_where_it_is_installed() -> None:
    both = recipe(
        install=("torch==2.13.0",), companions=("torchvision==0.28.0", "torchaudio==2.11.0")
    )
    (fix,) = fixes(both, packages={"torch": "1.13.1", "torchvision": "0.14.1"})
    assert fix.steps[0].argv[-2:] == ("torch==2.13.0", "torchvision==0.28.0")
    (fix,) = fixes(both)
    assert fix.steps[0].argv[-1] == "torch==2.13.0"
    assert (
        fix.when == "with torchvision and torchaudio in the same command where they are installed"
    )


def test_a_companion_of_which_no_release_is_known_leaves_no_fix() -> None:
    both = recipe(
        install=("torch==2.15.0",), companions=("torchaudio=={compat.torch.torchaudio.wanted}",)
    )
    assert fixes(both, packages={"torch": "1.13.1", "torchaudio": "0.13.1"}) == []
    assert len(fixes(both, packages={"torch": "1.13.1"})) == 1


@pytest.mark.parametrize(
    "closed", [{"python.externally_managed": True}, {"python.writable": False}]
)
def test_a_closed_environment_gets_another_one_above_it(closed: dict[str, bool]) -> None:
    (fix,) = fixes(
        recipe(install=("a",), uninstall=("b",), verify="{python.executable} -c 'import a'"),
        recipe(uninstall=("b",)),
        **closed,
    )
    assert [step.argv for step in fix.steps] == [
        ("/venv/bin/python", "-m", "venv", "--system-site-packages", ".venv-above"),
        (".venv-above/bin/python", "-m", "pip", "install", "a"),
    ]
    assert fix.verify == ".venv-above/bin/python -c 'import a'"


LOCKED = {"python.lock": "/home/me/project/uv.lock", "python.lock_differs": {"torch": "2.13.0"}}


def test_a_project_of_uv_is_put_back_to_its_lock_first() -> None:
    sync, other = fixes(recipe(install=("torch==2.6.0",)), **LOCKED)
    assert (sync.steps[0].argv, sync.steps[0].cwd) == (
        ("uv", "sync", "--inexact"),
        "/home/me/project",
    )
    assert not other.lasting
    assert "uv add" in other.when


def test_a_lock_that_says_nothing_of_it_is_no_fix() -> None:
    (fix,) = fixes(recipe(install=("numpy<2",)), **LOCKED)
    assert "uv add" in fix.when


def test_cargo_is_run_in_the_workspace() -> None:
    (fix,) = fixes(
        recipe(run=(("cargo", "update", "-p", "half"), ("rm", "x"))), **{"cargo.workspace": "/ws"}
    )
    assert [step.cwd for step in fix.steps] == ["/ws", None]


def test_an_edit_shows_before_and_after() -> None:
    (fix,) = fixes(
        recipe(
            kind=FixKind.EDIT, edit={"file": "build.rs", "before": "let b", "after": "let mut b"}
        )
    )
    assert (fix.before, fix.after, fix.steps) == ("let b", "let mut b", ())


def test_an_edit_of_a_file_that_was_not_found_is_dropped() -> None:
    change = recipe(
        kind=FixKind.EDIT,
        edit={
            "file": "{crate.candle-flash-attn.path}/build.rs",
            "before": "let b",
            "after": "let mut b",
        },
    )
    assert fixes(change) == []
    assert [fix.file for fix in fixes(change, **{"crate.candle-flash-attn.path": "/ws/attn"})] == [
        "/ws/attn/build.rs"
    ]
