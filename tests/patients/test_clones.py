"""A clone of a real torch environment is cheap, works, and leaves the environment as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.environments.clone import clone
from doctor.environments.environment import environment_at
from doctor.environments.snapshots import discard, restore, take
from doctor.host import Host
from tests.clones.made import state
from tests.environments import remove, uv, variant
from tests.fingerprint import fingerprint

pytestmark = pytest.mark.patient
_COMPILE = (
    "import torch; print(float(torch.compile(lambda x: (x * 2).sum(), "
    "backend='aot_eager')(torch.ones(8))))"
)


def test_torch_works_in_a_clone_and_the_original_stays(torch_python: Path) -> None:
    environment = environment_at(torch_python, Host())
    before = fingerprint(environment.root)
    with clone(environment, Host()) as trial:
        assert trial.bytes < 64 << 20
        ran = trial.run([str(torch_python), "-c", _COMPILE], timeout=300)
        assert ran.ok, ran.output[-2000:]
        assert ran.output.split()[-1] == "16.0"
        moved = [
            uv(),
            "pip",
            "install",
            "--compile-bytecode",
            "--python",
            str(torch_python),
            "numpy<2.3",
            "sympy",
        ]
        assert trial.run(moved, timeout=300).ok
        assert trial.run(
            [uv(), "pip", "uninstall", "--python", str(torch_python), "torch"], timeout=60
        ).ok
        assert trial.disturbed() == ()
    assert fingerprint(environment.root) == before


def test_undo_of_an_installation_is_exact(tmp_path: Path) -> None:
    python = variant("torch")
    try:
        environment = environment_at(python, Host())
        host = Host(env={"XDG_STATE_HOME": str(tmp_path)})
        before = state(environment.root)
        snapshot = take(environment, host)
        Host().run([uv(), "pip", "install", "--python", str(python), "numpy<2.3"], timeout=300)
        Host().run([uv(), "pip", "uninstall", "--python", str(python), "torch"], timeout=60)
        assert not (environment.folders[0] / "torch").exists()
        restore(snapshot, host)
        assert state(environment.root) == before
        discard(snapshot, host)
    finally:
        remove(python)
