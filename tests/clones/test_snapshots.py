"""A restore gives exactly the environment of before, or changes nothing and says why."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.environments.manifest import SnapshotError, Store
from doctor.environments.snapshots import discard, latest, restore, take
from doctor.host import Host
from doctor.host.locks import locked
from tests.clones.made import environment, state
from tests.hosts import put

_NAMES = ("a", "b.py", "c.so", "d d", "e\nf", "g.json", "__pycache__", "x.pyc", "\udcff")
_SITE = "lib/python3.11/site-packages"
_SEEDS = st.integers(min_value=0, max_value=2**32)


def _host(folder: Path) -> Host:
    return Host(env={"XDG_STATE_HOME": str(folder / "state")})


def _random_path(root: Path, chance: random.Random) -> Path:
    return root.joinpath(*(chance.choice(_NAMES) for _ in range(chance.randint(1, 4))))


def _write(path: Path, chance: random.Random) -> None:
    """Make a random entry at a path, unless something that is no folder is in the way."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        match chance.choice(("file", "file", "file", "large", "link", "folder", "pipe")):
            case "file":
                path.unlink(missing_ok=True)
                path.write_bytes(chance.randbytes(chance.randint(0, 400)))
            case "large":
                path.unlink(missing_ok=True)
                path.write_bytes(chance.randbytes(9) * 150_000)
            case "link":
                path.symlink_to(chance.choice(("a", "../b.py", "/etc/passwd", "missing")))
            case "folder":
                path.mkdir()
            case _:
                os.mkfifo(path)
        if not path.is_symlink():
            path.chmod(chance.choice((0o644, 0o755, 0o444, 0o600, 0o700)))
        os.utime(path, ns=(1, chance.randint(0, 10**18)), follow_symlinks=False)


def _change(root: Path, chance: random.Random) -> None:
    """Do one thing that an installer, a program or a person does to an environment.

    Nobody edits bytecode in place: it is shared.
    """
    present = [path for path in sorted(root.rglob("*")) if not path.is_symlink()]
    path = chance.choice(present) if present else _random_path(root, chance)
    with contextlib.suppress(OSError):
        match chance.choice(("new", "new", "remove", "replace", "mode", "time", "rename", "edit")):
            case "remove":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            case "replace" if path.is_file():
                content = path.read_bytes()
                path.unlink()
                path.write_bytes(content[::-1])
            case "mode":
                path.chmod(0o750)
            case "time":
                os.utime(path, ns=(5, 5))
            case "rename":
                path.rename(path.with_name("renamed"))
            case "edit" if (
                path.is_file() and path.stat().st_size < 1000 and path.parent.name != "__pycache__"
            ):
                with path.open("ab") as file:
                    file.write(b"edited in place")
            case _:
                _write(_random_path(root, chance), chance)


