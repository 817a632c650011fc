"""The oracle of the canaries refuses what is wrong, and accepts correct random numbers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.checks.beside import module

oracle = module("oracle")
CaseEnded = module("canary_report").CaseEnded

WANT = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
RIGHT = oracle.Output(WANT, (3, 2), "float32")
WRONG = {
    "a row too few": (RIGHT._replace(values=WANT[:2], shape=(2, 2)), r"shape \(2, 2\)"),
    "a shape with as many elements": (RIGHT._replace(shape=(2, 3)), r"shape \(2, 3\)"),
    "elements that its shape does not have": (RIGHT._replace(values=WANT[:2]), "has 4 elements"),
    "another dtype": (RIGHT._replace(dtype="float64"), "is float64, expected float32"),
    "a NaN": (RIGHT._replace(values=[*WANT[:2], [5.0, math.nan]]), "largest error inf"),
    "an infinity": (RIGHT._replace(values=[*WANT[:2], [5.0, math.inf]]), "largest error inf"),
    "another value": (RIGHT._replace(values=[*WANT[:2], [5.0, 6.5]]), "1 of 6 elements are wrong"),
    "other bits in a second run": (
        RIGHT._replace(again=[*WANT[:2], [5.0, 6.0 + 2**-20]]),
        "two runs on the same operands differ in 1 of 6",
    ),
}


def test_a_right_result_passes() -> None:
    oracle.check(RIGHT, WANT, "a product")
    oracle.check(RIGHT._replace(again=WANT), WANT, "a product")


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_result_fails(name: str) -> None:
    got, said = WRONG[name]
    with pytest.raises(CaseEnded, match=said):
        oracle.check(got, WANT, "a product", allowed=lambda value: value / 64)


def test_the_tolerance_of_a_pair_grows_with_the_roundoff() -> None:
    want = [(1.0, 4.0)]
    got = oracle.Output([1.0 + 2**-9], (1,), "float16")
    oracle.check(got, want, "a sum", dtype="float16", unit=2**-11)
    with pytest.raises(CaseEnded):
        oracle.check(got, want, "a sum", dtype="float16", unit=2**-12)


@pytest.mark.parametrize("leaf", [(1.0, math.inf), (math.nan, 1.0), (1.0, -1.0)])
def test_a_tolerance_that_accepts_everything_is_a_fault_of_the_script(leaf: Any) -> None:
    with pytest.raises(ValueError, match="not finite"):
        oracle.check(oracle.Output([1.0], (1,), "float32"), [leaf], "a sum")


DRAW: dict[str, tuple[Callable[[random.Random], float], Any]] = {
    "normal": (lambda rng: rng.gauss(1.0, 0.25), oracle.normal(1.0, 0.25)),
    "uniform": (lambda rng: rng.uniform(2.0, 3.0), oracle.uniform(2.0, 3.0)),
    "exponential": (lambda rng: rng.expovariate(2.0), oracle.exponential(2.0)),
    "bernoulli": (lambda rng: float(rng.random() < 0.5), oracle.bernoulli(0.5)),
    "whole numbers": (lambda rng: float(rng.randrange(1 << 20)), oracle.whole_numbers(1 << 20)),
}


def rows(draw: Callable[[random.Random], float]) -> list[list[float]]:
    """Draw 36 rows of 56 numbers."""
    rng = random.Random(7)
    return [[draw(rng) for _ in range(56)] for _ in range(36)]


@pytest.mark.parametrize("name", DRAW)
@pytest.mark.parametrize("other", DRAW)
def test_numbers_pass_for_their_own_distribution_alone(name: str, other: str) -> None:
    drawn = rows(DRAW[name][0])
    if name == other:
        oracle.check_drawn(drawn, DRAW[other][1], name)
    else:
        with pytest.raises(CaseEnded):
            oracle.check_drawn(drawn, DRAW[other][1], name)


def test_uniform_noise_is_no_bernoulli_noise() -> None:
    with pytest.raises(CaseEnded, match="cannot be drawn"):
        oracle.check_drawn(rows(random.Random.random), oracle.bernoulli(0.5), "bernoulli_")


def test_ones_that_are_too_many_are_no_bernoulli_noise() -> None:
    biased = rows(lambda rng: float(rng.random() < 0.6))
    with pytest.raises(CaseEnded, match="share of numbers"):
        oracle.check_drawn(biased, oracle.bernoulli(0.5), "bernoulli_")


def test_a_row_that_is_there_twice_is_not_random() -> None:
    drawn = rows(DRAW["bernoulli"][0])
    with pytest.raises(CaseEnded, match="there twice"):
        oracle.check_drawn([*drawn[:-1], drawn[0]], oracle.bernoulli(0.5), "bernoulli_")
