"""`doctor bisect` with packages from a local folder that are really installed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.base.errors import UsageError
from doctor.host import Host
from doctor.repair.sides import read_side
from tests.command import doctor
from tests.installers.wheelhouse import make_wheel

_UV = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
pytestmark = pytest.mark.skipif(not Path(_UV).exists(), reason="uv is missing")


def _wheel(folder: Path, name: str, version: str, *requires: str) -> None:
    path = make_wheel(folder, name, version, requires=requires)
    with zipfile.ZipFile(path, "a") as wheel:
        wheel.writestr(f"{name}/__init__.py", f"version = {version!r}\n")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of wheels: `lib` breaks with 1.3, `app` 2 asks for `lib` 1.4 or newer."""
    folder = tmp_path_factory.mktemp("index")
    for number in range(6):
        _wheel(folder, "lib", f"1.{number}")
    _wheel(folder, "app", "1.0", "lib")
    _wheel(folder, "app", "2.0", "lib>=1.4")
    for name in ("one", "two", "three"):
        _wheel(folder, name, "1.0")
        _wheel(folder, name, "2.0")
    _wheel(folder, "new", "1.0")
    return folder


_GOOD = "app==1.0\nlib==1.0\none==1.0\ntwo==1.0\nthree==1.0\n"
_BAD = "app==2.0\nlib==1.5\none==2.0\ntwo==2.0\nthree==2.0\nnew==1.0\n"


@pytest.fixture
def folder(tmp_path: Path, index: Path) -> Iterator[Path]:
    """Return a folder with both lists, in which nothing is left behind."""
    (tmp_path / "good.txt").write_text(_GOOD, encoding="utf-8")
    (tmp_path / "bad.txt").write_text(_BAD, encoding="utf-8")
    (tmp_path / "tmp").mkdir()
    yield tmp_path
    assert not [*(tmp_path / "tmp").iterdir()]


def _bisect(folder: Path, index: Path, code: str, *words: str, good: str = "good.txt") -> Any:
    done = doctor(
        *("bisect", "--good", good, "--bad", "bad.txt", "-p", sys.executable, "--format", "json"),
        *("--install-option=--offline", "--install-option=--no-index"),
        *(f"--install-option=--find-links={index}", *words, "--", "python", "-c", code),
        cwd=folder,
        env={"TMPDIR": str(folder / "tmp"), "PATH": f"{Path(_UV).parent}:{os.environ['PATH']}"},
    )
    return done, json.loads(done.out) if done.out.startswith("{") else {}


def _moves(found: dict[str, Any], key: str = "moves") -> list[str]:
    return [f"{one['name']} {one['from']} {one['to']}" for one in found[key]]


@pytest.mark.patient
def test_the_guilty_package_and_its_release_are_found(folder: Path, index: Path) -> None:
    code = "import lib; assert lib.version < '1.3', 'too new'"
    done, found = _bisect(folder, index, code)
    assert (done.code, found["verdict"]) == (0, "found"), done.err
    assert _moves(found) == ["lib 1.0 1.5"]
    assert (found["last_good"], found["first_bad"]) == ("1.2", "1.3")
    assert found["differences"] == 6


@pytest.mark.patient
def test_two_packages_that_fail_together_are_named_together(folder: Path, index: Path) -> None:
    code = "import one, two; assert (one.version, two.version) != ('2.0', '2.0')"
    done, found = _bisect(folder, index, code)
    assert _moves(found) == ["one 1.0 2.0", "two 1.0 2.0"], done.err


@pytest.mark.patient
def test_requirements_bring_their_moves_along(folder: Path, index: Path) -> None:
    code = "import app; assert app.version == '1.0'"
    done, found = _bisect(folder, index, code)
    assert (_moves(found), _moves(found, "along")) == (["app 1.0 2.0"], ["lib 1.0 1.5"]), done.err


@pytest.mark.patient
def test_a_package_that_comes_new_may_be_the_cause(folder: Path, index: Path) -> None:
    code = "import importlib.util as u, sys; sys.exit(u.find_spec('new') is not None)"
    assert _moves(_bisect(folder, index, code)[1]) == ["new None 1.0"]


