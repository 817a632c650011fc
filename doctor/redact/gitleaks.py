"""Convert the rules of gitleaks into `gitleaks.json`.

The command is `python -m doctor.site.generate shapes GITLEAKS.toml`.

gitleaks looks for secrets in source, and would rather miss one than ring for nothing; here a token
that is cut short, or that a bracket follows, has to go as well. So what a pattern wants behind a
token is dropped, and names of vendors are looked for where they begin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

SOURCE = "https://github.com/gitleaks/gitleaks/blob/v8.30.1/config/gitleaks.toml"
LICENCE = "MIT, Copyright (c) 2019 Zachary Rice; see NOTICE"

LEFT_OUT = {
    "generic-api-key": "names are judged by doctor.redact.names",
    "curl-auth-header": "headers are judged by doctor.redact.forms",
    "curl-auth-user": "command lines are judged by doctor.redact.commands",
    "freemius-secret-key": "for files of one kind",
    "kubernetes-secret-yaml": "for files of one kind",
    "nuget-config-password": "for files of one kind",
    "hashicorp-tf-password": "for files of one kind",
    "pkcs12-file": "for files of one kind",
    "private-key": "keys of many lines are found by doctor.redact.keys",
    "sidekiq-sensitive-url": "addresses are judged by doctor.redact.addresses",
    "flutterwave-public-key": "made to be public",
    "jwt": "its keyword, `ey`, stands in every text; doctor.redact.shapes has one of its own",
    "twilio-api-key": "its keyword, `sk`, stands in every text, and it is a name more than a "
    "secret",
    "vault-service-token": "its keyword, `s.`, stands in every text; doctor.redact.shapes has "
    "one of its own",
    "sourcegraph-access-token": "takes any commit for a token",
}
_BEHIND = (
    r"""(?:[\x60'"\s;]|\\[nr]|$)""",
    r"""(?:[\x60'"\s;]|\\[nr]|$|\b)""",
    r"""(?:$|[\\'"\x60\s<),])""",
    r"(?:[^\w-]|\z)",
    r"(?:[^a-zA-Z0-9+/]|\z)",
)
_BEFORE = (r"[\w.-]{0,50}?", r"""(?:^|[\\'"\x60\s>=:(,)])""")
_CLASSES = {"[[:alnum:]]": "[0-9A-Za-z]", "[:alnum:]": "0-9A-Za-z"}


def shapes(config: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rules of a gitleaks configuration: id, pattern, keywords, least entropy."""
    for rule in config["rules"]:
        if rule["id"] not in LEFT_OUT:
            shape = {
                "id": rule["id"],
                "pattern": pattern(rule["regex"]),
                "keywords": sorted(rule["keywords"]),
            }
            yield shape | ({"entropy": float(rule["entropy"])} if "entropy" in rule else {})


def pattern(regex: str) -> str:
    """Translate a pattern of Go into one that `re` and RE2 read alike.

    The context that it wants around the secret is dropped.
    """
    for behind in _BEHIND:
        regex = regex.removesuffix(behind)
    for before in _BEFORE:
        regex = regex.replace(before, "")
    for name, letters in _CLASSES.items():
        regex = regex.replace(name, letters)
    regex = re.sub(r"\(\?P<\w+>", "(?:", regex)
    regex = _scoped(regex)
    return regex if regex.endswith(r"\b") else regex + (r"\b" if _exact(regex) else "")


def _exact(regex: str) -> bool:
    """Say whether a pattern ends in a fixed number of letters behind a name.

    A longer word is then something else.
    """
    return r"(?:=|>|" in regex and regex.endswith("})")


def _scoped(regex: str) -> str:
    """Write an inner `(?i)` as a group that ends where the enclosing group ends."""
    while (place := regex.find("(?i)", 1)) > 0:
        end = _end_of_group(regex, place + 4)
        regex = f"{regex[:place]}(?i:{regex[place + 4 : end]}){regex[end:]}"
    return regex


def _end_of_group(regex: str, start: int) -> int:
    depth, place, within = 0, start, False
    while place < len(regex):
        char = regex[place]
        if char == "\\":
            place += 1
        elif within or char in "[]":
            within = char != "]"
        elif char == "(":
            depth += 1
        elif char == ")":
            if depth == 0:
                return place
            depth -= 1
        place += 1
    return place
