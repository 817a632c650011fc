"""Ask uv: `--dry-run`, and what of it is not in the cache yet.

https://docs.astral.sh/uv/reference/cli/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from doctor.base.patterns import compile_pattern
from doctor.base.requirements import normalize_name
from doctor.base.toml import TomlError, parse_toml
from doctor.environments.answers import Answer, NoAnswer, NoAnswerReason, Resolution
from doctor.environments.asking import Question, changes_of, folder_for
from doctor.environments.statements import failure
from doctor.host import CompletedCommand
from doctor.model.plans import Change

_DRY = {
    ("pip", "install"),
    ("pip", "uninstall"),
    ("pip", "sync"),
    ("sync",),
    ("lock",),
}
_ROW = r"^ (?P<sign>[-+~]) (?P<name>[A-Za-z0-9][\w.-]{0,200})==(?P<version>[^\s(]{1,100})"
_LOCK_ROW = (
    r"^(?:(?P<verb>Add|Remove) (?P<name>[A-Za-z0-9][\w.-]{0,200}) v(?P<version>[^\s,]{1,100})"
    r"|Update (?P<moved>[A-Za-z0-9][\w.-]{0,200}) v(?P<before>[^\s,]{1,100})"
    r"(?:, v[^\s,]{1,100}){0,9} -> v(?P<after>[^\s,]{1,100}))"
)
_UNCACHED = (
    r"Identified uncached distribution: "
    r"(?P<name>[A-Za-z0-9][\w.-]{0,200})==(?P<version>[^\s(]{1,99})"
)
_FETCHED_AGAIN = r"Must revalidate requirement: (?P<name>[A-Za-z0-9][\w.-]{0,200})"
"""What --reinstall-package and --refresh name is downloaded although it lies in the cache."""
_CACHE_LOG = {"RUST_LOG": "uv_installer=debug"}
"""The part of uv that looks into the cache says for each distribution whether it lies there."""
_VALUED = frozenset(
    {
        "--index",
        "--default-index",
        "--index-url",
        "-i",
        "--extra-index-url",
        "--find-links",
        "-f",
        "--index-strategy",
        "--keyring-provider",
        "--python",
        "-p",
        "--python-version",
        "--python-platform",
        "--torch-backend",
        "--cache-dir",
        "--config-file",
        "--allow-insecure-host",
        "--exclude-newer",
        "--prerelease",
        "--project",
        "--directory",
    }
)
_FLAGS = frozenset({"--no-index", "--offline", "--no-config", "--native-tls", "--system-certs"})


def ask(question: Question) -> Answer:
    """Return what a command of uv would change."""
    verbs = _verbs(question.arguments)
    if verbs not in _DRY:
        return NoAnswer(
            why=NoAnswerReason.NO_DRY_RUN,
            text=f"uv {' '.join(question.arguments[:2])} has no dry run",
        )
    arguments = [*question.arguments, "--dry-run"]
    if not question.builds and verbs != ("pip", "uninstall"):
        arguments.append("--no-build")
    done = question.run(*arguments, env=_CACHE_LOG)
    if isinstance(done, NoAnswer):
        return done
    if not done.ok:
        return failure(done.errors + "\n" + done.output)
    changes = _changes(done)
    missing = dict(_uncached(done.errors)) | dict(_fetched_again(done.errors, changes))
    size: int | None = 0
    if missing and verbs != ("lock",):
        size = _bytes(question, missing) if question.sizes else None
    return Resolution(
        changes=changes,
        download_bytes=None if verbs == ("lock",) else size,
        seconds=done.seconds,
    )


def _verbs(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Return the verb of a command, two words for `uv pip`."""
    words = [one for one in arguments if not one.startswith("-")]
    return tuple(words[: 2 if words[:1] == ["pip"] else 1])


def _changes(done: CompletedCommand) -> tuple[Change, ...]:
    """Return the rows of a dry run of uv."""
    removed: dict[str, str | None] = {}
    added: dict[str, str | None] = {}
    for line in f"{done.output}\n{done.errors}".splitlines():
        if row := compile_pattern(_ROW).search(line[:400]):
            for sides, sign in ((removed, "-~"), (added, "+~")):
                if row.groups["sign"] in sign:
                    sides[normalize_name(row.groups["name"])] = row.groups["version"]
        elif row := compile_pattern(_LOCK_ROW).search(line[:400]):
            name = normalize_name(row.groups.get("name") or row.groups["moved"])
            if row.groups.get("verb") != "Add":
                removed[name] = row.groups.get("before") or row.groups["version"]
            if row.groups.get("verb") != "Remove":
                added[name] = row.groups.get("after") or row.groups["version"]
    return changes_of(removed, added)


def _uncached(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if row := compile_pattern(_UNCACHED).search(line[:400]):
            yield normalize_name(row.groups["name"]), row.groups["version"]


def _fetched_again(text: str, changes: tuple[Change, ...]) -> Iterator[tuple[str, str]]:
    to_come = {one.name: one.after for one in changes}
    for line in text.splitlines():
        if row := compile_pattern(_FETCHED_AGAIN).search(line[:400]):
            name = normalize_name(row.groups["name"])
            if release := to_come.get(name):
                yield name, release


def _bytes(question: Question, missing: dict[str, str]) -> int | None:
    """Return the bytes of wheels that have to be downloaded, None where uv does not say.

    uv writes the size of the wheel that it chose into a pylock.toml
    (https://packaging.python.org/en/latest/specifications/pylock-toml/).
    """
    with folder_for(question.host.env) as folder:
        asked = folder / "requirements.txt"
        asked.write_text("\n".join(f"{name}=={one}" for name, one in sorted(missing.items())))
        done = msgspec.structs.replace(question, timeout=60.0).run(
            *("pip", "compile", str(asked), "--quiet", "--no-deps", "--no-header", "--no-build"),
            *("--format", "pylock.toml"),
            *_where(question.arguments),
        )
    if isinstance(done, NoAnswer) or not done.ok:
        return None
    try:
        packages = parse_toml(done.output).get("packages", [])
    except TomlError:
        return None
    sizes = [size for package in packages if (size := _size(package)) is not None]
    return sum(sizes) if len(sizes) == len(missing) else None


def _where(arguments: tuple[str, ...]) -> list[str]:
    """Return the options of a command that say where wheels come from, and for which Python."""
    kept: list[str] = []
    takes = False
    for one in arguments:
        name, equals, _ = one.partition("=")
        if takes or one in _FLAGS or (equals and name in _VALUED):
            kept.append(one)
            takes = False
        elif one in _VALUED:
            kept.append(one)
            takes = True
    return kept


def _size(package: Any) -> int | None:
    """Return the bytes of the wheel of a row of pylock.toml, of several builds the largest."""
    wheels = package.get("wheels") if isinstance(package, dict) else None
    sizes = [one.get("size") for one in wheels or () if isinstance(one, dict)]
    known = [size for size in sizes if isinstance(size, int)]
    return max(known) if known and len(known) == len(sizes) else None
