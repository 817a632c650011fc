"""What counts: an ignore with its date, a baseline, and what is said of either."""

from __future__ import annotations

import time
from datetime import date
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.base.globs import matches_any
from doctor.judge.suppressions import BaselineFinding, Ignore, Suppressed, Suppressions, suppress
from doctor.model.findings import Finding, Place
from doctor.model.scales import Severity
from tests.report.reports import lesser

TODAY = date(2026, 11, 21)


def ignore(id_: str = "toy/*", until: date = date(2027, 1, 31), **more: Any) -> Ignore:
    return Ignore(
        id=id_,
        reason="not imported here",
        until=until,
        place=Place(path="pyproject.toml", line=7),
        **more,
    )


def known(id_: str, severity: Severity = Severity.ERROR, **more: Any) -> BaselineFinding:
    return BaselineFinding(**{"id": id_, "target": "interpreter", "severity": severity, **more})


def found(id_: str = "toy/one", severity: Severity = Severity.ERROR, **more: Any) -> Finding:
    return lesser(severity, id_, **more)


def judged(
    *findings: Finding,
    ignores: tuple[Ignore, ...] = (),
    baseline: tuple[BaselineFinding, ...] | None = None,
    open_ids: tuple[str, ...] | None = (),
) -> Suppressed:
    suppressions = Suppressions(ignores=ignores, baseline=baseline, today=TODAY)
    return suppress(findings, suppressions, open_ids=open_ids)


def test_an_ignored_finding_says_why_and_until_when_and_keeps_its_place() -> None:
    gated = judged(found("other/first"), found(), ignores=(ignore(),))
    first, second = gated.decisions
    assert first is None
    assert second is not None
    assert (second.by, second.reason, second.until) == ("ignore", "not imported here", "2027-01-31")
    assert gated.remarks == ()


@pytest.mark.parametrize(
    ("text", "covered"), [("smaller", True), ("It is", True), ("Something else", False)]
)
def test_a_text_is_looked_for_in_title_and_message(text: str, covered: bool) -> None:
    gated = judged(found(), ignores=(ignore(match=text),))
    assert (gated.decisions[0] is not None) is covered


@pytest.mark.parametrize(("until", "suppressed"), [(TODAY, True), (date(2026, 11, 20), False)])
def test_an_ignore_holds_through_its_last_day(until: date, suppressed: bool) -> None:
    gated = judged(found(), ignores=(ignore(until=until),))
    assert (gated.decisions[0] is not None) is suppressed
    assert [each.id for each in gated.remarks] == ([] if suppressed else ["ignore/expired"])


@pytest.mark.parametrize(
    ("back", "told"),
    [
        (Severity.ERROR, Severity.WARNING),
        (Severity.WARNING, Severity.WARNING),
        (Severity.NOTE, Severity.NOTE),
    ],
)
def test_an_expired_ignore_is_no_worse_than_what_it_covered(back: Severity, told: Severity) -> None:
    (remark,) = judged(found(severity=back), ignores=(ignore(until=date(2026, 1, 1)),)).remarks
    assert (remark.severity, remark.place) == (told, Place(path="pyproject.toml", line=7))
    assert "toy/one" in remark.message


def test_another_ignore_may_still_cover_what_one_no_longer_does() -> None:
    gated = judged(found(), ignores=(ignore(until=date(2026, 1, 1)), ignore("toy/one")))
    assert gated.decisions[0] is not None


def test_an_ignore_that_covers_nothing_is_a_note() -> None:
    (remark,) = judged(found(), ignores=(ignore(), ignore("torchvison/*"))).remarks
    assert (remark.id, remark.severity) == ("ignore/unused", Severity.NOTE)
    assert "torchvison/*" in remark.title


@pytest.mark.parametrize(
    "open_ids", [None, ("gone/quiet",)], ids=["little was looked at", "could not be told"]
)
def test_what_could_not_be_told_is_neither_unused_nor_gone(
    open_ids: tuple[str, ...] | None,
) -> None:
    gated = judged(ignores=(ignore("gone/*"),), baseline=(known("gone/quiet"),), open_ids=open_ids)
    assert (gated.remarks, gated.fixed) == ((), ())


def test_what_the_baseline_knows_does_not_count_and_what_is_new_does() -> None:
    gated = judged(found(), found("toy/two"), baseline=(known("toy/one"), known("toy/three")))
    assert [each and each.by for each in gated.decisions] == ["baseline", None]
    assert gated.fixed == ("toy/three",)


@pytest.mark.parametrize(
    ("before", "counts"),
    [
        (known("toy/one", Severity.WARNING), True),
        (known("toy/one", Severity.ERROR), False),
        (known("toy/one", target="cargo"), True),
    ],
    ids=["worse than before", "as before", "of another target"],
)
def test_a_baseline_knows_an_id_of_a_target_as_bad_as_it_was(
    before: BaselineFinding, counts: bool
) -> None:
    gated = judged(found(), baseline=(before,))
    assert (gated.decisions[0] is None) is counts


def test_a_check_that_fails_on_one_more_device_is_new() -> None:
    on = [found("canary/toy-add", title=f"toy-add on cuda:{number} failed") for number in (0, 1)]
    gated = judged(*on, baseline=(known("canary/toy-add", title="toy-add on cuda:1 failed"),))
    assert [each is None for each in gated.decisions] == [True, False]


def test_an_ignore_goes_before_the_baseline() -> None:
    (one,) = judged(found(), ignores=(ignore(),), baseline=(known("toy/one"),)).decisions
    assert one is not None
    assert one.by == "ignore"


def test_thousands_of_ignores_cost_little_and_fill_no_report() -> None:
    ignores = tuple(ignore(f"toy/x{number}{'*' * (number % 2)}") for number in range(4000))
    started = time.process_time()
    gated = judged(
        found(),
        *(found(f"other/{number}") for number in range(20)),
        ignores=ignores,
        open_ids=("a/b",) * 800,
    )
    assert time.process_time() - started < 10
    assert [each.id for each in gated.remarks] == ["ignore/unused"] * 21
    assert gated.remarks[-1].title == "Nothing here is covered by 3980 further ignores"
    assert "toy/x20" in gated.remarks[-1].message


@given(st.text("ab/*?[]", max_size=6), st.text("ab/*?[]", max_size=6))
def test_globs_mean_what_they_mean_to_fnmatch(name: str, glob: str) -> None:
    assert matches_any(name, (glob,)) is fnmatchcase(name, glob)
