"""Classify names by the secrets that they announce.

`HF_TOKEN`, `--api-key` and `"password"` announce one; `eos_token_id` and `cache_key` do not.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

from doctor.base.lazy_pattern import Pattern
from doctor.redact.words import words

_CAMEL = Pattern(r"([a-z0-9])([A-Z])")
_PARTS = Pattern(r"[^A-Za-z0-9]+")


class NameKind(Enum):
    """What a name makes of any value, from the surest on."""

    PASSWORD = "password"  # noqa: S105
    TOKEN = "token"  # noqa: S105
    KEY = "key"
    NOTHING = ""


WORDS = (
    *(
        "token",
        "secret",
        "passw",
        "passwd",
        "passphrase",
        "passcode",
        "pwd",
        "credential",
        "api_key",
        "apikey",
        "api-key",
        "key",
    ),
    *(
        "auth",
        "_pat=",
        "_pat:",
        '_pat"',
        "_pat'",
        "_pat ",
        "-pat ",
        "-pat=",
        "cookie",
        "sessionid",
        "jsessid",
        "phpsessid",
        "signature",
    ),
    *(
        "sig=",
        "sas=",
        "dsn",
        "dbpass",
        "userpass",
        "_pass=",
        "_pass:",
        '_pass"',
        "_pass'",
        "pass=",
        "pass:",
    ),
    *("_pw=", "_pw:", '_pw"', "_pw'", "_pw "),
)
"""One of them stands in every telling name, in small letters."""

_PASSWORDS = (
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "passw",
    "dbpass",
    "userpass",
    "rootpass",
    "mypass",
)
_TOKENS = ("token", "secret", "secrets", "credential", "credentials")
_ALONE = frozenset({"pat", "auth", "authorization"})
_SIGNATURES = frozenset(
    {"signature", "sig", "sas", "sessionid", "jsessionid", "phpsessid", "dsn", "cookie", "cookies"}
)
_BESIDE_TOKEN = words("beside_token")
_BESIDE_KEY = words("beside_key")
_NO_HEAD = words("no_head")
_TELLING_TAIL = frozenset(
    {
        "value",
        "base",
        "b64",
        "base64",
        "string",
        "data",
        "raw",
        "plain",
        "plaintext",
        "old",
        "new",
        "1",
        "2",
        "3",
        "dev",
        "prod",
        "test",
    }
)
_PLAIN_KEYS = words("plain_keys")
_NEVER = frozenset(
    {"passwordless", "keyword", "keywords", "monkey", "turkey", "author", "authors", "tokens"}
)


def words_of_name(name: str) -> list[str]:
    """Return the words of a name in lower case.

    `accessToken`, `ACCESS_TOKEN` and `access-token` have two words each.
    """
    return _PARTS.sub(" ", _CAMEL.sub(r"\1 \2", name)).lower().split()


def is_variable(name: str) -> bool:
    """Say whether a name is written as variables of an environment are."""
    return name.isupper() and ("_" in name or len(name) >= 5)


@lru_cache(maxsize=4096)
def kind_of_name(name: str) -> NameKind:
    """Say what a name makes of its value."""
    # A text repeats its names: a log of a megabyte holds some hundred of them.
    parts = words_of_name(name)
    while len(parts) > 1 and parts[-1] in _TELLING_TAIL and parts[-1] not in _NO_HEAD:
        parts = parts[:-1]
    if not parts:
        return NameKind.NOTHING
    head, beside = parts[-1], set(parts[:-1])
    if head in _NO_HEAD:
        return NameKind.NOTHING
    if head.endswith(_PASSWORDS) or (head in ("pass", "pw") and (beside or name.isupper())):
        return NameKind.PASSWORD
    if head in ("key", "keys") or head.endswith(
        ("apikey", "accesskey", "secretkey", "privatekey", "accountkey", "authkey")
    ):
        return _of_key(name, head, beside)
    if (head.endswith(_TOKENS) or head in _ALONE) and head not in _NEVER:
        return (
            NameKind.NOTHING
            if beside & _BESIDE_TOKEN and not beside & {"api", "access", "auth"}
            else NameKind.TOKEN
        )
    if "secret" in beside or head in _SIGNATURES:
        return NameKind.KEY
    return NameKind.NOTHING


def _of_key(name: str, head: str, beside: set[str]) -> NameKind:
    if head not in ("key", "keys") or "api" in beside or "secret" in beside or "private" in beside:
        return NameKind.TOKEN
    if beside & _PLAIN_KEYS and not beside & _BESIDE_KEY - _PLAIN_KEYS:
        return NameKind.NOTHING
    if beside & _BESIDE_KEY or is_variable(name) or not beside:
        return NameKind.KEY
    return NameKind.NOTHING
