"""`pytest --doctor`: one examination, before anything of the project is imported.

A broken stack ends the run.
"""

from __future__ import annotations

import ast
import json
import os
import re
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests import environments, toy
from tests.promises.sources import ROOT

pytest_plugins = ("pytester",)

PLUGIN = ROOT / "pytest-plugin"
_ERROR = {
    "severity": "error",
    "id": "torch/no-kernel-image",
    "title": "torch has no code for this GPU",
    "fixes": [
        {"title": "Take another build", "commands": ["/venv/bin/python -m pip install torch"]}
    ],
}
_ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
_WARNING = {"severity": "warning", "id": "cuda/old", "title": "An old toolkit", "fixes": []}


class Project:
    """Make a project with one test, and a fake doctor that counts its starts."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester, self.folder = pytester, pytester.path
        pytester.makepyfile(
            test_one="def test_one():\n    pass\n", test_two="def test_two():\n    pass\n"
        )

    def doctor(self, body: str) -> str:
        """Write a command that notes how it was called and then does as `body` says.

        Return the option that names it.
        """
        script = self.folder / "fake doctor"
        noted = f"open({str(self.folder / 'calls')!r}, 'a').write(repr(sys.argv[1:]) + chr(10))"
        script.write_text(
            f"#!{sys.executable}\nimport sys, json, time\n{noted}\n{body}\n", encoding="utf-8"
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return f"--doctor-command={script}"

    def says(self, code: int, *findings: dict[str, Any], name: str = "canary-doctor") -> str:
        """Write a doctor that reports these findings."""
        document = {
            "doctor": {"name": name, "version": "1.2.3"},
            "exit_code": code,
            "findings": findings,
        }
        return self.doctor(f"print({json.dumps(document)!r}); sys.exit({code})")

    def calls(self) -> list[list[str]]:
        """Return the arguments of each start of the fake doctor."""
        path = self.folder / "calls"
        return (
            [ast.literal_eval(line) for line in path.read_text(encoding="utf-8").splitlines()]
            if path.exists()
            else []
        )

    def pytest(
        self, *arguments: str, plugin: bool = True, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Run pytest in the project as its own process, with only the plugins in `arguments`."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTEST_", "DOCTOR_"))
        }
        named = ["-p", "pytest_canary_doctor"] if plugin else []
        return subprocess.run(
            [sys.executable, "-m", "pytest", *named, *arguments],
            cwd=self.folder, env={**kept, **_ALONE, "PYTHONPATH": str(PLUGIN), **env},
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A project to run pytest in."""
    return Project(pytester)


def test_a_healthy_stack_is_one_line_of_the_header(project: Project) -> None:
    ran = project.pytest("--doctor", project.says(0))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [line for line in ran.stdout.splitlines() if "doctor" in line] == [
        "doctor: no findings (canary-doctor 1.2.3)"
    ]
    assert project.calls() == [
        ["check", "--python", sys.executable, "--changed", "--format", "json"]
    ]


def test_warnings_are_counted_and_named(project: Project) -> None:
    ran = project.pytest(
        "--doctor", project.says(0, _WARNING, {**_WARNING, "suppressed": {"by": "ignore"}})
    )
    assert ran.returncode == 0
    assert "doctor: 1 warning (cuda/old)" in ran.stdout.splitlines()


def test_a_broken_stack_ends_the_run_before_conftest_is_imported(project: Project) -> None:
    (project.folder / "conftest.py").write_text("import no_such_module\n", encoding="utf-8")
    ran = project.pytest("--doctor", project.says(1, _ERROR, _WARNING))
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert "no_such_module" not in ran.stdout + ran.stderr
    assert ran.stderr.splitlines()[:5] == [
        (
            f"ERROR: doctor: the stack of {sys.executable} is broken (1 error, 1 warning), so "
            "no test was run"
        ),
        "  error: torch has no code for this GPU  [torch/no-kernel-image]",
        "    Take another build",
        "      $ /venv/bin/python -m pip install torch",
        "  and 1 more",
    ]


def test_a_plugin_that_a_conftest_names_still_ends_the_run(project: Project) -> None:
    (project.folder / "conftest.py").write_text(
        "pytest_plugins = ['pytest_canary_doctor']\n", encoding="utf-8"
    )
    command = project.says(1, _ERROR).partition("=")[2]
    (project.folder / "pytest.ini").write_text(
        f"[pytest]\ndoctor = true\ndoctor_command = {command}\n", encoding="utf-8"
    )
    ran = project.pytest(plugin=False)
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert "so no test was run" in ran.stderr
    assert "passed" not in ran.stdout


