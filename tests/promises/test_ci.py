"""What the README tells a reader to run is what the continuous integration runs."""

from __future__ import annotations

import os

from tests.promises.sources import ROOT


def test_ci_runs_the_test_command_of_the_readme_and_then_the_real_environments() -> None:
    *before, heavy = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    (light,) = (line for line in before if line.endswith(" -m pytest"))
    assert light in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert (
        heavy
        in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").replace("  ", "\n").splitlines()
    )


def test_ci_can_be_started() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
