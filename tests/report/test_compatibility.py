"""What is held against each other, and how it fits."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.model.facts import Fact, absent, present, unknown
from doctor.report.view.compatibility import Fit, by_asker, rows


def seen(**values: Any) -> dict[str, Fact]:
    """Make facts; two underscores stand for a dot, None is absent, a Fact is taken as it is."""
    named = {name.replace("___", "-").replace("__", "."): value for name, value in values.items()}
    return {
        name: value
        if isinstance(value, Fact)
        else absent("test")
        if value is None
        else present(value, "test")
        for name, value in named.items()
    }


@pytest.mark.parametrize(
    ("verdict", "fit"),
    [
        ("fits", Fit.FITS),
        ("violated", Fit.VIOLATED),
        (unknown("not known: nvidia.driver_version"), Fit.UNKNOWN),
        (None, Fit.NOT_HERE),
    ],
)
def test_a_table_that_judges_gives_a_row(verdict: Any, fit: Fit) -> None:
    name = "compat__cuda___driver__driver"
    found = rows(
        seen(
            **{
                name: verdict,
                f"{name}__wanted": ">=580",
                f"{name}__seen": "535.1",
                f"{name}__by": "cuda 13.0",
            }
        )
    )
    assert [(one.by, one.what, one.wanted, one.here, one.fit) for one in found] == [
        ("cuda 13.0", "driver", ">=580", "535.1", fit)
    ]


def test_a_table_that_only_informs_or_that_nothing_selects_gives_none() -> None:
    assert (
        rows(
            seen(
                compat__torch__triton__wanted="3.7.1",
                compat__vllm__torch=unknown("not known: package.vllm.version"),
            )
        )
        == []
    )


@pytest.mark.parametrize(
    ("met", "installed", "fit", "here"),
    [
        (True, "2.4.1", Fit.FITS, "2.4.1"),
        (False, "2.7.0", Fit.VIOLATED, "2.7.0"),
        (False, None, Fit.VIOLATED, "not installed"),
        (unknown("no order"), "nightly", Fit.UNKNOWN, "nightly"),
    ],
)
def test_a_requirement_gives_a_row(met: Any, installed: str | None, fit: Fit, here: str) -> None:
    pair = "requires__torchvision__torch"
    facts = seen(
        **{f"{pair}__met": met, f"{pair}__specifier": "==2.4.1", f"{pair}__installed": installed},
        package__torchvision__version="0.19.1",
    )
    assert [(one.by, one.what, one.wanted, one.here, one.fit) for one in rows(facts)] == [
        ("torchvision 0.19.1", "torch", "==2.4.1", here, fit)
    ]


def test_a_requirement_without_a_specifier_wants_any() -> None:
    (row,) = rows(
        seen(
            requires__torch__numpy__met=True,
            requires__torch__numpy__specifier="",
            requires__torch__numpy__installed="2.1",
        )
    )
    assert (row.by, row.wanted) == ("torch", "any")


@pytest.mark.parametrize(
    ("uncovered", "fit"), [(["12.0"], Fit.VIOLATED), (None, Fit.FITS), (unknown("?"), Fit.UNKNOWN)]
)
def test_gpus_are_held_against_the_code_of_torch(uncovered: Any, fit: Fit) -> None:
    found = rows(
        seen(
            gpu__unsupported_by_torch=uncovered,
            torch__arch_list=["sm_90"],
            nvidia__capabilities=["12.0"],
        )
    )
    assert [(one.wanted, one.here, one.fit) for one in found] == [("sm_90", "12.0", fit)]


def test_nothing_is_said_of_a_gpu_that_is_not_there() -> None:
    assert (
        rows(
            seen(
                gpu__unsupported_by_torch=None,
                torch__arch_list=["sm_90"],
                nvidia__capabilities=None,
            )
        )
        == []
    )


@pytest.mark.parametrize(
    ("differs", "fit"), [("same", Fit.FITS), ("minor", Fit.FITS), ("major", Fit.VIOLATED)]
)
def test_the_toolkit_is_held_against_the_cuda_of_torch(differs: str, fit: Fit) -> None:
    (row,) = rows(
        seen(cuda__matches_torch=differs, torch__cuda_version="13.0", cuda__version="12.8")
    )
    assert row.fit is fit


def test_what_compiled_files_ask_for_in_vain_does_not_fit() -> None:
    lacks = ["libcudart.so.12", "libcublas.so.12"]
    (row,) = rows(
        seen(
            extension__flash___attn__missing_libraries=lacks,
            extension__apex__missing_libraries=None,
        )
    )
    assert (row.by, row.wanted, row.fit) == (
        "flash-attn's compiled files",
        "libcudart.so.12, libcublas.so.12",
        Fit.VIOLATED,
    )


def test_what_does_not_fit_comes_first_and_who_asks_is_grouped() -> None:
    pairs = {"a__x": True, "b__x": False, "c__x": True, "c__y": True}
    facts = seen(**{f"requires__{pair}__met": met for pair, met in pairs.items()})
    assert rows(facts)[0].fit is Fit.VIOLATED
    assert {by: len(group) for by, group in by_asker(rows(facts)).items()} == {
        "b": 1,
        "c": 2,
        "a": 1,
    }
    assert list(by_asker(rows(facts))) == ["b", "c", "a"]
