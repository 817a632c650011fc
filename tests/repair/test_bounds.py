"""What the project's lists ask for leads, and a plan that leaves it says so."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec

from doctor.environments.environment import environment_at
from doctor.host import Host
from doctor.model.facts import present
from doctor.model.fixes import Command, Step
from doctor.model.observation import Observation
from doctor.model.plans import Change, Plan, Proof, ProofVerdict
from doctor.model.report import CatalogStamp, Report
from doctor.pipeline.requests import CheckRequest, ObserveRequest
from doctor.repair.bounds import (
    bounds_of,
    broken,
    leaps,
    leaves_pins,
    limits_of,
    noted,
    unmet_bounds,
    unmet_words,
    wishes_of,
)
from doctor.repair.lists import Bound, lists_of
from doctor.repair.other_releases import along
from doctor.repair.prove import Attempted, _within_lists, without_held
from doctor.repair.real import of_original, of_plan
from doctor.repair.releases import AvailableReleases
from doctor.repair.requests import FixRequest, Original

_HERE = {"openai": "1.50.0", "pandas": "2.0.3", "numpy": "1.26.4", "coverage": "6.5.0"}


def _original(project: Path, *names: str) -> Original:
    host = Host()
    facts = {"project.manifests": present(list(names), "project")}
    return Original(
        request=FixRequest(check=CheckRequest(observe=ObserveRequest(project=project))),
        host=host,
        report=Report(
            command="fix",
            doctor_version="0",
            catalog=CatalogStamp(digest="", issues=0, newest_source=""),
            observation=Observation(doctor_version="0", facts=facts),
        ),
        environment=environment_at(Path(sys.executable), host),
        packages=_HERE,
        problems=(),
        deadline=time.monotonic() + 60,
    )


def _bounds(tmp_path: Path) -> tuple[Bound, ...]:
    (tmp_path / "requirements.txt").write_text("openai==1.50.0\n-r base.txt\nmissing<2\n")
    (tmp_path / "base.txt").write_text(
        "numpy<2; python_version<'3.12'\nnumpy>=2; python_version>='3.12'\npandas>=2.1,<3\n"
    )
    (tmp_path / "requirements-dev.txt").write_text("coverage==6.5.0\n")
    return bounds_of(_original(tmp_path, "requirements.txt", "requirements-dev.txt"), _HERE)


def test_lists_of_the_project_lead_and_lists_for_tests_do_not(tmp_path: Path) -> None:
    """Included files count, also a range that the installed release is not in."""
    bounds = _bounds(tmp_path)
    want = {"openai": "==1.50.0", "numpy": "<2", "pandas": ">=2.1,<3"}
    assert limits_of(bounds) == want
    assert [one.source for one in bounds if not one.leads] == ["requirements-dev.txt:1"]


def test_a_plan_names_each_line_that_it_leaves(tmp_path: Path) -> None:
    bounds = _bounds(tmp_path)
    new = Change(name="openai", before="1.50.0", after="1.109.1")
    back = Change(name="pandas", before="2.0.3", after="2.1.4")
    tests = Change(name="coverage", before="6.5.0", after="7.6.12")
    assert [one.source for one in broken((new, back), bounds)] == ["requirements.txt:1"]
    (note,) = noted(Plan(title="x", changes=(new, back)), bounds).notes
    assert note == (
        "requirements.txt:1 asks for openai==1.50.0, and the plan installs 1.109.1: "
        "no plan that keeps to it was proved."
    )
    (note,) = noted(Plan(title="x", changes=(tests,)), bounds).notes
    assert note.endswith("coverage==6.5.0, and the plan installs 7.6.12.")
    assert not noted(Plan(title="x", changes=(back,)), bounds).notes


def test_a_plan_that_moves_what_is_pinned_is_known_before_it_runs() -> None:
    limits = {"openai": "==1.50.0", "numpy": "<2"}
    for named in ({"openai": ""}, {"openai": ">=1.55.3"}, {"numpy": "==2.1.0"}):
        assert leaves_pins(named, limits, _HERE)
    for named in ({"openai": "==1.50.0"}, {"numpy": ">=1.26"}, {"httpx": "<0.28"}):
        assert not leaves_pins(named, limits, _HERE)


def test_what_was_only_so_in_a_copy_is_not_told(tmp_path: Path) -> None:
    """A requirement that a round broke is none of the user's, nor a build of its release."""
    text = "The package `app` requires `numpy>=2`, but `1.26.4` is installed"
    original = msgspec.structs.replace(_original(tmp_path), problems=(text,))
    words = "app asks for numpy>=2, and 1.26.4 is installed"
    found = (
        ("requires/app", "app asks for numpy>=2, and 1.9 is installed"),
        ("requires/lib", "lib asks for numpy>1, and 0.9 is installed"),
        ("failure/x", "x"),
    )
    assert of_original(found, original) == (("requires/app", words), ("failure/x", "x"))
    notes = (
        "No wheel of numpy==0.9 for Python 3.11: it would be compiled.",
        "No wheel of numpy==2.1.0 for Python 3.11: it would be compiled.",
        "Round 1 ended: x",
    )
    change = Change(name="numpy", before="1.26.4", after="2.1.0")
    plan = Plan(title="", changes=(change,), notes=notes, solves=("requires/lib", "requires/app"))
    plan = of_plan(plan, original)
    assert (plan.notes, plan.solves) == (notes[1:], ("requires/app",))


