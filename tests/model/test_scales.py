"""The scales of severity and confidence are ordered."""

from __future__ import annotations

import pytest

from doctor.model.scales import Confidence, Severity


def test_the_greatest_is_the_worst_and_the_surest() -> None:
    assert sorted(Severity) == [Severity.NOTE, Severity.WARNING, Severity.ERROR]
    assert sorted(Severity, key=lambda one: one.rank) == list(Severity)
    assert Severity.ERROR >= Severity.WARNING > Severity.NOTE
    assert max(Confidence) is Confidence.HIGH


def test_two_scales_are_not_compared() -> None:
    with pytest.raises(TypeError):
        Severity.ERROR > Confidence.LOW  # noqa: B015
