"""`doctor fmt` changes the form of an entry and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from doctor.base.bundled import bundled
from doctor.base.errors import DoctorError
from doctor.lint import formatting
from doctor.lint.formatting import formatted, unformatted

_FILES = sorted(bundled("matrices").rglob("*.yaml"))


@pytest.mark.parametrize("path", _FILES[::29], ids=lambda path: path.stem)
def test_a_file_has_one_form_whatever_the_order_of_its_keys(path: Path) -> None:
    text, is_table = path.read_text(encoding="utf-8"), "compat" in path.parts
    assert formatted(text, table=is_table) == text, f"{path}: run doctor fmt"
    if "issues" not in path.parts or "\n#" in text:
        return  # only issues have a fixed set of keys; a comment may be about the key before it
    head, *blocks = re.split(r"(?m)^(?=\w)", text)
    assert formatted(head + "".join(reversed(blocks)), table=is_table) == text


def test_the_keys_of_every_file_are_in_order() -> None:
    """The form of all files is checked by `doctor fmt --check` on the way to a merge."""
    wanted = {"issues": formatting._ISSUE, "compat": formatting._TABLE}
    for path in _FILES:
        keys = re.findall(r"(?m)^(\w+):", path.read_text(encoding="utf-8"))
        order = next((wanted[part] for part in path.parts if part in wanted), ())
        known = [key for key in keys if key in order]
        assert known == sorted(known, key=order.index), f"{path}: run doctor fmt"


def test_keys_have_one_order_and_long_texts_are_folded() -> None:
    text = (
        "cause: "
        + "It is short of memory. " * 10
        + "\nfixes:\n  - steps:\n      - options: [upgrade]\n        install: [a]\n"
        "    title: Take another\ntitle: Short\naffected:\n  - packages:\n"
        '      a: [{introduced: "1"}]\n'
    )
    lines = formatted(text).splitlines()
    assert lines[:3] == [
        "title: Short",
        "cause: >-",
        "  " + ("It is short of memory. " * 5) + "It is short",
    ]
    assert lines[-5:] == [
        "fixes:",
        "  - title: Take another",
        "    steps:",
        "      - install: [a]",
        "        options: [upgrade]",
    ]
    assert '      a: [{introduced: "1"}]' in lines


@pytest.mark.parametrize(
    "data", [b"\xff\x00", b"a: 1\na: 2\n", b"3\n", b"fixes: [3]\n", b"a: [\n", b"a: &b [*b]\n"]
)
def test_what_is_no_catalog_file_is_named(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "issues" / "torch" / "odd.yaml"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    with pytest.raises(DoctorError, match=r"odd\.yaml"):
        list(unformatted(tmp_path))