def test_a_major_release_is_a_leap_only_upwards() -> None:
    up = Change(name="transformers", before="4.57.6", after="5.23.0")
    down = Change(name="hub", before="1.33.0", after="0.36.2")
    assert leaps((up, down), ["transformers"])
    assert not leaps((up, down), ["hub"])
    shelf = AvailableReleases({"pandas": "2.2.3"}, {}, {}, Host())
    assert shelf.bound("pandas", up=True, leap=False) == ">2.2.3,<3"
    assert shelf.bound("pandas", up=False, leap=False) == "<2.2.3"


def test_a_range_of_the_project_that_is_not_met_is_said(tmp_path: Path) -> None:
    """Two lists may bound one package; each line counts."""
    (tmp_path / "requirements.txt").write_text("-c constraints.txt\npandas>=2.1\nnumpy<2\n")
    (tmp_path / "constraints.txt").write_text("pandas<2.2\n")
    original = _original(tmp_path, "requirements.txt")
    assert limits_of(bounds_of(original, _HERE))["pandas"] == "<2.2,>=2.1"
    assert unmet_words(unmet_bounds(original, _HERE), _HERE) == (
        "requirements.txt:2 asks for pandas>=2.1, and 2.0.3 is installed.",
    )


def test_a_line_that_a_plan_leaves_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("openai==1.50.0\n")
    note = "The project asks for openai==1.50.0, which this plan does not keep to."
    change = Change(name="openai", before="1.50.0", after="1.109.1")
    bounds = bounds_of(_original(tmp_path), _HERE)
    plan = noted(Plan(title="x", changes=(change,), notes=(note, "Another")), bounds)
    assert [one[:22] for one in plan.notes] == ["Another", "requirements.txt:1 ask"]


def _unproved(name: str, before: str, after: str) -> Plan:
    return Plan(
        title=f"Move {name}",
        steps=(Step(command=Command(argv=("uv", "pip", "install", f"{name}=={after}"))),),
        changes=(Change(name=name, before=before, after=after),),
        resolved=True,
        proof=Proof(verdict=ProofVerdict.NOT_PROVED, why="it still fails"),
    )


def test_a_plan_that_leaves_a_pin_and_does_not_end_well_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("openai==1.50.0\n")
    original = _original(tmp_path, "requirements.txt")
    leaves, keeps = _unproved("openai", "1.50.0", "1.0"), _unproved("numpy", "1.26.4", "1.25")
    best, others = _within_lists(Attempted(leaves), (keeps,), original)
    assert best.plan == keeps
    assert not others
    best, others = _within_lists(Attempted(leaves), (leaves,), original)
    assert not best.plan.steps
    assert best.plan.proof == leaves.proof
    assert not others


def test_what_is_a_part_of_the_plan_is_no_other_one(tmp_path: Path) -> None:
    """`numpy<1.26` resolves to the move that the plan made, so it was tried."""
    plan = _unproved("numpy", "1.26.4", "1.25")
    loose = Step(command=Command(argv=("uv", "pip", "install", "numpy<1.26")))
    same = msgspec.structs.replace(plan, steps=(loose,), proof=None)
    other = _unproved("pandas", "2.0.3", "2.1")
    _, others = _within_lists(Attempted(plan), (same, other), _original(tmp_path))
    assert others == (other,)


def test_what_the_program_led_to_stays_although_a_later_round_held_it() -> None:
    led, rest = _unproved("click", "8.3", "8.1"), _unproved("click", "8.3", "8.2")
    other = _unproved("numpy", "1.26.4", "1.25")
    assert without_held((led, rest, other), 1, {"click"}) == [led, other]
    assert without_held((rest,), 0, {"click"}) == (rest,)


def test_what_installers_refuse_to_leave_is_known(tmp_path: Path) -> None:
    """A list that a variable names holds also where nothing else helps."""
    (tmp_path / "requirements.txt").write_text("numpy<2\nclick<9\n")
    forced = tmp_path / "forced.txt"
    forced.write_text("click<9\n")
    found = lists_of((tmp_path,), {"UV_CONSTRAINT": str(forced)}, None).bounds
    assert limits_of(found, forced=True) == {"click": "<9"}


def test_the_list_of_a_folder_that_the_command_names_leads(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/requirements.txt").write_text("numpy<2\n")
    original = _original(tmp_path)
    host = msgspec.structs.replace(original, host=Host(cwd=tmp_path))
    assert limits_of(bounds_of(host, _HERE)) == {}
    program = ("sphinx-build", "-b", "html", "docs", "out")
    request = msgspec.structs.replace(original.request, program=program)
    named = msgspec.structs.replace(host, request=request)
    assert limits_of(bounds_of(named, _HERE)) == {"numpy": "<2"}


def test_a_list_for_tests_is_a_wish_where_it_is_not_met(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("numpy<1.20\n")
    (tmp_path / "requirements-dev.txt").write_text("coverage==5.5\npandas<3\n")
    (one,) = wishes_of(_original(tmp_path), _HERE)
    assert (one.name, one.specifier) == ("coverage", "==5.5")


def test_the_last_release_of_the_major_before_comes_early() -> None:
    lines = ("8.0.2", "7.4.4", "7.3.2", "6.2.5", "3.7.4")
    assert [along(lines, share, "8.1.1") for share in (0.0, -1.0, 1.0)] == [
        *("8.0.2", "7.4.4", "3.7.4"),
    ]
    assert along(lines[:1], -1.0, "8.1.1") == ""
    assert along((), 0.5, "8.1.1") == ""
