"""A finding in blocks: what it says at a glance, what it says once, and what is left out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.model.findings import Evidence, EvidenceKind, Finding, Place
from doctor.model.fixes import Command, Fix, Step
from doctor.model.report import Report
from doctor.model.scales import Severity
from doctor.report.html import document as html
from doctor.report.markdown import document as markdown
from doctor.report.markdown import step_summary
from doctor.report.terminal import document as terminal
from doctor.report.view.blocks import Consequences, Steps
from doctor.report.view.blocks import Evidence as Seen
from doctor.report.view.blocks import Fix as FixBlock
from doctor.report.view.detail import GLANCE, ISSUE, WHOLE
from doctor.report.view.findings import finding, findings
from tests.report import reports


def shown(*found: Finding, **look: Any) -> str:
    """Return the findings as a terminal of 80 columns shows them."""
    return terminal.render(
        reports.report(*found),
        **{"verbosity": 0, "width": 80, "colour": False, "unicode": True, **look},
    )


def log(text: str, line: int = 1) -> Evidence:
    """Make a line of evidence out of a log."""
    return Evidence(kind=EvidenceKind.LOG, text=text, source="train.log", line=line)


def cause() -> Finding:
    """Make an error that explains `toy/operator-missing`."""
    return reports.wrong_torch()


def consequence() -> Finding:
    """Make a finding that goes away with its cause."""
    return reports.lesser(Severity.ERROR, "toy/operator-missing", title="An operator is missing")


def test_an_ordinary_finding_takes_seven_lines() -> None:
    found = reports.wrong_torch(
        place=Place(path="requirements.txt", line=2),
        evidence=(log("operator toyvision::nms does not exist", 41),),
        fixes=reports.wrong_torch().fixes[:1],
    )
    text = shown(found)
    lines = text[text.index("✗ error") :].split("\n\n")[0].splitlines()
    assert [line[:11].strip() for line in lines] == [
        "✗ error", "-->", "", "seen", "fix", "", "", "more",
    ]  # fmt: skip
    assert "requirements.txt:2" in lines[1]
    assert "doctor explain toy/wrong-torch" in lines[-1]


def test_the_cause_is_one_sentence_and_whole_with_v() -> None:
    assert "With another torch they do not load" not in shown(cause())
    assert "With another torch they do not load" in " ".join(shown(cause(), verbosity=1).split())


def test_the_same_line_is_shown_once() -> None:
    twice = (log("2 + 2 is 5", 3), log("2 + 2  is 5", 9), log("another line"))
    for detail in (GLANCE, WHOLE, ISSUE):
        view = finding(reports.wrong_torch(evidence=twice), detail)
        (seen,) = (block for block in view.blocks if isinstance(block, Seen))
        assert [item.text for item in seen.items] == ["2 + 2 is 5", "another line"]


def test_what_the_title_says_is_not_repeated_below() -> None:
    found = reports.wrong_torch(title="toyvision: 2 + 2 is 5", evidence=(log("2 + 2 is 5"),))
    assert shown(found).count("2 + 2 is 5") == 1
    assert shown(found, verbosity=1).count("2 + 2 is 5") == 2


def test_a_consequence_is_one_line_under_its_cause() -> None:
    text = shown(cause(), consequence())
    assert text.count("An operator is missing") == 1
    assert "  causes   ✗ An operator is missing (toy/operator-missing)" in text.splitlines()
    assert text.splitlines()[-1].startswith("1 error,")
    assert shown(cause(), consequence(), verbosity=1).count("An operator is missing") == 2


@pytest.mark.parametrize("form", [markdown, html, step_summary])
def test_a_page_folds_a_consequence_and_keeps_all_of_it(form: Any) -> None:
    text = form.render(reports.report(cause(), consequence()))
    assert text.count("An operator is missing") >= 2
    assert "It is small." in text


def test_a_note_folds_nothing_that_is_graver() -> None:
    note = reports.wrong_torch(severity=Severity.NOTE)
    views = findings(reports.report(note, consequence()), GLANCE)
    assert [view.id for view in views] == ["toy/wrong-torch", "toy/operator-missing"]


def test_findings_that_explain_each_other_are_not_both_hidden() -> None:
    one = reports.lesser(Severity.ERROR, "toy/a", symptoms=("toy/b", "toy/a"))
    other = reports.lesser(Severity.ERROR, "toy/b", symptoms=("toy/a",))
    (view,) = findings(reports.report(one, other), GLANCE)
    assert view.id == "toy/a"
    (follows,) = (block for block in view.blocks if isinstance(block, Consequences))
    assert [each.id for each in follows.items] == ["toy/b"]


def _two_steps() -> Report:
    steps = (
        Step(command=Command(argv=("first", "a b"), env={"TOY": "1"})),
        Step(command=Command(argv=("second",))),
    )
    fix = Fix(kind="configure", title="Do both", steps=steps)
    return reports.report(reports.wrong_torch(fixes=(fix,)))


def test_steps_are_numbered_in_order() -> None:
    (view,) = findings(_two_steps(), GLANCE)
    (fix,) = (block for block in view.blocks if isinstance(block, FixBlock))
    (steps,) = fix.blocks
    assert isinstance(steps, Steps)
    text = terminal.render(_two_steps(), verbosity=0, width=80, colour=False, unicode=True)
    assert "1. TOY=1 first 'a b'\n           2. second\n" in text
    assert "1. ```sh\n   TOY=1 first 'a b'\n   ```\n2. ```sh" in markdown.render(_two_steps())
    assert '<ol class="steps"><li>' in html.render(_two_steps())


def test_one_step_has_no_number() -> None:
    assert "1. " not in shown(cause())


@pytest.mark.parametrize(
    ("meaning", "explained"),
    [
        ("image", False),
        ("the name of the image", False),
        ("the image", False),
        ("the number of the image in the list", True),
    ],
)
def test_a_word_that_explains_itself_is_not_explained(meaning: str, explained: bool) -> None:
    step = Step(command=Command(argv=("docker", "run", "<image>")))
    fix = Fix(
        kind="configure", title="Start it", steps=(step,), asks={"image": meaning}, safe=False
    )
    text = shown(msgspec.structs.replace(cause(), fixes=(fix,)))
    assert "replace <image>" in text
    assert ("<image> is" in text) is explained


def test_a_second_fix_is_shown_where_nobody_knows_whether_the_first_applies() -> None:
    first, second = (
        Fix(kind="set-env", title=title, steps=(Step(command=Command(argv=("true",))),))
        for title in ("One", "Two")
    )
    open_ = msgspec.structs.replace(first, use_if=("this is a container",))
    for one, titles in ((first, ["One"]), (open_, ["One", "Two"])):
        view = finding(reports.wrong_torch(fixes=(one, second)), GLANCE)
        assert [block.title for block in view.blocks if isinstance(block, FixBlock)] == titles


def test_a_finding_of_a_log_alone_has_two_fixes() -> None:
    first, second = (
        Fix(kind="set-env", title=title, steps=(Step(command=Command(argv=("true",))),))
        for title in ("One", "Two")
    )
    seen = Evidence(kind=EvidenceKind.LOG, text="it failed", source="log", line=1)
    view = finding(reports.wrong_torch(fixes=(first, second), evidence=(seen,)), GLANCE)
    assert [block.title for block in view.blocks if isinstance(block, FixBlock)] == ["One", "Two"]
