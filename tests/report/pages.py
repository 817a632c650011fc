"""A page as a browser takes it: read strictly as XML, then looked at by its elements."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from xml.etree import ElementTree

from doctor.model.report import Report
from doctor.report.html import document as html

EMPTY = {"meta", "link", "br"}


class Page(HTMLParser):
    """The elements of a page with their attributes, and its text.

    Every element must be closed in its turn.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        ElementTree.fromstring(text)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[tuple[str, str]] = []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.elements.append((tag, given))
        if tag not in EMPTY:
            self._open.append((tag, given.get("class", "")))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        place = self._open[-1] if self._open else ("", "")
        self.texts.append((".".join(filter(None, place)), data))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    @property
    def tags(self) -> list[str]:
        """The names of the elements, in their order."""
        return [tag for tag, _ in self.elements]

    def having(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield the elements that have an attribute, with its value."""
        return ((tag, given[name]) for tag, given in self.elements if name in given)

    def text(self) -> str:
        """Return what is read, its style aside."""
        return "".join(data for place, data in self.texts if place != "style")


def page(report: Report) -> Page:
    """Render a report and read it."""
    return Page(html.render(report))
