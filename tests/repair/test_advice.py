"""A failure that names what an extra of the failing package asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.observe.installed.distributions import installed
from doctor.observe.scene import Distribution
from doctor.repair.advice import advice, in_its_place
from doctor.repair.failures import Failure, failure_of
from tests.repair.test_suspects import _package

_FORM = (
    'RuntimeError: Form data requires "form-parser" to be installed. It seems you installed '
    '"other" instead. Remove it with:\npip uninstall other\npip install form-parser'
)


@pytest.fixture
def here(tmp_path: Path) -> dict[str, Distribution]:
    """Return the packages of an environment in which no requirement is violated."""
    asks = ("mails>=2.0.0; extra == 'mail'", "form-parser>=0.0.5; extra == 'all'", "kept")
    _package(tmp_path / "site-packages", "serves", *asks)
    for name in ("mails", "other", "kept", "alien"):
        _package(tmp_path / "site-packages", name)
    return {one.name: one for one in installed([str(tmp_path / "site-packages")])}


def _failure(error: str, here: dict[str, Distribution], top: str = "serves") -> Failure:
    site = here["serves"].folder.parent
    head = f'Traceback (most recent call last):\n  File "{site}/{top}/x.py", line 1, in f\n'
    return failure_of(f"{head}    raise\n{error}")


@pytest.mark.parametrize(
    ("error", "found"),
    [
        ("ImportError: mails version >= 2.0 required, run pip install -U mails", "mails >=2"),
        (_FORM, "form-parser >=0.0.5"),
        ("ImportError: run pip install surely-no-such-thing", ""),
        ("ImportError: kept is not installed", ""),
        ("ValueError: the form parser of mails and form-parser disagree", ""),
    ],
)
def test_only_what_a_package_of_the_traceback_asks_for_is_followed(
    error: str, found: str, here: dict[str, Distribution]
) -> None:
    asked = [f"{one.name} {one.specifier}" for one in advice(_failure(error, here), here)]
    assert (asked[0].startswith(found) and len(asked) == 1) if found else not asked


def test_a_stranger_to_the_traceback_brings_nothing_in(here: dict[str, Distribution]) -> None:
    """The list of the project may name it as well."""
    failure = _failure(_FORM, here, top="alien")
    assert not advice(failure, here)
    assert [one.name for one in advice(failure, here, {"form-parser"})] == ["form-parser"]


def test_what_the_message_says_to_uninstall_goes_if_nobody_asks_for_it(
    here: dict[str, Distribution], tmp_path: Path
) -> None:
    failure = _failure(_FORM, here)
    assert in_its_place(failure, here) == ("other",)
    _package(tmp_path / "more", "builds", "other")
    more = {one.name: one for one in installed([str(tmp_path / "more")])}
    assert not in_its_place(failure, {**here, **more})
