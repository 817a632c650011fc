"""Looks at many cases in one test, and says of each one that does not hold which it is.

A test of its own for each costs more than a look that takes microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

_T = TypeVar("_T")


def each(cases: Iterable[tuple[str, _T]], look: Callable[[_T], object]) -> None:
    """Call `look` with every case; fail with the name and the reason of each that raises.

    There has to be a case.
    """
    count, wrong = 0, []
    for name, case in cases:
        count += 1
        try:
            look(case)
        except Exception as error:  # noqa: BLE001 - the others are looked at as well
            wrong.append(f"{name}: {type(error).__name__}: {error}")
    assert count, "there is no case"
    assert not wrong, "\n".join([f"{len(wrong)} of {count} cases", *wrong])
