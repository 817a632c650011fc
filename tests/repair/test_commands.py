"""doctor runs installers on the environment, and leaves every other step to the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.environments.environment import Environment
from doctor.model.fixes import Command, Step
from doctor.model.issues import Edit
from doctor.repair import commands
from doctor.repair.commands import Kind, Places


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    root = tmp_path / "env"
    packages = root / "lib" / "site-packages"
    packages.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (packages / "way-out").symlink_to(tmp_path / "elsewhere")
    return Environment(
        root=root,
        python=root / "bin" / "python",
        folders=(packages,),
        kind="venv",
        base=Path("/usr"),
        version="3.11.0",
    )


def _kind(
    words: str, environment: Environment, *, sudo: bool = False, reboot: bool = False
) -> Kind:
    command = Command(argv=tuple(words.replace("ENV", str(environment.root)).split()))
    step = Step(command=command, sudo=sudo, reboot=reboot)
    return commands.task(step, environment).kind


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("uv pip install --python ENV/bin/python numpy==2.0", Kind.INSTALL),
        ("uv pip uninstall --python ENV/bin/python numpy", Kind.INSTALL),
        ("ENV/bin/python -m pip install numpy", Kind.INSTALL),
        ("ENV/bin/python -m ensurepip --upgrade", Kind.INSTALL),
        ("conda install -y -p ENV numpy", Kind.INSTALL),
        ("uv sync --inexact", Kind.PROJECT),
        ("cargo update -p half --precise 2.0.0", Kind.PROJECT),
        ("rm -rf ENV/lib/site-packages/~orch", Kind.REMOVE),
        ("unset LD_LIBRARY_PATH", Kind.VARIABLES),
        ("env -u LD_LIBRARY_PATH", Kind.VARIABLES),
    ],
)
def test_what_doctor_runs(words: str, kind: Kind, environment: Environment) -> None:
    assert _kind(words, environment) is kind


@pytest.mark.parametrize(
    "words",
    [
        "sh -c id",
        "env LD_PRELOAD=/tmp/x.so uv pip install --python ENV/bin/python numpy",
        "curl https://example.org/x",
        "git clone <repository>",
        "python setup.py install",
        "uv run ENV/bin/python",
        "uv pip install numpy",
        "uv pip install --python /usr/bin/python3 numpy",
        "uv pip install --python ENV/../other/bin/python numpy",
        "uv pip install --python ENV-2/bin/python numpy",
        "uv pip install --python ENV/bin/python --target /etc numpy",
        "uv pip install --python ENV/bin/python --prefix=/usr numpy",
        "uv pip install --python ENV/bin/python --system numpy",
        "uv pip install --python ENV/bin/python -t /etc numpy",
        "/usr/bin/python3 -m pip install numpy",
        "ENV/bin/python -m pip download numpy",
        "ENV/bin/python -m antigravity",
        "pip install numpy",
        "conda install -y numpy",
        "conda install -y -p /opt/conda numpy",
        "rm -rf /",
        "rm -rf ENV",
        "rm -rf ENV/lib/site-packages",
        "rm -rf ENV/lib/site-packages/../../bin",
        "rm -rf ENV/lib/site-packages/*",
        "rm -rf ENV/lib/site-packages/way-out/x",
        "rm --no-preserve-root -rf ENV/lib/site-packages/x",
        "uv venv /opt/new",
        "uv venv ../new",
        "uv pip install --python ENV/bin/python <package>",
        "",
    ],
)
def test_what_doctor_does_not_run(words: str, environment: Environment) -> None:
    assert _kind(words, environment) is Kind.REFUSED


def test_steps_of_an_administrator_and_restarts_are_for_the_user(
    environment: Environment,
) -> None:
    assert _kind("uv sync", environment, sudo=True) is Kind.REFUSED
    assert _kind("uv sync", environment, reboot=True) is Kind.REFUSED


def test_an_edit_is_an_edit(environment: Environment) -> None:
    step = Step(edit=Edit(file="pyproject.toml", before="a", after="b"))
    assert commands.task(step, environment).kind is Kind.EDIT


def test_variables_are_set_unset_and_filled() -> None:
    env = {"A": "1", "B": "2", "PATH": "/bin"}
    wanted = {"A": None, "B": "", "PATH": "/opt/bin:$PATH", "C": "${A}0"}
    assert commands.with_variables(env, wanted) == {"PATH": "/opt/bin:/bin", "C": "10"}


def test_a_copy_below_the_original_is_named_and_taken_back() -> None:
    places = Places((("/p/.venv", "/p/.doctor-1/.venv"), ("/p", "/tmp/copy")))
    text = "/p/.venv/bin/python /p/a.py /p2 x/p --root=/p"
    there = places.there(text)
    assert there == "/p/.doctor-1/.venv/bin/python /tmp/copy/a.py /p2 x/p --root=/tmp/copy"
    assert places.back(there) == text
