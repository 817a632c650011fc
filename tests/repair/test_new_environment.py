"""The plan for a Python of an operating system makes a new environment, and is proved in one."""

from __future__ import annotations

import ensurepip
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import uv

from doctor.environments.environment import environment_at
from doctor.host import Host
from doctor.model.fixes import Command, Step
from doctor.planning.resolver import plain
from doctor.repair.commands import Kind
from doctor.repair.new_environment import tasks_of
from tests.command import doctor
from tests.fingerprint import changes, fingerprint
from tests.repair.houses import WHEELS, House, house, make_wheel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a Python as Linux systems have it")


def _system_python(root: Path) -> Path:
    """Make a prefix with the mark of PEP 668; the standard library is that of this Python."""
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    library = root / "lib" / name
    (root / "bin").mkdir(parents=True)
    (library / "site-packages").mkdir(parents=True)
    for entry in Path(sysconfig.get_path("stdlib")).iterdir():
        if entry.name not in ("site-packages", "EXTERNALLY-MANAGED"):
            (library / entry.name).symlink_to(entry)
    (library / "EXTERNALLY-MANAGED").write_text("[externally-managed]\nError=use a venv\n")
    base = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    shutil.copy(base, root / "bin" / name)
    (root / "bin" / "python").symlink_to(name)
    return root / "bin" / "python"


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> House:
    """A Python of the operating system: numba asks for a newer numpy, a program for more."""
    folder = tmp_path_factory.mktemp("closed")
    made = house(folder, WHEELS, "small==1.0")
    seeds = Path(ensurepip.__file__).with_name("_bundled")
    for wheel in seeds.glob("pip-*.whl"):
        shutil.copy(wheel, made.wheels)
    if not list(made.wheels.glob("pip-*.whl")):
        pytest.skip("this Python brings no pip")
    make_wheel(made.wheels, "setuptools", "69.5.1", more={"pkg_resources/__init__.py": "x = 1\n"})
    make_wheel(made.wheels, "setuptools", "84.0")
    root = folder / "usr"
    python = _system_python(root)
    argv = [uv.find_uv_bin(), "pip", "install", "-q", "--no-deps", "--break-system-packages"]
    here = ("pip", "numba==0.61.0", "numpy==1.0", "small==1.0", "setuptools==84.0")
    env = {**made.env, "PIP_FIND_LINKS": str(made.wheels)}
    subprocess.run([*argv, "--python", str(python), *here], check=True, env=env)
    return House(root=root, python=python, wheels=made.wheels, env=env)


def test_a_new_environment_is_proved_with_what_the_program_says(closed: House) -> None:
    project = closed.root.parent / "project"
    project.mkdir()
    (project / "program.py").write_text(
        "import numpy\nassert numpy.__version__ == '2.0', 'old numpy'\nimport pkg_resources\n"
    )
    before = fingerprint(closed.root)
    said = doctor(
        *("fix", "--python", closed.python, "--no-canaries", "--offline", "--prove"),
        *("--format", "json", "--", "python", "program.py"),
        cwd=project,
        env=closed.env,
    )
    assert said.code == 0, said.out + said.err
    plan = said.report["plan"]
    assert plan["proof"]["verdict"] == "proved", plan["proof"]
    assert "1 before, 0 afterwards" in plan["proof"]["why"]
    make, install = plan["steps"]
    assert make["argv"][-1] == ".venv-above"
    assert "--system-site-packages" in make["argv"]
    assert install["argv"][0] == ".venv-above/bin/python"
    assert {*install["argv"][4:]} == {"numpy==2.0", "setuptools==69.5.1"}
    moved = {one["name"]: (one["from"], one["to"]) for one in plan["changes"]}
    assert moved == {
        "numpy": ("1.0", "2.0"),
        "setuptools": ("84.0", "69.5.1"),
        "small": ("1.0", "2.0"),
    }
    assert "Start your program with .venv-above/bin/python program.py" in plan["notes"]
    assert changes(before, fingerprint(closed.root)) == []
    assert [entry.name for entry in project.iterdir()] == ["program.py"]


def test_two_faults_beside_a_closed_python_are_both_ended(closed: House) -> None:
    """One of them is a file of the project, which no installer ends."""
    project = closed.root.parent / "two"
    project.mkdir()
    (project / "queue.py").write_text("own = 1\n")
    (project / "program.py").write_text("import queue\nqueue.LifoQueue\nimport pkg_resources\n")
    before = fingerprint(closed.root)
    said = doctor(
        *("fix", "--python", closed.python, "--no-canaries", "--offline", "--prove"),
        *("--format", "json", "--", "python", "program.py"),
        cwd=project,
        env=closed.env,
    )
    assert said.code == 0, said.out + said.err
    plan = said.report["plan"]
    assert plan["proof"]["verdict"] == "proved", plan["proof"]
    assert any("queue.py" in step["title"] for step in plan["steps"])
    assert "setuptools==69.5.1" in plan["steps"][-1]["argv"] + plan["steps"][1]["argv"]
    assert changes(before, fingerprint(closed.root)) == []
    assert {entry.name for entry in project.iterdir()} == {"program.py", "queue.py"}


def test_only_an_environment_above_this_one_is_made(
    closed: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = environment_at(closed.python, Host(env=closed.env))
    above = ("uv", "venv", "--system-site-packages", "--python", str(closed.python), ".new")
    install = (".new/bin/python", "-m", "pip", "install", "small")

    def kinds(*commands: tuple[str, ...]) -> list[Kind]:
        steps = [Step(command=Command(argv=argv)) for argv in commands]
        return [one.kind for one in tasks_of(steps, environment)]

    assert kinds(above, install) == [Kind.CREATE, Kind.INSTALL]
    monkeypatch.setattr(Host, "with_own_uv", lambda host: host.with_env({"DOCTOR_UV": "/own/uv"}))
    assert kinds(("/own/uv", *above[1:]), install) == [Kind.CREATE, Kind.INSTALL]
    for wrong in (
        ("/elsewhere/python", "-m", "venv", "--system-site-packages", ".new"),
        ("/elsewhere/uv", *above[1:]),
        (*above[:3], "--clear", *above[3:]),
        ("uv", "venv", "--python", "3.12", ".new"),
    ):
        assert kinds(wrong, install)[0] is Kind.REFUSED
    away = (*install, "--target", "/elsewhere")
    other = ("/elsewhere/bin/python", *install[1:])
    removal = ("rm", "-rf", str(closed.packages / "numpy"))
    assert kinds(above, away, other, removal)[1:] == [Kind.REFUSED] * 3


def test_a_range_is_written_as_people_write_it() -> None:
    assert plain(">=0.44.0dev0,<0.45") == ">=0.44,<0.45"
    assert plain(">=1.10.0.dev0") == ">=1.10"
    assert plain(">=2.9.0.dev20250801,<3") == ">=2.9.0.dev20250801,<3"
