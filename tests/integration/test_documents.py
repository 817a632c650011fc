"""doctor understands every command that the documents and templates show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer
import yaml

from doctor.catalog.check_headers import load_checks
from doctor.cli.app import app
from doctor.cli.templates import PLACES, filled
from doctor.lint import lint
from tests.command import doctor
from tests.promises.sources import ROOT

_COMMAND = re.compile(r"\bdoctor\"? (check (?:[^\n'\"&|]|'[^'\n]*')*)")
_DOCUMENTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "docs" / "decisions").glob("*.md"),
    *(ROOT / folder / "README.md" for folder in ("checks", "pytest-plugin")),
]
_LINE = re.compile(r"(?:\.venv/bin/|canary-)?doctor ([a-z].*)")
_HEALTHY = ROOT / "fixtures" / "observations" / "healthy-without-gpu.json"
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
SNIPPETS = [
    (found[1], found[2])
    for found in re.finditer(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
]


def commands(text: str) -> list[list[str]]:
    """Return the arguments of each `doctor check` in a text, its folded lines put together."""
    unfolded = re.sub(r"\s*\\?\n +(?=--)", " ", text)
    return [shlex.split(found[1]) for found in _COMMAND.finditer(unfolded)]


def test_every_snippet_in_yaml_can_be_read() -> None:
    read = [yaml.safe_load(text) for kind, text in SNIPPETS if kind == "yaml"]
    assert len(read) == 5
    assert all(read)


def test_the_action_is_used_with_inputs_and_outputs_that_it_has() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    used = yaml.safe_load(SNIPPETS[1][1])
    assert set(used[0]["with"]) <= set(action["inputs"])
    assert set(re.findall(r"steps\.doctor\.outputs\.([\w-]+)", SNIPPETS[1][1])) <= set(
        action["outputs"]
    )
    table = "".join(line for line in PAGE.splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`([a-z-]+)`", table.replace("`doctor check`", ""))) == set(
        action["inputs"]
    )


@pytest.mark.parametrize(
    "text",
    [
        *(pytest.param(filled(kind), id=kind) for kind in sorted(PLACES)),
        pytest.param(PAGE, id="page"),
    ],
)
def test_every_command_is_understood(text: str, tmp_path: Path) -> None:
    for arguments in commands(text):
        reports = [
            word.partition("=")[2]
            for word in arguments
            if re.match(r"[a-z]+=.*\.\w+$", word) and not word.startswith("gpu")
        ]
        local = [word.replace("/opt/", "") for word in arguments]
        said = doctor(*local, "--from", str(_HEALTHY), cwd=tmp_path)
        assert said.code in (0, 1), f"{shlex.join(arguments)}: {said.err}"
        assert all((tmp_path / Path(path).name).is_file() for path in reports)


def test_every_template_and_most_of_the_page_gives_a_command() -> None:
    # The hook of pre-commit calls `doctor plan`.
    assert all(commands(filled(kind)) for kind in PLACES if kind != "pre-commit")
    assert len(commands(PAGE)) >= 4


def shell_lines(text: str) -> list[str]:
    """Return the lines of all shell blocks of a document."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.mark.parametrize("path", _DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_shell_line_has_options_that_exist(path: Path) -> None:
    """The line is parsed as the command line would parse it, and not run."""
    group = typer.main.get_command(app)
    for line in shell_lines(path.read_text(encoding="utf-8")):
        if (shown := _LINE.match(line)) is None:
            continue
        name, *arguments = shlex.split(shown[1], comments=True)
        with group.make_context("doctor", [name]) as parent:
            command = parent.command.get_command(parent, name)  # type: ignore[attr-defined]
            assert command is not None, line
            command.make_context(name, arguments, parent=parent)


def test_every_script_that_a_document_names_exists() -> None:
    lines = [line for path in _DOCUMENTS for line in shell_lines(path.read_text(encoding="utf-8"))]
    scripts = {found[1] for line in lines for found in re.finditer(r"python (\S+\.py)\b", line)}
    modules = {found[1] for line in lines for found in re.finditer(r"python -m (\S+)", line)}
    ours = {name for name in modules if name.split(".")[0] in ("benchmarks", "doctor", "tests")}
    assert {"benchmarks/diagnosis.py", "benchmarks/static_check.py"} <= scripts
    assert {"doctor.site.generate", "tests.fuzz", "benchmarks.gpu_day"} <= ours
    files = [ROOT / path for path in scripts if "/" in path]
    files += [ROOT.joinpath(*name.split(".")) for name in ours]
    assert not [path for path in files if not (path.exists() or path.with_suffix(".py").exists())]


def test_the_readme_shows_the_main_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = {found[1].split()[0] for line in shell_lines(text) if (found := _LINE.match(line))}
    assert {"check", "diagnose", "run", "snapshot", "diff", "explain"} <= shown


def test_the_known_issue_of_the_contributing_page_passes_lint(tmp_path: Path) -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = re.search(r"^```yaml\n(title: .*?)^```", page, re.MULTILINE | re.DOTALL)
    assert found
    entry = tmp_path / "issues" / "torchvision" / "other-torch.yaml"
    entry.parent.mkdir(parents=True)
    (tmp_path / "compat").mkdir()
    entry.write_text(found[1], encoding="utf-8")
    assert lint(tmp_path, load_checks()) == ()
