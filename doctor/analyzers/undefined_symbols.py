"""Explain a symbol that the loader does not find (ld.so(8))."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, detection


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each missing symbol."""
    for event in case.of("undefined-symbol"):
        symbol = event.objects["symbol"]
        yield Explanation(
            event=event,
            detection=detection(
                event,
                f"{event.objects.get('file', 'a library')} asks for the symbol {symbol}",
                "A compiled file was built for another release of a library than the one that was "
                "loaded.",
            ),
        )
