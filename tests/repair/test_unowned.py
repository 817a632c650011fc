"""A file of site-packages that no package owns gets another name, where a failure meets it."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from doctor.environments.environment import environment_at
from doctor.host import Host
from doctor.observe.installed.distributions import installed
from doctor.repair import commands
from doctor.repair.commands import Kind
from doctor.repair.failures import failure_of
from doctor.repair.unowned import unowned
from tests.sites import install, site_of


def test_what_hides_what_failed_and_what_runs_at_each_start(tmp_path: Path) -> None:
    prefix = tmp_path / "env"
    files = {"table.py": "", "words/__init__.py": "", "words/list.py": ""}
    files["words-nspkg.pth"] = "import sys, types, os\n"
    install(prefix, "table", "1.0", files=files)
    site = site_of(prefix)
    for path in ("table.so", "words/list.so", "words/other.so", "notes.txt", "_virtualenv.py"):
        (site / path).write_text("")
    (site / "sitecustomize.py").write_text("")
    (site / "lab.pth").write_text("import labtools\n")
    (site / "path.pth").write_text("/opt/lab\n")
    real = environment_at(Path(sys.executable), Host())
    around = msgspec.structs.replace(real, root=prefix, folders=(site,))
    here = {one.name: one for one in installed([str(site)])}

    def found(text: str) -> list[str]:
        rows = list(unowned(failure_of(text), here, around))
        assert all(commands.task(step, around).kind is Kind.RENAME for _, step, _ in rows)
        return [str(file.relative_to(site)) for file, _, _ in rows]

    start = ["sitecustomize.py", "lab.pth"]
    assert found("AttributeError: module 'table' has no attribute 'x'") == ["table.so", *start]
    assert found("ImportError: cannot import name 'a' from 'words.list'")[:-2] == ["words/list.so"]
    assert found(f"ImportError: {site}/words/other.so: invalid ELF header") == [
        *("words/other.so", *start),
    ]
    (site / "table.so").rename(site / "table.so.old")
    assert found("AttributeError: module 'table' has no attribute 'x'") == start


def test_a_file_of_a_large_package_is_no_stray(tmp_path: Path) -> None:
    """`onnx` lists 6,500 files; where a RECORD is gone, nobody knows what a package has."""
    prefix = tmp_path / "env"
    files = {"large/__init__.py": "", **{f"large/a{number}.txt": "" for number in range(6000)}}
    install(prefix, "large", "1.0", files={**files, "large/last.py": ""})
    info = install(prefix, "cut", "1.0", files={"cut/part.py": ""})
    (info / "RECORD").unlink()
    site = site_of(prefix)
    real = environment_at(Path(sys.executable), Host())
    around = msgspec.structs.replace(real, root=prefix, folders=(site,))
    here = {one.name: one for one in installed([str(site)])}
    for path in ("large/last.py", "cut/part.py"):
        text = f'Traceback (most recent call last):\n  File "{site / path}", line 1\nOSError: no'
        assert not [*unowned(failure_of(text), here, around)]
