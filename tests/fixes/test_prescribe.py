"""Recipes become fixes, or are dropped."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.fixes.attach import with_fixes
from doctor.fixes.circumstances import circumstance
from doctor.judge.match import diagnose
from doctor.model.fixes import Command, Fix, Step
from doctor.model.issues import Action, Edit, Option, Range, Recipe, Snippet
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
    return list(with_fixes(diagnosis.findings, observation.facts)[0].fixes)


def recipe(*steps: Action, **changes: Any) -> Recipe:
    return Recipe(**{"title": "Take torch 2", "steps": steps, **changes})


def installs(*wanted: str, options: tuple[Option, ...] = (), **changes: Any) -> Recipe:
    return recipe(Action(install=wanted, options=options), **changes)


def removes(*names: str) -> Recipe:
    return recipe(Action(uninstall=names))


def argvs(fix: Fix) -> list[tuple[str, ...]]:
    return [command.argv for command in fix.commands]


def test_a_recipe_is_filled_with_what_was_seen() -> None:
    (fix,) = fixes(
        installs(
            "torch>=2.{log.amount}",
            title="From {torch.version} by {log.amount}",
            verify=("{python.executable}", "-V"),
        )
    )
    assert fix.title == "From 1.13.1 by 3"
    assert argvs(fix) == [("/venv/bin/python", "-m", "pip", "install", "torch>=2.3")]
    assert fix.verify == Command(argv=("/venv/bin/python", "-V"))


def test_a_recipe_that_does_not_fit_this_machine_is_dropped() -> None:
    kept = fixes(
        installs("x=={cuda.version}"),
        installs("y", use_if=(toy.condition("host.os", equals="macos"),)),
        recipe(Action(system={"dnf": ("gcc",)})),
        installs("z"),
        **{"host.os": "linux"},
    )
    assert [argvs(fix)[-1][-1] for fix in kept] == ["z"]


def test_an_order_that_works_and_variables_where_they_belong() -> None:
    (fix,) = fixes(
        recipe(
            Action(system={"apt": ("g++",)}),
            Action(uninstall=("b",)),
            Action(run=("mkdir", "-p", "d")),
            Action(install=("a",), env={"MAX_JOBS": "2"}),
        )
    )
    assert [argv[0] for argv in argvs(fix)] == [
        "apt-get",
        "/venv/bin/python",
        "mkdir",
        "/venv/bin/python",
    ]
    assert fix.commands[-1].env == {"MAX_JOBS": "2"}
    assert [step.sudo for step in fix.steps] == [True, False, False, False]
    (by_root,) = fixes(recipe(Action(system={"apt": ("g++",)})), **{"host.root": True})
    assert not by_root.sudo


def test_steps_keep_the_order_of_their_author() -> None:
    (fix,) = fixes(recipe(Action(env={"LIBRARY_PATH": "/b"}), Action(run=("ln", "-s", "a", "b"))))
    assert argvs(fix) == [(), ("ln", "-s", "a", "b")]


def test_what_is_met_already_is_no_fix() -> None:
    listed = {"packages": {"torch": "2.13.0+cu130", "numpy": "2.4.0", "vision-kit": "1.0"}}
    kept = fixes(
        installs("torch==2.13.0", "numpy>=2"),
        installs("numpy"),
        installs("torch==2.13.0", options=(Option.UPGRADE,)),
        removes("einops"),
        installs("torch==2.13.0+cu126"),
        installs("numpy<2"),
        installs("torch==2.13.0", "einops"),
        installs("numpy", options=(Option.UPGRADE,)),
        installs("numpy", options=(Option.REINSTALL,)),
        installs("vision_kit[all]"),
        removes("Vision.Kit"),
        **listed,
    )
    assert len(kept) == 7
    assert argvs(kept[0])[0][-1] == "torch==2.13.0+cu126"
    assert len(fixes(installs("torch==1.13.1"))) == 1  # nobody could list the packages


def test_what_asks_in_vain_is_not_met() -> None:
    again, here = (
        installs("torch==1.13.1"),
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
        return with_fixes(diagnosis.findings, observation.facts)[0].message

    met = installs("torch==1.13.1")
    assert told(met).endswith("none would change anything.")
    assert "change anything" not in told(met, installs("torch==2.0.0"))
    assert "change anything" not in told(
        installs("torch==1.13.1", use_if=(toy.condition("host.os", equals="macos"),)),
        removes("b"),
    )


def test_a_variable_that_has_its_value_is_no_fix() -> None:
    setting = recipe(Action(env={"MAX_JOBS": "2"}))
    assert fixes(setting, **{"env.MAX_JOBS": "2"}) == []
    assert len(fixes(setting, **{"env.MAX_JOBS": "8"})) == 1


def test_a_companion_joins_where_it_is_installed() -> None:
    both = recipe(
        Action(install=("torch==2.13.0",), companions=("torchvision==0.28.0", "torchaudio==2.11.0"))
    )
    (fix,) = fixes(both, packages={"torch": "1.13.1", "torchvision": "0.14.1"})
    assert argvs(fix)[0][-2:] == ("torch==2.13.0", "torchvision==0.28.0")
    (fix,) = fixes(both)
    assert argvs(fix)[0][-1] == "torch==2.13.0"
    assert fix.note == (
        "Add torchvision and torchaudio to the same command where they are installed."
    )


def test_a_companion_of_which_no_release_is_known_leaves_no_fix() -> None:
    both = recipe(
        Action(
            install=("torch==2.15.0",), companions=("torchaudio=={compat.torch.torchaudio.wanted}",)
        )
    )
    assert fixes(both, packages={"torch": "1.13.1", "torchaudio": "0.13.1"}) == []
    assert len(fixes(both, packages={"torch": "1.13.1"})) == 1


@pytest.mark.parametrize(
    "closed", [{"python.externally_managed": True}, {"python.writable": False}]
)
def test_a_closed_environment_gets_another_one_above_it(closed: dict[str, bool]) -> None:
    (fix,) = fixes(
        recipe(
            Action(uninstall=("b",)),
            Action(install=("a",)),
            verify=("{python.executable}", "-c", "import a"),
        ),
        removes("b"),
        **closed,
    )
    assert argvs(fix) == [
        ("/venv/bin/python", "-m", "venv", "--system-site-packages", ".venv-above"),
        (".venv-above/bin/python", "-m", "pip", "install", "a"),
    ]
    assert fix.verify == Command(argv=(".venv-above/bin/python", "-c", "import a"))


LOCKED = {"python.lock": "/home/me/project/uv.lock", "python.lock_differs": {"torch": "2.13.0"}}


def test_a_project_of_uv_is_put_back_to_its_lock_first() -> None:
    sync, other = fixes(installs("torch==2.6.0"), **LOCKED)
    assert (sync.commands[0].argv, sync.commands[0].cwd) == (
        ("uv", "sync", "--inexact"),
        "/home/me/project",
    )
    assert not other.lasting
    assert "uv add" in other.note


def test_a_lock_that_says_nothing_of_it_is_no_fix() -> None:
    (fix,) = fixes(installs("numpy<2"), **LOCKED)
    assert "uv add" in fix.note


def test_cargo_is_run_in_the_workspace() -> None:
    (fix,) = fixes(
        recipe(Action(run=("cargo", "update", "-p", "half")), Action(run=("rm", "x"))),
        **{"cargo.workspace": "/ws"},
    )
    assert [command.cwd for command in fix.commands] == ["/ws", None]


def test_an_edit_is_a_step_and_a_snippet_is_none() -> None:
    edit = Edit(file="build.rs", before="let b", after="let mut b")
    snippet = Snippet(where="the call", before="f()", after="g()")
    (fix,) = fixes(recipe(Action(edit=edit), snippet=snippet))
    assert (fix.steps, fix.snippet, fix.kind) == ((Step(edit=edit),), snippet, "edit")


def test_an_edit_of_a_file_that_was_not_found_is_dropped() -> None:
    path = "{crate.candle-flash-attn.path}/build.rs"
    change = recipe(Action(edit=Edit(file=path, before="let b", after="let mut b")))
    assert fixes(change) == []
    (fix,) = fixes(change, **{"crate.candle-flash-attn.path": "/ws/attn"})
    assert fix.steps[0].edit == Edit(file="/ws/attn/build.rs", before="let b", after="let mut b")


def test_conditions_that_hold_are_not_shown_and_sentences_stay() -> None:
    conditions = (
        toy.condition("host.os", equals="linux"),
        toy.condition("host.container", present=True),
        "the model fits into memory",
    )
    (fix,) = fixes(installs("a", use_if=conditions), **{"host.os": "linux"})
    assert fix.use_if == ("this is a container", "the model fits into memory")


def test_a_title_without_its_value_still_reads() -> None:
    (fix,) = fixes(installs("a", title="Move to CUDA {cuda.version}, and stay"))
    assert fix.title == "Move to CUDA, and stay"


def test_a_word_that_a_reader_replaces_is_explained() -> None:
    (fix,) = fixes(installs("<wheel>", ask={"wheel": "the address of the wheel"}))
    assert (fix.asks, fix.safe) == ({"wheel": "the address of the wheel"}, False)


def test_without_an_interpreter_the_name_of_the_system_stands_in() -> None:
    for system, name in (("linux", "python3"), ("windows", "python")):
        (fix,) = fixes(
            recipe(Action(run=("{python.executable}", "-V"))),
            **{"python.executable": None, "host.os": system},
        )
        assert argvs(fix) == [(name, "-V")]


@pytest.mark.parametrize(
    ("fact", "operator", "sentence"),
    [
        ("host.machine", {"equals": "aarch64"}, "the processor is aarch64"),
        ("nvidia.uvm_node", {"equals": False}, "/dev/nvidia-uvm does not exist"),
        ("package.numpy.version", {"range": Range(fixed="2")}, "numpy is older than 2"),
        ("package.numpy.version", {"absent": True}, "numpy is not installed"),
        (
            "torch.release",
            {"range": Range(introduced="2.4", fixed="2.6")},
            "torch is 2.4 or newer and older than 2.6",
        ),
        ("torch.build", {"one_of": ("cuda", "rocm")}, "torch is built for CUDA or ROCm"),
        ("env.CUDA_HOME", {"present": True}, "CUDA_HOME is set"),
        ("torch.release", {"absent": True}, ""),
        ("env.CUDA_VISIBLE_DEVICES", {"equals": ""}, "CUDA_VISIBLE_DEVICES is empty"),
    ],
)
def test_a_condition_is_a_sentence(fact: str, operator: dict[str, Any], sentence: str) -> None:
    assert circumstance(toy.condition(fact, **operator)) == sentence


def test_the_includes_of_an_edit_are_no_words_to_replace() -> None:
    edit = Edit(file="a.h", before="", after="#include <cfloat>\n#define N <number>")
    (plain,) = fixes(recipe(Action(edit=edit)))
    assert plain.asks == {}
    (asking,) = fixes(recipe(Action(edit=edit), ask={"number": "how many"}))
    assert asking.asks == {"number": "how many"}


def test_what_a_step_removes_a_later_one_brings_back_in_the_same_release() -> None:
    again = recipe(Action(uninstall=("a",)), Action(install=("a==1.0",), options=(Option.NO_DEPS,)))
    (fix,) = fixes(again, packages={"a": "1.0"})
    assert [argv[3] for argv in argvs(fix)] == ["uninstall", "install"]


def test_an_install_that_is_offered_without_a_condition_is_not_offered_again_with_one() -> None:
    asked = installs("x==1", title="asked", use_if=("somebody says so",))
    there = installs("x==1", title="there")
    assert [one.title for one in fixes(there, asked)] == ["there"]
    assert [one.title for one in fixes(asked, there)] == ["asked", "there"]


def test_the_same_command_may_be_meant_for_another_place() -> None:
    here = recipe(Action(run=("nvidia-smi",)), title="here")
    there = recipe(Action(run=("nvidia-smi",)), title="in Windows")
    assert [one.title for one in fixes(here, there)] == ["here", "in Windows"]