def test_nothing_happens_unasked_or_where_no_test_would_run(project: Project) -> None:
    doctor = project.says(1, _ERROR)
    assert project.pytest(doctor).returncode == 0
    for option in ("--help", "--markers", "--fixtures", "--no-doctor"):
        assert project.pytest("--doctor", doctor, option).returncode == 0
    assert project.calls() == []


@pytest.mark.parametrize("more", [("-q",), ("-p", "xdist", "-n", "2"), ("--co",)], ids=str)
def test_a_broken_stack_is_told_however_pytest_is_started(
    project: Project, more: tuple[str, ...]
) -> None:
    ran = project.pytest("--doctor", project.says(1, _ERROR), *more)
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert "      $ /venv/bin/python -m pip install torch" in ran.stderr.splitlines()
    assert len(project.calls()) == 1


def test_without_a_header_only_what_is_remarkable_is_told(project: Project) -> None:
    warned = project.pytest("--doctor", project.says(0, _WARNING), "-q")
    assert (warned.returncode, warned.stderr) == (0, "doctor: 1 warning (cuda/old)\n")
    healthy = project.pytest("--doctor", project.says(0), "-q")
    assert (healthy.returncode, healthy.stderr) == (0, "")


def test_the_settings_say_the_same(project: Project) -> None:
    command = project.says(0).partition("=")[2]
    settings = f"[pytest]\ndoctor = true\ndoctor_command = {command}\ndoctor_args = --expect cuda\n"
    (project.folder / "pytest.ini").write_text(settings, encoding="utf-8")
    assert project.pytest().returncode == 0
    assert project.calls() == [
        ["check", "--python", sys.executable, "--changed", "--expect", "cuda", "--format", "json"]
    ]


def test_more_options_are_handed_on(project: Project) -> None:
    project.pytest("--doctor", project.says(0), '--doctor-args=--fail-on warning --skip "a b"')
    more = ["--fail-on", "warning", "--skip", "a b", "--format", "json"]
    assert project.calls()[0][4:] == more


def test_what_is_reused_can_be_decided(project: Project) -> None:
    project.pytest("--doctor", project.says(0), "--doctor-args=--fresh")
    assert project.calls()[0][3:] == ["--fresh", "--format", "json"]


def test_workers_of_xdist_examine_nothing(project: Project) -> None:
    ran = project.pytest("--doctor", project.says(0), "-p", "xdist", "-n", "2")
    assert (ran.returncode, len(project.calls())) == (0, 1)
    assert "2 passed" in ran.stdout


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("print('hello')", "gave no report; is it another tool's?"),
        (
            "sys.stderr.write('doctor: no such interpreter'); sys.exit(3)",
            "doctor: nothing was examined: doctor: no such interpreter",
        ),
        ("print('{\"doctor\": []}')", "gave no report"),
        ("print('[' * 100000)", "gave no report"),
        ("sys.stdout.buffer.write(b'\\xff\\xfe')", "gave no report"),
    ],
)
def test_a_doctor_that_cannot_tell_ends_the_run(project: Project, body: str, line: str) -> None:
    ran = project.pytest("--doctor", project.doctor(body))
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    first, second = ran.stderr.split("\n")[:2]
    assert first.startswith("ERROR: doctor: nothing was examined")
    assert line in first
    assert second == "  pytest --no-doctor runs the tests all the same"
    assert "passed" not in ran.stdout


def test_another_tools_report_is_not_believed(project: Project) -> None:
    ran = project.pytest("--doctor", project.says(1, _ERROR, name="env-doctor"))
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert "is it another tool's?" in ran.stderr


def test_a_missing_command_ends_the_run(project: Project) -> None:
    ran = project.pytest("--doctor", "--doctor-command=/no/such/doctor")
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert "nothing was examined: there is no command /no/such/doctor" in ran.stderr
    none = project.pytest("--doctor", PATH="/nowhere")
    assert none.returncode == pytest.ExitCode.USAGE_ERROR
    assert "neither canary-doctor nor doctor is on PATH" in none.stderr


