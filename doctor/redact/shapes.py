"""Find tokens by their shape: those of gitleaks, and those that its rules miss in a log.

A log is cut by tools before anybody reads it, so a token is known by its prefix and by a part of
its length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from doctor.base.lazy_pattern import Pattern
from doctor.redact.values import Span, entropy, looks_random

_BEFORE, _BEHIND = 120, 1200
"""Characters around a keyword in which its shape is looked for."""
_PREFIX = Pattern(r"[a-z][a-z0-9]{1,16}(?:[._-][a-z0-9]{1,16}){0,3}[._-]$")
"""A keyword that tokens begin with, and words do not."""
_TELLING = 5
_WORDS = frozenset({"test_", "live_", "v1.0-"})
_REST = Pattern(r"[\w-]*")


class Shape(msgspec.Struct, frozen=True):
    """A pattern whose first group, or all of which, is a secret.

    `random` ones have to look as if nobody had chosen them.
    """

    pattern: str
    keywords: tuple[str, ...]
    entropy: float = 0.0
    random: bool = False


def _prefix(*prefixes: str, letters: str = r"[\w-]", least: int = 12) -> Shape:
    either = "|".join(map(re.escape, prefixes))
    return Shape(
        rf"\b((?:{either}){letters}{{{least},}})",
        tuple(prefix.lower() for prefix in prefixes),
        random=True,
    )


_OWN = (
    # Model hubs, and those who serve or log models.
    _prefix(
        "hf_",
        "api_org_",
        "gsk_",
        "r8_",
        "fw_",
        "jina_",
        "pcsk_",
        "rpa_",
        "tgp_v1_",
        letters="[A-Za-z0-9]",
    ),
    _prefix(
        "nvapi-",
        "sk-",
        "pplx-",
        "xai-",
        "csk-",
        "tvly-",
        "wandb_v1_",
        "lsv2_pt_",
        "lsv2_sk_",
        "ls__",
        "sk_live_",
        "sk_test_",
    ),
    # Forges, registries and packages.
    _prefix("ghp_", "gho_", "ghu_", "ghs_", "ghr_", letters="[A-Za-z0-9]", least=10),
    _prefix(
        "github_pat_",
        "dckr_pat_",
        "dckr_oat_",
        "npm_",
        "pypi-",
        "ATATT3x",
        "ATCTT3x",
        "ATBB",
        least=10,
    ),
    Shape(
        r"\b(gl(?:pat|dt|rt|cbt|ptt|ft|imt|soat|oas|agent|ffct|wt)-[\w.-]{10,})",
        tuple(
            f"gl{kind}-"
            for kind in (
                "pat",
                "dt",
                "rt",
                "cbt",
                "ptt",
                "ft",
                "imt",
                "soat",
                "oas",
                "agent",
                "ffct",
                "wt",
            )
        ),
        random=True,
    ),
    # Clouds.
    Shape(
        r"\b((?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{12,})",
        ("akia", "asia", "abia", "acca", "aroa", "aida"),
        random=True,
    ),
    Shape(r"\b(AIza[\w-]{20,})", ("aiza",), random=True),
    Shape(r"\b(ya29\.[\w.-]{16,})", ("ya29.",), random=True),
    Shape(r"(\b1//0[\w-]{20,})", ("1//0",), random=True),
    _prefix("GOCSPX-", least=16),
    Shape(r"\b(hv[bsr]\.[\w-]{16,})", ("hvs.", "hvb.", "hvr."), random=True),
    _prefix("dapi", "dkea", letters="[a-f0-9]", least=16),
    _prefix(
        "dop_v1_",
        "doo_v1_",
        "dor_v1_",
        "sbp_",
        "sb_secret_",
        "tskey-auth-",
        "tskey-api-",
        "tskey-client-",
        "nfp_",
        "figd_",
        "CFPAT-",
    ),
    Shape(r"(?i)\b(age-secret-key-1[a-z0-9]{10,})", ("age-secret-key-1",)),
    Shape(r"([\w~.]{3}\dQ~[\w~.-]{10,})", ("q~",), random=True),
    Shape(r"\b(pul-[a-f0-9]{16,})", ("pul-",)),
    Shape(r"\b([\w]{14}\.atlasv1\.[\w=-]{10,})", (".atlasv1.",)),
    # Messages and payment.
    Shape(
        r"\b(xox[abeoprs]-[\w-]{8,}|xapp-[\w-]{10,})",
        ("xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"),
    ),
    Shape(r"\b(SG\.[\w-]{10,}(?:\.[\w-]*)?)", ("sg.",), random=True),
    _prefix(
        "sk_live_",
        "rk_live_",
        "sk_test_",
        "rk_test_",
        "whsec_",
        "sq0atp-",
        "sq0csp-",
        "NRAK-",
        "key-",
        letters="[A-Za-z0-9]",
        least=16,
    ),
    Shape(r"\b(?:bot)?(\d{8,10}:AA[\w-]{10,})", (":aa",)),
    Shape(
        r"(?i)discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/(\d{10,}/[\w-]{20,})", ("/webhooks/",)
    ),
    Shape(r"(?i)/(?:services|workflows|triggers)/(T[A-Z0-9]{6,}/[\w/-]{8,})", ("hooks.slack.com",)),
    Shape(r"(?i)/hooks/catch/([\w/-]{8,})", ("/hooks/catch/",)),
    # A channel of conda carries its token in the path.
    Shape(r"(?i)://[^\s/]{1,200}/t/([\w-]{8,})", ("/t/",), random=True),
    Shape(r"(?i)/bot/v2/hook/([\w-]{16,})", ("/bot/v2/hook/",)),
    Shape(r"(?i)webhook\.office\.com/webhookb2/(\S{20,})", ("webhookb2",)),
    # A signed token by itself, and JSON in base64, which begins with `{"`.
    Shape(r"\b(eyJ[\w-]{10,4000}(?:\.[\w-]*){1,4}|eyJ[A-Za-z0-9+/_-]{20,}={0,2})", ("eyj",)),
)


@lru_cache(maxsize=1)
def shapes() -> tuple[Shape, ...]:
    """Return all shapes: those of gitleaks (`gitleaks.json`), and our own."""
    told = msgspec.json.decode((Path(__file__).parent / "gitleaks.json").read_bytes())["shapes"]
    known = [
        Shape(each["pattern"], tuple(each["keywords"]), each.get("entropy", 0.0)) for each in told
    ]
    return (
        *known,
        *map(
            _begun,
            sorted(
                {
                    word
                    for shape in known
                    for word in shape.keywords
                    if len(word) >= _TELLING and word not in _WORDS and _PREFIX.match(word)
                }
            ),
        ),
        *_OWN,
    )


def _begun(prefix: str) -> Shape:
    """Return the shape of a token of which a prefix is known, and which may be cut short."""
    return Shape(rf"(?i)\b({re.escape(prefix)}[\w.~-]{{14,}})", (prefix,), random=True)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> Pattern[str]:
    return Pattern(pattern)


def find_shape(shape: Shape, text: str, places: Sequence[tuple[int, int]]) -> Iterator[Span]:
    """Yield the secrets of a shape near its keywords, which stand at `places`."""
    for start, end in _windows(places, len(text)):
        for hit in _compiled(shape.pattern).finditer(text, start, end):
            group = 1 if hit.re.groups and hit[1] is not None else 0
            secret = hit[group]
            if (shape.random and not looks_random(secret)) or (
                shape.entropy and entropy(secret) < shape.entropy
            ):
                continue
            behind = _REST.match(text, hit.end(group))
            yield hit.start(group), behind.end() if behind else hit.end(group)


def _windows(places: Sequence[tuple[int, int]], length: int) -> Iterator[tuple[int, int]]:
    """Yield windows around places, without overlaps, so that the cost is linear in the text."""
    begun = done = -1
    for start, end in places:
        if begun < 0 or start - _BEFORE > done:
            if begun >= 0:
                yield begun, done
            begun = max(start - _BEFORE, 0)
        done = max(done, min(end + _BEHIND, length))
    if begun >= 0:
        yield begun, done
