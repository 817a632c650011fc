"""What can be typed in a place, for completion."""

from __future__ import annotations


def ids(incomplete: str) -> list[str]:
    """Return the ids of known issues and checks that begin so."""
    from doctor.catalog import loading as catalogs
    from doctor.catalog.check_headers import load_checks

    known = [*load_checks(), *catalogs.load().issues]
    return [name for name in known if name.startswith(incomplete)]


def reports(incomplete: str) -> list[str]:
    """Return the formats that a report may be written in, with what follows them."""
    from doctor.report import Format

    return [f"{kind.value}=" for kind in Format if f"{kind.value}=".startswith(incomplete)]


def schemas(incomplete: str) -> list[str]:
    """Return the schemas that can be printed."""
    from doctor.catalog.schemas import KINDS

    return [name for name in KINDS if name.startswith(incomplete)]


def devices(incomplete: str) -> list[str]:
    """Return the devices that can be expected."""
    from doctor.judge.expectations import WORDS

    return [word for word in WORDS if word.startswith(incomplete)]
