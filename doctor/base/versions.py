"""Half-open version ranges over plain version order."""

from __future__ import annotations

from functools import lru_cache

from packaging.version import Version

_LONGEST = 300
"""Characters of a version.

Those of wheels that were built from a commit, with all they were built for, have some 60.
"""


@lru_cache(maxsize=4096)
def parse(text: str) -> Version | None:
    """Parse a version of a package, driver, toolkit or compiler.

    None where it has no order (`abc`, an empty text).
    """
    if len(text) > _LONGEST:
        return None
    try:
        return Version(text.strip())
    except ValueError:  # InvalidVersion, or a number of more digits than Python turns into one
        return None


def public(text: str) -> str:
    """Return `text` without its local part: `2.13.0+cu130` is `2.13.0`."""
    return text.split("+", 1)[0].strip()


def _is_edge(version: Version, edge: Version | None) -> bool:
    return edge is not None and version.release == edge.release and not edge.is_prerelease


def in_range(text: str, *, introduced: str | None = None, fixed: str | None = None) -> bool | None:
    """Say whether a version lies in `[introduced, fixed)`, by the order of its public part.

    None is "cannot tell": the text is no version, or it is a pre-release of the very release that
    brought the bug or its fix. PEP 440 specifiers answer False to both `<2.7` and `>=2.7` for
    `2.7.0.dev20250115`, which is why they are not used.
    """
    version = parse(public(text))
    low, high = (parse(edge) if edge else None for edge in (introduced, fixed))
    if version is None or (introduced and low is None) or (fixed and high is None):
        return None
    if version.is_prerelease and (_is_edge(version, low) or _is_edge(version, high)):
        return None
    return (low is None or version >= low) and (high is None or version < high)


def minor(text: str) -> str | None:
    """Return `major.minor` of a version: `2.13.0+cu130` is `2.13`; None where there is none."""
    version = parse(public(text))
    return f"{version.major}.{version.minor}" if version else None


def major(text: str) -> int | None:
    """Return the first number of a version; None where there is none."""
    version = parse(public(text))
    return version.major if version else None
