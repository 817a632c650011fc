"""Where the check scripts and the matrices lie, in a wheel and in a checkout."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parents[1]


def bundled(name: str) -> Path:
    """Return the folder `checks` or `matrices`.

    It lies inside the wheel, or else at the top of the checkout.
    """
    packed = _HERE / "_bundled" / name
    return packed if packed.is_dir() else _HERE.parent / name
