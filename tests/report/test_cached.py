"""What is from an earlier run is said to be, with its age."""

from __future__ import annotations

import msgspec
import pytest

from doctor.model.report import Report
from doctor.report.html import document as html
from doctor.report.markdown import document as markdown
from doctor.report.terminal import document as terminal
from doctor.report.view import outcomes as ends
from tests.report import reports

_TAKEN = "2026-11-22T10:00:00+00:00"


def _seen(ran: str, taken: str = _TAKEN) -> Report:
    healthy = reports.healthy()
    outcomes = tuple(
        msgspec.structs.replace(outcome, cached_from=ran)
        for outcome in healthy.observation.outcomes
    )
    return msgspec.structs.replace(
        healthy,
        observation=msgspec.structs.replace(healthy.observation, outcomes=outcomes, taken=taken),
    )


@pytest.mark.parametrize(
    ("ran", "age"),
    [
        ("2026-11-22T09:59:40+00:00", "1 minute ago"),
        ("2026-11-22T09:15:00+00:00", "45 minutes ago"),
        ("2026-11-21T13:00:00+00:00", "21 hours ago"),
        ("yesterday", "some time ago"),
    ],
)
def test_every_format_that_people_read_says_how_old_it_is(ran: str, age: str) -> None:
    report = _seen(ran)
    page = " ".join(
        terminal.render(report, verbosity=0, width=200, colour=False, unicode=True).split()
    )
    for text in (page, markdown.render(report), html.render(report)):
        assert f"from an earlier run, {age}" in text
        assert "--fresh runs them again" in text


def test_the_oldest_counts() -> None:
    seen = _seen("2026-11-22T09:55:00+00:00").observation
    older = msgspec.structs.replace(seen.outcomes[0], cached_from="2026-11-22T09:30:00+00:00")
    assert (
        "30 minutes ago"
        in ends.cached(msgspec.structs.replace(seen, outcomes=(*seen.outcomes, older)))[0]
    )


def test_nothing_is_said_of_a_run_of_now() -> None:
    assert ends.cached(reports.healthy().observation) == []
