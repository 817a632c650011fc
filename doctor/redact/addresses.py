"""Find credentials in addresses: `https://user:password@host` and `user:password@host`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from doctor.base.lazy_pattern import Pattern
from doctor.redact.values import Span, is_placeholder

_RUN = Pattern(r"""[^\s"'<>`|\\]{1,2048}""")
_PUBLIC = frozenset(
    {
        "git",
        "hg",
        "svn",
        "root",
        "user",
        "username",
        "admin",
        "ubuntu",
        "anonymous",
        "x-access-token",
        "oauth2",
        "__token__",
    }
)
_HOST = Pattern(
    r"(?:[A-Za-z0-9_](?:[\w.-]{0,253}\w)?|\[[0-9A-Fa-f:]{2,45}\])(?::\d{1,5})?(?:[/?#,;)\]}]|$)"
)
_NAMED_HOST = Pattern(
    r"(?:localhost|[A-Za-z][\w-]{0,62}"
    r"|\d{1,3}(?:\.\d{1,3}){3})(?:\.[A-Za-z][\w-]{0,62}){0,8}(:\d{1,5})?(?:[/?#,;)\]}\s]|$)"
)
_PORT = Pattern(r"\d{0,5}(?:[/?#,;).\]}]|$)")
_PASSWORD = Pattern(r"""[^\s"'<>`:/@|\\]{3,128}$""")
_NO_USER = frozenset({"mailto", "sip", "sips", "acct", "xmpp"})
_WITHIN = 16
"""Addresses within one run of characters that are looked at."""
_CUT = Pattern(r"[^\s/?#:@]{1,128}:([^\s/?#@]{1,256})(?:…|\.\.\.)?$")


def credentials(text: str, places: Sequence[Span]) -> Iterator[Span]:
    """Yield what stands before the @ of addresses whose `://` is at `places`.

    The names that everybody uses by themselves stay.
    """
    done, within = -1, 0
    for place, behind in places:
        within = within + 1 if place < done else 0
        run = _RUN.match(text, behind) if within < _WITHIN else None
        if run is None:
            continue
        done = run.end()
        size = _of_user(run[0])
        user, _, password = run[0][:size].partition(":")
        if size and not (not password and user in _PUBLIC) and not is_placeholder(password or user):
            yield behind, behind + size
        elif (
            not size
            and (cut := _CUT.match(run[0]))
            and text[run.end() : run.end() + 1] in ("", "\n")
            and not _PORT.match(cut[1])
            and not is_placeholder(cut[1])
        ):
            yield run.start() + cut.start(1), run.start() + cut.end(1)


def _of_user(run: str) -> int:
    """Return how many characters of what follows `://` name a user.

    A password may hold `/` and `@`.
    """
    if "@" not in run:
        return 0
    ends = [
        number
        for number, char in enumerate(run)
        if char == "@" and _HOST.match(run, number + 1) and not run.startswith("sha256", number + 1)
    ]
    if not ends:
        return 0
    first = min((run.find(char) for char in "/?#" if char in run), default=len(run))
    within = [end for end in ends if end < first]
    if within:
        return within[-1]
    user, colon, rest = run.partition(":")
    if colon and not _PORT.match(rest) and not any(char in user for char in "/?#@"):
        return next((end for end in ends if _NAMED_HOST.match(run, end + 1)), 0)
    return 0


def pairs(text: str, places: Sequence[Span]) -> Iterator[Span]:
    """Yield the password of `user:password@host` without a scheme, for each @ at `places`."""
    for place, behind in places:
        colon = text.rfind(":", max(place - 129, 0), place)
        password = text[colon + 1 : place] if colon >= 0 else ""
        if not _PASSWORD.match(password) or password.isdigit() or is_placeholder(password):
            continue
        host, user = _NAMED_HOST.match(text, behind), _user_before(text, colon)
        if (
            user
            and host
            and ("." in host[0] or host[1] or host[0].startswith("localhost"))
            and user.lower() not in _NO_USER
        ):
            yield colon + 1, place


def _user_before(text: str, end: int) -> str:
    start = end
    while start > max(end - 64, 0) and (text[start - 1].isalnum() or text[start - 1] in "_.+%-"):
        start -= 1
    return text[start:end]
