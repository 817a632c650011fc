"""A title says what is true of every log of its issue: a value of one log stands in a capture.

`A CUDA library is missing (libcudart.so.12)` is wrong in a report about libcudart.so.11.0. Such a
title reads `A CUDA library is missing: {log.library|a part of CUDA}`: the text behind the bar
stands where neither a log nor a fact gives the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.placeholders import names
from doctor.model.issues import Expect, KnownIssue
from doctor.model.vocabulary import is_known

_QUOTED = re.compile(r"'([^']+)'|`([^`']+)[`']|\"([^\"]+)\"|“([^”]+)”")
_WORD = re.compile(r"[^\s(),;:\"'`“”]+")
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_ESCAPE = re.compile(r"\\(?=\W)")


def lint_title(name: str, issue: KnownIssue) -> Iterator[str]:
    """Yield the faults of a title."""
    groups = {
        group
        for signature in issue.signatures
        for group in re.findall(r"\(\?P<(\w+)>", signature.pattern)
    }
    for placeholder in names(issue.title):
        if placeholder.startswith("log.") and placeholder[4:] not in groups:
            yield f"title: {{{placeholder}}}: no signature has a group of that name"
        elif not placeholder.startswith("log.") and not is_known(placeholder):
            yield f"title: {{{placeholder}}}: no such fact"
    yield from (
        f"title: {value!r} is the value of one log; capture it, {{log.NAME|any other}}"
        for value in quoted_values(name, issue)
    )


def quoted_values(name: str, issue: KnownIssue) -> tuple[str, ...]:
    """Return what a title takes from the log of one example and another log need not hold.

    Such a value stands in a matching example. Another matching example lacks it, or no signature
    asks for it.
    """
    logs = [one.log for one in issue.examples if one.expect is Expect.MATCH and one.log]
    patterns = [_ESCAPE.sub("", signature.pattern) for signature in issue.signatures]
    component = name.partition("/")[0]
    return tuple(
        value
        for value in _values(issue.title)
        if value.lower() != component
        and any(_holds(log, value) for log in logs)
        and (
            not all(_holds(log, value) for log in logs)
            or not any(value.lower() in pattern.lower() for pattern in patterns)
        )
    )


def _values(title: str) -> Iterator[str]:
    """Yield what looks like a value: quoted text, and words with a digit among other characters."""
    plain = _PLACEHOLDER.sub(" ", title)
    found = [next(filter(None, match.groups())).strip() for match in _QUOTED.finditer(plain)]
    found += [
        word.strip(".")
        for word in _WORD.findall(_QUOTED.sub(" ", plain))
        if any(letter.isdigit() for letter in word) and len(word.strip(".")) > 1
    ]
    yield from dict.fromkeys(filter(None, found))


def _holds(log: str, value: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", log, re.IGNORECASE) is not None
