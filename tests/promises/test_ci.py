"""What the README tells a reader to run is what the continuous integration runs."""

from __future__ import annotations

import os

from tests.promises.sources import ROOT


def test_the_last_command_of_ci_is_that_of_the_readme() -> None:
    command = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1]
    assert command in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()


def test_ci_can_be_started() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
