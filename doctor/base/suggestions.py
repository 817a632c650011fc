"""What somebody may have meant who mistyped a name."""

from __future__ import annotations

from collections.abc import Iterable


def suggest(word: str, known: Iterable[str], otherwise: str = "; doctor list shows them") -> str:
    """Return "; did you mean X?" for the known word nearest to a mistyped one.

    Return `otherwise` where none is near.
    """
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else otherwise
