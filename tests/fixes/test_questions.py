"""A fix of a log asks its reader for what the log does not show, and nothing besides."""

from __future__ import annotations

import pytest

from doctor.fixes.prescribe import fixes_for
from doctor.model.facts import Fact, Facts, State, present
from doctor.model.findings import Detection
from doctor.model.fixes import Fix
from doctor.model.issues import Action, Condition, Recipe
from doctor.model.scales import Confidence, Severity

_TOOLKIT = Recipe(
    title="Build with the toolkit of torch's CUDA ({torch.cuda_version})",
    steps=(Action(run=("make",), env={"CUDA_HOME": "/usr/local/cuda-{torch.cuda_version}"}),),
)
_PLAIN = Recipe(title="Build without CUDA", steps=(Action(env={"FORCE_CUDA": "0"}),))
_LOG: Facts = {"host.os": Fact(state=State.PRESENT, value="linux", source="log")}


def _fixes(*recipes: Recipe, facts: Facts = _LOG) -> list[Fix]:
    return fixes_for(
        Detection(
            id="x/y",
            target="",
            title="",
            severity=Severity.ERROR,
            confidence=Confidence.MEDIUM,
            message="",
            evidence=(),
            recipes=recipes,
        ),
        facts,
    )


def test_a_reader_is_asked_for_a_fact_that_can_be_looked_up() -> None:
    (fix,) = _fixes(_TOOLKIT)
    assert fix.title == "Build with the toolkit of torch's CUDA"
    assert fix.commands[0].env == {"CUDA_HOME": "/usr/local/cuda-<cuda-of-torch>"}
    assert "torch.version.cuda" in fix.asks["cuda-of-torch"]


def test_the_order_of_the_entry_stands() -> None:
    titles = [fix.title for fix in _fixes(_TOOLKIT, _PLAIN)]
    assert titles == ["Build with the toolkit of torch's CUDA", "Build without CUDA"]


@pytest.mark.parametrize(
    "condition",
    [
        Condition(fact="libs.shadowed", matches="libnccl"),
        Condition(fact="requires.torch.nvidia-nccl-cu12.met", equals=False),
    ],
    ids=lambda one: one.fact,
)
def test_what_no_reader_can_decide_is_not_asked(condition: Condition) -> None:
    blind = Recipe(title=_TOOLKIT.title, steps=_TOOLKIT.steps, use_if=(condition,))
    assert [fix.title for fix in _fixes(blind, _PLAIN)] == ["Build without CUDA"]


def test_nothing_is_asked_where_two_fixes_need_no_answer() -> None:
    other = Recipe(title="Build with one job", steps=(Action(env={"MAX_JOBS": "1"}),))
    assert [fix.title for fix in _fixes(_TOOLKIT, _PLAIN, other)] == [_PLAIN.title, other.title]


def test_nothing_is_asked_where_a_fix_does_without_the_fact() -> None:
    without = Recipe(
        title="Build with the toolkit in its usual folder",
        steps=(Action(env={"CUDA_HOME": "/usr/local/cuda"}),),
        use_if=(Condition(fact="torch.cuda_version", absent=True),),
    )
    assert [fix.title for fix in _fixes(_TOOLKIT, without)] == [without.title]


def test_nothing_is_asked_of_a_machine_that_was_examined() -> None:
    seen = {**_LOG, "python.executable": present("/venv/bin/python", "test")}
    assert not _fixes(_TOOLKIT, facts=seen)
    absent = {**_LOG, "torch.cuda_version": Fact(state=State.ABSENT, source="collect_env")}
    assert not _fixes(_TOOLKIT, facts=absent)


def test_a_log_does_not_show_which_variables_are_set() -> None:
    """A system that a log shows is no list of its variables; one that was examined is."""
    unset = Recipe(
        title="Start without LD_LIBRARY_PATH",
        steps=(Action(env={"LD_LIBRARY_PATH": ""}),),
        use_if=(Condition(fact="env.LD_LIBRARY_PATH", present=True),),
    )
    (fix,) = _fixes(unset)
    assert fix.use_if == ("LD_LIBRARY_PATH is set",)
    assert not _fixes(unset, facts={"host.os": present("linux", "sys.platform")})


def test_that_a_variable_is_not_set_goes_without_saying() -> None:
    plain = Recipe(
        title=_PLAIN.title,
        steps=_PLAIN.steps,
        use_if=(Condition(fact="env.FORCE_CUDA", absent=True),),
    )
    assert _fixes(plain)[0].use_if == ()


def test_an_install_that_another_fix_holds_already_is_not_shown_again() -> None:
    install = Recipe(title="Install it", steps=(Action(install=("zebra",)),))
    again = Recipe(title="Install it here", steps=install.steps, use_if=("it is of this kind",))
    assert [fix.title for fix in _fixes(install, again)] == ["Install it"]
    assert len(_fixes(again, install)) == 2
