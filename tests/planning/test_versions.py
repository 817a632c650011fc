"""A version in a manifest is rewritten as little as lets a release in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from doctor.observe.manifests.pins import Syntax
from doctor.planning.edits.versions import admits, limited, rewritten


@pytest.mark.parametrize(
    ("syntax", "before", "release", "after"),
    [
        (Syntax.PYTHON, "==2.5.1", "2.13.0+cu130", "==2.13.0"),
        (Syntax.PYTHON, "==2.5.1+cu121", "2.13.0+cu130", "==2.13.0+cu130"),
        (Syntax.PYTHON, "==2.5.1+cu121", "2.13.0", "==2.13.0"),
        (Syntax.PYTHON, "== 2.5.*", "2.13.0", "== 2.13.*"),
        (Syntax.PYTHON, ">=2.4,<2.6", "2.13.0", ">=2.4,<2.14"),
        (Syntax.PYTHON, ">= 2.4 , < 2.6.0", "2.13.0", ">= 2.4 , < 2.14.0"),
        (Syntax.PYTHON, "<3", "3.1", "<4"),
        (Syntax.PYTHON, "<=2.5.1", "2.13.0", "<=2.13.0"),
        (Syntax.PYTHON, "~=2.5.1", "2.13.0", "~=2.13.0"),
        (Syntax.PYTHON, "~=2.5", "2.13.0", "~=2.5"),
        (Syntax.PYTHON, ">2.14", "2.13.0", ">=2.13.0"),
        (Syntax.PYTHON, "", "2.13.0", ""),
        (Syntax.PYTHON, "!=2.13.0", "2.13.0", None),
        (Syntax.PYTHON, "===2.5.1", "2.13.0", "===2.13.0"),
        (Syntax.PYTHON, ">=2; import os", "2.13.0", None),
        (Syntax.POETRY, "^0.20.1", "0.28.0", "^0.28.0"),
        (Syntax.POETRY, "^2.5", "2.13.0", "^2.5"),
        (Syntax.POETRY, "2.5.1", "2.13.0", "2.13.0"),
        (Syntax.POETRY, "~2.5.1", "2.13.0", "~2.13.0"),
        (Syntax.POETRY, "*", "2.13.0", "*"),
        (Syntax.POETRY, "^1 || ^2", "3.1", None),
        (Syntax.CONDA, "=2.5.1=py3.11_cuda12.4_cudnn9.1.0_0", "2.13.0", "=2.13.0"),
        (Syntax.CONDA, "=2.5", "2.13.0", "=2.13"),
        (Syntax.CONDA, "2.5.*", "2.13.0", "2.13.*"),
        (Syntax.CARGO, "0.8", "0.9.1", "0.9"),
        (Syntax.CARGO, "=0.8.2", "0.9.1", "=0.9.1"),
        (Syntax.CARGO, "~0.8.2", "0.9.1", "~0.9.1"),
        (Syntax.CARGO, ">=0.8, <0.9", "0.9.1", ">=0.8, <0.10"),
        (Syntax.CARGO, "0.9.0-alpha.1", "0.9.1", "0.9.0-alpha.1"),
        (Syntax.CARGO, "1.0.100", "1.2.3", "1.0.100"),
        (Syntax.VERSION, "2.5.1", "2.13.0", "2.13.0"),
    ],
)
def test_each_clause_keeps_its_operator_and_its_precision(
    syntax: Syntax, before: str, release: str, after: str | None
) -> None:
    assert rewritten(syntax, before, release) == after


@pytest.mark.parametrize(
    ("syntax", "before", "after"),
    [
        (Syntax.PYTHON, "", "==2.13.0"),
        (Syntax.PYTHON, ">=2.4", ">=2.4,<=2.13.0"),
        (Syntax.POETRY, "*", "2.13.0"),
        (Syntax.CARGO, "*", None),
        (Syntax.PYTHON, ">=2.14", None),
    ],
)
def test_a_step_back_gets_a_limit(syntax: Syntax, before: str, after: str | None) -> None:
    assert limited(syntax, before, "2.13.0") == after


_NUMBERS = st.lists(st.integers(0, 30), min_size=1, max_size=3).map(
    lambda parts: ".".join(map(str, parts))
)
_CLAUSES = st.one_of(
    st.tuples(st.sampled_from(("==", "<", "<=", ">", ">=", "!=")), _NUMBERS).map("".join),
    _NUMBERS.map("=={}.*".format),
    st.tuples(_NUMBERS, st.integers(0, 30)).map(lambda two: f"~={two[0]}.{two[1]}"),
)
_SPECIFIERS = st.lists(_CLAUSES, max_size=3).map(",".join)


@given(_SPECIFIERS, _NUMBERS)
def test_the_new_specifier_admits_the_release_and_nothing_is_edited_twice(
    before: str, release: str
) -> None:
    after = rewritten(Syntax.PYTHON, before, release)
    if after is None:
        clauses = [one for one in before.split(",") if one.startswith("!=")]
        assert not all(SpecifierSet(one).contains(release) for one in clauses)
        return
    assert SpecifierSet(after).contains(release, prereleases=True)
    assert rewritten(Syntax.PYTHON, after, release) == after
    if SpecifierSet(before).contains(release, prereleases=True):
        assert after == before
    assert after.count(",") == before.count(",")


@given(st.sampled_from(Syntax), st.text("0123456789.,<>=!~^*| +abrc-", max_size=40), _NUMBERS)
def test_any_text_is_left_alone_or_lets_the_release_in(
    syntax: Syntax, before: str, release: str
) -> None:
    after = rewritten(syntax, before, release)
    assert after is None or admits(syntax, after, release)
