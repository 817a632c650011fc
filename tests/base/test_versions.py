"""Half-open ranges, and the versions that fall through PEP 440."""

from __future__ import annotations

import pytest

from doctor.base.versions import in_range, major, minor, public


@pytest.mark.parametrize(
    ("version", "introduced", "fixed", "inside"),
    [
        ("2.5.1", "2.2", "2.6.0", True),
        ("2.5.1+cu124", "2.2", "2.6.0", True),
        ("2.6.0", "2.2", "2.6.0", False),
        ("2.6.0.post1", "2.2", "2.6.0", False),
        ("2.2", "2.2", "2.6.0", True),
        ("2.1.9", "2.2", "2.6.0", False),
        ("2.10.0", "2.9", None, True),
        ("2.10.0", None, "2.9", False),
        ("525.60.13", "525.60.13", None, True),
        ("525.60.11", "525.60.13", None, False),
        ("2.7.0.dev20250115+cu126", "2.2", "2.7.0", None),
        ("2.5.0a0+872d972e41.nv24.08", "2.5.0", None, None),
        ("2.5.0a0+872d972e41.nv24.08", "2.2", "2.6.0", True),
        ("2.7.0.dev20250115", "2.2", "2.6.0", False),
        ("unknown", "2.2", "2.6.0", None),
        ("", None, "1.0", None),
        ("1.0", "not a version", None, None),
    ],
)
def test_a_version_lies_inside_or_outside_or_cannot_be_told(
    version: str, introduced: str | None, fixed: str | None, inside: bool | None
) -> None:
    assert in_range(version, introduced=introduced, fixed=fixed) is inside


def test_parts_of_a_version() -> None:
    assert public("2.13.0+cu130") == "2.13.0"
    assert minor("2.13.0+cu130") == "2.13"
    assert major("580.65.06") == 580
    assert minor("nightly") is None
    assert major("nightly") is None
