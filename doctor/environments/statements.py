"""Read what an installer says when it fails: two rules that exclude each other, or another fault.

| installer | statement |
| --- | --- |
| uv, Poetry | a derivation (PubGrub): "Because … and …, we can conclude that …" |
| pip | "The conflict is caused by:" and one rule a line |
| conda, mamba | a tree of leaves that cannot be installed |
| cargo | "failed to select a version for" with the candidates |
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.resolver_rules import excluding
from doctor.base.patterns import compile_pattern
from doctor.environments.answers import Answer, Conflict, NoAnswer, NoAnswerReason
from doctor.redact import without_secrets

_LONGEST = 20_000
_SHOWN = 4000
_MOST_STEPS = 400

_SILENCES: tuple[tuple[NoAnswerReason, tuple[str, ...]], ...] = (
    (
        NoAnswerReason.EXTERNALLY_MANAGED,
        ("is externally managed", "externally-managed-environment", "EnvironmentNotWritableError"),
    ),
    (
        NoAnswerReason.READ_ONLY,
        (
            "Read-only file system",
            "Permission denied",
            "os error 30",
            "os error 13",
            "NotWritableError",
            "Consider using the `--user` option",
        ),
    ),
    (
        NoAnswerReason.NO_ENVIRONMENT,
        (
            "No virtual environment found",
            "No interpreter found",
            "No Python at",
            "Python interpreter not found",
            "EnvironmentLocationNotFound",
            "EnvironmentNameNotFound",
            "could not find `Cargo.toml`",
            "No `pyproject.toml` found",
            "could not find a pyproject.toml",
            "could not find pixi.toml",
        ),
    ),
    (
        NoAnswerReason.NETWORK,
        (
            "error sending request",
            "Failed to fetch",
            "the network was disabled",
            "dns error",
            "Retrying (Retry(",
            "NewConnectionError",
            "ConnectTimeoutError",
            "ReadTimeoutError",
            "SSLError",
            "HTTPError",
            "CondaHTTPError",
            "ProxyError",
            "Connection refused",
            "Could not resolve host",
            "failed to download from",
            "Could not fetch URL",
            "spurious network error",
            "Cannot connect to host",
            "All attempts to connect to",
        ),
    ),
    (
        NoAnswerReason.NEEDS_BUILD,
        (
            "building from source is disabled",
            "Building source distributions",
            "no usable wheels",
            "Failed to build",
            "metadata-generation-failed",
            "subprocess-exited-with-error",
            "Build backend failed",
        ),
    ),
    (NoAnswerReason.NO_INSTALLER, ("No module named pip", "No module named uv")),
)
_CONFLICTS = (
    "No solution found when resolving",
    "ResolutionImpossible",
    "No matching distribution found",
    "version solving failed",
    "failed to select a version",
    "no matching package",
    "UnsatisfiableError",
    "Could not solve for environment specs",
    "PackagesNotFoundError",
    "nothing provides",
    "failed to solve",
    "Cannot solve the request",
)
_SPEAKERS = (
    ("No solution found when resolving", "uv"),
    ("version solving failed", "Poetry"),
    ("The conflict is caused by", "pip"),
)
_REQUIREMENT = r"[A-Za-z0-9][\w.-]{0,80}(?:\[[\w,.-]{1,80}\])?(?:[<>=!~]{1,3}[\w.*+!,<>=~-]{1,80})?"

_UNUSABLE = (
    r"(?P<name>[A-Za-z0-9][\w.-]{0,80})(?:[<>=!~]\S{0,80})? has no usable wheels and "
    r"only \S{1,120} is available"
)
_RANGE = r"[<>=!~]{1,2}[\w.*,<>=!~]{1,40}"


def failure(text: str) -> Answer:
    """Return what the words of an installer that ended with a fault mean."""
    text = without_secrets(text[:_LONGEST])
    silence = next(
        (why for why, words in _SILENCES if any(one in text for one in words)),
        NoAnswerReason.FAILED,
    )
    if any(one in text for one in _CONFLICTS):
        # A resolver says "no solution" as well where the network is down. Where builds are off,
        # releases without a wheel occur in the derivation of a conflict that is one all the same.
        rules = (
            rules_of(text) if silence in (NoAnswerReason.FAILED, NoAnswerReason.NEEDS_BUILD) else ()
        )
        if silence is NoAnswerReason.FAILED or (rules and not _lacks_wheels(rules, text)):
            return Conflict(text=_short(text), rules=rules)
    return NoAnswer(why=silence, text=_short(text))


def _lacks_wheels(rules: tuple[str, ...], text: str) -> bool:
    """Say whether a rule speaks of a package of which no release has a wheel: a build may help."""
    told = [compile_pattern(_UNUSABLE).search(step) for step in _steps(_flat(text))]
    lacking = [f" {found.groups['name']} " for found in told if found is not None]
    return any(
        "no usable wheels" in rule or any(name in f" {rule} " for name in lacking) for rule in rules
    )


def rules_of(text: str) -> tuple[str, ...]:
    """Return the two rules of a statement that exclude each other; empty where none is read."""
    for read in (_python_rules, _wheel_rules, _pair, _absent_rules, _last_step, _crate_rules):
        if rules := read(text):
            return rules
    return ()


def _pair(text: str) -> tuple[str, ...]:
    speaker = next((who for words, who in _SPEAKERS if words in text), "")
    return excluding(text.splitlines(), speaker)


def _python_rules(text: str) -> tuple[str, ...]:
    """Return the rules where a package is for another Python."""
    text = _flat(text)
    here = compile_pattern(
        r"the (?:current|requested) Python version \((?P<have>[\w.>=<,~]{1,40})\) does not satisfy "
        rf"Python(?P<want>{_RANGE})"
    ).search(text)
    asks = compile_pattern(
        rf"(?P<who>{_REQUIREMENT}) (?:depends on Python|requires Python )(?P<want>{_RANGE})"
    ).search(text)
    used = compile_pattern(
        r"Using (?:CPython|Python) (?P<have>\d{1,2}\.\d{1,3}[\w.]{0,20})"
    ).search(text)
    if asks is None and here is None:
        return ()
    who, wanted = (
        (asks.groups["who"], asks.groups["want"])
        if asks
        else ("a requirement", here.groups["want"] if here else "")
    )
    have = here.groups["have"] if here else used.groups["have"] if used else ""
    return (
        f"{who} needs Python{wanted.rstrip(',')}",
        f"this is Python {have}" if have else "this is another Python",
    )


def _wheel_rules(text: str) -> tuple[str, ...]:
    flat = _flat(text)
    lacks = compile_pattern(
        rf"(?P<who>{_REQUIREMENT}|all of: .{{1,400}}?) ha(?:s|ve) no wheels with a matching "
        r"(?P<kind>Python ABI|Python implementation|platform|Python) tag"
        r"(?: \(e\.g\., `(?P<tag>[\w.]{1,60})`\))?"
    ).search(flat)
    if lacks is None:
        return ()
    offered = compile_pattern(
        r"we only found wheels for `(?P<name>[\w.-]{1,80})` \((?P<version>v[\w.+!]{1,40})\) with "
        r"the following [\w ]{1,40} tags?: (?P<tags>`[\w.]+`(?:, `[\w.]+`)*)"
    ).search(flat)
    here = lacks.groups.get("tag") or "this Python and system"
    if offered is None:
        return (f"{lacks.groups['who']} has no wheel for {here}", f"this is {here}")
    tags = offered.groups["tags"].replace("`", "")
    name = f"{offered.groups['name']} {offered.groups['version'].lstrip('v')}"
    return (f"{name} has wheels for {tags} only", f"this is {here}")


def _absent_rules(text: str) -> tuple[str, ...]:
    """Return the rules where an index has no such release, or no such name."""
    flat = _flat(text)
    missing = compile_pattern(
        r"Could not find a version that satisfies the requirement (?P<what>[^ ]{1,160})"
        r".{0,60}?\(from versions: (?P<has>[^)]*)\)"
    ).search(flat)
    if missing:
        what, has = missing.groups["what"], missing.groups["has"]
        if has == "none":
            return (f"you require {what}", f"the index has no {what} for this Python and system")
        few = has.split(", ")
        return (f"you require {what}", f"the index has {few[0]} to {few[-1]} for this Python")
    return ()


def _last_step(text: str) -> tuple[str, ...]:
    """Return both sides of the last step of a derivation, whose conclusion is the conflict."""
    last = ""
    for step in _steps(_flat(text)):
        last = step
    if not last:
        return ()
    sides = compile_pattern(
        r"^(?P<one>.*?)(?: and |, )(?P<other>(?:you require|your (?:project|workspace)"
        r"(?:\[[\w.-]{1,60}\])? depends on|[\w.-]{1,80} depends on) .*)$"
    ).search(last)
    return (sides.groups["one"], sides.groups["other"]) if sides else (last,)


def _steps(text: str) -> Iterator[str]:
    """Yield the premises of each step of a derivation."""
    at = 0
    for _ in range(_MOST_STEPS):
        begin = text.find("ecause ", at)
        end = text.find(", we can conclude that ", begin)
        if begin < 0 or end < 0:
            return
        yield text[begin + len("ecause ") : end]
        at = end


def _crate_rules(text: str) -> tuple[str, ...]:
    flat = _flat(text)
    match = compile_pattern(
        r"failed to select a version for the requirement `(?P<what>[^`]{1,160})`"
        r".{0,200}?candidate versions found which didn't match: (?P<has>[\w., +-]{1,400})"
        r"(?: location searched)"
    ).search(flat)
    if match:
        return (
            f"the workspace requires {match.groups['what']}",
            f"the index has {match.groups['has'].strip()}",
        )
    return ()


def _flat(text: str) -> str:
    """Return a statement as one line, without the tree that is drawn around it."""
    lines = (line.strip().lstrip("│╰─▶×├ ").strip() for line in text.splitlines())
    return " ".join(" ".join(line for line in lines if line).split())


def _short(text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines() if not _is_noise(line)]
    return "\n".join(lines).strip()[:_SHOWN]


def _is_noise(line: str) -> bool:
    return line.startswith(
        ("DEBUG ", "TRACE ", "Using Python ", "Looking in ", "Using CPython", "Collecting ")
    ) or line.lstrip().startswith(("Downloading ", "Using cached ", "Resolved ", "━"))
