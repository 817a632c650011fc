"""Calls that wait, side by side.

concurrent.futures is not used: its import takes longer than the threads here do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

_K = TypeVar("_K")
_T = TypeVar("_T")


def run_in_threads(
    calls: Mapping[_K, Callable[[], _T]], meanwhile: Callable[[], object] = bool
) -> dict[_K, _T]:
    """Return what each call gives, all of them made at once, and do something in the meantime.

    Raises what one of them raised, once all have ended. concurrent.futures would cost more to
    import than a thread does.
    """
    given: dict[_K, _T] = {}
    raised: list[BaseException] = []

    def make(key: _K, call: Callable[[], _T]) -> None:
        try:
            given[key] = call()
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that asked
            raised.append(error)

    threads = [threading.Thread(target=make, args=each, daemon=True) for each in calls.items()]
    for thread in threads:
        thread.start()
    meanwhile()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]
    return {key: given[key] for key in calls}
