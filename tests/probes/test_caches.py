"""Where this user's kernels and extensions are kept."""

from __future__ import annotations

import os
import pwd
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from doctor.host import Host
from doctor.model.facts import Fact, State
from doctor.model.vocabulary import is_known
from doctor.observe.probes import caches
from doctor.observe.scene import ProbeInput
from tests.hosts import facts_of, made_host, put, python_at, values

HOUR = 3600
MOUNTS = (
    "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n36 21 0:40 / {home} rw,relatime shared:1 - {kind} "
    "server:/home rw\n"
)


def _facts(host: Host) -> dict[str, Fact]:
    facts = facts_of(caches.probe(ProbeInput(host=host, interpreter=python_at(host.root / "venv"))))
    assert not [name for name in facts if not is_known(name)]
    return facts


def _host(folder: Path, **env: str) -> Host:
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return Host(env={"HOME": str(home), "TMPDIR": str(folder), "USER": "ml", **env}, cwd=folder)


def _lock(folder: Path, name: str, *, age: float) -> Path:
    lock = put(folder / "home/.cache/torch_extensions" / name / "lock")
    os.utime(lock, (time.time() - age,) * 2)
    return lock


def test_no_interpreter_no_caches(tmp_path: Path) -> None:
    assert not facts_of(caches.probe(ProbeInput(host=_host(tmp_path))))


def test_folders_that_are_still_to_be_made_are_fine(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert values(_facts(_host(tmp_path))) == {
        "cache.inductor.path": str(tmp_path / "torchinductor_ml"),
        "cache.triton.path": str(home / ".triton/cache"),
        "cache.extensions.path": str(home / ".cache/torch_extensions"),
        "cache.cuda.path": str(home / ".nv/ComputeCache"),
    }
    assert not list(home.iterdir())


def test_the_environment_moves_each_of_them(tmp_path: Path) -> None:
    names = {
        "inductor": "TORCHINDUCTOR_CACHE_DIR",
        "triton": "TRITON_CACHE_DIR",
        "extensions": "TORCH_EXTENSIONS_DIR",
        "cuda": "CUDA_CACHE_PATH",
    }
    facts = _facts(
        _host(tmp_path, **{variable: f"/moved/{name}" for name, variable in names.items()})
    )
    for name, variable in names.items():
        assert (facts[f"cache.{name}.path"].value, facts[f"cache.{name}.path"].source) == (
            f"/moved/{name}",
            variable,
        )
    facts = _facts(_host(tmp_path, TRITON_HOME="/fast", XDG_CACHE_HOME="/fast/cache"))
    assert facts["cache.triton.path"].value == "/fast/.triton/cache"
    assert facts["cache.extensions.path"].value == "/fast/cache/torch_extensions"


def test_a_user_without_a_name_has_no_folder_for_inductor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: max(each.pw_uid for each in pwd.getpwall()) + 7)
    facts = _facts(_host(tmp_path, USER=""))
    assert facts["cache.inductor.path"].state is State.UNKNOWN
    assert facts["cache.triton.path"].state is State.PRESENT


@contextmanager
def _as_another() -> Iterator[None]:
    """Be nobody for a while: root may write everywhere."""
    if os.geteuid():
        yield
        return
    # access(2) asks for the real user, so both are changed.
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def test_a_folder_that_may_not_be_written_is_named() -> None:
    # Not below pytest's folder, which nobody but its owner may enter.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        host = _host(folder)
        closed = folder / "home/.triton"
        closed.mkdir()
        for each, mode in ((folder, 0o777), (folder / "home", 0o777), (closed, 0o555)):
            each.chmod(mode)
        with _as_another():
            told = _facts(host)["cache.unwritable"].value
        owner = {} if os.getuid() else {"owner": "root"}
        assert told == [{"path": str(closed / "cache"), "cache": "triton", **owner}]


@pytest.mark.parametrize("kind", ["nfs4", "lustre", "fuse.sshfs", "smb3"])
def test_a_home_on_a_network_disk(tmp_path: Path, kind: str) -> None:
    host = made_host(
        tmp_path,
        {"/proc/self/mountinfo": MOUNTS.format(home="/data/my\\040home", kind=kind)},
        env={"HOME": "/data/my home", "USER": "ml"},
    )
    (host.root / "data/my home").mkdir(parents=True)
    told = _facts(host)["cache.network"].value
    assert {(each["cache"], each["type"]) for each in told} == {
        ("triton", kind),
        ("extensions", kind),
        ("cuda", kind),
    }


@pytest.mark.parametrize("kind", ["ext4", "overlay", "tmpfs", "fuse.lxcfs", "zfs", "virtiofs"])
def test_a_home_on_a_disk_of_its_own(tmp_path: Path, kind: str) -> None:
    host = made_host(
        tmp_path,
        {"/proc/self/mountinfo": MOUNTS.format(home="/home", kind=kind)},
        env={"HOME": "/home/ml", "USER": "ml"},
    )
    assert _facts(host)["cache.network"].state is State.ABSENT


@pytest.mark.parametrize(
    "text", ["", "garbage", "1 2 3 - nfs", " - \n" * 9, "36 21 0:40 / /hom rw - nfs4 x rw\n"]
)
def test_odd_mounts_are_no_network(tmp_path: Path, text: str) -> None:
    host = made_host(
        tmp_path, {"/proc/self/mountinfo": text}, env={"HOME": "/home/ml", "USER": "ml"}
    )
    assert _facts(host)["cache.network"].state is State.ABSENT


def test_an_old_lock_that_nobody_holds_is_stale(tmp_path: Path) -> None:
    mine = _lock(tmp_path, "py312_cu130/fused_adam", age=2 * HOUR)
    direct = _lock(tmp_path, "fused_adam", age=2 * HOUR)
    _lock(tmp_path, "py310_cu118/fused_adam", age=2 * HOUR)  # of another interpreter
    _lock(tmp_path, "py312_cu130/just_begun", age=HOUR / 2)
    assert set(_facts(_host(tmp_path))["cache.stale_locks"].value) == {str(mine), str(direct)}


def test_a_lock_that_its_builder_holds_is_not(tmp_path: Path) -> None:
    with _lock(tmp_path, "py312_cu130/fused_adam", age=2 * HOUR).open("rb"):
        assert _facts(_host(tmp_path))["cache.stale_locks"].state is State.ABSENT
    assert _facts(_host(tmp_path))["cache.stale_locks"].state is State.PRESENT


def test_what_is_no_lock_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "home/.cache/torch_extensions/py312_cu130"
    (folder / "fused_adam/lock").mkdir(parents=True)
    (folder / "other").mkdir()
    os.mkfifo(folder / "other/lock")
    (folder / "file").write_text("")
    assert _facts(_host(tmp_path))["cache.stale_locks"].state is State.ABSENT
