"""Interpreters are chosen and described: real ones, and scripts that hang or crash."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.host import Host
from doctor.observe import descriptions
from doctor.observe.checkouts import find_workspace
from doctor.observe.descriptions import TargetError
from doctor.observe.targets import choose_interpreter, describe

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-ins are shell scripts")

Make = Callable[[str], Path]


@pytest.fixture
def script(tmp_path: Path) -> Make:
    """Return a maker of stand-ins for an interpreter."""

    def make(body: str) -> Path:
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    return make


def _environment(folder: Path) -> Path:
    """Make what looks like an environment, and return its interpreter."""
    path = folder / "bin" / "python"
    path.parent.mkdir(parents=True)
    path.symlink_to(sys.executable)
    return path


def _host(cwd: Path, **env: str) -> Host:
    return Host(env={"PATH": "/nowhere", **env}, cwd=cwd)


def test_an_interpreter_describes_itself() -> None:
    told = describe(Host(), sys.executable)
    assert told.version.split("rc")[0].startswith("{}.{}.{}".format(*sys.version_info[:3]))
    assert told.prefix == sys.prefix
    assert told.base_prefix == sys.base_prefix
    assert (
        told.tag.startswith(f"cp{sys.version_info[0]}{sys.version_info[1]}")
        or told.implementation != "cpython"
    )
    assert told.bits == (64 if sys.maxsize > 2**32 else 32)
    assert (Path(told.stdlib) / "os.py").is_file()
    assert all(
        Path(folder).name in {"site-packages", "dist-packages"} for folder in told.site_packages
    )
    assert told.site_packages
    assert "" not in told.path


def test_the_current_folder_is_neither_imported_from_nor_listed(tmp_path: Path) -> None:
    (tmp_path / "sysconfig.py").write_text(
        "raise SystemExit('imported from the current folder')", encoding="utf-8"
    )
    told = describe(Host(cwd=tmp_path), sys.executable)
    assert str(tmp_path) not in told.path


def test_pythonpath_counts_and_its_noise_does_not(tmp_path: Path) -> None:
    noise = "import atexit\nprint('hello ' * 999)\natexit.register(print, 'bye <<doctor')\n"
    (tmp_path / "sitecustomize.py").write_text(noise, encoding="utf-8")
    host = Host(env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert describe(host, sys.executable).path[0] == str(tmp_path)
    assert not (tmp_path / "__pycache__").exists()


def test_folders_with_strange_names_do_no_harm(tmp_path: Path) -> None:
    folders = [tmp_path / "a b\u00a0c", tmp_path / "\udcff", tmp_path / "ü"]
    host = Host(env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))})
    path = describe(host, sys.executable).path
    assert (str(folders[0]) in path, str(folders[1]) in path, str(folders[2]) in path) == (
        True,
        False,
        True,
    )


def test_a_real_virtual_environment_is_told_from_its_base(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "v")], check=True, timeout=60
    )
    told = describe(Host(), tmp_path / "v/bin/python")
    assert Path(told.executable) == tmp_path / "v/bin/python"
    assert Path(told.prefix) == tmp_path / "v"
    assert Path(told.base_prefix) == Path(sys.base_prefix)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("kill -SEGV $$", "killed by SIGSEGV"),
        ("echo no module named encodings >&2; exit 1", "exit code 1: no module named encodings"),
        ("echo hello", "no Python interpreter"),
        ("echo '<<doctor-target:{1: :doctor-target>>'", "no Python interpreter"),
        ('echo \'<<doctor-target:{"version": "3.12.1"}:doctor-target>>\'', "makes no sense"),
        (
            'echo \'<<doctor-target:{"version": "2.7.18"}:doctor-target>>\'',
            "is Python 2.7.18; doctor examines 3.8",
        ),
        ("head -c 5000000 /dev/zero", "no Python interpreter"),
    ],
)
def test_what_is_no_interpreter_is_an_error_that_says_so(
    script: Make, body: str, says: str
) -> None:
    path = script(body)
    with pytest.raises(TargetError) as caught:
        describe(Host(), path)
    assert says in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("body", ["sleep 60", "yes", "sleep 60 & wait"])
def test_an_interpreter_that_never_ends_is_given_up(script: Make, body: str) -> None:
    begun = time.monotonic()
    with pytest.raises(TargetError, match=r"did not answer within 0\.3 seconds"):
        describe(Host(), script(body), timeout=0.3)
    assert time.monotonic() - begun < 50


def test_a_wrong_home_is_named_in_the_error() -> None:
    host = Host(env={**os.environ, "PYTHONHOME": "/nowhere"})
    with pytest.raises(TargetError, match=r"exit code 1: .*encodings"):
        describe(host, sys.executable)


def test_missing_and_unstartable_interpreters_are_errors(tmp_path: Path) -> None:
    garbage = tmp_path / "python"
    garbage.write_bytes(b"\x7fELF garbage")
    garbage.chmod(0o755)
    for path in (garbage, tmp_path / "none", tmp_path):
        with pytest.raises(TargetError, match="could not be started"):
            describe(Host(), path)


def test_what_is_asked_for_may_be_a_file_a_folder_a_name_or_a_version(tmp_path: Path) -> None:
    python = _environment(tmp_path / "env")
    (tmp_path / "env/bin/python3.12").symlink_to(sys.executable)
    host = _host(tmp_path, PATH=str(tmp_path / "env/bin"), VIRTUAL_ENV="/gone")
    for asked in (str(python), "env/bin/python", "env", str(tmp_path / "env"), "python"):
        assert choose_interpreter(host, asked, tmp_path).path == python
    for asked in ("3.12", "3.12.4", "python3.12"):
        assert choose_interpreter(host, asked, tmp_path).path == python.with_name("python3.12")
    assert choose_interpreter(host, "env", tmp_path).chosen_by == "--python"


@pytest.mark.parametrize("asked", ["no-such", "3.1", "./no/such", "empty"])
def test_what_is_asked_for_and_not_there_is_an_error(tmp_path: Path, asked: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(TargetError, match=f"--python {asked}"):
        choose_interpreter(_host(tmp_path), asked, tmp_path)


def test_the_order_is_active_then_project_then_conda_base_then_path(tmp_path: Path) -> None:
    made = {
        name: _environment(tmp_path / name)
        for name in ("active", "conda", "p/.venv", "p/venv", "p/.pixi/envs/default")
    }
    system, project = _environment(tmp_path / "system"), tmp_path / "p"
    env = {
        "PATH": str(system.parent),
        "VIRTUAL_ENV": str(tmp_path / "active"),
        "CONDA_PREFIX": str(tmp_path / "conda"),
    }

    def chosen(**changed: str) -> tuple[Path, str]:
        choice = choose_interpreter(Host(env={**env, **changed}, cwd=tmp_path), None, project)
        return choice.path, choice.chosen_by

    assert chosen() == (made["active"], "VIRTUAL_ENV")
    assert chosen(VIRTUAL_ENV="") == (made["conda"], "CONDA_PREFIX")
    for name in ("p/.venv", "p/venv", "p/.pixi/envs/default"):
        assert chosen(VIRTUAL_ENV="", CONDA_DEFAULT_ENV="base") == (made[name], name[2:])
        shutil.rmtree(tmp_path / name)
    assert chosen(VIRTUAL_ENV="", CONDA_DEFAULT_ENV="base") == (made["conda"], "CONDA_PREFIX")
    assert chosen(VIRTUAL_ENV="", CONDA_PREFIX="") == (system, "python on PATH")


def test_an_environment_is_looked_for_upwards_within_the_repository(tmp_path: Path) -> None:
    project = tmp_path / "project"
    below = project / "sub" / "folder"
    below.mkdir(parents=True)
    (project / ".git").mkdir()
    outside = _environment(tmp_path / ".venv")
    assert choose_interpreter(_host(below), None, below).path != outside
    inside = _environment(project / ".venv")
    found = choose_interpreter(_host(below), None, below)
    assert (found.path.resolve(), found.chosen_by) == (inside.resolve(), "../../.venv")


def test_an_environment_that_lost_its_python_is_named(tmp_path: Path) -> None:
    link = tmp_path / ".venv" / "bin" / "python"
    link.parent.mkdir(parents=True)
    link.symlink_to("/gone/python3.11")
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("home = /gone", encoding="utf-8")
    found = choose_interpreter(_host(tmp_path), None, tmp_path)
    assert ".venv is broken, its Python /gone/python3.11 is gone" in found.chosen_by


def test_doctors_own_environment_comes_last_and_is_named(tmp_path: Path) -> None:
    own, other = _environment(tmp_path / "own"), _environment(tmp_path / "other")
    both = _host(tmp_path, PATH=f"{own.parent}{os.pathsep}{other.parent}")
    assert choose_interpreter(both, None, tmp_path, own=tmp_path / "own").path == other
    alone = choose_interpreter(
        _host(tmp_path, PATH=str(own.parent)), None, tmp_path, own=tmp_path / "own"
    )
    assert (alone.path, alone.own) == (Path(sys.executable), True)


def test_a_stale_activation_is_an_error_that_names_the_variable(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match="VIRTUAL_ENV is /gone"):
        choose_interpreter(_host(tmp_path, VIRTUAL_ENV="/gone"), None, tmp_path)


def test_the_workspace_is_where_the_lock_lies(tmp_path: Path) -> None:
    member = tmp_path / "repo/crates/one/src"
    member.mkdir(parents=True)
    (tmp_path / "Cargo.lock").touch()
    (tmp_path / "repo/.git").mkdir()
    assert find_workspace(member) is None
    (tmp_path / "repo/crates/one/Cargo.toml").write_text("[package]\n", encoding="utf-8")
    assert find_workspace(member) == tmp_path / "repo/crates/one"
    (tmp_path / "repo/Cargo.toml").write_text("[workspace]\n", encoding="utf-8")
    assert find_workspace(member) == tmp_path / "repo"
    (tmp_path / "repo/crates/Cargo.lock").touch()
    assert find_workspace(member) == tmp_path / "repo/crates"


@pytest.mark.parametrize(
    ("holds_torch", "chosen_by"), [(True, ".venv"), (False, "python3 on PATH")]
)
def test_doctors_own_environment_in_the_project_counts_only_where_it_holds_a_stack(
    tmp_path: Path, holds_torch: bool, chosen_by: str
) -> None:
    own, elsewhere = tmp_path / ".venv", tmp_path / "bin"
    for path in (own / "bin" / "python", elsewhere / "python3"):
        path.parent.mkdir(parents=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    if holds_torch:
        (own / "lib/python3.11/site-packages/torch").mkdir(parents=True)
    host = Host(env={"PATH": str(elsewhere)}, cwd=tmp_path)
    assert choose_interpreter(host, None, tmp_path, own=own).chosen_by == chosen_by


@pytest.mark.parametrize(("holds", "chosen_by"), [("jax", "VIRTUAL_ENV"), ("doctor", ".venv")])
def test_doctors_own_environment_counts_as_active_only_where_it_holds_a_stack(
    tmp_path: Path, holds: str, chosen_by: str
) -> None:
    own, project = tmp_path / "hook", tmp_path / "project"
    _environment(own)
    _environment(project / ".venv")
    (own / "lib/python3.11/site-packages" / holds).mkdir(parents=True)
    assert (
        choose_interpreter(_host(project, VIRTUAL_ENV=str(own)), None, project, own=own).chosen_by
        == chosen_by
    )


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 60_000,
        "1" + "+1" * 300_000,
        "-" * 100_000 + "1",
        "[" * 60_000,
        "{'path': " + "9" * 100_000 + "}",
        "'" + "\\\\'" * 100_000,
    ],
    ids=["a name", "a sum", "signs", "brackets", "a number", "a quote"],
)
def test_a_description_that_would_break_a_parser_is_none(
    tmp_path: Path, script: Make, text: str
) -> None:
    (tmp_path / "text").write_text(
        f"{descriptions.BEGIN}{text}{descriptions.END}\n", encoding="ascii"
    )
    python = script(f"cat '{tmp_path}/text'")
    tracemalloc.start()
    with pytest.raises(TargetError, match="ended without describing itself"):
        describe(Host(), python)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20
