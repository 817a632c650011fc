"""Conditions in three-valued logic."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from doctor.facts.conditions import (
    Truth,
    all_hold,
    any_holds,
    condition_holds,
    lookup,
    row_holds,
    same,
)
from doctor.model.facts import Fact, State, absent, present, unknown
from doctor.model.issues import Affected, Condition, Range

PRESENT = {"torch.build": present("cuda", "test")}
ABSENT = {"torch.build": absent("test")}
UNKNOWN = {"torch.build": unknown("why", "test")}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"equals": "cuda"}, (True, False, None)),
        ({"equals": "cpu"}, (False, False, None)),
        ({"one_of": ("rocm", "cuda")}, (True, False, None)),
        ({"one_of": ("rocm",)}, (False, False, None)),
        ({"matches": "^cu"}, (True, False, None)),
        ({"matches": "^ro"}, (False, False, None)),
        ({"present": True}, (True, False, None)),
        ({"absent": True}, (False, True, None)),
        ({"present": False}, (False, True, None)),
        ({"absent": False}, (True, False, None)),
    ],
)
def test_every_operator_on_every_state(
    condition: dict[str, Any], expected: tuple[bool | None, ...]
) -> None:
    asked = Condition(fact="torch.build", **condition)
    assert (
        tuple(condition_holds(asked, facts).truth for facts in (PRESENT, ABSENT, UNKNOWN))
        == expected
    )


def test_a_range_cannot_tell_a_pre_release_of_the_fix() -> None:
    asked = Condition(fact="torch.version", range=Range(fixed="2.6.0"))
    assert (
        condition_holds(asked, {"torch.version": present("2.6.0.dev20240901", "test")}).truth
        is None
    )


def test_matches_searches_each_item_of_a_list() -> None:
    asked = Condition(fact="cuda.missing", matches=r"host_config\.h$")
    assert (
        condition_holds(
            asked, {"cuda.missing": present(["bin/ptxas", "include/crt/host_config.h"], "test")}
        ).truth
        is True
    )
    assert condition_holds(asked, {"cuda.missing": present(["bin/ptxas"], "test")}).truth is False


def test_versions_are_compared_as_versions() -> None:
    assert same("2.4.0+cu121", "2.4")
    assert not same("2.40", "2.4")
    assert same(True, True)
    assert not same(1, "1")


@pytest.mark.parametrize(("left", "right"), list(product((True, False, None), repeat=2)))
def test_conjunction_and_disjunction_are_kleenes(left: bool | None, right: bool | None) -> None:
    parts = [
        Truth(left, ("a",), ("a",) if left is None else ()),
        Truth(right, ("b",), ("b",) if right is None else ()),
    ]
    both = False if False in (left, right) else None if None in (left, right) else True
    either = True if True in (left, right) else None if None in (left, right) else False
    assert all_hold(parts).truth is both
    assert any_holds(parts).truth is either


def test_what_is_missing_to_tell_is_named() -> None:
    row = Affected(
        packages={"torch": (Range(fixed="2.6.0"),)},
        when=(Condition(fact="torch.build", equals="cuda"),),
    )
    assert row_holds(row, {"torch.version": present("2.5.1", "t")}).missing == ("torch.build",)
    assert row_holds(row, {"torch.version": present("2.7.0", "t")}).truth is False


def test_a_package_that_a_complete_list_lacks_is_absent() -> None:
    assert lookup("package.xformers.version", {}).state is State.UNKNOWN
    assert lookup(
        "package.xformers.version", {"packages": present({"torch": "2.13.0"}, "t")}
    ) == Fact(state=State.ABSENT, source="t")


def test_several_ranges_of_a_package_are_alternatives() -> None:
    row = Affected(
        packages={"yunchang": (Range(introduced="0.2", fixed="0.3"), Range(introduced="0.6"))}
    )
    for version, inside in (("0.2.1", True), ("0.4", False), ("0.6.1", True)):
        assert row_holds(row, {"package.yunchang.version": present(version, "t")}).truth is inside
