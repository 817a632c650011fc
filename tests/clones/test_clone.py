"""Installers and programs change a clone, never the original; nothing of a clone stays."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.environments.clone import clone
from doctor.environments.environment import Environment, environment_at
from doctor.environments.layout import CloneError
from doctor.environments.workspace import PREFIX, remove_abandoned
from doctor.host import Host
from doctor.observe.descriptions import TargetError
from tests.clones.made import environment, real_environment, state
from tests.environments import uv
from tests.hosts import put

_ROOT = Path(__file__).resolve().parents[2]
_SITE = "lib/python3.11/site-packages"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """A real environment with pip and a package with a console script."""
    folder = tmp_path_factory.mktemp("real")
    python = real_environment(folder / "env", folder / "wheels")
    yield environment_at(python, Host())
    shutil.rmtree(folder)


@pytest.fixture
def made(tmp_path: Path) -> Environment:
    """An environment that was made by hand around a real interpreter."""
    root = tmp_path / "env"
    put(root / "pyvenv.cfg", f"home = {Path(sys.executable).resolve().parent}\n")
    put(root / "bin/python").unlink()
    (root / "bin/python").symlink_to(Path(sys.executable).resolve())
    put(root / f"{_SITE}/p/__init__.py", "one = 1\n")
    put(root / f"{_SITE}/p/lib.so", b"\x7fELF" + bytes(100_000))
    put(root / f"{_SITE}/p-1.dist-info/RECORD", "p/__init__.py,,\np/lib.so,,\n")
    return environment(root)


def _left(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(PREFIX)]


def test_installers_change_the_clone_alone(real: Environment) -> None:
    before, wheels = state(real.root), real.root.parent / "wheels"
    python, offline = str(real.python), ("--no-index", f"--find-links={wheels}")
    into = ("--python", python, *offline)
    with clone(real, Host()) as trial:
        root, site = trial.environment.root, trial.environment.folders[0]

        def succeeds(*argv: str) -> str:
            ran = trial.run(argv, timeout=60)
            assert ran.ok, ran
            return ran.output.strip()

        assert succeeds("alpha-run") == f"1.0 {root}"
        assert succeeds(f"{real.root}/bin/alpha-run") == f"1.0 {root}"
        assert succeeds(uv(), "pip", "check", "--python", python)
        succeeds(uv(), "pip", "install", *into, "alpha==2.0")
        assert succeeds("alpha-run") == f"2.0 {root}"
        succeeds("pip", "install", "--no-deps", "--force-reinstall", *offline, "alpha==1.0")
        assert succeeds("sh", "-c", f". {root}/bin/activate && alpha-run") == f"1.0 {root}"
        succeeds(uv(), "pip", "install", "--link-mode=copy", "--reinstall", *into, "alpha==1.0")
        succeeds(python, "-m", "compileall", "-qf", str(site / "alpha"))
        succeeds(python, "-m", "pip", "uninstall", "-y", "alpha")
        assert not (site / "alpha").exists()
        assert trial.disturbed() == ()
        assert trial.bytes < 10 << 20
    assert state(real.root) == before
    assert _left(real.root.parent) == []


def test_records_fit_the_files_of_a_clone(real: Environment) -> None:
    """Pip and doctor compare sizes and hashes with RECORD; a script has another size in a clone."""
    with clone(real, Host()) as trial:
        record = next(trial.environment.folders[0].glob("alpha-*/RECORD"))
        rows = dict(row.split(",", 1) for row in record.read_text().splitlines())
        script = trial.environment.scripts / "alpha-run"
        assert str(trial.environment.root) in script.read_text(encoding="utf-8")
        assert rows["../../../bin/alpha-run"].endswith(f",{script.stat().st_size}")


def test_damage_is_cloned_as_it_is(made: Environment) -> None:
    site = made.folders[0]
    put(site / "~rch/__init__.py")
    put(site / "p-2.dist-info/METADATA", "Version: 2\n")
    (site / "p/lib.so").write_bytes(b"cut")
    (site / "gone").symlink_to("nowhere")
    (site / "loop").symlink_to("loop")
    os.mkfifo(site / "pipe")
    put(site / "a\nb\udcff.py").chmod(0o444)
    put(site / "p/closed.py", "x").chmod(0)
    before = state(made.root)
    with clone(made, Host()) as trial:
        here = state(trial.environment.root)
        assert {path for path in here if here[path] != before.get(path)} <= {""}
    assert state(made.root) == before


def test_a_folder_outside_becomes_one_of_the_clone(made: Environment, tmp_path: Path) -> None:
    outside = put(tmp_path / "outside/inner/file", "precious").parents[1]
    (outside / "back").symlink_to("inner")
    (made.folders[0] / "linked").symlink_to(outside)
    before = state(outside)
    with clone(made, Host()) as trial:
        linked = trial.environment.folders[0] / "linked"
        assert not linked.is_symlink()
        assert (linked / "back/file").read_text(encoding="utf-8") == "precious"
        assert str(outside) in trial.notes[0]
        shutil.rmtree(linked)
    assert state(outside) == before


@pytest.mark.parametrize("target", ["/", "../../../..", "../../../../env/.."])
def test_a_folder_around_the_environment_is_refused(made: Environment, target: str) -> None:
    (made.folders[0] / "around").symlink_to(target)
    with pytest.raises(CloneError, match="an installer would write there"), clone(made, Host()):
        pass
    assert _left(made.root.parent) == []


def test_links_between_folders_outside_come_to_an_end(made: Environment, tmp_path: Path) -> None:
    for one, other in ("ab", "ba"):
        put(tmp_path / one / "file")
        (tmp_path / one / "next").symlink_to(tmp_path / other)
    (made.folders[0] / "linked").symlink_to(tmp_path / "a")
    with pytest.raises(CloneError, match="an installer would write there"), clone(made, Host()):
        pass


def test_a_link_into_the_original_leads_into_the_clone(made: Environment) -> None:
    (made.root / "lib64").symlink_to("lib")
    (made.root / "absolute").symlink_to(made.folders[0])
    (made.root / "around").symlink_to("../env/lib")
    with clone(made, Host()) as trial:
        root = trial.environment.root
        assert os.readlink(root / "lib64") == "lib"  # noqa: PTH115
        assert (root / "absolute").resolve() == trial.environment.folders[0]
        assert (root / "around").resolve() == root / "lib"


def test_a_pipe_in_place_of_the_interpreter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    os.mkfifo(tmp_path / "bin/python")
    with pytest.raises(TargetError):
        environment_at(tmp_path / "bin/python", Host())


def test_an_interpreter_with_another_prefix_is_refused(made: Environment) -> None:
    (made.root / "pyvenv.cfg").unlink()
    with pytest.raises(CloneError, match="as its prefix"), clone(made, Host()):
        pass
    assert _left(made.root.parent) == []


def test_a_write_in_place_is_noticed(made: Environment) -> None:
    with clone(made, Host()) as trial:
        if "hard links" not in trial.how:
            pytest.skip("this file system clones files")
        with (trial.environment.folders[0] / "p/lib.so").open("ab") as file:
            file.write(b"patched")
        assert trial.disturbed() == (f"{_SITE}/p/lib.so",)


def test_where_no_file_can_be_linked_it_is_copied(
    made: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for way in ("hard_link", "reflink"):
        monkeypatch.setattr(f"doctor.environments.transfer.{way}", lambda *_: False)
    with clone(made, Host(), tmp_path) as trial:
        assert trial.how == {"copies": 2}
        assert trial.bytes > 100_000
        copy = trial.environment.folders[0] / "p/lib.so"
        assert copy.stat().st_ino != (made.folders[0] / "p/lib.so").stat().st_ino
    monkeypatch.setattr("doctor.environments.clone._SPARE_BYTES", 1 << 60)
    with pytest.raises(CloneError, match="0 MiB for a copy"), clone(made, Host(), tmp_path):
        pass


def test_variables_lead_into_the_clone(made: Environment) -> None:
    env = {
        "PATH": f"{made.root}/bin:/usr/bin",
        "LD_LIBRARY_PATH": f"{made.folders[0]}/nvidia/lib:/opt",
        "PIP_TARGET": "/elsewhere",
        "HOME": "/home/me",
    }
    with clone(made, Host(env=env)) as trial:
        found, root = trial.host.env, trial.environment.root
        assert found["PATH"] == f"{root}/bin:{root}/bin:/usr/bin"
        assert found["LD_LIBRARY_PATH"] == f"{root}/{_SITE}/nvidia/lib:/opt"
        assert found["VIRTUAL_ENV"] == found["UV_PROJECT_ENVIRONMENT"] == str(root)
        assert found["UV_CACHE_DIR"] == "/home/me/.cache/uv"
        assert "PIP_TARGET" not in found
        assert Path(found["TRITON_CACHE_DIR"]).is_relative_to(trial.scratch.folder)


def test_progress_counts_and_may_interrupt(made: Environment) -> None:
    calls: list[tuple[int, int]] = []
    with clone(made, Host(), progress=lambda *call: calls.append(call)):
        pass
    assert calls[-1][0] == calls[-1][1] > 5

    def interrupt(_finished: int, _all: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), clone(made, Host(), progress=interrupt):
        pass
    assert _left(made.root.parent) == []


_WAIT = """
import sys, time
from pathlib import Path
from doctor.environments.clone import clone
from doctor.environments.environment import environment_at
from doctor.host import Host
with clone(environment_at(Path(sys.argv[1]), Host()), Host()) as trial:
    print(trial.scratch.supervisor._child.pid, flush=True)
    trial.run(["sleep", "60"], timeout=60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the supervisor starts commands on Linux")
@pytest.mark.parametrize("killed", ["doctor", "both"])
def test_a_killed_run_leaves_nothing_to_the_next(made: Environment, killed: str) -> None:
    argv = [sys.executable, "-c", _WAIT, str(made.python)]
    place = made.root.parent
    with subprocess.Popen(argv, cwd=_ROOT, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        supervisor = int(run.stdout.readline())
        assert len(_left(place)) == 1
        assert remove_abandoned(place) == ()
        if killed == "both":
            os.kill(supervisor, signal.SIGKILL)
        run.kill()
    if killed == "both":
        assert len(_left(place)) == 1
        with clone(made, Host()):
            assert len(_left(place)) == 1
    deadline = time.monotonic() + 20
    while _left(place) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _left(place) == []


def test_a_file_of_others_is_linked_where_nobody_may_write_it(
    made: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel refuses hard links to files of others (protected_hardlinks of proc(5))."""
    for way in ("hard_link", "reflink"):
        monkeypatch.setattr(f"doctor.environments.transfer.{way}", lambda *_: False)
    monkeypatch.setattr("doctor.environments.transfer._is_closed", lambda _: True)
    with clone(made, Host(), tmp_path) as trial:
        assert trial.how == {"symbolic links": 1, "copies": 1}
        assert (trial.environment.folders[0] / "p/lib.so").is_symlink()


def test_no_file_is_linked_on_overlayfs(made: Environment, tmp_path: Path) -> None:
    """A link to a file of an image would copy it into the layer of the container for good."""
    device = made.root.stat().st_dev
    line = f"36 35 {os.major(device)}:{os.minor(device)} / / rw - overlay overlay rw,lowerdir=/l\n"
    put(tmp_path / "machine/proc/self/mountinfo", line)
    host = Host(root=tmp_path / "machine", env=dict(os.environ), cwd=tmp_path, platform="linux")
    with clone(made, host, tmp_path) as trial:
        assert "hard links" not in trial.how


def test_an_error_of_the_disk_is_a_refusal(
    made: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("doctor.environments.build.Transfer.share", full)
    with pytest.raises(CloneError, match="No space left"), clone(made, Host()):
        pass
    assert _left(made.root.parent) == []
