"""Secrets that a command line or a sentence carries without a telling name of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from doctor.base.lazy_pattern import Pattern
from doctor.redact.values import Span, is_code, is_placeholder, is_prose, looks_random

_GAP = r"""[\s"',\\]{1,8}"""
_WORD = r"""(?:\\?["'])?([^\s"'\\,]{3,1024})"""
_BEHIND = 700
"""Characters before and behind a keyword in which a command is looked for."""
_LEAST = 350
"""Characters that a window holds behind its keyword at least; windows overlap for that."""


class SecretPattern(msgspec.Struct, frozen=True):
    """A pattern whose first group is a secret, and its lower-case keywords.

    One of the keywords has to occur in the line.

    `of` are commands one of which has to stand there as well. `random` secrets have to look as if
    nobody had chosen them; with `below` the line below belongs to it.
    """

    keywords: tuple[str, ...]
    pattern: Pattern[str]
    of: tuple[str, ...] = ()
    random: bool = False
    below: bool = False


_REGISTRIES = (
    "docker",
    "podman",
    "nerdctl",
    "buildah",
    "skopeo",
    "oras",
    "crane",
    "helm",
    "az ",
    "registry",
    "cf ",
    "oc ",
)
_NAMING = r"(?:token|secret|passw\w{0,8}|key|auth|pwd|pat)"
CARRIERS = (
    # Commands
    SecretPattern(("sshpass",), Pattern(rf"sshpass{_GAP}-p(?:{_GAP})?{_WORD}")),
    SecretPattern(("login",), Pattern(rf"{_GAP}-p(?:{_GAP}|=)?{_WORD}"), of=_REGISTRIES),
    SecretPattern(("twine",), Pattern(rf"{_GAP}-p(?:{_GAP}|=)?{_WORD}")),
    SecretPattern(("mysql",), Pattern(rf"{_GAP}-p([^\s\"',]{{3,256}})")),
    SecretPattern(("redis-cli",), Pattern(rf"{_GAP}-a{_GAP}{_WORD}")),
    SecretPattern(("ldapsearch", "ldapmodify", "ldapadd"), Pattern(rf"{_GAP}-w{_GAP}{_WORD}")),
    SecretPattern(
        ("curl", "wget", "http ", "xh "),
        Pattern(
            rf"{_GAP}(?:-u|-U|-a|--user|--proxy-user|--auth)(?:{_GAP}"
            rf"|=)?(?:\\?[\"'])?[^\s\"':,]{{1,128}}:([^\s\"',]{{3,512}})"
        ),
    ),
    SecretPattern(
        ("login",),
        Pattern(
            r"\b(?:wandb|huggingface-cli|hf|vault|neptune|comet|clearml|ngc|kaggle|gh|npm|cargo"
            r"|replicate|modal)\b"
            rf"(?:{_GAP}auth)?{_GAP}(?:re)?login(?:{_GAP}--?[\w-]{{1,32}}){{0,6}}{_GAP}{_WORD}"
        ),
        random=True,
    ),
    SecretPattern(("-passin", "-passout", "pass:"), Pattern(r"\bpass:([^\s\"',]{3,256})")),
    SecretPattern(
        ("aws configure",),
        Pattern(rf"configure{_GAP}set{_GAP}\w{{3,40}}(?:key|token|id){_GAP}{_WORD}"),
        random=True,
    ),
    SecretPattern(
        ("secret set", "variable set", "set-secret"),
        Pattern(rf"(?:--body|--value|-b)(?:{_GAP}|=){_WORD}"),
    ),
    SecretPattern(
        ("--password-stdin", "--with-token", "--stdin"),
        Pattern(
            r"(?:echo|printf)[ \t]{1,4}(?:-n[ \t]{1,4})?[\"']?([^\s\"'|]{4,1024})[\"']?[ \t]{0,4}\|"
        ),
    ),
    # Files
    SecretPattern(
        ("login",),
        Pattern(r"(?i)\blogin\s{1,8}\S{1,128}\s{1,8}password\s{1,8}(\S{1,512})"),
        of=("password",),
        below=True,
    ),
    SecretPattern(
        ("password", "passwd"),
        Pattern(r"(?im)^[ \t]{0,16}(?:password|passwd)[ \t]{1,8}(\S{3,512})[ \t]{0,8}$"),
    ),
    SecretPattern(
        ("value",),
        Pattern(
            rf"""(?i)\bname["']?[ \t]{{0,4}}[:=][ \t]{{0,4}}["']?[\w.-]{{0,64}}{_NAMING}"""
            r"""["']?[,\s]{1,40}"""
            r"""["']?value["']?[ \t]{0,4}[:=][ \t]{0,4}["']?([^\s"',}]{4,512})"""
        ),
        of=("name",),
        below=True,
    ),
    # Sentences
    SecretPattern(
        ("identified by",),
        Pattern(r"(?i)identified by(?: password)?[ \t]{1,4}[\"']([^\"'\n]{1,256})"),
    ),
    SecretPattern(
        ("password", "passphrase", "passwd"),
        Pattern(
            r"(?i)\b(?:password|passphrase|passwd)[ \t]{1,4}(?:is|was|=|to"
            r"|of)[ \t]{1,4}[\"'`]?([^\s\"'`]{3,512})"
        ),
    ),
    SecretPattern(
        ("password", "passphrase"),
        Pattern(r"""(?i)\b(?:password|passphrase)[ \t]{1,4}["'`]([^\s"'`]{3,512})["'`]"""),
    ),
    SecretPattern(
        ("token", "key", "secret"),
        Pattern(
            r"(?i)\b(?:token|key|secret)[ \t]{1,4}(?:is|was)[ \t]{1,4}[\"'`]?([^\s\"'`]{8,512})"
        ),
        random=True,
    ),
    SecretPattern(
        ("token", "key", "secret"),
        Pattern(r"(?i)\b(?:token|key|secret)[ \t]{1,4}[\"'`]([^\s\"'`]{8,512})[\"'`]"),
        random=True,
    ),
    SecretPattern(
        ("password for", "passphrase for", "token for", "password of"),
        Pattern(
            r"(?i)\b(?:password|passphrase|token) (?:for"
            r"|of)\b[^\n]{1,200}?:[ \t]{1,4}[\"']?([^\s\"']{3,512})"
        ),
    ),
    SecretPattern(
        ("password", "passphrase"),
        Pattern(
            r"(?i)\b(?:with|using|and|the|wrong|bad) (?:password|passwd|passphrase) "
            r"([^\s\"',;]{4,256})"
        ),
        random=True,
    ),
)


_OPTIONS = frozenset({"assin", "assout", "assword", "assword-stdin"})
"""What is left of options that begin like `-p`."""


def carried(carrier: SecretPattern, text: str, places: Sequence[Span]) -> Iterator[Span]:
    """Yield what a pattern finds in the lines of its keywords, which stand at `places`."""
    done = 0
    for place, behind in places:
        # Looked for no further than a command is: one line of megabytes would be read to its end
        # once for each of its words.
        last = min(behind + _BEHIND, len(text))
        end = text.find("\n", behind, last)
        if min(behind + _LEAST, last if end < 0 else end) <= done:
            continue
        start = max(text.rfind("\n", max(place - _BEHIND, 0), place) + 1, place - _BEHIND)
        if carrier.below and end >= 0:
            end = text.find("\n", end + 1, last)
        done = last if end < 0 else end
        near = text[start:done].lower() if carrier.of else ""
        if carrier.of and not any(word in near for word in carrier.of):
            continue
        for hit in carrier.pattern.finditer(text, start, done):
            value = hit[1].rstrip(".,;:!?)]}")
            if _fits(value, random=carrier.random):
                yield hit.start(1), hit.start(1) + len(value)


def _fits(value: str, *, random: bool) -> bool:
    if random:
        return looks_random(value)
    if value in _OPTIONS:
        return False
    return not (
        is_prose(value) or is_placeholder(value) or (is_code(value) and not value.isdigit())
    )
