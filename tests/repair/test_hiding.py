"""Copies of packages that come before the installed ones."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from doctor.environments.environment import environment_at
from doctor.host import Host
from doctor.model.facts import present, value_of
from doctor.repair.hiding import behind, first_lines, hiding


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
    assert value_of(found, "program.hiding_file") is None
    (site / "first.pth").write_text(f"import sys; sys.path.insert(0, {str(old)!r})\n")
    found = hiding({}, fake)
    assert value_of(found, "program.hiding_file") == str(site / "first.pth")
    assert value_of(found, "program.hiding_line_after") == str(old)
    assert value_of(found, "program.hidden_by") is None


def test_the_line_of_setuptools_puts_the_paths_above_it_first(tmp_path: Path) -> None:
    """Without that line they come last; a line with a path alone does so anyway."""
    old = tmp_path / "old"
    old.mkdir()
    last = "import sys; p=getattr(sys,'__egginsert',0); sys.path[p:p]=new"
    file = tmp_path / "easy-install.pth"
    file.write_text(f"import sys; sys.__plen = len(sys.path)\n{old}\n{last}\n")
    assert list(first_lines(file.read_text())) == [(str(old), last)]
    edit = behind(file, str(old))
    assert edit is not None
    file.write_text(file.read_text().replace(edit.before, edit.after))
    assert list(first_lines(file.read_text())) == []
    file.write_text(f"/other\nimport sys; sys.path.insert(0, {str(old)!r})\n")
    edit = behind(file, str(old))
    assert edit is not None
    assert edit.after == str(old)
