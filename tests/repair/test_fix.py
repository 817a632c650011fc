"""`doctor fix` with a real uv on an environment of small wheels."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import doctor as doctor_api
from tests.command import Said, doctor
from tests.fingerprint import changes, fingerprint
from tests.repair.houses import HERE, WHEELS, House, house

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="clones of virtual environments")


@pytest.fixture(scope="module")
def sick(tmp_path_factory: pytest.TempPathFactory) -> House:
    """An environment that no test changes, or that is put back."""
    return house(tmp_path_factory.mktemp("sick"), WHEELS, *HERE)


def _contents(root: Path) -> dict[str, tuple[int, bytes]]:
    """Return mode and content of every entry; of a link its target."""
    return {
        str(path.relative_to(root)): (
            path.lstat().st_mode,
            os.fsencode(path.readlink())
            if path.is_symlink()
            else path.read_bytes()
            if path.is_file()
            else b"",
        )
        for path in root.rglob("*")
    }


def _fix(sick: House, *arguments: str, code: int = 0, **more: str) -> Said:
    words = ("fix", "--python", str(sick.python), "--no-canaries", "--offline")
    said = doctor(*words, *arguments, cwd=sick.root.parent, env={**sick.env, **more})
    assert said.code == code, said.out + said.err
    return said


def test_a_plan_is_confirmed_proved_and_leaves_the_patient_as_it_is(sick: House) -> None:
    before, beside = fingerprint(sick.root), sorted(sick.root.parent.iterdir())
    planned = _fix(sick, "--format", "json", code=1).report["plan"]
    assert planned["resolved"]
    assert planned["proof"] is None
    assert [(one["name"], one["from"], one["to"]) for one in planned["changes"]] == [
        ("numpy", "1.0", "2.0"),
        ("small", "1.0", "2.0"),
    ]
    program = ("python", "-c", "import numpy; raise SystemExit(numpy.__version__ < '2')")
    proved = _fix(sick, "--format", "json", "--prove", "--", *program).report
    assert proved["command"] == "fix"
    assert proved["exit_code"] == 0
    assert proved["plan"]["proof"]["verdict"] == "proved"
    assert "1 before, 0 afterwards" in proved["plan"]["proof"]["why"]
    (step,) = proved["plan"]["steps"]
    assert "numpy==2.0" in step["argv"]
    assert str(sick.python) in step["shells"]["sh"]
    assert changes(before, fingerprint(sick.root)) == []
    assert sorted(sick.root.parent.iterdir()) == beside


def test_what_was_proved_is_applied_and_undone_exactly(sick: House) -> None:
    before = _contents(sick.root)
    text = " ".join(_fix(sick, "--prove").out.split())
    assert f"fix --apply --python {sick.python}` carries it out here" in text
    assert "Applied" in _fix(sick, "--apply", "--yes").out
    assert list(sick.packages.glob("numpy-2.0.dist-info"))
    undone = doctor("fix", "--undo", "--yes", "--python", sick.python, cwd=sick.root, env=sick.env)
    assert undone.code == 0, undone.err
    assert _contents(sick.root) == before


def test_nobody_is_asked_where_nobody_can_answer(sick: House) -> None:
    before = fingerprint(sick.root)
    assert "--yes" in _fix(sick, "--apply", code=2).err
    assert "nothing" in _fix(sick, "--undo", "--yes", code=2).err
    assert "--prove" in _fix(sick, "--", "true", code=2).err
    assert changes(before, fingerprint(sick.root)) == []


def test_a_module_that_breaks_is_no_proof(sick: House) -> None:
    module = sick.packages / "other" / "__init__.py"
    before = module.read_bytes()
    module.write_text("import small\nassert small.__version__ == '1.0', 'other wants small 1'\n")
    try:
        said = _fix(sick, "--prove", "--", "python", "-c", "raise SystemExit(7)", code=1)
    finally:
        module.write_bytes(before)
    text = " ".join(said.out.split())
    assert "import other fails, and did not before: AssertionError: other wants small 1" in text
    assert "the program still ends with exit code 7" in text


def test_a_closed_environment_keeps_its_plan_and_is_not_changed(sick: House) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    sick.packages.chmod(0o555)
    try:
        said = _fix(sick, "--apply", "--yes", code=1)
    finally:
        sick.packages.chmod(0o755)
    assert "Nothing was applied" in said.out


def test_an_interrupted_proof_leaves_nothing(sick: House) -> None:
    before, beside = fingerprint(sick.root), sorted(sick.root.parent.iterdir())
    argv = [sys.executable, "-m", "doctor", "fix", "--python", str(sick.python), "--no-canaries"]
    child = subprocess.Popen(
        [*argv, "--offline", "--prove", "--", "python", "-c", "import time; time.sleep(60)"],
        cwd=sick.root,
        env=sick.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stderr is not None
    deadline = time.monotonic() + 60
    while "running python" not in (line := child.stderr.readline()):
        assert line, "doctor ended before the program began"
        assert time.monotonic() < deadline
    os.killpg(child.pid, signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert changes(before, fingerprint(sick.root)) == []
    assert sorted(sick.root.parent.iterdir()) == beside


def test_a_plan_in_markdown_and_in_80_columns(sick: House) -> None:
    markdown = _fix(sick, "--format", "markdown", code=1).out
    assert "**Plan**" in markdown
    assert "```sh\nuv pip install" in markdown
    told = _fix(sick, "-q", code=1, COLUMNS="80")
    lines = [line for line in told.out.splitlines() if "uv pip" not in line]
    assert max(map(len, lines)) <= 80
    assert told.err == ""


def test_a_program_gets_the_plan_from_python(sick: House, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in sick.env.items():
        monkeypatch.setenv(name, value)
    report = doctor_api.fix(
        python=sick.python, project=sick.root.parent, no_canaries=True, offline=True
    )
    assert report.exit_code == 1
    assert report.plan is not None
    assert [one.name for one in report.plan.changes] == ["numpy", "small"]
