"""What a person has to put in, `<package>`: no installer and no shell takes it at its word."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.catalog.loading import load
from doctor.fixes.attach import with_fixes
from doctor.fixes.shell import Shell, line
from doctor.judge.match.reach_fixes import FIXES
from doctor.lint.issue import lint_recipe
from doctor.model.facts import present
from doctor.model.findings import Detection
from doctor.model.fixes import Command, Fix
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Confidence, Severity
from doctor.report.view.words import flags

_OFFLINE = {
    "PIP_NO_INDEX": "1",
    "UV_OFFLINE": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "HTTPS_PROXY": "http://127.0.0.1:9",
}


def _fix(*recipes: Recipe, uv: bool = False) -> Fix:
    facts = {
        "python.executable": present(sys.executable, "test"),
        "python.has_pip": present(not uv, "test"),
        "torch.release": present("2.6.0", "test"),
    }
    if uv:
        facts["python.uv"] = present("uv", "test")
    found = Detection(
        id="x/y",
        target="",
        title="",
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        message="",
        evidence=(),
        recipes=recipes,
    )
    return with_fixes([found], facts)[0].fixes[0]


def _upgrade(
    *install: str, options: tuple[Option, ...] = (Option.UPGRADE, Option.HOLD_TORCH)
) -> Recipe:
    return Recipe(
        title="Take another",
        steps=(Action(install=install, options=options),),
    )


def _run(*argv: str) -> Recipe:
    return Recipe(title="x", steps=(Action(run=argv),))


def test_a_fix_that_asks_for_a_name_says_so_and_is_never_safe() -> None:
    asking, concrete = _fix(_upgrade("<package>==<older-release>")), _fix(_upgrade("numpy<2"))
    assert (asking.asks, asking.safe, flags(asking)) == (
        {"package": "package", "older-release": "older release"},
        False,
        "replace <package>, <older-release>",
    )
    assert (concrete.asks, concrete.safe, flags(concrete)) == ({}, True, "")


def test_pip_is_made_once_for_both_commands() -> None:
    facts = {
        "python.executable": present("/v/bin/python", "test"),
        "python.has_pip": present(False, "test"),
    }
    recipe = Recipe(
        title="x",
        steps=(
            Action(uninstall=("a",)),
            Action(install=("b",)),
        ),
    )
    found = Detection(
        id="x/y",
        target="",
        title="",
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        message="",
        recipes=(recipe,),
    )
    steps = [command.argv[2:4] for command in with_fixes([found], facts)[0].fixes[0].commands]
    assert steps == [("ensurepip", "--upgrade"), ("pip", "uninstall"), ("pip", "install")]


def test_what_takes_a_release_from_a_package_that_pins_it_comes_last_and_says_so() -> None:
    facts = {"packages": present({"numba": "0.61.2", "numpy": "2.4.6", "vllm": "0.8.5"}, "test")}
    facts["requires.vllm.numba.specifier"] = present("==0.61.2", "test")
    recipes = (
        _upgrade("numba", options=(Option.UPGRADE,)),
        Recipe(
            title="y",
            steps=(Action(install=("numpy<2.3",)),),
        ),
    )
    found = Detection(
        id="x/y",
        target="",
        title="",
        severity=Severity.ERROR,
        confidence=Confidence.HIGH,
        message="",
        recipes=recipes,
    )
    told = with_fixes([found], facts)[0].fixes
    pinned = "vllm asks for numba==0.61.2 and has to move as well."
    assert [(one.title, one.note) for one in told] == [("y", ""), ("Take another", pinned)]
    moved_on = {
        **facts,
        "packages": present({"numba": "0.68.1", "numpy": "2.4.6", "vllm": "0.8.5"}, "test"),
    }
    assert with_fixes([found], moved_on)[0].fixes[0].title == "Take another"


def test_with_uv_the_package_that_is_put_in_is_the_one_that_moves() -> None:
    argv = _fix(_upgrade("<package>"), uv=True).commands[-1].argv
    assert argv[-4:] == ("--upgrade-package", "<package>", "<package>", "torch==2.6.0")


@pytest.mark.parametrize(
    "word", ["<package>", "<wheel>", "<file>.whl", "./<wheel>", "<package>==<older-release>"]
)
@pytest.mark.parametrize("program", ["pip", "uv"])
def test_installers_refuse_the_printed_command(word: str, program: str, tmp_path: Path) -> None:
    for name in ("package", "wheel", "file"):
        (tmp_path / name).write_text("what a redirect would read", encoding="utf-8")
    start = (
        (sys.executable, "-m", "pip", "install")
        if program == "pip"
        else ("uv", "pip", "install", "--python", sys.executable)
    )
    said = line(Command(argv=(*start, "--dry-run", word)))
    shell = shutil.which("sh")
    assert shell
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    ended = subprocess.run(
        [shell, "-c", said],
        cwd=tmp_path,
        env={**os.environ, **_OFFLINE, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode
    refusals = (
        "Invalid requirement",
        "Failed to parse",
        "does not exist",
        "not found",
        "not a valid",
        "is invalid",
    )
    assert any(words in ended.stderr for words in refusals), ended.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "package", "wheel"]


def test_the_windows_console_is_given_no_redirect() -> None:
    said = line(Command(argv=("pip", "install", "<package>", "numpy<2", "a b>c")), Shell.CMD)
    assert said == 'pip install "<package>" "numpy<2" "a b>c"'


def test_no_fix_of_the_catalog_or_of_a_rule_holds_a_word_that_is_taken_for_a_name() -> None:
    columns = [
        recipe
        for table in load().tables.values()
        for column in table.columns.values()
        for recipe in column.fixes
    ]
    issues = [recipe for issue in load().issues.values() for recipe in issue.fixes]
    rules = [recipe for recipes in FIXES.values() for recipe in recipes]
    assert len(issues) > len(rules) > 0
    assert [
        fault
        for recipe in (*issues, *columns, *rules)
        for fault in lint_recipe(recipe)
        if "would" in fault
    ] == []


@pytest.mark.parametrize(
    ("recipe", "fault"),
    [
        (_upgrade("PACKAGE"), "PACKAGE would be taken for a name: write <package>"),
        (_upgrade("LIBRARY<VERSION"), "VERSION would be taken for a name"),
        (
            _run("docker", "run", "nvcr.io/x:RELEASE"),
            "write <release>",
        ),
        (
            _run("nvidia-smi", "-i", "GPU"),
            "write <gpu>",
        ),
        (
            _run("sh", "-c", "mkdir <disk>/tmp"),
            "<disk> in a line for a shell",
        ),
        (
            Recipe(
                title="x",
                steps=(Action(run=("x", "y")),),
                verify=("sh", "-c", "docker run <image> nvidia-smi"),
            ),
            "<image> in a line",
        ),
    ],
)
def test_lint_refuses_a_word_that_an_installer_or_a_shell_takes(recipe: Recipe, fault: str) -> None:
    assert any(fault in found for found in lint_recipe(recipe))


@pytest.mark.parametrize(
    "argv",
    [
        ("cmake", "-DGGML_CUDA=ON"),
        ("env", "-u", "LD_LIBRARY_PATH", "python"),
        ("nvidia-smi", "-q", "-d", "ECC,ROW_REMAPPER"),
        ("sh", "-c", 'docker run "$1"', "sh", "<image>"),
        ("env", "TMPDIR=/x", "make"),
    ],
)
def test_lint_knows_what_a_program_is_really_told(argv: tuple[str, ...]) -> None:
    assert (
        list(
            lint_recipe(
                Recipe(
                    title="x",
                    steps=(Action(run=argv),),
                )
            )
        )
        == []
    )
