"""What a program does without leaves the plan, whatever kind of step it is."""

from __future__ import annotations

from doctor.model.fixes import Command, Step
from doctor.model.plans import Plan
from doctor.repair.ending import Ending
from doctor.repair.pruning import pruned, still_needed
from doctor.repair.reading import Unmet
from doctor.repair.states import State, Trials

_SET = Step(command=Command(argv=(), env={"JAX_PLATFORMS": "cpu"}))
_UNSET = Step(command=Command(argv=("unset", "XLA_FLAGS")))
_INSTALL = Step(command=Command(argv=("uv", "pip", "install", "idna==3.10", "click==8.1.8")))


class _NeedsIdna(Trials):
    """The program ends well wherever idna 3.10 is installed."""

    def __init__(self, along: str = "") -> None:
        self._along = along

    def still_moves(self, plan: Plan, name: str) -> bool:
        return name == self._along

    def ends(self, plan: Plan, why: str) -> State | None:
        words = [word for step in plan.steps if step.command for word in step.command.argv]
        return State(plan, Ending(code=0 if "idna==3.10" in words else 1, text=why))


def test_variables_and_packages_that_the_program_does_without_leave_the_plan() -> None:
    plan = Plan(title="", steps=(_SET, _INSTALL, _UNSET))
    left = pruned(State(plan, Ending(code=0, text="")), _NeedsIdna(), {"numpy"}, lambda: True).plan
    (step,) = left.steps
    assert step.command is not None
    assert step.command.argv[-1] == "idna==3.10"
    assert "click==8.1.8" not in step.command.argv


def test_what_comes_along_anyway_keeps_its_release() -> None:
    """Without a release the installer takes the newest, which is farther."""
    plan = Plan(title="", steps=(_INSTALL,))
    state = State(plan, Ending(code=0, text=""))
    assert pruned(state, _NeedsIdna("click"), set(), lambda: True).plan == plan


def test_what_an_older_release_asked_for_is_no_longer_needed() -> None:
    """The codecs move to a release that asks for something else; the frames stay."""
    problems = [
        Unmet(package=who, wanted=what, specifier="", here="", text="")
        for who, what in (("numcodecs", "typing-extensions"), ("pandas", "tzdata"))
    ]
    assert still_needed(problems, {"numcodecs"}) == {"tzdata"}


def test_a_file_keeps_its_name_where_the_program_does_without_another() -> None:
    rename = Step(command=Command(argv=("mv", "-i", "/e/PIL", "/e/PIL.old")))
    plan = Plan(title="", steps=(rename, _INSTALL))
    left = pruned(State(plan, Ending(code=0, text="")), _NeedsIdna(), {"click"}, lambda: True).plan
    assert left.steps == (_INSTALL,)
