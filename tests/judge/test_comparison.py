"""What changed since it was green.

The order of what matters, what is not compared, and which findings came and went.
"""

from __future__ import annotations

from typing import Any

import pytest

from doctor.judge.comparison import changes, compare
from doctor.model.comparison import Comparison, Judged, Side
from doctor.model.document import FindingDocument
from doctor.model.facts import Fact, absent, present, unknown
from doctor.model.findings import Suppression
from doctor.model.scales import Confidence, Severity
from doctor.report.terminal.comparison import render


def facts(told: dict[str, Any]) -> dict[str, Fact]:
    return {name: _fact(value) for name, value in told.items()}


def _fact(value: Any) -> Fact:
    return (
        value
        if isinstance(value, Fact)
        else absent("test")
        if value is None
        else present(value, "test")
    )


def moved(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [
        (change.fact, change.before, change.after)
        for change in changes(facts(before), facts(after))
    ]


def finding(
    id_: str,
    severity: Severity = Severity.ERROR,
    *,
    by: str = "",
    target: str = "interpreter",
    title: str = "It",
) -> FindingDocument:
    suppressed = Suppression(by=by) if by else None
    return FindingDocument(
        id=id_,
        target="interpreter",
        title=title,
        severity=severity,
        confidence=Confidence.HIGH,
        message="It is.",
        evidence=(),
        fixes=(),
        references=(),
        symptoms=(),
        suppressed=suppressed,
    )


def compared(
    before: list[FindingDocument], after: list[FindingDocument], fail_on: Severity = Severity.ERROR
) -> Comparison:
    sides = [
        Judged(side=Side(name=name), facts={}, findings=tuple(each))
        for name, each in (("a", before), ("b", after))
    ]
    return compare(sides[0], sides[1], fail_on)


def test_what_matters_most_comes_first() -> None:
    before = {
        "host.kernel": "6.1",
        "env.LD_LIBRARY_PATH": None,
        "package.numpy.version": "1",
        "package.flash-attn.version": "1",
        "package.flash-attn.location": "/site",
        "libs.resolved": {"libcudart.so.12": {"path": "/site/lib"}},
        "cuda.version": "12.4",
        "nvidia.gpu_names": ["A100"],
        "nvidia.driver_version": "535.104",
        "torch.version": "2.7.0",
        "torch.devices": ["cpu", "cuda:0"],
    }
    after = {
        "torch.version": "2.8.0",
        "nvidia.driver_version": "570.86",
        "nvidia.gpu_names": ["H100"],
        "torch.devices": ["cpu"],
        "cuda.version": "12.8",
        "libs.resolved": {"libcudart.so.12": {"path": "/usr/lib"}},
        "package.flash-attn.version": "2",
        "package.numpy.version": "2",
        "package.flash-attn.location": "/site",
        "env.LD_LIBRARY_PATH": "/usr/lib",
        "host.kernel": "6.2",
    }
    assert [name for name, _, _ in moved(before, after)] == [
        "torch.version",
        "nvidia.driver_version",
        "nvidia.gpu_names",
        "torch.devices",
        "cuda.version",
        "libs.resolved.libcudart.so.12",
        "package.flash-attn.version",
        "package.numpy.version",
        "env.LD_LIBRARY_PATH",
        "host.kernel",
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"torch.version": "2.7.0"}, {"torch.version": "2.7.0"}),
        ({"torch.version": "2.7.0"}, {}),
        ({"torch.version": unknown("it hung")}, {"torch.version": "2.7.0"}),
        ({"host.memory_available_bytes": 1}, {"host.memory_available_bytes": 2}),
        ({"torch.import_seconds": 1.0}, {"torch.import_seconds": 2.0}),
        ({"package.numpy.installed_at": "1"}, {"package.numpy.installed_at": "2"}),
        ({"compat.torch.wanted": "1"}, {"compat.torch.wanted": "2"}),
        ({"package.numpy.version": "1"}, {"torch.version": "2"}),
    ],
    ids=[
        "the same",
        "nobody looked",
        "unknown",
        "memory",
        "time",
        "a date",
        "it follows",
        "no complete list",
    ],
)
def test_what_did_not_change_or_says_nothing_is_not_told(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert moved(before, after) == []


def test_an_entry_of_a_complete_list_can_be_gone() -> None:
    before = {
        "packages": {"xformers": "1", "torch": "2"},
        "package.xformers.version": "1",
        "package.xformers.installer": "pip",
    }
    after = {"packages": {"torch": "2", "apex": "3"}}
    assert moved(before, after) == [
        ("package.apex.version", None, "3"),
        ("package.xformers.version", "1", None),
    ]


def test_an_environment_that_lies_elsewhere_changes_no_path_within() -> None:
    before = {
        "python.prefix": "/home/a/.venv",
        "libs.resolved": {"libcudart.so.12": {"path": "/home/a/.venv/lib/libcudart.so.12"}},
    }
    after = {
        "python.prefix": "/ci/venv",
        "libs.resolved": {"libcudart.so.12": {"path": "/ci/venv/lib/libcudart.so.12"}},
    }
    assert moved(before, after) == [("python.prefix", "/home/a/.venv", "/ci/venv")]
    shadowed = {**after, "libs.resolved": {"libcudart.so.12": {"path": "/usr/lib/libcudart.so.12"}}}
    assert moved(before, shadowed)[0] == (
        "libs.resolved.libcudart.so.12",
        "<environment>/lib/libcudart.so.12",
        "/usr/lib/libcudart.so.12",
    )


def test_a_variable_that_was_not_set_is_told() -> None:
    assert moved({"env.CC": None}, {"env.CC": "clang"}) == [("env.CC", None, "clang")]


def test_findings_come_and_go_and_decide_the_exit_code() -> None:
    found = compared(
        [finding("toy/old"), finding("toy/stays")], [finding("toy/stays"), finding("toy/new")]
    )
    assert [one.id for one in found.came] == ["toy/new"]
    assert [one.id for one in found.went] == ["toy/old"]
    assert found.exit_code == 1


@pytest.mark.parametrize(
    ("severity", "fail_on", "code"),
    [
        (Severity.WARNING, Severity.ERROR, 0),
        (Severity.WARNING, Severity.WARNING, 1),
        (Severity.NOTE, Severity.NOTE, 1),
    ],
)
def test_what_came_fails_from_a_severity_on(
    severity: Severity, fail_on: Severity, code: int
) -> None:
    assert compared([], [finding("toy/new", severity)], fail_on).exit_code == code


def test_nothing_came_is_well_whatever_is_there() -> None:
    assert compared([finding("toy/stays")], [finding("toy/stays")]).exit_code == 0


def test_what_became_worse_came_and_what_became_milder_did_not() -> None:
    found = compared([finding("toy/a", Severity.NOTE)], [finding("toy/a")])
    assert ([one.id for one in found.came], found.worse, found.went) == (
        ["toy/a"],
        {"toy/a": Severity.NOTE},
        (),
    )
    assert compared([finding("toy/a")], [finding("toy/a", Severity.NOTE)]).came == ()


def test_what_is_suppressed_neither_comes_nor_goes() -> None:
    ignored = finding("toy/a", by="ignore")
    assert compared([], [ignored]).came == ()
    assert compared([ignored], [finding("toy/a")]).came == ()
    assert compared([ignored], []).went == ()
    assert compared([], [finding("ignore/expired", Severity.WARNING)], Severity.NOTE).exit_code == 0


def _text(more: dict[str, Any] | None = None, *, unicode: bool = True) -> str:
    more = more or {}
    before = Judged(
        side=Side(name="a.json", catalog="one"),
        facts=facts({"torch.version": "2.7.0", **more}),
        findings=(),
    )
    changed = {"torch.version": "2.8.0", **dict.fromkeys(more, "\x1b[2Jnew\n::error::x")}
    after = Judged(
        side=Side(name="b.json", catalog="two"),
        facts=facts(changed),
        findings=(finding("toy/new", title="::error::It"),),
    )
    return render(
        compare(before, after, Severity.ERROR), verbosity=0, width=80, colour=False, unicode=unicode
    )


def test_text_says_what_moved_from_what_to_what_and_what_came() -> None:
    told = [" ".join(line.split()) for line in _text().splitlines()]
    assert "torch.version 2.7.0 → 2.8.0" in told
    assert "1 change · 1 finding came, 0 went" in told
    assert any("different releases" in line for line in told)
    assert any("(toy/new, came)" in line for line in told)


def test_text_is_safe_and_cut_and_fits_a_poor_terminal() -> None:
    text = _text({f"env.V{number}": {"deep": [[[[["x"]]]]]} for number in range(20)}, unicode=False)
    assert text.isascii()
    assert "\x1b" not in text
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    assert "and 12 more (-v)" in text
    assert max(map(len, text.splitlines())) <= 80


def test_paths_are_cut_only_as_far_as_they_still_differ() -> None:
    paths = [f"/a/long/way/to/the/{name}/lib/python3/site" for name in ("one", "two")]
    sides = [
        Judged(side=Side(name="x"), facts=facts({"env.PYTHONPATH": path}), findings=())
        for path in paths
    ]
    text = render(
        compare(sides[0], sides[1], Severity.ERROR),
        verbosity=0,
        width=120,
        colour=False,
        unicode=True,
    )
    assert all(path in text for path in paths)
