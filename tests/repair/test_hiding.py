"""Copies of packages that come before the installed ones."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from doctor.environments.environment import environment_at
from doctor.host import Host
from doctor.model.facts import present, value_of
from doctor.repair.hiding import hiding


def _package(site: Path, name: str, version: str, *asks: str) -> None:
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {one}" for one in asks)]
    (folder / "METADATA").write_text("Metadata-Version: 2.1\n" + "\n".join(lines) + "\n")


def test_name_folders_whose_copies_another_package_refuses(tmp_path: Path) -> None:
    """PYTHONPATH loses that folder alone, and the .pth file of one line is named."""
    site, old, good = tmp_path / "site-packages", tmp_path / "old", tmp_path / "good"
    _package(site, "small", "2.0")
    _package(site, "asker", "1.0", "small>=2")
    _package(old, "small", "1.0")
    _package(good, "small", "3.0")
    real = environment_at(Path(sys.executable), Host())
    fake = type(real)(
        root=tmp_path,
        python=real.python,
        folders=(site,),
        kind="venv",
        base=real.base,
        version=real.version,
    )
    path = os.pathsep.join((str(good), str(old)))
    facts = {
        "env.PYTHONPATH": present(path, "environment"),
        "host.os": present("windows" if os.name == "nt" else "linux", "platform"),
    }
    found = hiding(facts, fake)
    assert value_of(found, "program.pythonpath_rest") == str(good)
    assert value_of(found, "program.hiding") == [
        f"small 1.0 in {old}, while asker asks for small>=2"
    ]
    assert value_of(found, "program.hiding_files") is None
    (site / "first.pth").write_text(f"import sys; sys.path.insert(0, {str(old)!r})\n")
    (site / "both.pth").write_text(f"import sys; sys.path.insert(0, {str(old)!r})\n/other\n")
    found = hiding({}, fake)
    assert value_of(found, "program.hiding_files") == [str(site / "first.pth")]
    assert value_of(found, "program.hidden_by") is None
