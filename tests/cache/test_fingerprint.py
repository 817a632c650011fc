"""A fingerprint moves with everything that a check could notice, and with nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from doctor.host import Host
from doctor.model.facts import Fact, present
from doctor.observe.cache import fingerprint
from doctor.observe.scene import Distribution, ProbeInput
from tests.hosts import made_host, put, python_at

_BOOT = "/proc/sys/kernel/random/boot_id"
_FACTS = {
    "compiler.cxx_version": present("12.2", "test"),
    "host.memory_available_bytes": present(1, "test"),
}
_SITE = "lib/python3.12/site-packages"


class Machine:
    """A made-up machine with an environment in it."""

    def __init__(self, folder: Path) -> None:
        self.prefix, self.source, self.libraries = (
            folder / "env",
            folder / "source",
            folder / "libraries",
        )
        for path in (
            self.prefix / _SITE / "torch/lib/libc10.so",
            self.prefix / "bin/python",
            self.source / "mine/model.py",
        ):
            put(path, "content")
        put(self.libraries / "libcudnn.so.9", "content")
        direct = json.dumps({"url": self.source.as_uri(), "dir_info": {"editable": True}})
        editable = Distribution(
            name="mine",
            version="1",
            folder=self.prefix / _SITE / "mine-1.dist-info",
            direct_url=direct,
        )
        host = made_host(
            folder,
            {_BOOT: "5c1d\n"},
            env={"LD_LIBRARY_PATH": f"{self.libraries}", "OMP_NUM_THREADS": "4"},
        )
        self.scene = ProbeInput(
            host=host, interpreter=python_at(self.prefix), distributions=(editable,)
        )
        self.facts: dict[str, Fact] = dict(_FACTS)

    def told(self, **env: str) -> str:
        """Return the fingerprint, with variables on top of those of the machine."""
        host = self.scene.host
        host = Host(root=host.root, env={**host.env, **env}, cwd=host.cwd, platform="linux")
        return fingerprint(msgspec.structs.replace(self.scene, host=host), self.facts)


def _replaced(path: Path) -> None:
    """Put another file of the same size and age in the place of one, as an installer does."""
    state, other = path.stat(), path.with_name("other")
    other.write_bytes(path.read_bytes()[::-1])
    os.utime(other, ns=(state.st_atime_ns, state.st_mtime_ns))
    other.replace(path)


_MOVES: dict[str, Callable[[Machine], object]] = {
    "a library is replaced": lambda it: _replaced(it.prefix / _SITE / "torch/lib/libc10.so"),
    "a library is written into": lambda it: put(
        it.prefix / _SITE / "torch/lib/libc10.so", "other content"
    ),
    "a file joins": lambda it: put(it.prefix / _SITE / "sitecustomize.py"),
    "a file goes": lambda it: (it.prefix / _SITE / "torch/lib/libc10.so").unlink(),
    "a file loses its rights": lambda it: (it.prefix / _SITE / "torch/lib/libc10.so").chmod(0),
    "a project installed in place": lambda it: put(it.source / "mine/model.py", "changed"),
    "a library that shadows": lambda it: put(it.libraries / "libcudnn_ops.so.9"),
    "the interpreter": lambda it: _replaced(it.prefix / "bin/python"),
    "the packages of the system": lambda it: put(Path(it.scene.host.at("/var/lib/dpkg/status"))),
    "another boot": lambda it: put(Path(it.scene.host.at(_BOOT)), "77aa\n"),
    "a compiler": lambda it: it.facts.update({"compiler.cxx_version": present("13.1", "test")}),
    "a fact that is new": lambda it: it.facts.update(
        {"nvidia.gpus": present([{"name": "H100"}], "test")}
    ),
}


@pytest.mark.parametrize("move", _MOVES.values(), ids=_MOVES)
def test_what_a_check_could_notice_moves_it(
    move: Callable[[Machine], object], tmp_path: Path
) -> None:
    machine = Machine(tmp_path)
    before = machine.told()
    assert before == machine.told()
    move(machine)
    assert machine.told() not in (before, "")


def test_a_variable_moves_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert (
        len(
            {
                machine.told(),
                machine.told(OMP_NUM_THREADS="8"),
                machine.told(TORCH_COMPILE_DISABLE="1"),
            }
        )
        == 3
    )


def test_another_window_and_less_memory_do_not_move_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    before = machine.told()
    machine.facts["host.memory_available_bytes"] = present(2, "test")
    put(machine.prefix / _SITE / "torch/__pycache__/version.cpython-312.pyc")
    assert machine.told(TERM="xterm", COLUMNS="80", SSH_TTY="/dev/pts/1") == before


def test_a_hot_gpu_does_not_move_it(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    found = set()
    for degrees in (40, 80):
        machine.facts["nvidia.gpus"] = present([{"name": "H100", "temperature": degrees}], "test")
        found.add(machine.told())
    assert len(found) == 1


def test_links_in_a_circle_come_to_an_end(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    (machine.prefix / _SITE / "torch/again").symlink_to(machine.prefix / _SITE)
    assert machine.told()


def test_it_cannot_be_told_without_a_boot(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    Path(machine.scene.host.at(_BOOT)).unlink()
    assert machine.told() == ""


def test_it_cannot_be_told_of_a_slow_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doctor.observe.cache.environment._SECONDS", -1.0)
    assert Machine(tmp_path).told() == ""