def test_a_doctor_that_hangs_is_ended(project: Project) -> None:
    doctor = project.doctor("import os; open('pid', 'w').write(str(os.getpid())); time.sleep(600)")
    started = time.monotonic()
    ran = project.pytest("--doctor", doctor, "--doctor-timeout=1")
    assert time.monotonic() - started < 30
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert "doctor took longer than 1 s" in ran.stderr
    with pytest.raises(ProcessLookupError):
        os.kill(int((project.folder / "pid").read_text(encoding="utf-8")), 0)


def test_what_it_shows_holds_no_control_characters(project: Project) -> None:
    evil = {
        **_ERROR,
        "title": "a\x1b[31m\nb\u202e" + "x" * 5000,
        "fixes": [{"title": "t", "commands": ["run\x07 this"]}],
    }
    ran = project.pytest("--doctor", project.says(1, evil))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", ran.stderr)
    assert max(map(len, ran.stderr.splitlines())) < 400


def test_nothing_to_judge_is_no_reason_to_stop(project: Project) -> None:
    ran = project.pytest("--doctor", project.says(4))
    assert ran.returncode == 0
    assert f"doctor: nothing to judge in {sys.executable}" in ran.stdout


def test_the_real_doctor_is_understood(project: Project) -> None:
    facts = {
        "torch.version": "2.13.0",
        "requires.torchvision.torch.met": False,
        "requires.torchvision.torch.specifier": "==2.4.1",
    }
    snapshot = project.folder / "sick.json"
    snapshot.write_bytes(toy.snapshot({**facts, "requires.torchvision.torch.installed": "2.13.0"}))
    command = f"--doctor-command={sys.executable} -m doctor"
    ran = project.pytest(
        "--doctor",
        command,
        f"--doctor-args=--from {snapshot}",
        PYTHONPATH=f"{PLUGIN}{os.pathsep}{ROOT}",
    )
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR, ran.stdout + ran.stderr
    assert "[torchvision/other-torch]" in ran.stderr


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("--doctor-args=--bogus", "Error: No such option '--bogus'."),
        ("--doctor-args=--from nothing.json", "nothing.json"),
    ],
)
def test_the_real_doctor_names_what_it_does_not_understand(
    project: Project, option: str, why: str
) -> None:
    command = f"--doctor-command={sys.executable} -m doctor"
    path = f"{PLUGIN}{os.pathsep}{ROOT}"
    ran = project.pytest("--doctor", "-q", command, option, PYTHONPATH=path)
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert "nothing was examined" in ran.stderr.splitlines()[0]
    assert why in ran.stderr.splitlines()[0]


def test_this_run_does_not_load_it(request: pytest.FixtureRequest) -> None:
    loaded = {
        getattr(plugin, "__name__", "") for plugin in request.config.pluginmanager.get_plugins()
    }
    assert "pytest_canary_doctor" not in loaded


def test_its_grammar_is_that_of_the_oldest_python_that_it_declares() -> None:
    source = (PLUGIN / "pytest_canary_doctor.py").read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 8))
    assert 'requires-python = ">=3.8"' in (PLUGIN / "pyproject.toml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin's own wheel."""
    folder = tmp_path_factory.mktemp("plugin")
    command = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "--target",
        "wheel",
        "--directory",
        str(folder),
    ]
    subprocess.run(command, cwd=PLUGIN, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_its_wheel_holds_one_module_and_asks_for_pytest_alone(built: Path) -> None:
    with zipfile.ZipFile(built) as archive:
        metadata = next(
            archive.read(name).decode() for name in archive.namelist() if name.endswith("METADATA")
        )
        assert [name for name in archive.namelist() if ".dist-info/" not in name] == [
            "pytest_canary_doctor.py"
        ]
    assert re.findall(r"(?m)^Requires-Dist: (.*)$", metadata) == ["pytest>=7"]


@pytest.mark.patient
def test_its_wheel_is_found_by_pytest_where_it_is_installed(
    built: Path, project: Project, tmp_path: Path
) -> None:
    environments.make(tmp_path / "venv", (str(built),))
    python = environments.interpreter(tmp_path / "venv")
    command = [str(python), "-m", "pytest", "--doctor", project.says(1, _ERROR)]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ran = subprocess.run(
        command, cwd=project.folder, env=env, capture_output=True, text=True, check=False
    )
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"the stack of {python} is broken" in ran.stderr
