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


def test_what_the_program_itself_imports_defines_the_class_of_the_message(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    _package(site, "base", code="class Engine:\n    pass\n")
    _package(site, "other", late=True)
    real = environment_at(Path(sys.executable), Host())
    around = msgspec.structs.replace(real, root=tmp_path, folders=(site,))
    here = {one.name: one for one in installed([str(site)])}
    program = tmp_path / "program.py"
    program.write_text("import os, other\nfrom base.engine import create\n")
    text = (
        f'Traceback (most recent call last):\n  File "{program}", line 3, in <module>\n'
        "AttributeError: 'Engine' object has no attribute 'execute'"
    )
    found = suspects(failure_of(text), here, around)
    assert [one.name for one in found] == ["other", "base"]


def test_a_class_of_what_a_module_beside_the_program_stands_on_is_suspected(tmp_path: Path) -> None:
    """The program's object comes from a package that neither its file nor that of it imports."""
    site = tmp_path / "site-packages"
    _package(site, "wrapper", "base")
    _package(site, "base", code="class Engine:\n    pass\n")
    _package(site, "other", code="class Engineer:\n    pass\n")
    real = environment_at(Path(sys.executable), Host())
    around = msgspec.structs.replace(real, root=tmp_path, folders=(site,))
    here = {one.name: one for one in installed([str(site)])}
    program = tmp_path / "program.py"
    program.write_text("from shop import db\n")
    (tmp_path / "shop.py").write_text("from wrapper import Database\nimport other\n")
    text = (
        f'Traceback (most recent call last):\n  File "{program}", line 3, in <module>\n'
        "AttributeError: 'Engine' object has no attribute 'execute'"
    )
    found = suspects(failure_of(text), here, around)
    assert [one.name for one in found] == ["base"]


def test_the_class_that_the_innermost_file_inherits_from_is_suspected(tmp_path: Path) -> None:
    """A base class written in C, or called with wrong arguments, has no frame of its own."""
    site = tmp_path / "site-packages"
    _package(site, "service", "calls; extra == 'full'")
    _package(site, "calls", code="class Client:\n    pass\n")
    _package(site, "late", late=True)
    real = environment_at(Path(sys.executable), Host())
    around = msgspec.structs.replace(real, root=tmp_path, folders=(site,))
    here = {one.name: one for one in installed([str(site)])}
    (site / "service" / "testing.py").write_text("import calls\n\nclass Own(calls.Client): ...\n")
    text = (
        f'Traceback (most recent call last):\n  File "{site}/service/testing.py", line 3\n'
        "TypeError: Client.__init__() got an unexpected keyword argument 'app'"
    )
    found = suspects(failure_of(text), here, around)
    assert sorted(one.name for one in found) == ["calls", "service"]
