"""The table of the standard library agrees with the interpreter that runs the tests."""

from __future__ import annotations

import importlib
import sys
import warnings

import pytest

from doctor.timelines.standard_library import (
    FILE,
    Library,
    standard_attribute,
    standard_module,
    standard_name,
)

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.mark.parametrize(
    ("module", "name", "first", "last"),
    [
        ("collections", "Mapping", "3.6", "3.9"),
        ("inspect", "getargspec", "3.6", "3.10"),
        ("pkgutil", "ImpImporter", "3.6", "3.11"),
        ("typing", "Self", "3.11", "3.13"),
    ],
)
def test_names_came_and_went(module: str, name: str, first: str, last: str) -> None:
    """What's New of Python 3.10, 3.11 and 3.12 say the same (docs.python.org/3/whatsnew)."""
    found = standard_name(module, name)
    assert found is not None
    assert (found.first, found.last) == (first, last)


def test_modules_and_methods() -> None:
    """A distribution is no module of Python."""
    imp, method = standard_module("imp"), standard_attribute("str", "removeprefix")
    assert imp is not None
    assert imp.without == "3.12"
    assert method is not None
    assert method.new
    assert standard_module("numpy") is None
    assert standard_name("os", "no_such_name") is None


def test_the_table_agrees_with_this_interpreter() -> None:
    """Each name that the table gives to this release can be imported here."""
    import msgspec

    library = msgspec.json.decode(FILE.read_bytes(), type=Library)
    if HERE not in library.pythons:
        pytest.skip(f"the table has no Python {HERE}")
    bit = 1 << library.pythons.index(HERE)
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for full, bits in library.names.items():
            module, _, name = full.rpartition(".")
            if module not in ("typing", "collections", "inspect", "asyncio", "ast", "functools"):
                continue
            there = hasattr(importlib.import_module(module), name)
            if there != bool(bits & bit):
                wrong.append(full)
    assert not wrong
