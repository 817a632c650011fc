"""The catalog of a checkout, which is not parsed anew for every command."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from doctor.base.bundled import bundled
from doctor.catalog import loading as catalogs
from doctor.model.catalog import Catalog

_ISSUE = """title: {title}
severity: note
cause: x
references: []
verified: {{how: thread, checked: 2026-11-21}}
examples: []
"""


# A word in brackets that holds a question mark, which PyYAML's own reader refuses without quotes.
_QUESTION = re.compile(r"""(?m)^[\s\w-]*: \[[^"'\n]*[?]""")


def _titles(folder: Path) -> list[str]:
    found: Catalog = catalogs._of_checkout(folder)
    return sorted(issue.title for issue in found.issues.values())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "matrices" / "issues" / "x").mkdir(parents=True)
    (tmp_path / "matrices" / "issues" / "x" / "one.yaml").write_text(
        _ISSUE.format(title="one"), encoding="utf-8"
    )
    return tmp_path / "matrices"


def test_what_was_compiled_is_read_while_nothing_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _titles(folder) == ["one"]
    monkeypatch.setattr(catalogs, "load_folder", lambda _folder: pytest.fail("parsed again"))
    assert _titles(folder) == ["one"]


@pytest.mark.parametrize("change", ["edited", "added", "removed", "renamed"])
def test_every_change_is_seen(folder: Path, change: str) -> None:
    assert _titles(folder) == ["one"]
    path = folder / "issues" / "x" / "one.yaml"
    other = path.with_name("two.yaml")
    if change == "edited":
        path.write_text(_ISSUE.format(title="two"), encoding="utf-8")
        os.utime(path, ns=(1, 1))
    elif change == "added":
        other.write_text(_ISSUE.format(title="two"), encoding="utf-8")
    elif change == "removed":
        path.unlink()
    else:
        path.rename(other)
    assert (
        _titles(folder)
        == {"edited": ["two"], "added": ["one", "two"], "removed": [], "renamed": ["one"]}[change]
    )
    assert sorted(catalogs._of_checkout(folder).issues) == sorted(
        catalogs.load_folder(folder).issues
    )


def test_what_was_kept_may_be_damaged_or_unwritable(folder: Path) -> None:
    beside = folder.parent / ".catalog.msgpack"
    beside.write_bytes(b"\x93not this")
    assert _titles(folder) == ["one"]
    beside.unlink()
    beside.mkdir()
    assert _titles(folder) == ["one"]


def test_the_patterns_of_others_are_refused_by_file_place_and_pattern(tmp_path: Path) -> None:
    entry = (
        _ISSUE.format(title="x")
        + "signatures: [{pattern: 'foo (bar', unless: ['fine', '(?<=a)b']}]\n"
    )
    entry += "affected: [{when: [{fact: torch.version, matches: '(a)\\1'}]}]\n"
    (tmp_path / "issues" / "x").mkdir(parents=True)
    path = tmp_path / "issues" / "x" / "bad.yaml"
    path.write_text(entry, encoding="utf-8")
    with pytest.raises(catalogs.CatalogError) as refused:
        catalogs.load([tmp_path])
    told = str(refused.value).splitlines()
    assert [line.partition(": ")[2].partition(": ")[0] for line in told] == [
        "signatures[0].pattern",
        "signatures[0].unless[1]",
        "affected[0].when[0].matches",
    ]
    assert all(line.startswith(f"{path}: ") for line in told)
    assert "'foo (bar' is no regular expression" in told[0]


def test_every_pattern_that_is_searched_for_is_looked_at() -> None:
    known = catalogs.load()
    seen = {
        pattern for issue in known.issues.values() for _, pattern in catalogs.patterns_of(issue)
    }
    seen |= {
        pattern for table in known.tables.values() for _, pattern in catalogs.patterns_of(table)
    }
    encoded = json.loads(msgspec.json.encode(known))
    named = {
        str(value)
        for name, value in _leaves(encoded)
        if name in ("pattern", "also", "unless", "shown", "matches", "models")
    }
    assert named == seen


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, str(key))
    elif isinstance(value, list):
        for part in value:
            yield from _leaves(part, name)
    else:
        yield name, value


def test_the_compiled_catalog_lacks_the_examples_and_is_the_same_otherwise() -> None:
    whole = catalogs.load_folder(bundled("matrices"))
    told = msgspec.msgpack.decode(catalogs.compiled(whole), type=Catalog)
    assert any(issue.examples for issue in whole.issues.values())
    assert not any(issue.examples for issue in told.issues.values())
    assert told.digest == whole.digest == catalogs._merge([told]).digest
    assert {
        name: msgspec.structs.replace(issue, examples=()) for name, issue in whole.issues.items()
    } == dict(told.issues)


def test_files_are_read_without_the_library_in_c_too() -> None:
    matrices = Path(__file__).resolve().parents[2] / "matrices"
    texts = [path.read_text(encoding="utf-8") for path in matrices.rglob("*.yaml")]
    for text in (text for text in texts if _QUESTION.search(text)):
        yaml.load(text, Loader=yaml.SafeLoader)
