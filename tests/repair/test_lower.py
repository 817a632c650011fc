"""An environment above another one: what is seen, and who installs."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from doctor.environments.environment import Environment, environment_at
from doctor.environments.inventory import problems
from doctor.fixes import installer
from doctor.fixes.environments import above, linked_folders
from doctor.host import Host
from doctor.model.facts import Facts, present
from doctor.model.fixes import Command, Step
from doctor.model.plans import Plan
from doctor.repair.commands import Kind
from doctor.repair.new_environment import beginning, followed, tasks_of
from tests.repair.test_hiding import _package

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths as on Linux and macOS")


def _facts(root: Path, *site_packages: Path) -> Facts:
    told = {
        "python.prefix": str(root),
        "python.executable": f"{root}/bin/python",
        "python.virtual_environment": True,
        "python.site_packages": [str(one) for one in site_packages],
        "python.uv": "/usr/bin/uv",
        "python.installer": "uv",
        "python.has_pip": True,
    }
    return {name: present(value, "") for name, value in told.items()}


def test_pip_installs_above_another_environment(tmp_path: Path) -> None:
    """Uv would install once more what it does not see below."""
    own, lower = tmp_path / "own" / "site-packages", tmp_path / "lower" / "site-packages"
    (alone,) = installer.install_set(["idna"], _facts(tmp_path / "own", own))
    (seen,) = installer.install_set(["idna"], _facts(tmp_path / "own", own, lower))
    assert alone.argv[0] == "uv"
    assert seen.argv[:4] == (f"{tmp_path}/own/bin/python", "-m", "pip", "install")


def test_a_new_environment_sees_a_virtual_one_with_its_own_pth_files(tmp_path: Path) -> None:
    """The step that links is the only program that may run, and only for this environment."""
    lower = tmp_path / "lower"
    venv.create(lower, with_pip=False)
    environment = environment_at(lower / "bin" / "python", Host())
    (site,) = environment.own_folders
    _package(site, "small", "1.0")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "edited.py").write_text("x = 1\n")
    (site / "edited.pth").write_text(f"{tmp_path / 'source'}\n")
    _, steps = above(_facts(lower, site))
    assert beginning(steps) == steps
    (make, link) = (one.command for one in steps)
    assert make is not None
    assert link is not None
    assert linked_folders(link.argv) == (str(site),)
    new = tmp_path / ".venv-above"
    venv.create(new, with_pip=False)
    subprocess.run([str(new / "bin" / "python"), *link.argv[1:]], check=True)
    seen = environment_at(new / "bin" / "python", Host())
    assert site in seen.folders
    subprocess.run([str(new / "bin" / "python"), "-c", "import edited"], check=True)
    install = Step(command=Command(argv=(".venv-above/bin/python", "-m", "pip", "install", "x")))
    kinds = [one.kind for one in tasks_of((*steps, install), environment)]
    assert kinds == [Kind.CREATE, Kind.LINK, Kind.INSTALL]
    other = Command(argv=(*link.argv[:2], "import os; os.remove('/x')", link.argv[3]))
    assert tasks_of((steps[0], Step(command=other)), environment)[0].kind is Kind.REFUSED
    assert followed(Plan(title="", steps=steps), Plan(title="", steps=(install,))).steps == (
        *steps,
        install,
    )


def test_what_lies_below_counts_as_installed(tmp_path: Path) -> None:
    """`uv pip check` sees the upper environment alone, and would miss what lies below."""
    own, lower = tmp_path / "env" / "lib" / "site-packages", tmp_path / "lower"
    _package(own, "asker", "1.0", "small>=2")
    _package(lower, "small", "2.0")
    real = environment_at(Path(sys.executable), Host())
    seen = Environment(
        root=tmp_path / "env",
        python=tmp_path / "env" / "bin" / "python",
        folders=(own, lower),
        kind="venv",
        base=real.base,
        version=real.version,
    )
    seen.python.parent.mkdir()
    seen.python.symlink_to(os.path.realpath(sys.executable))
    assert problems(seen, Host()) == ()