@pytest.mark.patient
def test_an_environment_is_cloned_and_stays_as_it_is(folder: Path, index: Path) -> None:
    subprocess.run([_UV, "venv", "-q", "--python", sys.executable, "env"], cwd=folder, check=True)
    subprocess.run(
        [
            *(_UV, "pip", "install", "-q", "--offline", "--no-index", "--find-links", str(index)),
            *("--python", "env", "-r", "good.txt"),
        ],
        cwd=folder,
        check=True,
    )
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("env/**/*")}
    code = "import three; assert three.version == '1.0'"
    done, found = _bisect(folder, index, code, good="env")
    assert _moves(found) == ["three 1.0 2.0"], done.err
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("env/**/*")} == before


@pytest.mark.patient
@pytest.mark.parametrize(
    ("code", "verdict"), [("import nothing", "not_green"), ("import lib", "not_red")]
)
def test_ends_of_one_colour_are_said(folder: Path, index: Path, code: str, verdict: str) -> None:
    done, found = _bisect(folder, index, code)
    assert (done.code, found["verdict"]) == (1, verdict)


def test_a_side_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.lock").write_text("[[package]]\n", encoding="utf-8")
    for name in ("none", "x.lock", str(tmp_path)):
        with pytest.raises(UsageError):
            read_side(name, Host(cwd=tmp_path))


def test_a_lock_of_uv_has_the_releases(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text(
        'version = 1\n[[package]]\nname = "Lib"\nversion = "1.0"\n'
        'source = { registry = "https://example.org/simple" }\n'
        '[[package]]\nname = "own"\nversion = "0.1"\nsource = { editable = "." }\n',
        encoding="utf-8",
    )
    assert read_side("uv.lock", Host(cwd=tmp_path)).releases == {"lib": "1.0"}


def test_a_freeze_is_taken_as_it_is_and_a_list_is_resolved(tmp_path: Path) -> None:
    host = Host(cwd=tmp_path)
    (tmp_path / "freeze.txt").write_text("# pip freeze\nLib==1.0\nother_one == 2.0+cu1\n")
    assert read_side("freeze.txt", host).releases == {"lib": "1.0", "other-one": "2.0+cu1"}
    (tmp_path / "loose.txt").write_text("lib==1.0\nother>=2\n")
    assert read_side("loose.txt", host).requirements == tmp_path / "loose.txt"


@pytest.mark.patient
def test_an_interrupt_leaves_nothing(folder: Path, index: Path) -> None:
    argv = [sys.executable, "-m", "doctor", "bisect", "--good", "good.txt", "--bad", "bad.txt"]
    options = [f"--install-option=--find-links={index}", "--install-option=--no-index"]
    (folder / "wait.py").write_text("open('started', 'w').close(); import time; time.sleep(600)\n")
    with subprocess.Popen(
        [*argv, *options, "-q", "-p", sys.executable, "--", "python", str(folder / "wait.py")],
        cwd=folder,
        env={
            **os.environ,
            "TMPDIR": str(folder / "tmp"),
            "PATH": f"{Path(_UV).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        },
        stderr=subprocess.DEVNULL,
    ) as child:
        deadline = time.monotonic() + 60
        while not (folder / "started").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert (folder / "started").exists()
        child.send_signal(signal.SIGINT)
        assert child.wait(30) == 130


@pytest.mark.patient
def test_numpy_2_under_a_pandas_that_was_built_for_numpy_1(folder: Path) -> None:
    dates = "python-dateutil==2.9.0.post0\npytz==2024.1\nsix==1.16.0\ntzdata==2024.1\n"
    for name, release in (("good.txt", "1.26.4"), ("bad.txt", "2.1.0")):
        text = f"numpy=={release}\npandas==2.1.4\n{dates}"
        (folder / name).write_text(text.replace("1.16.0", "1.17.0" if name < "c" else "1.16.0"))
    done = doctor(
        *("bisect", "--good", "good.txt", "--bad", "bad.txt", "-f", "json", "-p", sys.executable),
        *("--", "python", "-c", "import pandas"),
        cwd=folder,
        env={"TMPDIR": str(folder / "tmp"), "PATH": f"{Path(_UV).parent}:{os.environ['PATH']}"},
    )
    if "cannot install" in done.err:
        pytest.skip("these releases cannot be installed here")
    found = json.loads(done.out)
    assert _moves(found) == ["numpy 1.26.4 2.1.0"]
    assert (found["last_good"], found["first_bad"]) == ("1.26.4", "2.0.0")
