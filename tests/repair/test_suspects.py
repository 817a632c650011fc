"""Which packages a traceback speaks of."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from doctor.environments.environment import environment_at
from doctor.host import Host
from doctor.observe.installed.distributions import installed
from doctor.repair.failures import failure_of
from doctor.repair.suspects import Suspect, suspects


def _package(site: Path, name: str, *asks: str, code: str = "", late: bool = False) -> None:
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (site / name).mkdir()
    (site / name / "__init__.py").write_text(code)
    lines = [f"Name: {name}", "Version: 1.0", *(f"Requires-Dist: {one}" for one in asks)]
    (info / "METADATA").write_text("Metadata-Version: 2.1\n" + "\n".join(lines) + "\n")
    (info / "RECORD").write_text(f"{name}/__init__.py,,\n{info.name}/METADATA,,\n")
    when = 2_000 if late else 1_000
    for path in (*info.iterdir(), info):
        os.utime(path, (when, when))


def test_the_message_and_the_late_come_first_and_torch_never(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    _package(site, "sets", "files", "calm")
    _package(site, "files", code="class LocalFiles:\n    pass\n", late=True)
    _package(site, "calm")
    _package(site, "torch", late=True)
    _package(site, "named")
    real = environment_at(Path(sys.executable), Host())
    around = msgspec.structs.replace(real, root=tmp_path, folders=(site,))
    here = {one.name: one for one in installed([str(site)])}
    frames = "".join(f'  File "{site}/{name}/x.py", line 1\n' for name in ("torch", "sets"))
    text = f"Traceback (most recent call last):\n{frames}"
    found = suspects(failure_of(f"{text}NotImplementedError: no LocalFiles"), here, around)
    assert found == (Suspect("files", up=False), Suspect("sets", up=True))
    found = suspects(failure_of(f"{text}ImportError: needs 'named' or 'torch'"), here, around)
    assert [one.name for one in found] == ["files", "named", "sets"]


def test_what_an_extra_asks_for_is_suspected_if_it_came_late(tmp_path: Path) -> None:
    """No requirement is violated: the hasher is an extra, and its own neighbour lies deeper."""
    site = tmp_path / "site-packages"
    _package(site, "passes", "hasher>=3; extra == 'hasher'", "calm; extra == 'calm'", "middle")
    _package(site, "hasher", late=True)
    _package(site, "calm")
    _package(site, "middle", "deep")
    _package(site, "deep", late=True)
    _package(site, "stranger", late=True)
    _package(site, "more")
    real = environment_at(Path(sys.executable), Host())
    around = msgspec.structs.replace(real, root=tmp_path, folders=(site,))
    here = {one.name: one for one in installed([str(site)])}
    text = (
        f'Traceback (most recent call last):\n  File "{site}/passes/x.py", line 1\nValueError: no'
    )
    found = [one.name for one in suspects(failure_of(text), here, around)]
    assert found == ["hasher", "deep", "passes"]


def test_a_message_without_a_traceback_names_packages_as_they_are(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    for name in ("docs_help", "frames", "used"):
        _package(site, name)
    real = environment_at(Path(sys.executable), Host())
    around = msgspec.structs.replace(real, root=tmp_path, folders=(site,))
    here = {one.name: one for one in installed([str(site)])}
    text = "The docs.help extension used by this project needs at least Frames v5.0\n"
    found = [one.name for one in suspects(failure_of(text), here, around)]
    assert found == ["docs-help", "used", "frames"]
    traced = f'Traceback (most recent call last):\n  File "/p/x.py", line 1\nValueError: {text}'
    assert suspects(failure_of(traced), here, around) == ()
