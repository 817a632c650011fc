"""Read what a message asks for: a release, a package, a variable, an option."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from packaging.requirements import InvalidRequirement, Requirement

from doctor.analyzers.inventory import each_match
from doctor.base.patterns import compile_pattern

_NAME = r"(?P<name>[A-Za-z][\w.-]{1,40})"
_NUMBER = r"(?P<number>\d[\w.]{0,16})"
_CLAUSES = r"(?P<clauses>(?:[<>=!~]{1,2} ?\d[\w.*+]{0,20},? ?){1,16})"
_SINCE = r"(?: or (?:newer|higher|later|above|greater|up)|\+| and (?:above|later|newer))"
_QUOTE = r"[`'\"]?"
_LEAST = (
    rf"\b{_NAME} {_NUMBER}{_SINCE} (?:is|are) (?:required|needed)",
    rf"\b[Rr]equires? (?:at least )?{_NAME} (?:version )?v?{_NUMBER}{_SINCE}",
    rf"\b[Rr]equires? at least {_NAME} (?:version )?v?{_NUMBER}",
    (
        rf"\b{_NAME} version (?:must|should|has to|needs to) be (?:at least|>=|newer than"
        rf"|higher than|greater than or equal to) ?v?{_NUMBER}"
    ),
    rf"\b[Nn]eeds? {_NAME} (?:version )?v?{_NUMBER}{_SINCE}",
    (
        rf"\b(?:upgrade|update) (?:your |the )?(?:version of )?{_QUOTE}{_NAME}{_QUOTE} to "
        rf"(?:at least )?(?:version )?(?:>= ?)?v?{_NUMBER}"
    ),
    rf"\b[Mm]inimum (?:required |supported )?version of {_NAME} is v?{_NUMBER}",
    rf"\b[Mm]inimum (?:required |supported )?{_NAME} version (?:is|:) ?v?{_NUMBER}",
)
_DEMANDS = (
    rf"\b{_NAME} ?(?:version ?)?{_CLAUSES}(?:(?:is|are) )?(?:required|needed)",
    (
        rf"\b[Rr]equires? (?:the )?(?:package |library |version )?{_QUOTE}{_NAME}{_QUOTE} "
        rf"?(?:version )?{_CLAUSES}"
    ),
    (
        rf"\b[Pp]lease (?:use|install|upgrade to|downgrade to|make sure you have) "
        rf"{_QUOTE}{_NAME} ?{_CLAUSES}"
    ),
)
_MOST = rf"\b[Nn]eeds? {_NAME} (?:version )?{_NUMBER} or (?:less|lower|older|earlier|below)"
_DOWN = rf"\bdowngrade {_QUOTE}{_NAME}{_QUOTE} to (?:version )?v?{_NUMBER}"
_HERE = (
    r"\b(?:found|have|[Gg]ot|installed(?: version)?(?: is)?|current(?:ly)?(?: version)?(?: is)?"
    r"|running(?: version)?|but|using)[ :]{1,3}(?:version |Version |v)?"
    r"(?P<name>[A-Za-z][\w.-]{0,40})?[= ]{0,3}v?(?P<number>\d[\w.+]{2,24})"
)
_PIP = re.compile(r"\bpip3? install ")
_INSTALL = (
    (
        rf"\brequires the {_QUOTE}{_NAME}{_QUOTE} (?:library|package|module) "
        r"(?:but|to be installed|which)"
    ),
    (
        r"\b(?:[Pp]lease |[Yy]ou (?:need|have) to |[Mm]ust |[Yy]ou should )"
        rf"(?:first )?(?:install|pip install) (?:the )?(?:package |library )?{_QUOTE}{_NAME}"
        r"(?:[`'\"]?(?: and|,) [`'\"](?P<other>[A-Za-z][\w-]{1,40})[`'\"])?"
    ),
    (
        rf"(?:^|[\s:]){_QUOTE}{_NAME}{_QUOTE} (?:is not installed|must be installed"
        r"|needs to be installed)"
    ),
)
_ENV = (
    r"\b(?:[Ss]et|[Ee]xport|[Uu]se|[Ss]etting|[Uu]sing) (?:the )?(?:environment variable )?"
    rf"(?:env )?{_QUOTE}(?P<name>[A-Z][A-Z0-9_]{{3,50}}){_QUOTE} ?(?:=|to) ?{_QUOTE}"
    r"(?P<value>[\w.:-]{1,30})"
)
_VERBS = (
    r"(?:\b(?:[Uu]se|[Tt]ry|[Pp]ass|[Aa]dd|[Ss]pecify|[Ss]et|passing|adding|setting)"
    # What somebody ran "with --debug" is no advice; what to run so is.
    r"|\b(?:[Rr]e-?run|[Rr]un|[Tt]ry|[Rr]etry|[Rr]estart|[Ll]aunch|[Ss]tart|[Bb]uild|[Cc]ompile"
    r"|[Ii]nstall|[Ii]nvoke|[Ee]xecute|[Cc]onsider|[Ff]ix|[Aa]void|[Dd]isable|[Ee]nable|[Oo]verride"
    r"|[Ii]ncrease|[Cc]hange|[Ss]uppress|[Ss]kip|[Bb]ypass|[Aa]llow|[Ff]orce|should|must|please)\b"
    r".{0,80}\b(?:with|using))"
)
_OPTIONS = (
    (
        rf"{_VERBS}(?: the)?(?: flag| option| argument| parameter)? {_QUOTE}"
        r"(?P<name>--[a-z][\w-]{2,40})"
        r"(?:[= ](?P<value>\d[\w.]{0,12}|[Tt]rue|[Ff]alse|auto|none|b?float16|float32|cpu|cuda))?"
    ),
    (
        rf"{_VERBS}(?: the)?(?: argument| parameter)? {_QUOTE}(?P<name>[a-z]\w{{2,40}}) ?= ?"
        r"(?P<value>\d[\w.]{0,12}|True|False|None|['\"][\w.-]{1,30}['\"])"
    ),
)
_SKIPS = re.compile(r"\b(?:skip|ignor|disabl|bypass|suppress|silence|not recommended)", re.I)
_REFUSED_ENV = (
    *("PIP_", "UV_", "CONDA_", "LD_", "DYLD_", "PYTHON", "PATH", "HOME", "SHELL", "BASH", "IFS"),
    *("GIT_", "SSL", "CURL", "REQUESTS_", "HTTP", "HTTPS", "ALL_PROXY", "NO_PROXY", "NODE_"),
    *("DOCKER", "SUDO", "KUBE", "AWS_", "GOOGLE_", "AZURE_"),
)
"""Beginnings of variables that decide which code runs, or whom a program trusts."""
_REFUSED = re.compile(
    r"trust|break.system|insecure|verify|unsafe|privileged|allow.pickle|weights.only|no.check"
    r"|root|sudo|force|token|password|secret|api.key|disable.ssl|host|delete|remove|purge|exec"
    r"|^--?(?:help|usage|version)$",
    re.I,
)
"""Options that turn a protection off, delete something, or only print how a program is used."""
_FLAGS = frozenset({"-U", "--upgrade", "-q", "--quiet", "--user", "--no-cache-dir", "-y"})
_STOP_TEXT = """
to and or for first before then if in with from it again manually on by the this as via please you
inside using package packages command instead where when
"""
_STOP = frozenset(_STOP_TEXT.split())
_NO_PACKAGE_TEXT = """
it them this that which these those a an the your version package packages library libraries
following required dependencies driver drivers cuda cudnn toolkit gpu python pip git from one
missing latest newer all both either correct appropriate requirements nvidia
"""
_NO_PACKAGE = frozenset(_NO_PACKAGE_TEXT.split())
_PROGRAMS_TEXT = """
cuda cudnn nvcc gcc g++ clang glibc driver nvidia linux windows macos ubuntu node nodejs rustc
cargo java docker kernel gpu rocm capability version model compute android xcode
"""
_PROGRAMS = frozenset(_PROGRAMS_TEXT.split())
"""What has releases and is no package of pip."""
_ON_PYPI = {"pytorch": "torch", "sklearn": "scikit-learn", "opencv": "opencv-python"}
"""Names in messages that are not those of the packages."""
_REQUIREMENTS, _LONGEST = 6, 300


_COMMANDS = (
    (re.compile(r"python3? -m spacy download ([a-z]{2,3}_[a-z_]{3,30})"), "spacy"),
    (re.compile(r"nltk\.download\(['\"]([\w-]{2,40})['\"]\)"), "nltk"),
    (re.compile(r"\bplaywright install(?: (chromium|firefox|webkit))?"), "playwright"),
    (re.compile(r"\bgit lfs (install|pull|fetch)\b"), "git-lfs"),
    (re.compile(r"\bgit submodule update (--init)"), "submodules"),
    (re.compile(r"\b(?:huggingface-cli login|hf auth login)()"), "hf"),
    (re.compile(r"\brustup target add ([\w-]{3,40})"), "rustup-target"),
    (re.compile(r"\brustup component add ([\w-]{3,40})"), "rustup-component"),
    (re.compile(r"\brustup (update)\b"), "rustup"),
    (re.compile(r"\baccelerate (config)\b"), "accelerate"),
    (re.compile(r"\bapt(?:-get)? (?:-y )?install (?:-y )?([a-z0-9][a-z0-9.+-]{1,40})"), "apt"),
    (re.compile(r"\bbrew install ([a-z0-9][a-z0-9.+@-]{1,40})"), "brew"),
)
"""Commands that a message may ask for; what they name comes from the message."""


class Release(NamedTuple):
    """A package, what is wanted of its release, and the one that the message found."""

    name: str
    specifier: str
    here: str


class Setting(NamedTuple):
    """A variable or an option with its value, and whether it only skips a check."""

    name: str
    value: str
    skips: bool

    @property
    def text(self) -> str:
        """Return it as code of a call."""
        return f"{self.name}={self.value}"


def wanted_release(lines: Sequence[str]) -> Release | None:
    """Return the release that a message asks for; None where it asks for two different ones."""
    found: dict[str, Release] = {}
    for line in lines:
        for name, specifier in _demands(line):
            plain = name.lower().replace("_", "-")
            plain = _ON_PYPI.get(plain, plain)
            if plain not in _PROGRAMS and plain not in _NO_PACKAGE - {"python"}:
                found.setdefault(plain, Release(plain, specifier, _here(line, plain)))
    return next(iter(found.values())) if len(found) == 1 else None


def _demands(line: str) -> Iterator[tuple[str, str]]:
    for pattern in _DEMANDS:
        if found := _search(pattern, line):
            yield found["name"], found["clauses"].replace(" ", "").rstrip(",")
            return
    for pattern, operator in (*((one, ">=") for one in _LEAST), (_MOST, "<="), (_DOWN, "==")):
        if found := _search(pattern, line):
            yield found["name"], operator + found["number"].rstrip(".")
            return


def _search(pattern: str, line: str) -> Mapping[str, str]:
    match = compile_pattern(pattern).search(line)
    return match.groups if match is not None else {}


def _here(line: str, name: str) -> str:
    for _, match in each_match(_HERE, line):
        other = match.groups.get("name", "")
        if not other or other.lower().replace("_", "-") == name:
            return match.groups["number"].rstrip(".,")
    return ""


def advised_packages(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the packages that a message says to install."""
    for line in lines:
        if found := _behind_pip(line):
            return found
    for pattern in _INSTALL:
        for line in lines:
            groups = _search(pattern, line)
            named = [groups[key] for key in ("name", "other") if groups.get(key)]
            if named and named[0].lower() not in _NO_PACKAGE | _PROGRAMS | _STOP:
                return tuple(one.rstrip(".").lower() for one in named)
    return ()


