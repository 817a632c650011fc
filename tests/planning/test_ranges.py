"""Ranges without a release are never handed to an installer."""

from __future__ import annotations

import pytest

from doctor.planning.resolver import is_empty


@pytest.mark.parametrize(
    ("clauses", "empty"),
    [
        (("<1.0", ">=1.31.0"), True),
        ((">=2", "<2"), True),
        ((">2", "<=2"), True),
        (("==1.5", ">=2"), True),
        (("==1.5", "==1.6"), True),
        (("~=2.0", "<2"), True),
        ((">=2", "<=2"), False),
        (("==1.5", ">=1"), False),
        ((">=0.20", "<0.21", "!=0.20.1"), False),
        (("==13.*", ">=13"), False),
        ((), False),
    ],
)
def test_bounds_that_leave_nothing(clauses: tuple[str, ...], empty: bool) -> None:
    assert is_empty(clauses) is empty
