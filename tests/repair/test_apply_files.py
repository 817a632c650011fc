"""Files that a plan sets aside or edits are applied as proved, and undone exactly."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

import pytest

from doctor.model.fixes import Command, Step
from doctor.model.plans import Change
from doctor.repair.apply import exactly
from doctor.repair.commands import Kind, Task
from tests.command import doctor
from tests.repair.houses import house, make_wheel

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="clones of virtual environments")

_DOTENV = """import os
def load_dotenv():
    for line in open('.env', encoding='utf-8'):
        name, _, value = line.strip().partition('=')
        if not line.startswith('#'):
            os.environ[name] = value
"""
_LAB = """import os
seconds = int(os.environ.get('LAB_SECONDS', '3'))
tool = os.path.join(os.path.dirname(__file__), 'tool')
if not os.access(tool, os.X_OK):
    raise RuntimeError('no tool could be found')
"""
_PROGRAM = "import table\nfrom dotenv import load_dotenv\nload_dotenv()\nimport lab\n"


def _states(root: Path) -> dict[str, tuple[object, ...]]:
    """Return mode, time and content of every entry below a folder, but for bytecode."""
    return {
        str(path.relative_to(root)): (
            path.lstat().st_mode,
            path.lstat().st_mtime_ns if path.is_file() else 0,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in root.rglob("*")
        if "__pycache__" not in path.parts
    }


def test_what_is_set_aside_and_edited_is_applied_and_undone_exactly(tmp_path: Path) -> None:
    sick = house(tmp_path, {"small==1.0": ()}, "small==1.0")
    make_wheel(sick.wheels, "words", "1.0", more={"table.py": "x = 1\n"})
    make_wheel(sick.wheels, "dotenv", "1.0", code=_DOTENV)
    make_wheel(sick.wheels, "lab", "1.0", code=_LAB, more={"lab/tool": "\x7fELF"})
    sick.install("words", "dotenv", "lab")
    (sick.packages / "lab" / "tool").chmod(0o755)
    stray = sick.packages / f"table{sysconfig.get_config_var('EXT_SUFFIX')}"
    stray.write_bytes(b"no library")
    project = tmp_path / "project"
    project.mkdir()
    settings = project / ".env"
    settings.write_bytes(b"LAB_NAME=\xc3\xa4\r\nLAB_SECONDS=30s\r\n")
    settings.chmod(0o640)
    os.utime(settings, ns=(10**18, 10**18))
    (project / "program.py").write_text(_PROGRAM)
    before = _states(sick.root), _states(project)
    words = ("--python", str(sick.python), "--no-canaries", "--offline", "--yes")
    program = ("--", str(sick.python), "program.py")
    done = doctor("fix", "--apply", *words, *program, cwd=project, env=sick.env)
    assert done.code == 0, done.out + done.err
    assert not stray.exists()
    assert stray.with_name(f"{stray.name}.old").read_bytes() == b"no library"
    assert settings.read_bytes() == b"LAB_NAME=\xc3\xa4\r\n# LAB_SECONDS=30s\r\n"
    undone = doctor(
        "fix", "--undo", "--yes", "--python", str(sick.python), cwd=project, env=sick.env
    )
    assert undone.code == 0, undone.err
    assert (_states(sick.root), _states(project)) == before


def test_an_editable_is_applied_with_its_folder(tmp_path: Path) -> None:
    """The releases of the proof come behind the command, so that `-e` keeps its folder."""
    command = Command(argv=("uv", "pip", "install", "--python", "/e/bin/python", "-e", "/p/lab"))
    task = Task(Step(command=command), Kind.INSTALL)
    moved = [Change(name="lab", before="1.0", after="2.1")]
    place = tmp_path / "releases.txt"
    argv = exactly(command, task, moved, place).argv
    assert argv == (*command.argv, "--constraint", str(place))
    assert place.read_text() == "lab==2.1\n"