def _behind_pip(line: str) -> tuple[str, ...]:
    """Return the requirements of a `pip install` in a message, where they are nothing else."""
    match = _PIP.search(line)
    if match is None:
        return ()
    quote = line[match.start() - 1] if match.start() and line[match.start() - 1] in "`'\"" else ""
    rest = line[match.end() :]
    if quote:
        rest = rest.partition(quote)[0]
    try:
        words = shlex.split(rest.replace("`", " "))
    except ValueError:
        words = rest.split()
    found: list[str] = []
    for word in words:
        last = word.endswith((".", ",", ";", ")")) and not quote
        plain = word.rstrip(".,;)") if last else word
        if plain in _FLAGS:
            continue
        if plain.startswith("-") or "/" in plain or "@" in plain:
            return ()
        if not _is_requirement(plain):
            break
        if plain.lower() in _STOP:
            break
        found.append(plain)
        if last:
            break
    return tuple(found) if len(found) <= _REQUIREMENTS else ()


def _is_requirement(text: str) -> bool:
    try:
        return len(text) <= _LONGEST and not Requirement(text).marker
    except InvalidRequirement:
        return False


def advised_variable(lines: Sequence[str]) -> Setting | None:
    """Return the variable that a message says to set."""
    for line in lines:
        for _, match in each_match(_ENV, line):
            name, value = match.groups["name"], match.groups["value"].rstrip(".")
            if not name.startswith(_REFUSED_ENV) and not _REFUSED.search(name.replace("_", ".")):
                return Setting(name, value, bool(_SKIPS.search(line)))
    return None


def advised_option(lines: Sequence[str]) -> Setting | None:
    """Return the option or the argument that a message says to use."""
    for line in lines:
        for pattern in _OPTIONS:
            for _, match in each_match(pattern, line):
                name, value = match.groups["name"], match.groups.get("value") or ""
                if not _REFUSED.search(name):
                    return Setting(name, value, bool(_SKIPS.search(line)))
    return None


def advised_command(lines: Sequence[str]) -> tuple[str, str] | None:
    """Return which of the known commands a message asks for, and the word that it names."""
    for line in lines:
        for pattern, name in _COMMANDS:
            if match := pattern.search(line):
                return name, match[1] or ""
    return None
