"""Templates are filled, and nothing in them is evaluated."""

from __future__ import annotations

from doctor.facts.placeholders import fill, fill_each, fill_known
from doctor.model.facts import absent, present, unknown

FACTS = {
    "torch.release": present("2.13.0", "t"),
    "cuda.missing": present(["a.h", "b.h"], "t"),
    "cuda.home": absent("t"),
    "nvidia.gpus": unknown("hung", "t"),
    "torch.path": present("/x y/\x1b[31m;rm -rf", "t"),
}


def test_a_hole_takes_a_fact_or_a_capture() -> None:
    assert fill("torch=={torch.release} {log.name}", FACTS, {"name": "x"}) == "torch==2.13.0 x"


def test_a_command_with_an_open_hole_is_no_command() -> None:
    assert fill("{cuda.home}/bin", FACTS, {}) is None
    assert fill("{nvidia.gpus}", FACTS, {}) is None
    assert fill("{log.name}", FACTS, {}) is None


def test_a_sentence_leaves_out_what_is_not_known() -> None:
    assert fill_known("CUDA {cuda.home}, torch {torch.release}", FACTS, {}) == "CUDA, torch 2.13.0"


def test_brackets_go_with_the_only_thing_in_them() -> None:
    assert fill_known("the driver ({nvidia.driver_version})", FACTS, {}) == "the driver"
    assert fill_known("preload_dlls() of {torch.release}", FACTS, {}) == "preload_dlls() of 2.13.0"


def test_a_list_becomes_as_many_arguments_only_where_it_stands_alone() -> None:
    assert fill_each(("rm", "{cuda.missing}", "-{cuda.missing}"), FACTS, {}) == (
        "rm",
        "a.h",
        "b.h",
        "-a.h, b.h",
    )


def test_braces_that_are_no_holes_stay() -> None:
    assert (
        fill("python -c 'print({})' {0} {Upper} ${HOME}", FACTS, {})
        == "python -c 'print({})' {0} {Upper} ${HOME}"
    )


def test_values_lose_control_characters_and_are_never_filled_again() -> None:
    assert fill("{torch.path}", FACTS, {}) == "/x y/ [31m;rm -rf"
    assert fill("{log.evil}", FACTS, {"evil": "{torch.release}"}) == "{torch.release}"
