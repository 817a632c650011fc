"""The JSON Schemas for editors: kept with the code, and true of what authors write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from doctor.catalog.loading import parse_yaml
from doctor.catalog.reference import FAMILIES
from doctor.catalog.schemas import KINDS, schema
from doctor.site import generate
from tests.promises.sources import ROOT

_MATRICES = ROOT / "matrices"
_FOLDERS = {
    "issue": sorted(_MATRICES.glob("issues/*/*.yaml"))[::10],
    "table": sorted(_MATRICES.glob("compat/*.yaml")),
    **{family: sorted(_MATRICES.glob(f"{family}/*.yaml")) for family in FAMILIES},
}


def _schema(name: str) -> Any:
    text = (ROOT / "docs" / "schema" / f"{name}.json").read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(
        json.loads(text), format_checker=jsonschema.FormatChecker()
    )


@pytest.mark.parametrize("name", list(KINDS))
def test_the_kept_schema_is_that_of_the_code(name: str) -> None:
    """`python -m doctor.site.generate` writes it anew."""
    kept = ROOT / "docs" / "schema" / f"{name}.json"
    assert kept.read_text(encoding="utf-8") == schema(name) == generate.schemas()[kept]
    _schema(name).check_schema(json.loads(schema(name)))


def test_a_stale_schema_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        generate, "schemas", lambda: {ROOT / "docs" / "schema" / "issue.json": "{}"}
    )
    assert generate.stale() == ["docs/schema/issue.json"]


@pytest.mark.parametrize("name", list(_FOLDERS))
def test_what_authors_wrote_fits(name: str) -> None:
    judge, wrong = _schema(name), []
    for path in _FOLDERS[name]:
        wrong += [
            f"{path}: {fault.message}"
            for fault in judge.iter_errors(msgspec.to_builtins(parse_yaml(path)))
        ]
    assert _FOLDERS[name]
    assert wrong == []


@pytest.mark.parametrize("change", [{"titel": "x"}, {"severity": "fatal"}, {"title": None}])
def test_an_editor_marks_a_mistake(change: dict[str, Any]) -> None:
    path: Path = _FOLDERS["issue"][0]
    document = {**msgspec.to_builtins(parse_yaml(path)), **change}
    assert list(_schema("issue").iter_errors(document))