@settings(max_examples=15, deadline=None)
@given(seed=_SEEDS)
def test_undo_is_exact(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    chance, folder = random.Random(seed), tmp_path_factory.mktemp("undo")
    root, host = folder / "env", _host(folder)
    root.mkdir()
    for _ in range(chance.randint(0, 25)):
        _write(_random_path(root, chance), chance)
    before = state(root)
    snapshot = take(environment(root), host)
    assert state(root) == before
    for _ in range(chance.randint(0, 15)):
        _change(root, chance)
    restore(snapshot, host)
    assert state(root) == before
    assert restore(snapshot, host).changed == 0
    shutil.rmtree(folder)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An environment with a package whose files RECORD lists."""
    root = tmp_path / "env"
    put(root / f"{_SITE}/p-1.dist-info/RECORD", "p/__init__.py,,\np/lib.so,,\n")
    put(root / f"{_SITE}/p/__init__.py", "one = 1\n")
    put(root / f"{_SITE}/p/lib.so", b"\x7fELF" + bytes(200_000))
    put(root / "bin/p", f"#!{root}/bin/python\n").chmod(0o755)
    return root


def test_a_removed_environment_comes_back(root: Path, tmp_path: Path) -> None:
    before = state(root)
    snapshot = take(environment(root), _host(tmp_path))
    shutil.rmtree(root)
    restore(snapshot, _host(tmp_path))
    assert state(root) == before


def test_a_large_file_is_shared_and_an_edited_one_is_not(root: Path, tmp_path: Path) -> None:
    snapshot = take(environment(root), _host(tmp_path))
    assert snapshot.bytes < 1000
    (root / f"{_SITE}/p/__init__.py").write_text("two = 2\n", encoding="utf-8")
    restore(snapshot, _host(tmp_path))
    assert (root / f"{_SITE}/p/__init__.py").read_text(encoding="utf-8") == "one = 1\n"


def test_a_snapshot_that_was_altered_is_not_restored(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doctor.environments.snapshots.reflink", lambda *_: False)
    snapshot = take(environment(root), _host(tmp_path))
    with (root / f"{_SITE}/p/lib.so").open("r+b") as file:
        file.write(b"patched in place")
    (root / "bin/p").unlink()
    before = state(root)
    with pytest.raises(SnapshotError, match=r"p/lib\.so was altered"):
        restore(snapshot, _host(tmp_path))
    assert state(root) == before
    snapshot.manifest.write_bytes(snapshot.manifest.read_bytes().replace(b"bin", b"nib"))
    with pytest.raises(SnapshotError, match="is damaged"):
        latest(environment(root), _host(tmp_path))


@pytest.mark.parametrize("steps", range(0, 8, 2))
def test_an_interrupted_restore_is_finished_by_the_next(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    host, before = _host(tmp_path), state(root)
    take(environment(root), host)
    shutil.rmtree(root / _SITE)
    put(root / "new/file", "new")
    left, replace = [steps], os.replace

    def interrupted(source: str, target: str) -> None:
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        replace(source, target)

    snapshot = latest(environment(root), host)
    assert snapshot is not None
    with monkeypatch.context() as patch:
        patch.setattr("doctor.environments.restoring.os.replace", interrupted)
        with contextlib.suppress(KeyboardInterrupt):
            restore(snapshot, host)
    if state(root) != before:
        with pytest.raises(SnapshotError, match="was interrupted"):
            take(environment(root), host)
        again = latest(environment(root), host)
        assert again is not None
        assert again.is_interrupted
        restore(again, host)
    assert state(root) == before


def test_one_doctor_at_a_time(root: Path, tmp_path: Path) -> None:
    host = _host(tmp_path)
    snapshot = take(environment(root), host)
    with locked(Store(root, host).lock), pytest.raises(SnapshotError, match="another doctor"):
        restore(snapshot, host)


def test_the_two_newest_are_kept(root: Path, tmp_path: Path) -> None:
    host, store = _host(tmp_path), Store(root, _host(tmp_path))
    assert latest(environment(root), host) is None
    taken = [take(environment(root), host) for _ in range(3)]
    assert store.manifests() == [taken[1].manifest, taken[2].manifest]
    assert len(list(store.places()[0].iterdir())) == 2
    discard(taken[2], host)
    assert latest(environment(root), host) is not None
    assert len(list(store.places()[0].iterdir())) == 1
    discard(taken[1], host)
    assert {path.name for path in tmp_path.iterdir()} == {"env", "state"}


def test_a_folder_that_a_checkout_brings_is_no_snapshot(root: Path, tmp_path: Path) -> None:
    """A link in place of the hidden folder must not send files, or their removal, elsewhere."""
    host, store = _host(tmp_path), Store(root, _host(tmp_path))
    precious = put(tmp_path / "home/12345/file", "precious")
    store.places()[0].parent.mkdir()
    store.places()[0].symlink_to(tmp_path / "home")
    snapshot = take(environment(root), host)
    assert precious.read_text(encoding="utf-8") == "precious"
    assert list((tmp_path / "home").iterdir()) == [tmp_path / "home/12345"]
    assert restore(snapshot, host).changed == 0


def test_a_snapshot_of_an_earlier_release_is_found_and_restored(root: Path, tmp_path: Path) -> None:
    """The first releases kept manifests in $XDG_STATE_HOME/doctor."""
    host = _host(tmp_path)
    before = state(root)
    take(environment(root), host)
    (tmp_path / "state/canary-doctor").rename(tmp_path / "state/doctor")
    (root / f"{_SITE}/p/__init__.py").write_text("two", encoding="utf-8")
    snapshot = latest(environment(root), host)
    assert snapshot is not None
    restore(snapshot, host)
    assert state(root) == before
