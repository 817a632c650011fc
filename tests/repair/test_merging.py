"""Steps of two plans become one sequence, and a proof writes its releases into it."""

from __future__ import annotations

import msgspec

from doctor.model.fixes import Command, Step
from doctor.model.plans import Change, Plan
from doctor.repair.fix import about
from doctor.repair.merging import combined, contradict, instead, is_idle, pinned, titled
from doctor.repair.prove import is_other_way


def _plan(*lines: str, title: str = "A plan", solves: tuple[str, ...] = ("a",)) -> Plan:
    steps = tuple(Step(command=Command(argv=tuple(line.split()))) for line in lines)
    return Plan(title=title, steps=steps, solves=solves)


def _lines(plan: Plan) -> list[str]:
    return [" ".join(step.command.argv) for step in plan.steps if step.command]


def test_the_titles_that_name_what_moves_are_told() -> None:
    both = ["urllib3 2.2 no longer has appengine: releases before 2 do", "No release of requests"]
    assert about(both, {"urllib3"}) == both[:1]
    assert about(both, {"numpy"}) == both
    assert about(["lxml 5.2: Typing_Extensions lacks it"], {"typing-extensions"})


def test_installations_alike_become_one_resolution_and_the_later_wish_counts() -> None:
    first = _plan("uv pip install --python P torch==2.5.1 numpy<2")
    second = _plan("uv pip uninstall --python P old", "uv pip install --python P numpy>=2 click")
    both = combined(first, second)
    assert _lines(both) == [
        "uv pip install --python P torch==2.5.1 numpy>=2 click",
        "uv pip uninstall --python P old",
    ]
    assert both.solves == ("a",)


def test_installations_with_other_options_stay_apart() -> None:
    first = _plan("P -m pip install --no-deps a")
    second = _plan("P -m pip install --index-url https://example.org b")
    assert len(combined(first, second).steps) == 2


def test_beside_a_proved_plan_stand_other_ways_alone() -> None:
    proved = _plan("uv pip install --python P wire==4 graph==2")
    assert is_other_way(_plan("uv pip install --python P small==1"), proved)
    assert not is_other_way(_plan("uv pip install --python P wire==4"), proved)
    assert not is_other_way(_plan("uv pip install --python P wire==5 graph==2 small==1"), proved)
    assert not is_other_way(_plan("uv pip install --python P small==1", solves=()), proved)
    assert not is_other_way(proved, _plan("export LD_LIBRARY_PATH="))
    slow = msgspec.structs.replace(
        _plan("uv pip install --python P small==1"),
        notes=("No wheel of small for Python 3.11: it would be compiled.",),
    )
    assert not is_other_way(slow, proved)


def test_plans_contradict_each_other_over_a_release() -> None:
    first = _plan("uv pip install --python P torch==2.5.1")
    assert contradict(first, _plan("uv pip install --python P Torch==2.14.1"))
    assert not contradict(first, _plan("uv pip install --python P torch==2.5.1 numpy"))
    assert _lines(instead(first, _plan("uv pip install --python P torch==2.14.1"))) == [
        "uv pip install --python P torch==2.14.1"
    ]


def test_the_releases_of_a_proof_are_written_into_the_plan() -> None:
    plan = _plan("uv pip install --python P numpy>=2 a[x]<3 git+https://example.org/b c==1.*")
    moved = [
        [
            Change(name="numpy", before="1.0", after="2.0"),
            Change(name="a", after="2.5"),
            Change(name="c", before="0", after="1.3"),
            Change(name="d", after="9"),
        ]
    ]
    assert _lines(pinned(plan, moved)) == [
        "uv pip install --python P numpy==2.0 a[x]==2.5 git+https://example.org/b c==1.*"
    ]


def test_an_installation_that_moved_nothing_can_go() -> None:
    plan = _plan("uv pip install --python P a", "P -m pip install --force-reinstall b", "unset X")
    assert [is_idle(plan, [[], [], []], number) for number in range(3)] == [True, False, False]


def test_a_plan_put_together_says_what_it_installs() -> None:
    first = _plan("uv pip install --python P torch==2.5.1")
    made = instead(first, _plan("uv pip install --python P torch==2.14.1 numpy"))
    changes = (
        Change(name="numpy", before="1.0", after="2.0"),
        Change(name="torch", before="2.15.0", after="2.14.1"),
        Change(name="triton", before="1", after="2"),
    )
    made = Plan(title="", steps=made.steps, changes=changes)
    assert titled(made).title == "Install numpy 2.0 and torch 2.14.1"


def test_a_twin_goes_before_anything_is_written_again() -> None:
    """The removal would take the files along that the reinstallation wrote."""
    head = "uv pip install --python P --no-deps --reinstall-package"
    first = _plan(f"{head} pyjwt pyjwt==2.9.0")
    second = _plan("uv pip uninstall --python P serial", f"{head} pyserial pyserial==3.5")
    lines = _lines(combined(first, second))
    assert lines == [
        "uv pip uninstall --python P serial",
        f"{head} pyjwt --reinstall-package pyserial pyjwt==2.9.0 pyserial==3.5",
    ]


def test_a_name_alone_does_not_take_a_release_away() -> None:
    first = _plan("uv pip install --python P requests==2.31.0")
    both = combined(first, _plan("uv pip install --python P requests click"))
    assert _lines(both) == ["uv pip install --python P requests==2.31.0 click"]


def test_what_is_removed_and_installed_is_not_written_once_more() -> None:
    first = _plan("uv pip uninstall --python P old new==2", "uv pip install --python P new==2")
    again = _plan("uv pip install --python P --no-deps --reinstall-package new new==2")
    assert combined(first, again).steps == first.steps
    other = _plan("uv pip install --python P --no-deps --reinstall-package more more==1")
    assert len(combined(first, other).steps) == 3


def test_a_new_environment_is_made_before_everything_else() -> None:
    """A variable was the first part of the cure, a package of a closed environment the second."""
    make = Step(command=Command(argv=("uv", "venv", "--system-site-packages", ".venv-above")))
    install = Step(command=Command(argv=(".venv-above/bin/python", "-m", "pip", "install", "a==1")))
    unset = Step(command=Command(argv=("unset", "LAB_FLAGS")))
    first = Plan(title="", steps=(unset,))
    both = combined(first, Plan(title="", steps=(make, install)))
    assert both.steps == (make, unset, install)
    assert combined(both, Plan(title="", steps=(make, install))).steps == both.steps
