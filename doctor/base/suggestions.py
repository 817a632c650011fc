"""What somebody may have meant who mistyped a name."""

from __future__ import annotations

from collections.abc import Iterable


def suggest(word: str, known: Iterable[str], otherwise: str = "; doctor list shows them") -> str:
    """Return the end of a sentence that names the id most like a mistyped one, or says where they are to be found."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else otherwise
