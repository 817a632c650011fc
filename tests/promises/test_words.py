"""Names and texts use the words of the field and plain English."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from doctor.catalog import loading
from tests.promises.sources import ROOT, modules


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


HOUSEHOLD = _words("""
    bury butler chamber cradle door grave hole holes house household nursery patient patients
    remedy room rooms sick told undertaker ward warden weigh weighed wing
""")
"""Words that no part of a name may be: they name parts of a system by a picture."""

PARTICIPLES = _words("""
    asked bare brought chosen cut done felt found given gone heard held hidden kept known left
    lifted looked made mended missed named near owned passed placed put ruled said seen served
    settled shown spoken taken thought wanted written
""")
"""Words that cannot be the whole name of a function or class: such a name hides what it is."""

PHRASES = (
    *("a workaround, no cure", "then see that it took", "nothing to say against"),
    *("to be weighed", "weighed in", "from this severity on", "what is yours"),
    *("that heals it", "what heals", "healed by", "a sick machine", "dear tests"),
    *("is nothing that can", "that both of them tell", "ran out of time by", "of two steps"),
    *("nobody's doing", "has the last word", "to and fro", "is told as", "are told as"),
    *("stands for it", "goes red", "gone red", "is its end cut off", "by whoever"),
)
"""Phrases that make a reader stop, in lower case."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_TEXTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "docs" / "decisions").glob("*.md"),
    *(ROOT / "doctor" / "cli" / "templates").glob("*.*"),
    *(ROOT / folder / "README.md" for folder in ("checks", "pytest-plugin", "fixtures/cases")),
    ROOT / "action.yml",
]
_GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def _names() -> Iterator[str]:
    for path in modules("doctor", "checks", "benchmarks", "integrations"):
        module = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
        yield module
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(
                node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
            ) and not node.name.startswith("_"):
                yield f"{module}.{node.name}"


def _is_plain(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name.rpartition(".")[2])]
    return not HOUSEHOLD & {*words} and not (len(words) == 1 and words[0] in PARTICIPLES)


def test_public_names_are_words_of_the_field() -> None:
    assert not [name for name in _names() if not _is_plain(name)]


@pytest.mark.parametrize("name", ["doctor.a.nursery", "doctor.a.Held", "doctor.a.told_twice"])
def test_a_name_by_a_picture_is_found(name: str) -> None:
    assert not _is_plain(name)


@cache
def _texts() -> dict[str, str]:
    """Return documents, messages, help texts and titles by where they stand, in lower case."""
    found = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in _TEXTS}
    for path in modules("doctor", "checks", "integrations", "pytest-plugin"):
        found[path.relative_to(ROOT).as_posix()] = "\n".join(_strings(path))
    for id_, issue in loading.load().issues.items():
        found[id_] = "\n".join([issue.title, issue.cause, *(fix.title for fix in issue.fixes)])
    return {name: " ".join(text.split()).lower() for name, text in found.items()}


def _strings(path: Path) -> Iterator[str]:
    """Yield every text of a module: help texts and messages, docstrings too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("phrase", PHRASES)
def test_no_text_makes_a_reader_stop(phrase: str) -> None:
    wrong = {(phrase, name) for name, text in _texts().items() if phrase in text}
    assert not wrong


def test_the_glossary_says_each_term_in_one_sentence() -> None:
    entries = re.findall(r"^- \*\*([^*]+)\*\*: (.+)$", _GLOSSARY, re.MULTILINE)
    assert len(entries) >= 60
    terms = [term for term, _ in entries]
    assert terms == sorted(set(terms), key=str.lower)
    for term, sentence in entries:
        assert re.fullmatch(r"[A-Z`](?:[^.]|\.(?=\w))*\.", sentence), term


@pytest.mark.parametrize("term", ["probe", "canary", "fact", "finding", "target", "fork server"])
def test_the_architecture_uses_terms_of_the_glossary(term: str) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").lower()
    # plural of canary: canaries
    assert term in page or f"{term[:-1]}ies" in page
    assert f"- **{term}**: " in _GLOSSARY
