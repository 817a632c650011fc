"""The edit of the line of a finding, in the formats that can carry one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.host import Host
from doctor.model.facts import Fact
from doctor.model.findings import Place
from doctor.model.plans import Change, Plan
from doctor.model.report import Report
from doctor.observe.probes import manifests
from doctor.observe.scene import ProbeInput
from doctor.report.markdown import document
from doctor.report.structured import github
from tests.hosts import put
from tests.report import reports
from tests.report.readers import sarif_run

_PLAN = Plan(
    title="Move",
    changes=(
        Change(name="torch", before="2.5.1", after="2.13.0+cu130"),
        Change(name="torchvision", before="0.20.1", after="0.28.0"),
    ),
)


def _report(project: Path, name: str, text: str, line: int, plan: Plan | None = _PLAN) -> Report:
    put(project / name, "")
    (project / name).write_bytes(text.encode())
    facts: dict[str, Fact] = dict(
        manifests.probe(ProbeInput(host=Host(env={}, cwd=project), project=project))
    )
    found = reports.wrong_torch(place=Place(path=name, line=line))
    report = reports.report(found, facts=facts)
    return msgspec.structs.replace(report, plan=plan)


def _column(replacement: dict[str, Any]) -> int:
    return int(replacement["deletedRegion"]["startColumn"])


def _replaced(text: str, run: dict[str, Any]) -> str:
    """Return a text with the replacements of a SARIF log made in it."""
    lines = text.split("\n")
    for fix in run["results"][0].get("fixes", ()):
        for change in fix["artifactChanges"]:
            for one in sorted(change["replacements"], key=_column, reverse=True):
                region = one["deletedRegion"]
                line = lines[region["startLine"] - 1]
                start, end = region["startColumn"] - 1, region["endColumn"] - 1
                new = one["insertedContent"]["text"]
                lines[region["startLine"] - 1] = line[:start] + new + line[end:]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("name", "text", "line", "after"),
    [
        ("requirements.txt", "a\ntorch==2.5.1  # é\r\n", 2, "a\ntorch==2.13.0  # é\r\n"),
        (
            "pyproject.toml",
            '[project]\ndependencies = ["é", "torch~=2.5.1", "torchvision<0.21"]\n',
            2,
            '[project]\ndependencies = ["é", "torch~=2.13.0", "torchvision<0.29"]\n',
        ),
        (
            "Dockerfile",
            "ARG TV=0.20.1\nRUN pip install torchvision==${TV}\n",
            2,
            "ARG TV=0.28.0\nRUN pip install torchvision==${TV}\n",
        ),
        # Its page of the index may have no such release: more than this line has to change.
        (
            "requirements.txt",
            "-i https://download.pytorch.org/whl/cu121\ntorch==2.5.1\n",
            2,
            "-i https://download.pytorch.org/whl/cu121\ntorch==2.5.1\n",
        ),
        ("requirements.txt", "torch>=2.5\n", 1, "torch>=2.5\n"),
    ],
)
def test_a_fix_of_sarif_replaces_the_version_alone(
    tmp_path: Path, name: str, text: str, line: int, after: str
) -> None:
    assert _replaced(text, sarif_run(_report(tmp_path, name, text, line))) == after


def test_without_a_plan_the_own_fix_of_a_finding_counts(tmp_path: Path) -> None:
    report = _report(tmp_path, "requirements.txt", "torchvision==0.20.1\n", 1, None)
    assert "fixes" not in sarif_run(report)["results"][0]


def test_github_shows_the_line_as_it_should_be(tmp_path: Path) -> None:
    report = _report(tmp_path, "requirements.txt", "  torch==2.5.1 ; python_version > '3'\n", 1)
    assert "In requirements.txt:1, write ==2.13.0 for ==2.5.1" in github.render(report)
    suggestion = "```suggestion\n  torch==2.13.0 ; python_version > '3'\n```"
    assert suggestion in document.render(report)
