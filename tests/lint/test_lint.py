"""`lint` names every fault of a catalog at once, each with its file, line and place."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from doctor.lint import lint

_GOOD: dict[str, Any] = {
    "title": "foo is not there",
    "severity": "error",
    "cause": "It was never there.",
    "signatures": [{"pattern": "foo is not there"}],
    "fixes": [{"title": "Take another", "steps": [{"install": ["foo"]}]}],
    "references": [{"url": "https://example.org/1", "what": "the report", "opened": "2026-01-01"}],
    "verified": {"how": "thread", "checked": "2026-01-01"},
    "examples": [
        {"name": "it", "expect": "match", "log": "foo is not there"},
        {"name": "another", "expect": "no-match", "log": "foo is there"},
    ],
}


def _faults(folder: Path, **issues: dict[str, Any]) -> list[str]:
    for name, issue in issues.items():
        path = folder / "issues" / "x" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(issue, sort_keys=False), encoding="utf-8")
    return [fault.replace(f"{folder}/issues/x/", "") for fault in lint(folder, {})]


def test_an_entry_without_faults_is_left_alone(tmp_path: Path) -> None:
    assert _faults(tmp_path, good=_GOOD) == []


def test_all_faults_of_shape_are_named_at_once_with_their_lines(tmp_path: Path) -> None:
    wrong = _GOOD | {
        "severity": "fatal",
        "cuase": "x",
        "fixes": [{"title": 3, "steps": [{"install": ["x"], "options": ["fast"]}]}],
        "verified": {"how": "thread"},
    }
    assert _faults(tmp_path, wrong=wrong) == [
        "wrong.yaml:26: cuase: no such field",
        (
            "wrong.yaml:12: fixes[0].steps[0].options[0]: 'fast' is none of hold-torch, "
            "no-binary, no-build-isolation, no-cache, no-deps, pre, reinstall, upgrade"
        ),
        "wrong.yaml:7: fixes[0].title: 3 is not of type 'string'",
        "wrong.yaml:2: severity: 'fatal' is none of error, note, warning",
        "wrong.yaml:17: verified.checked: it is missing",
    ]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"signatures": [{"pattern": r"(a|b)\1foo is"}]}, "searched in linear time"),
        (
            {"signatures": [{"pattern": "foo b", "unless": ["foo b.{0,1001}c"]}]},
            "searched in linear time",
        ),
        ({"signatures": [{"pattern": "[a-z]+"}]}, "no plain text of three characters"),
        ({"signatures": [{"pattern": "(?i)foo is"}]}, "no plain text of three characters"),
        ({"signatures": [{"pattern": "foo ("}]}, "is no regular expression"),
        ({"signatures": []}, "nothing would ever recognise it"),
        ({"fixes": []}, "every finding ends in something to do"),
        ({"fixes": [{"title": "nothing"}]}, "it does nothing"),
        (
            {"fixes": [{"title": "{log.what}", "steps": [{"install": ["x"]}]}]},
            "no signature has a group of that name",
        ),
        (
            {"fixes": [{"title": "{torch.colour}", "steps": [{"install": ["x"]}]}]},
            "no such fact",
        ),
        (
            {"affected": [{"when": [{"fact": "torch.colour", "equals": 1}]}]},
            "no such fact: torch.colour",
        ),
        (
            {"affected": [{"when": [{"fact": "torch.build", "equals": 1, "present": True}]}]},
            "exactly one operator is wanted",
        ),
        ({"related": ["x/none"]}, "no such issue: x/none"),
        ({"verified": {"how": "guess", "checked": "2026-01-01"}}, "'guess' is none of"),
        ({"proofs": [{"check": "none"}]}, "no such check: none"),
        ({"examples": _GOOD["examples"][:1]}, "one must not match"),
        (
            {
                "examples": [
                    {**_GOOD["examples"][0], "source": "https://example.org/1"},
                    _GOOD["examples"][1],
                ]
            },
            "proves nothing new",
        ),
        (
            {"examples": [{**_GOOD["examples"][0], "log": "bar"}, _GOOD["examples"][1]]},
            "'it': expected match, got no-match",
        ),
        ({"title": "(the title)"}, "still to be written"),
        ({"signatures": [{"pattern": "foo is not (?P<where>there)"}]}, "uses the group 'where'"),
        ({"signatures": [{"pattern": "foo (is|was) not there"}]}, "captures without a name"),
    ],
)
def test_each_rule_speaks(tmp_path: Path, change: dict[str, Any], fault: str) -> None:
    (found,) = _faults(tmp_path, wrong=_GOOD | change)
    assert fault in found


def test_two_issues_may_claim_one_example_where_one_names_the_other_and_each_comes_first_in_its_own(
    tmp_path: Path,
) -> None:
    claims = _faults(tmp_path, one=_GOOD, two=_GOOD)
    assert [fault.split(": ")[-1].split(";")[0] for fault in claims] == [
        "x/two claims it too",
        "x/one claims it too",
        "x/one comes before it",
    ]
    related = _GOOD | {"related": ["x/two"]}
    assert [
        "x/one comes before it" in fault for fault in _faults(tmp_path, one=related, two=_GOOD)
    ] == [True]
    text = "foo is not there, says bar"
    own = [{**_GOOD["examples"][0], "log": text}, _GOOD["examples"][1]]
    special = related | {"signatures": [{"pattern": text}], "examples": own}
    assert _faults(tmp_path, one=special, two=_GOOD | {"general": True}) == []


def test_a_file_that_is_no_yaml_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "issues" / "x").mkdir(parents=True)
    (tmp_path / "issues" / "x" / "broken.yaml").write_text("title: [", encoding="utf-8")
    faults = _faults(tmp_path, wrong=_GOOD | {"severity": "fatal"})
    assert [fault.split(": ")[0] for fault in faults] == ["broken.yaml:2", "wrong.yaml:2"]


def test_a_table_is_held_to_its_sources(tmp_path: Path) -> None:
    table = {
        "title": "t",
        "columns": {"torch": {"fact": "torch.colour"}},
        "sources": {
            "s": {
                "url": "https://example.org",
                "what": "x",
                "opened": "2026-01-01",
                "evidence": "source",
            }
        },
        "rows": [{"torch": "2.0", "source": ["other"]}, {"colour": "red"}],
    }
    (tmp_path / "compat").mkdir()
    (tmp_path / "compat" / "t.yaml").write_text(
        yaml.safe_dump(table, sort_keys=False), encoding="utf-8"
    )
    faults = "\n".join(lint(tmp_path, {}))
    for said in (
        "no such fact: torch.colour",
        "none is a key",
        "no such source: other",
        "no such column: colour",
        "a row needs",
    ):
        assert said in faults


def _with(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**_GOOD, "fixes": [{"title": "Take another", "steps": list(steps), **more}]}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (_with({"install": ["torch", "torchvision"]}), "torchvision would be new to some"),
        (
            _with({"uninstall": ["foo"], "companions": ["torchvision"]}),
            "belong to install",
        ),
        (_with({"install": ["foo>=2"], "options": ["no-deps"]}), "no-deps leaves behind"),
        (
            _with({"install": ["foo"], "options": ["no-deps", "reinstall", "upgrade"]}),
            "no-deps and upgrade",
        ),
        (
            _with({"install": ["torch==2.8.0"]}, {"install": ["foo"], "options": ["hold-torch"]}),
            "keeps the torch that was here before",
        ),
        (_with({"uninstall": ["torch"]}, {"install": ["torch==2.8.0"]}), "torch is gone where"),
        (
            _with({"install": ["torch"], "index": "https://x.org", "options": ["reinstall"]}),
            "reinstall also moves what torch asks for",
        ),
        (_with({"env": {"LD_LIBRARY_PATH": ""}}), "env.LD_LIBRARY_PATH"),
        (_with({"install": ["foo"]}, use_if=["it is slow", "Windows"]), "'Windows' is a fact"),
        (_with({"install": ["foo"]}, use_if=["torch 2.4 or older"]), "is a fact"),
        (_with({"env": {"CUDA_HOME": "$CUDA_ROOT"}}), "no shell expands it"),
        (_with({"run": ["ls", "${CUDA}/lib", "$CUDA/lib"]}), "no shell expands it"),
        (_with({"install": ["foo"]}, use_if=["torch is a build for CUDA 12"]), "torch.cuda_major"),
        (
            _with({"install": ["foo"]}, use_if=["g++ is of release 10 or older"]),
            "compiler.cxx_major",
        ),
        (_with({"install": ["a"], "run": ["b"]}), "exactly one of"),
        (_with({"sudo": True}), "exactly one of"),
        (_with({"env": {"A": "1"}, "source": True}), "source belongs to run"),
        (_with({"run": ["source", "setvars.sh"]}), "write source: true"),
        (_with({"run": ["pip", "install", "x"]}), "pip is whatever stands first on PATH"),
        (_with({"run": ["sh", "-c", "cd x && python3 y"]}), "python3 is whatever stands first"),
        (_with({"run": ["sh", "-c", "export A=1"]}), "export within sh -c"),
        (
            _with({"edit": {"file": "the program", "before": "a", "after": "b"}}),
            "'the program' is no path",
        ),
        (_with({"install": ["x"]}, use_if=["first of two steps"]), "counts steps"),
        (_with({"install": ["x"]}, ask={"wheel": "its name"}), "ask.wheel: no step has <wheel>"),
        (_with({"install": ["x"]}, verify=["python", "-V"]), "verify: python is whatever"),
    ],
)
def test_advice_that_could_do_harm_is_a_fault(
    tmp_path: Path, entry: dict[str, Any], said: str
) -> None:
    (fault,) = _faults(tmp_path, bad=entry)
    assert said in fault


@pytest.mark.parametrize(
    "entry",
    [
        _with(
            {
                "install": ["torch"],
                "companions": ["torchvision", "torchaudio"],
                "options": ["upgrade"],
            }
        ),
        _with({"install": ["foo"], "options": ["no-deps", "reinstall"]}),
        _with({"install": ["foo>=2"], "options": ["hold-torch"]}),
        _with(
            {"env": {"LD_LIBRARY_PATH": ""}},
            use_if=[{"fact": "env.LD_LIBRARY_PATH", "present": True}],
        ),
        _with({"install": ["<wheel>"]}, ask={"wheel": "its address"}, note="One for this torch."),
        _with({"run": ["{python.executable}", "-m", "foo"], "env": {"A": "1"}}),
        _with({"edit": {"file": "requirements.txt", "before": "a", "after": "b"}}),
        _with(snippet={"where": "the program", "after": "b"}),
    ],
)
def test_advice_that_can_do_none_is_no_fault(tmp_path: Path, entry: dict[str, Any]) -> None:
    assert _faults(tmp_path, good=entry) == []


@pytest.mark.parametrize("text", ["a: " + "[" * 100_000, "a: " + "{b: " * 50_000])
def test_what_nests_without_end_is_refused_at_once(text: str, tmp_path: Path) -> None:
    path = tmp_path / "issues" / "x" / "deep.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    begun = time.process_time()
    assert any("deep.yaml: more than 100 levels" in fault for fault in lint(tmp_path, {}))
    assert time.process_time() - begun < 5
