"""Titles hold for every log of their issue."""

from __future__ import annotations

from pathlib import Path

from doctor.catalog.loading import load_folder
from doctor.facts.placeholders import fill_known
from doctor.lint.titles import lint_title, quoted_values
from doctor.model.issues import Example, Expect, KnownIssue, Signature
from tests import toy

MATRICES = Path(__file__).parents[2] / "matrices"


def missing_library(title: str) -> KnownIssue:
    """Make an issue about any CUDA library, with logs about two of them."""
    logs = ("libcudart.so.12: cannot open", "libcudnn.so.9: cannot open")
    return toy.issue(
        title=title,
        signatures=(Signature(pattern=r"(?P<library>lib\w+\.so\.\d+): cannot open"),),
        examples=tuple(Example(name=log, expect=Expect.MATCH, log=log) for log in logs),
    )


def test_a_value_of_one_log_is_no_title_for_another() -> None:
    issue = missing_library("A CUDA library is missing (libcudart.so.12)")
    assert quoted_values("cuda/library", issue) == ("libcudart.so.12",)
    (fault,) = lint_title("cuda/library", issue)
    assert "libcudart.so.12" in fault


def test_a_captured_value_is_one_of_the_log_at_hand() -> None:
    issue = missing_library("A CUDA library is missing: {log.library|a part of CUDA}")
    assert not [*lint_title("cuda/library", issue)]
    assert fill_known(issue.title, {}, {"library": "libcudnn.so.9"}).endswith(": libcudnn.so.9")
    assert fill_known(issue.title, {}, {}).endswith(": a part of CUDA")


def test_a_capture_that_no_signature_has_and_a_fact_that_nobody_knows_are_faults() -> None:
    issue = missing_library("{log.lib|it} of {torch.relase|it} is missing")
    assert len([*lint_title("cuda/library", issue)]) == 2


def test_no_title_quotes_a_value_of_one_log() -> None:
    issues = load_folder(MATRICES).issues
    assert not {
        name: values for name, issue in issues.items() if (values := quoted_values(name, issue))
    }
