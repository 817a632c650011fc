"""A finding is shown where the project asks for its culprit.

From the manifest on disk to the annotation.
"""

from __future__ import annotations

import sys
from pathlib import Path

from doctor.model.facts import present
from doctor.model.observation import Observation
from doctor.report.structured.encoding import encoded
from tests.command import check, doctor
from tests.hosts import put
from tests.report import reports


def test_check_looks_at_the_manifests_of_its_project(tmp_path: Path) -> None:
    put(tmp_path / "app" / ".git" / "HEAD")
    put(tmp_path / "app" / "train" / "requirements.txt", "# stack\ntorch==2.7.1\n")
    said = check(
        "--no-canaries",
        "--python",
        sys.executable,
        "--project",
        tmp_path / "app" / "train",
        cwd=tmp_path,
    )
    facts = said.report["facts"]
    assert facts["project.manifests"]["value"] == ["train/requirements.txt"]
    assert facts["manifest.torch"]["value"] == {"path": "train/requirements.txt", "line": 2}


def test_a_finding_about_a_package_names_the_line_that_asks_for_it(tmp_path: Path) -> None:
    seen = {
        "package.toyvision.version": "0.19",
        "requires.toyvision.torch.met": False,
        "requires.toyvision.torch.specifier": "==2.4.1",
        "requires.toyvision.torch.installed": "2.7.0",
        "manifest.toyvision": {"path": "requirements.txt", "line": 7},
        "manifest.torch": {"path": "requirements.txt", "line": 6},
    }
    facts = reports.facts(
        **{name.replace(".", "__"): present(value, "test") for name, value in seen.items()}
    )
    path = put(tmp_path / "seen.json", encoded(Observation(targets=(reports.PYTHON,), facts=facts)))
    found = check("--from", path, cwd=tmp_path).finding("requires/toyvision")
    assert found["place"] == {"path": "requirements.txt", "line": 7}
    annotated = doctor("check", "--from", path, "--format", "github", cwd=tmp_path).out
    assert [
        line
        for line in annotated.splitlines()
        if line.startswith("::warning file=requirements.txt,line=7,title=toyvision 0.19 asks for")
    ]
