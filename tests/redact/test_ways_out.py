"""No secret leaves: by no format, no command that shows others' text, no standard error."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from doctor import api
from doctor.model.facts import present
from doctor.model.observation import Log, Observation, ProbeFailure, Target, TargetKind
from doctor.model.outcomes import Case, Outcome, Verdict
from doctor.redact import HIDDEN
from tests.command import doctor
from tests.redact import aside, corpus
from tests.redact.lines import Line, made, pieces

LINES = made((*corpus.SECRETS, *aside.SECRETS))
_FORMATS = ("text", "json", "sarif", "junit", "gitlab", "markdown", "html", "github", "nhc")
_COMMANDS = ("##vso[task.complete]", "##teamcity[x]", "##[group]", "section_start:")
_WINDOW = 8
_PIECES = [
    (line.name, piece) for line in LINES for secret in line.secrets for piece in pieces(secret)
]


def leaks(shown: str) -> list[tuple[str, str]]:
    """Return which secrets stand in a text, or eight characters of them in a row."""
    parts = {shown[start : start + _WINDOW] for start in range(len(shown))}
    return [(name, piece) for name, piece in _PIECES if _holds(shown, parts, piece)]


def _holds(shown: str, parts: set[str], piece: str) -> bool:
    return piece in parts if len(piece) == _WINDOW else piece in shown


def _outcome(number: int, line: Line) -> Outcome:
    text = f"RuntimeError: {line.text}"
    return Outcome(
        id=f"kind-{number}",
        target="interpreter",
        verdict=Verdict.FAILED,
        device="cpu",
        reason=text,
        # What is cut at 300 characters, or at 4,000, is cut within the secret.
        log=f"{'x' * (280 if number % 10 else 3985)} {line.text}",
        cases={"one": Case(verdict=Verdict.FAILED, reason=line.text)},
        data={"told": [line.text], "seen": line.text},
    )


def observation() -> Observation:
    """Return what was seen of a machine on which every text holds a secret."""
    facts = {
        f"package.kind-{number}.location": present(line.text, line.text)
        for number, line in enumerate(LINES)
    }
    facts["torch.version"] = present("2.7.0", "test")
    facts["nvidia.nvml"] = present(LINES[0].text, "test")
    return Observation(
        doctor_version="0.1.0",
        targets=(
            Target(
                name="interpreter",
                kind=TargetKind.INTERPRETER,
                path=LINES[2].text,
                chosen_by=LINES[3].text,
            ),
        ),
        facts=facts,
        outcomes=tuple(_outcome(number, line) for number, line in enumerate(LINES)),
        logs=(
            Log(
                source=LINES[1].text,
                lines=tuple(text for line in LINES for text in line.text.split("\n")),
            ),
        ),
        probe_failures=tuple(
            ProbeFailure(probe=f"kind-{number}", why=line.text) for number, line in enumerate(LINES)
        ),
    )


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("seen") / "seen.json"
    path.write_bytes(msgspec.json.encode(observation()))
    assert (
        len(
            {
                name
                for name, _ in leaks(
                    msgspec.json.decode(path.read_bytes(), type=Observation).__repr__()
                )
            }
        )
        > 100
    )
    return path


def test_no_format_shows_a_secret(snapshot: Path, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    reports = [f"--report={kind}={tmp_path / kind}" for kind in _FORMATS]
    said = doctor(
        "check", "--from", snapshot, "--format", "text", "-v", *reports, "--report", "github",
        cwd=tmp_path, env={"GITHUB_STEP_SUMMARY": str(summary)},
    )  # fmt: skip
    assert said.code == 1
    shown = {kind: (tmp_path / kind).read_text(encoding="utf-8") for kind in _FORMATS}
    shown |= {
        "standard output": said.out,
        "standard error": said.err,
        "summary": summary.read_text(encoding="utf-8"),
    }
    assert {kind: found for kind, text in shown.items() if (found := leaks(text))} == {}
    assert shown["json"].count(HIDDEN) > len(LINES)
    # These have titles alone, which hold none of it.
    titles = ("gitlab", "nhc")
    assert [
        kind
        for kind, text in shown.items()
        if HIDDEN.strip("[]") not in text and kind not in titles
    ] == []


def test_the_api_gives_no_secret(snapshot: Path) -> None:
    report = api.check(from_=snapshot)
    assert leaks(msgspec.json.encode(report).decode()) == []
    assert leaks(api.to_json(report)) == []


def test_what_changed_holds_no_secret(snapshot: Path, tmp_path: Path) -> None:
    (tmp_path / "before.json").write_bytes(
        msgspec.json.encode(msgspec.structs.replace(observation(), facts={}, outcomes=()))
    )
    for kind in ("text", "json"):
        said = doctor("diff", tmp_path / "before.json", snapshot, "--format", kind, cwd=tmp_path)
        assert said.code in (0, 1)
        assert leaks(said.out + said.err) == []


def _groups() -> Iterator[list[Line]]:
    """Yield the lines a few at a time: a log has one owner, and shows what is around it."""
    for start in range(0, len(LINES), 24):
        yield list(LINES[start : start + 24])


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "build.log"
    path.write_text(
        "".join(f"RuntimeError: {'z' * 270} {line.text}\n{line.text}\n" for line in LINES),
        encoding="utf-8",
    )
    return path


def test_what_is_made_of_a_log_holds_no_secret(log: Path, tmp_path: Path) -> None:
    for kind in ("text", "json", "markdown"):
        said = doctor("diagnose", log, "--format", kind, cwd=tmp_path)
        assert leaks(said.out + said.err) == []
    script = f"import sys; sys.stdout.write(open({str(log)!r}).read()); sys.exit(3)"
    env = {"DOCTOR_CACHE_DIR": str(tmp_path / "kept")}
    said = doctor("run", "--", sys.executable, "-c", script, cwd=tmp_path, env=env)
    assert said.code == 3
    assert leaks(said.err) == []
    (kept,) = (tmp_path / "kept").rglob("*.json")
    assert leaks(kept.read_text(encoding="utf-8")) == []


def test_a_known_issue_that_is_begun_holds_no_secret_and_no_name(tmp_path: Path) -> None:
    for number, group in enumerate(_groups()):
        lines = "\n".join(line.text for line in group)
        owner = (
            f"some.tool: error: the flux of /home/alice/x is off {group[0].text}\nalice@gpu-7:~$ "
            f"at 10.1.2.3:22 by bob@corp-mail.io"
        )
        text = f"{lines}\n{owner}\n{lines}\n"
        (tmp_path / f"{number}.log").write_text(text, encoding="utf-8")
        said = doctor("new-issue", f"{number}.log", cwd=tmp_path)
        assert said.code == 0
        assert leaks(said.out + said.err) == []
        assert not [name for name in ("alice", "bob@", "10.1.2.3", "gpu-7") if name in said.out], (
            said.out
        )


def test_what_is_said_on_standard_error_holds_no_secret(tmp_path: Path) -> None:
    python = tmp_path / "python"
    for line in [line for line in LINES if "\n" not in line.text][::12]:
        (tmp_path / "said").write_text(f"ValueError: cannot start: {line.text}\n", encoding="utf-8")
        python.write_text(f"#!/bin/sh\ncat {tmp_path / 'said'} >&2\nexit 1\n", encoding="utf-8")
        python.chmod(0o755)
        said = doctor("check", "--no-canaries", "--python", python, cwd=tmp_path)
        assert said.code == 3
        assert "cannot start" in said.err
        assert leaks(said.out + said.err) == []


def test_mistakes_repeat_no_secret(tmp_path: Path) -> None:
    token = next(line for line in LINES if line.name == "github-pat").secrets[0]
    for arguments in (
        ("check", "--tier", token),
        ("check", "--fail-on", token),
        ("check", "--only", token),
        ("check", "--assume", f"gpu={token}"),
        ("check", "--python", f"/nowhere/{token}/python"),
        ("check", "--from", f"/nowhere/{token}"),
        ("diagnose", f"/nowhere/{token}"),
        ("check", "--report", f"json=/nowhere/{token}/x"),
        (token,),
    ):
        said = doctor(*arguments, cwd=tmp_path)
        assert said.code in (2, 3, 4), arguments
        assert token[:12] not in said.out + said.err, arguments


def test_settings_show_no_secret(tmp_path: Path) -> None:
    token = next(line for line in LINES if line.name == "github-pat").secrets[0]
    (tmp_path / "pyproject.toml").write_text(
        f'[tool.doctor]\nproject = "x"\nskip = ["{token}"]\n', encoding="utf-8"
    )
    said = doctor("config", cwd=tmp_path)
    assert token[:12] not in said.out + said.err


@pytest.mark.parametrize("kind", [*_FORMATS, "summary"])
def test_no_format_commands_a_runner(kind: str, tmp_path: Path) -> None:
    text = (
        "RuntimeError: x ##vso[task.complete]a\n##teamcity[x]\na "
        "##[group]b\nsection_start:17:a\n::error::x"
    )
    outcome = msgspec.structs.replace(
        _outcome(0, LINES[0]),
        reason=text,
        log=text,
        cases={text: Case(verdict=Verdict.FAILED, reason=text)},
    )
    seen = msgspec.structs.replace(
        observation(),
        outcomes=(outcome,),
        probe_failures=(),
        facts={"torch.version": present(text, text)},
    )
    (tmp_path / "seen.json").write_bytes(msgspec.json.encode(seen))
    summary = tmp_path / "summary"
    wanted = "github" if kind == "summary" else f"{kind}={tmp_path / 'shown'}"
    said = doctor(
        "check",
        "--from",
        "seen.json",
        "--report",
        wanted,
        "-v",
        cwd=tmp_path,
        env={"GITHUB_STEP_SUMMARY": str(summary)},
    )
    shown = (summary if kind == "summary" else tmp_path / "shown").read_text(
        encoding="utf-8"
    ) + said.out
    assert not [command for command in _COMMANDS if command in shown]
    assert "task.complete" in shown
    assert not re.search(r"(?m)^\s*::(?!error |warning |notice )", shown)
