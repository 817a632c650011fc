"""How this doctor is called here: printed commands begin with it, so that they run when pasted.

Another package may bring a command of the same name, and an environment of one's own may not be on
PATH.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

_NAME: list[str] = ["doctor"]


def set_own_command(words: Sequence[str]) -> None:
    """Set the words that start doctor: `canary-doctor`, or `python -m doctor`."""
    _NAME[:] = words


def own_words() -> tuple[str, ...]:
    """Return the words that start doctor."""
    return tuple(_NAME)


def own(arguments: str = "") -> str:
    """Return a command line of doctor as text: `canary-doctor explain torch/six-gone`."""
    return " ".join(filter(None, (shlex.join(_NAME), arguments)))
