"""What fits together: a chip for each pair, then a table of the pairs that do not fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from doctor.facts.families import table_cell
from doctor.report.html.elements import Markup, el, folded, joined, line, row, table
from doctor.report.view.compatibility import Fit, Row, by_asker

MARKS = {Fit.VIOLATED: "✗", Fit.UNKNOWN: "?", Fit.NOT_HERE: "–", Fit.FITS: "✓"}
_CLASSES = {
    Fit.VIOLATED: "violated",
    Fit.UNKNOWN: "unknown",
    Fit.NOT_HERE: "not-here",
    Fit.FITS: "fits",
}
_HEADS = ("Who asks", "for what", "wanted", "here", "verdict")
_MOST = 400


def fits(rows: Sequence[Row]) -> Markup:
    """Return the picture and the tables below it."""
    shown = rows[:_MOST]
    open_ = [one for one in shown if one.fit is not Fit.FITS or table_cell(one.fact)]
    rest = [one for one in shown if one not in open_]
    more = el("p", f"and {len(rows) - _MOST} more") if len(rows) > _MOST else ""
    return joined(
        el("p", verdict_counts(rows), class_="quiet"),
        _picture(shown),
        _detail("What does not fit, what is not known, and what tables say", open_)
        if open_
        else "",
        folded(f"All {len(rest)} that fit, one by one", _detail("What fits", rest), class_="card")
        if rest
        else "",
        more,
    )


def verdict_counts(rows: Sequence[Row]) -> str:
    """Count how things stand to each other: `2 violated, 31 fit`."""
    words = {
        Fit.VIOLATED: "violated",
        Fit.UNKNOWN: "not known",
        Fit.NOT_HERE: "not here",
        Fit.FITS: "fit",
    }
    counts = {fit: sum(one.fit is fit for one in rows) for fit in Fit}
    return ", ".join(f"{number} {words[fit]}" for fit, number in counts.items() if number)


def _picture(rows: Iterable[Row]) -> Markup:
    body = el("tbody", *(_asker(by, group) for by, group in by_asker(rows).items()))
    return table(
        "What fits together, by who asks for it",
        ("Who asks", "what is asked for", "together"),
        body,
        "picture",
    )


def _asker(by: str, group: Sequence[Row]) -> Markup:
    return row(line(by, 80), el("ul", *map(_chip, group), class_="chips"), verdict_counts(group))


def _chip(one: Row) -> Markup:
    what = f"{line(one.wanted, 120)} wanted, {line(one.here, 120)} here"
    mark = joined(
        el("span", MARKS[one.fit], aria_hidden="true"),
        el("span", f"{one.fit.value}: ", class_="unseen"),
    )
    return el("li", mark, " ", line(one.what, 60), class_=f"chip {_CLASSES[one.fit]}", title=what)


def _detail(caption: str, rows: Sequence[Row]) -> Markup:
    return el("div", table(caption, _HEADS, el("tbody", *_lines(rows)), "fits"), class_="wide")


def _lines(rows: Sequence[Row]) -> Iterator[Markup]:
    for one in rows:
        mark = el(
            "span",
            el("span", MARKS[one.fit], aria_hidden="true"),
            f" {one.fit.value}",
            class_=f"verdict {_CLASSES[one.fit]}",
        )
        why = (
            joined(mark, " ", el("span", line(one.why, 200), class_="source")) if one.why else mark
        )
        wanted, here = (
            el("td", el("code", line(text, 200)), data_head=head)
            for text, head in ((one.wanted, "wanted"), (one.here, "here"))
        )
        yield el(
            "tr",
            el("th", line(one.by, 80), scope="row"),
            el("td", line(one.what, 60)),
            wanted,
            here,
            el("td", why),
        )
