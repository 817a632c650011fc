"""A stray `__init__.py` ends a namespace, and gets another name."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from doctor.environments.environment import environment_at
from doctor.host import Host
from doctor.repair import commands
from doctor.repair.commands import Kind
from doctor.repair.failures import failure_of
from doctor.repair.strays import strays


def test_the_missing_module_lies_in_another_part(tmp_path: Path) -> None:
    site, lab = tmp_path / "env/site-packages", tmp_path / "lab"
    (site / "acme").mkdir(parents=True)
    (lab / "acme").mkdir(parents=True)
    (lab / "acme/models.py").touch()
    (site / "acme/__init__.py").touch()
    (site / "lab.pth").write_text(f"{lab}\n")
    real = environment_at(Path(sys.executable), Host())
    around = msgspec.structs.replace(real, root=tmp_path / "env", folders=(site,))
    failure = failure_of("ModuleNotFoundError: No module named 'acme.models'")
    ((file, step, note),) = strays(failure, around, ())
    assert file == site / "acme/__init__.py"
    assert str(lab / "acme") in note
    assert commands.task(step, around).kind is Kind.RENAME
    other = failure_of("ModuleNotFoundError: No module named 'acme.gone'")
    assert not list(strays(other, around, ()))
    (lab / "acme/__init__.py").touch()
    assert not list(strays(failure, around, ()))
