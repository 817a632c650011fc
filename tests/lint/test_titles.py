"""Titles hold for every log of their issue."""

from __future__ import annotations

from pathlib import Path

from doctor.catalog.loading import load_folder
from doctor.facts.placeholders import fill_known
from doctor.lint.titles import lint_title, load_to_mend, quoted_values
from doctor.model.issues import Example, Expect, KnownIssue, Signature
from tests import toy

MATRICES = Path(__file__).parents[2] / "matrices"
MOST_TO_MEND = 232


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
    (fault,) = lint_title("cuda/library", issue, frozenset())
    assert "libcudart.so.12" in fault
    assert not [*lint_title("cuda/library", issue, frozenset({"cuda/library"}))]


def test_a_captured_value_is_one_of_the_log_at_hand() -> None:
    issue = missing_library("A CUDA library is missing: {log.library|a part of CUDA}")
    assert not [*lint_title("cuda/library", issue, frozenset())]
    assert fill_known(issue.title, {}, {"library": "libcudnn.so.9"}).endswith(": libcudnn.so.9")
    assert fill_known(issue.title, {}, {}).endswith(": a part of CUDA")


def test_a_capture_that_no_signature_has_and_a_fact_that_nobody_knows_are_faults() -> None:
    issue = missing_library("{log.lib|it} of {torch.relase|it} is missing")
    assert len([*lint_title("cuda/library", issue, frozenset())]) == 2


def test_the_list_of_titles_to_mend_only_gets_shorter() -> None:
    """Take mended titles off doctor/lint/titles-to-mend.txt, and lower the number above."""
    issues = load_folder(MATRICES).issues
    to_mend = load_to_mend()
    quoting = {name for name, issue in issues.items() if quoted_values(name, issue)}
    assert len(to_mend) <= MOST_TO_MEND
    assert quoting <= to_mend
