"""Make foreign text safe to show: no terminal control, no secrets, nothing that names a person."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_ASSIGNED = re.compile(r"""(?<![\w.-])([\w.-]{1,100})(["']?\s{0,4}[=:]\s{0,4})("[^"\n]*"|'[^'\n]*'|[^\s,;&"'=][^\s,;&"']*)""")
_WORDS = re.compile(r"[_.-]+")
_TELLING = (
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "credential",
    "credentials",
    "apikey",
    "accesskey",
    "privatekey",
    "secretkey",
)
_PAIRS = ("api_key", "access_key", "private_key", "secret_key")
_IN_URL = re.compile(r"(?i)\b([a-z][a-z0-9+.-]{1,20}://)[^/\s:@]{1,256}(?::[^/\s@]{0,256})?@")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/-]{8,}=*")
_KNOWN = re.compile(
    r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|AKIA[0-9A-Z]{16}|glpat-[A-Za-z0-9_-]{20}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,})\b"
)
_SHORTEST_TOKEN = 15
_COMMAND = re.compile(r"(?m)^([^\S\n]*)::")
HIDDEN = "[hidden]"


def plain(text: str) -> str:
    """Strip terminal escapes, control characters and direction marks; line ends become plain, tabs stay."""
    text = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    bad = {ord(char): None for char in set(text) if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co")}
    return text.translate(bad) if bad else text


def without_secrets(text: str) -> str:
    """Blank out what looks like a credential: assignments to telling names, user data in URLs, tokens of known shape."""
    # A report holds thousands of short texts; most lack what a pattern cannot do without.
    if "://" in text and "@" in text:
        text = _IN_URL.sub(rf"\1{HIDDEN}@", text)
    if "earer" in (lower := text.lower()) or "asic" in lower:
        text = _BEARER.sub(rf"\1 {HIDDEN}", text)
    if "=" in text or ":" in text:
        text = _ASSIGNED.sub(_hide_assigned, text)
    return _KNOWN.sub(HIDDEN, text) if len(text) >= _SHORTEST_TOKEN else text


def _whole(name: str) -> re.Pattern[str]:
    """Match a name where it stands alone; a path may follow anything (`-I/home/alice`)."""
    before = "" if name.startswith("/") else r"(?<![\w.-])"
    return re.compile(rf"{before}{re.escape(name)}(?![\w-])")


def harmless(text: str) -> str:
    """Break what a runner of GitHub Actions takes for a command: `::` at the beginning of a line, `##[` anywhere."""
    return _COMMAND.sub(r"\1: :", text).replace("##[", "## [")


def _hide_assigned(found: re.Match[str]) -> str:
    words = _WORDS.split(found[1].lower())
    telling = any(word.endswith(_TELLING) for word in words) or any(pair in "_".join(words) for pair in _PAIRS)
    return f"{found[1]}{found[2]}{HIDDEN}" if telling else found[0]


class Mask:
    """Replaces what names the person or the machine: the home folder by `$HOME`, user and host names by placeholders."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names` maps a placeholder (`$HOME`, `<user>`, `<host>`) to what it stands for; short names are left alone."""
        ordered = sorted(names.items(), key=lambda item: -len(item[1]))
        self._rules = [(_whole(real), mask) for mask, real in ordered if len(real) >= 4]

    def __call__(self, text: str) -> str:
        """Return the text masked."""
        for rule, mask in self._rules:
            text = rule.sub(mask, text)
        return text
