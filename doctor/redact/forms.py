"""Find secrets by the name of their value: assignments, options, HTTP headers, sentences."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from doctor.base.lazy_pattern import Pattern
from doctor.redact.names import NameKind, is_variable, kind_of_name, words_of_name
from doctor.redact.values import Span, is_code, is_placeholder, is_prose, looks_random

_LONGEST_NAME = 64
_NAME_END = Pattern(r"[\w.-]{0,64}")
_ASSIGNED = Pattern(
    r"""(?:\\{0,3}["'`])?[\])]{0,2}[ \t]{0,16}(=>|:=|==|=|:)"""
    r"""[ \t]{0,16}[\[({]{0,3}(?:SecretStr\()?"""
)
_OPTION = Pattern(r"""["']?(?:[ \t]{1,8}|[ \t]{0,4},[ \t]{0,4})""")
_QUOTED = Pattern(
    r"""[bfru]{0,2}(?:\\{1,3}"([^"\\\n]{0,4096})\\{1,3}"|"((?:[^"\\\n]|\\.){0,4096})"|'((?:[^'\\\n]|\\.){0,4096})'|`([^`\n]{0,4096})`)"""
)
_OPEN = Pattern(r"""[bfru]{0,2}\\{0,3}["'`]([^"'`\n]{1,4096})$""", re.MULTILINE)
_QUOTES, _BEFORE_QUOTE = frozenset("\"'`"), 6
"""A value in quotes has the first of them among so many characters: `bf\\\\\\"`."""
_BARE, _WHOLE = Pattern(r"""\S{1,128}"""), Pattern(r"""\S{1,4096}""")
"""What a value is judged by, and all of it: signed tokens have thousands of characters."""
_COMMA = Pattern(r"[ \t]{0,4},[ \t]{0,4}")
_STOP = Pattern(
    r"""[,;&|]{1,16}(?:[\w.-]{1,64}["']?[=:]|$)|\\?["'`]{1,16}(?:[\s,;:)\]}>&|+]|$)|\\{1,16}[nrt"']|[<`]|[)\]}]["',;)\]}]|&&"""
)
_TRAIL = """.,;:!?)]}>"'`"""


def assigned(text: str, places: Sequence[Span]) -> Iterator[Span]:
    """Yield the secret values of names whose keywords stand at `places`.

    The forms are `NAME=…`, `"name": "…"`, `name => …` and `--name …`.
    """
    done = -1
    for place, behind in places:
        if behind <= done:
            continue
        start = _start_of_name(text, place, max(done, 0))
        least = behind if text[behind - 1].isalnum() else behind - 1
        tail = _NAME_END.match(text, least)
        end = tail.end() if tail else least
        name = text[start:end].rstrip(".-")
        end, done = start + len(name), start + len(name)
        if (kind := kind_of_name(name)) is not NameKind.NOTHING:
            for span in _value(text, name, end, kind):
                done = max(done, span[1])
                yield span


def _start_of_name(text: str, place: int, least: int) -> int:
    start = place
    least = max(least, place - _LONGEST_NAME)
    while start > least and (text[start - 1].isalnum() or text[start - 1] in "_.-"):
        start -= 1
    return start


def _value(text: str, name: str, end: int, kind: NameKind) -> Iterator[Span]:
    sign = _ASSIGNED.match(text, end)
    if (
        sign is not None
        and sign[1] == "=="
        and "'" not in text[end : sign.end() + 1]
        and '"' not in text[end : sign.end() + 1]
    ):
        return
    option = _OPTION.match(text, end) if sign is None and name.startswith("-") else None
    at = sign or option
    if at is None:
        return
    quoted = None
    if not _QUOTES.isdisjoint(text[at.end() : at.end() + _BEFORE_QUOTE]):
        quoted = _QUOTED.match(text, at.end()) or _OPEN.match(text, at.end())
    sure = _is_sure(name, sign, quoted=quoted is not None)
    if quoted is None:
        bare = _BARE.match(text, at.end())
        if bare and (length := _bare_secret(kind, name, bare[0], sure=sure)):
            start = bare.start()
            # What was judged may be the beginning of a token of thousands of characters.
            yield start, _end_of(text, start) if length == len(bare[0]) else start + length
        return
    spans = [quoted.span(group) for group in range(1, quoted.re.groups + 1) if quoted[group]]
    # auth=("user", "password"), api_key=['one', 'another']
    if sign is not None and sign[0].rstrip().endswith(("(", "[")):
        spans += _others(text, quoted.end())
    for start, stop in spans:
        if _hides(kind, name, text[start:stop], sure=sure):
            yield start, stop


@lru_cache(maxsize=4096)
def _bare_secret(kind: NameKind, name: str, value: str, *, sure: bool) -> int:
    """Return how many characters of an unquoted value are a secret; 0 where it is none.

    Kept for the next time: what repeats `key:` over megabytes repeats its values as well.
    """
    length = _trimmed(value)
    return length if _hides(kind, name, value[:length], sure=sure) else 0


def _end_of(text: str, start: int) -> int:
    whole = _WHOLE.match(text, start)
    return start + _trimmed(whole[0]) if whole else start


def _others(text: str, start: int) -> list[Span]:
    found = []
    for _ in range(16):
        comma = _COMMA.match(text, start)
        quoted = _QUOTED.match(text, comma.end()) if comma else None
        if quoted is None:
            break
        found += [quoted.span(group) for group in range(1, quoted.re.groups + 1) if quoted[group]]
        start = quoted.end()
    return found


def _is_sure(name: str, sign: re.Match[str] | None, *, quoted: bool) -> bool:
    """Say whether a name and its value are an assignment, and no sentence.

    `X_TOKEN=…` and `token="…"` are, `token: …` is not.
    """
    if sign is None:
        return True
    return quoted or "=" in sign[1] or is_variable(name)


def _trimmed(value: str) -> int:
    """Return the length of a value without what ends a sentence, a list or a call behind it."""
    cut = _STOP.search(value)
    return len((value[: cut.start()] if cut else value).rstrip(_TRAIL))


def _hides(kind: NameKind, name: str, value: str, *, sure: bool) -> bool:
    if not value or is_placeholder(value):
        return False
    if kind is NameKind.PASSWORD:
        return not (
            is_prose(value) or (is_code(value) and not _is_number(value)) or _repeats(name, value)
        )
    if is_code(value) or _repeats(name, value):
        return False
    if kind is NameKind.TOKEN and sure and " " not in value:
        # The name `token` alone is said of the words of a language as well.
        alone = len(words_of_name(name)) == 1 and not looks_random(value) and len(value) < 16
        given = name.startswith("-") and "=" not in value
        return not is_prose(value) and (given or (len(value) >= 4 and not alone))
    return " " not in value and looks_random(value, 8 if kind is NameKind.TOKEN else 12)


def _is_number(value: str) -> bool:
    return value.isdigit() and len(value) >= 4


def _repeats(name: str, value: str) -> bool:
    """Say whether a value repeats its name (`--token TOKEN`) or is another such name."""
    if len(value) > _LONGEST_NAME:
        return False
    own = "".join(words_of_name(name))
    said = "".join(words_of_name(value))
    return (
        said == own
        or (value.isupper() and said in own)
        or value.lower() in ("token", "password", "secret", "key", "passwd", "user")
    )


def may_name_secret(name: str) -> bool:
    """Say whether a text is a name, or an option, whose value may be a secret."""
    return (
        len(name) <= _LONGEST_NAME
        and " " not in name
        and kind_of_name(name) is not NameKind.NOTHING
    )


def is_secret(name: str, value: str) -> bool:
    """Say whether a value is a secret by its name, in a table or behind an option."""
    return (kind := kind_of_name(name)) is not NameKind.NOTHING and _hides(
        kind, name, value, sure=True
    )


HEADERS = ("authorization", "cookie", "bearer", "basic ")
_HEADER = Pattern(
    r"""(?i)(authorization|cookie)(\\{0,3}["'])?\s{0,4}[:=,]\s{0,4}(?:b?\\{0,3}["'])?([^"'\\\n]{4,4096})"""
)
_SCHEME = Pattern(
    r"(?i)(bearer|basic|token|digest|negotiate|apikey|api-key|key|jwt|aws4-hmac-sha256|sharedkey"
    r"|sso-key)[ =:]+(\S.*)"
)
_BEARER = Pattern(r"(?i)\bbearer[ \t:=]{1,4}[\"']?([\w.~+/=-]{8,4096})")
_BASIC = Pattern(r"(?i)\bbasic[ \t]{1,4}([\w+/=-]{8,4096})")


def headers(text: str, places: Sequence[Span]) -> Iterator[Span]:
    """Yield the secrets of HTTP headers.

    These are all of a cookie, the part of an authorization behind its scheme, and bearers anywhere.
    """
    done = -1
    for place, _ in places:
        if place < done:
            continue
        if (hit := _HEADER.match(text, place)) is not None:
            yield from _carried(hit)
            done = hit.end()
        for pattern in (_BEARER, _BASIC):
            if (hit := pattern.match(text, place)) is not None and (
                _is_basic(hit[1]) if pattern is _BASIC else _is_bearer(hit[1])
            ):
                yield hit.span(1)


def _carried(hit: re.Match[str]) -> Iterator[Span]:
    start, end = hit.span(3)
    rest = hit[3].rstrip()
    if not rest:  # the pattern takes some blanks, and a line may have more
        return
    end = start + len(rest)
    if (scheme := _SCHEME.match(rest)) is not None:
        if not is_prose(scheme[2].split()[0]) and not is_placeholder(scheme[2]):
            yield start + scheme.start(2), end
    elif "cookie" in hit[1].lower():
        if "=" in rest and not is_placeholder(rest):
            yield start, end
    elif looks_random(rest.split()[0].rstrip(",;")):
        yield start, end


def _is_bearer(value: str) -> bool:
    return not is_placeholder(value) and (looks_random(value) or len(value) >= 24)


def _is_basic(value: str) -> bool:
    """Say whether a text is `user:password` in base64 (RFC 7617), and no word of a sentence."""
    bare = value.rstrip("=")
    try:
        return b":" in binascii.a2b_base64(bare + "=" * (-len(bare) % 4))
    except (binascii.Error, ValueError):
        return False
