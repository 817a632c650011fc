"""`[tool.doctor]`, `DOCTOR_*` and flags.

What wins, what is refused and with which words, and `doctor config`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from doctor.base.errors import UsageError
from doctor.cli.app import app
from doctor.pipeline.manifest import nearest
from tests.command import doctor

_IGNORE = '[[tool.doctor.ignore]]\nid = "torch/*"\nreason = "known"\nuntil = 2027-01-31\n'


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DOCTOR_PATIENTS", "DOCTOR_REQUIRE_PATIENTS"):
        monkeypatch.delenv(name, raising=False)


def write(folder: Path, body: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pyproject.toml"
    path.write_text(body, encoding="utf-8")
    return path


def told(capsys: pytest.CaptureFixture[str], project: Path, *flags: str) -> dict[str, Any]:
    """Return what `doctor config` says of a project."""
    app(
        ["config", "--format", "json", "--project", str(project), "--", *flags],
        standalone_mode=False,
    )
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def won(
    capsys: pytest.CaptureFixture[str], project: Path, key: str, *flags: str
) -> tuple[Any, str, str]:
    setting = next(each for each in told(capsys, project, *flags)["settings"] if each["key"] == key)
    return setting["value"], setting["source"], setting["place"]


def test_flags_win_over_the_environment_over_the_file_over_the_default(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert won(capsys, tmp_path, "fail-on") == ("error", "default", "")
    path = write(tmp_path, '[tool.doctor]\n\nfail-on = "warning"\n')
    assert won(capsys, tmp_path, "fail-on") == ("warning", "file", f"{path}:3")
    monkeypatch.setenv("DOCTOR_FAIL_ON", "note")
    assert won(capsys, tmp_path, "fail-on") == ("note", "environment", "DOCTOR_FAIL_ON")
    assert won(capsys, tmp_path, "fail-on", "--fail-on", "error") == ("error", "flag", "--fail-on")


def test_an_empty_variable_says_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCTOR_FAIL_ON", "")
    monkeypatch.setenv("DOCTOR_EXPECT", "")
    assert won(capsys, tmp_path, "fail-on")[0] == "error"
    assert won(capsys, tmp_path, "expect")[0] == []


def test_every_kind_of_value_can_be_set_and_what_is_on_can_be_turned_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(
        tmp_path,
        (
            '[tool.doctor]\nno-canaries = true\ntimeout = 5\nonly = ["torch/*", '
            '"triton/*"]\npython = "3.11"\nbaseline = "b.json"\n'
        ),
    )
    found = {each["key"]: each["value"] for each in told(capsys, tmp_path)["settings"]}
    assert (found["no-canaries"], found["timeout"], found["only"], found["python"]) == (
        True,
        5.0,
        ["torch/*", "triton/*"],
        "3.11",
    )
    assert found["baseline"] == str(tmp_path / "b.json")
    assert won(capsys, tmp_path, "no-canaries", "--canaries") == (False, "flag", "--no-canaries")


def test_lists_in_a_variable_are_parted_by_spaces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCTOR_EXPECT", "cuda:2 candle-cuda")
    assert won(capsys, tmp_path, "expect") == (
        ["cuda:2", "candle-cuda"],
        "environment",
        "DOCTOR_EXPECT",
    )


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('fail_on = "note"', "tool.doctor.fail_on is no setting; did you mean fail-on?"),
        ("zebra = 1", "tool.doctor.zebra is no setting; doctor config shows them"),
        (
            'fail-on = "warnin"',
            "tool.doctor.fail-on: warnin is none of error, warning, note; did you mean warning?",
        ),
        ("fail-on = 3", "tool.doctor.fail-on wants a text, not a number"),
        ('only = "torch/*"', "tool.doctor.only wants a list of texts, not a text"),
        ("only = [1]", "tool.doctor.only wants a list of texts, not a list"),
        ('no-canaries = "yes"', "tool.doctor.no-canaries wants true or false, not a text"),
        ("timeout = true", "tool.doctor.timeout wants a number, not true or false"),
        ("timeout = nan", "tool.doctor.timeout wants a number"),
        ("timeout = 1e400", "tool.doctor.timeout wants a number"),
        ("timeout = 0.01", "tool.doctor.timeout: 0.01 is not in the range"),
        (
            'expect = ["candel-metal"]',
            "tool.doctor.expect: candel-metal is no device; did you mean candle-metal?",
        ),
        (
            'report = ["json=x"]',
            (
                "tool.doctor.report is for flags and DOCTOR_REPORT alone: a project does not "
                "choose which files are written"
            ),
        ),
        ("network = true", "tool.doctor.network is for flags and DOCTOR_NETWORK alone"),
        ("ignore = 3", "tool.doctor.ignore is a list of tables"),
        ('ignore = [{id = "x"}]', "tool.doctor.ignore.reason has to be there"),
        (
            'ignore = [{id = "x", reason = " ", until = 2027-01-31}]',
            "tool.doctor.ignore.reason has to be there",
        ),
        *(
            (
                f'ignore = [{{id = "*", reason = "{blank}", until = 2027-01-31}}]',
                "tool.doctor.ignore.reason has to be there",
            )
            for blank in (
                "\u200b",
                "\u2060\u00ad",
                "\u00a0\u3000",
                "\u3164",
                "\u2800",
                "\ufe0f",
                "-",
            )
        ),
        (
            'ignore = [{id = "x", reason = "y"}]',
            "tool.doctor.ignore.until has to be there as a day",
        ),
        (
            'ignore = [{id = "x", reason = "y", until = "soon"}]',
            "tool.doctor.ignore.until has to be there as a day",
        ),
        (
            'ignore = [{id = "x", reason = "y", until = 2027}]',
            "tool.doctor.ignore.until has to be there as a day",
        ),
        (
            'ignore = [{id = "x", reason = "y", til = 2027-01-31}]',
            "tool.doctor.ignore.til is no key of an ignore; did you mean until?",
        ),
        (
            'ignore = [{id = "x", reason = "y", until = 2027-01-31, match = 3}]',
            "tool.doctor.ignore.match",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, line: str, why: str) -> None:
    path = write(tmp_path, f'[project]\nname = "x"\n[tool.doctor]\n# a comment\n{line}\n')
    with pytest.raises(UsageError) as raised:
        app(["config", "--project", str(tmp_path)], standalone_mode=False)
    assert str(raised.value).startswith(f"{path}:5: {why}")


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[tool.other]\nx = 1\n",
        '[project]\ndependencies = ["canary-doctor"]\n',
        "doctor = [broken",
        "[tool.doctors]\nx = 1\n",
        "\xff\xfe",
    ],
    ids=[
        "empty",
        "another tool",
        "a dependency",
        "broken, and not ours",
        "nearly our name",
        "no UTF-8",
    ],
)
def test_a_file_without_our_table_says_nothing(tmp_path: Path, body: str) -> None:
    (tmp_path / "pyproject.toml").write_bytes(body.encode("latin-1"))
    assert nearest(tmp_path) is None


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"[tool.doctor\n", "it is no TOML"),
        (b"[tool.doctor]\nx = " + b"[" * 50_000, "it is no TOML"),
        (b"[tool.doctor]\nx = '\xff'\n", "it is not UTF-8 (byte 20)"),
        (b"[tool.doctor]\n" + b"#" * (1 << 20), "it is larger than 1 MiB"),
        (b"[tool]\ndoctor = 3\n", "tool.doctor has to be a table"),
        (b"tool.doctor = []\n", "tool.doctor has to be a table"),
    ],
    ids=["unfinished", "deep", "bytes", "huge", "a number", "a list"],
)
def test_a_broken_file_is_a_sentence(tmp_path: Path, body: bytes, why: str) -> None:
    (tmp_path / "pyproject.toml").write_bytes(body)
    with pytest.raises(UsageError, match=r"pyproject\.toml") as raised:
        nearest(tmp_path)
    assert why in str(raised.value)


@pytest.mark.parametrize(
    "body",
    [
        '[tool]\ndoctor = {fail-on = "note"}\n',
        'tool.doctor.fail-on = "note"\n',
        '[ tool . "doctor" ]\nfail-on = "note"\n',
        'tool = {doctor = {fail-on = "note"}}',
    ],
)
def test_the_table_is_found_however_it_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str
) -> None:
    write(tmp_path, body)
    assert won(capsys, tmp_path, "fail-on")[:2] == ("note", "file")


def test_the_nearest_table_counts_and_none_from_outside_the_repository(tmp_path: Path) -> None:
    write(tmp_path, "[tool.doctor]\n")
    write(tmp_path / "a", "[tool.doctor]\n")
    write(tmp_path / "a/b", "[project]\n")
    (tmp_path / "other/.git").mkdir(parents=True)
    found = nearest(tmp_path / "a/b")
    assert found is not None
    assert found.path == tmp_path / "a/pyproject.toml"
    assert nearest(tmp_path / "other") is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such pipes here")
def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pyproject.toml")
    (tmp_path / ".git").mkdir()
    assert nearest(tmp_path) is None


def test_config_lists_ignores_and_stray_variables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, f"[tool.doctor]\n\n{_IGNORE}\n{_IGNORE.replace('2027-01-31', '2001-01-01')}")
    monkeypatch.setenv("DOCTOR_ZEBRA", "1")
    found = told(capsys, tmp_path)
    assert [(each["place"], each["expired"]) for each in found["ignores"]] == [
        ("pyproject.toml:3", False),
        ("pyproject.toml:8", True),
    ]
    assert found["unknown_variables"] == ["DOCTOR_ZEBRA"]


def test_config_is_text_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, f'[tool.doctor]\nfail-on = "note"\n{_IGNORE}')
    app(["config", "--project", str(tmp_path)], standalone_mode=False)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == str(path)
    assert f"fail-on note {path}:2" in lines
    assert "ignore torch/* until 2027-01-31: known pyproject.toml:3" in lines


def test_a_mistake_in_a_variable_is_named_after_it(tmp_path: Path) -> None:
    said = doctor("check", cwd=tmp_path, env={"DOCTOR_FAIL_ON": "wrning"})
    assert (said.code, said.out) == (2, "")
    assert "DOCTOR_FAIL_ON" in said.err
    said = doctor("check", cwd=tmp_path, env={"DOCTOR_EXPECT": "cudda", "DOCTOR_FAIL_NO": "note"})
    assert said.code == 2
    assert "DOCTOR_EXPECT: cudda is no device; did you mean cuda?" in said.err
    assert "the variable DOCTOR_FAIL_NO is no setting; did you mean DOCTOR_FAIL_ON?" in said.err


def test_a_glob_of_the_file_that_names_nothing_is_named_by_its_place(tmp_path: Path) -> None:
    path = write(tmp_path, '[tool.doctor]\nonly = ["zebra/*"]\n')
    said = doctor("check", cwd=tmp_path)
    assert said.code == 2
    assert (
        f"{path}:2: tool.doctor.only zebra/*: no check and no known issue has such an id"
        in said.err
    )
