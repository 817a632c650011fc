"""A file that hides a module gets another name, whatever the message speaks of."""

from __future__ import annotations

import sys
from pathlib import Path

from doctor.environments.environment import environment_at
from doctor.host import Host
from doctor.repair.failures import failure_of
from doctor.repair.shadows import shadows, unspoken

_TRACE = """Traceback (most recent call last):
  File "/e/lib/python3.11/site-packages/numpy/random.py", line 1, in <module>
{}
"""


def test_one_file_of_a_folder_in_pythonpath_that_has_more(tmp_path: Path) -> None:
    for name in ("cycler.py", "style.py", "secrets.py"):
        (tmp_path / name).write_text("")
    around = environment_at(Path(sys.executable), Host())
    failure = failure_of(_TRACE.format("ImportError: cannot import name 'cycle' from 'cycler' (x)"))
    listed = [str(tmp_path)]

    def found() -> list[str]:
        rows = shadows(failure, {"cycler"}, around, tmp_path / "work", listed)
        return [one.words for one in rows]

    assert found() == [f"cycler.py of {tmp_path} hides the module cycler of an installed package"]
    (tmp_path / "style.py").unlink()
    (tmp_path / "secrets.py").unlink()
    assert found() == []


def test_a_name_of_the_standard_library_counts_without_a_word_about_it(tmp_path: Path) -> None:
    for name in ("secrets.py", "notes.py"):
        (tmp_path / name).write_text("")
    around = environment_at(Path(sys.executable), Host())
    text = "ImportError: cannot import name 'SUPPORTED' from 'lab.utils'"
    failure = failure_of(_TRACE.format(text))
    assert not list(shadows(failure, {"lab"}, around, tmp_path))
    (one,) = unspoken(failure, {"lab"}, around, tmp_path)
    assert one.file.name == "secrets.py"
    assert not list(unspoken(failure_of(text), {"lab"}, around, tmp_path))


def test_python_m_looks_in_the_folder_that_has_the_package(tmp_path: Path) -> None:
    """The first file of the traceback lies in the package, and the file beside it."""
    for name, init in (("blog", True), ("app", False)):
        (tmp_path / name).mkdir()
        (tmp_path / name / ("__init__.py" if init else "__main__.py")).write_text("")
    (tmp_path / "secrets.py").write_text("")
    around = environment_at(Path(sys.executable), Host())
    error = "AttributeError: module 'secrets' has no attribute 'token_hex'"
    for inner in ("blog/__init__.py", "app/__main__.py"):
        text = f'{_TRACE.format("")}  File "{tmp_path}/{inner}", line 2, in <module>\n{error}\n'
        (one,) = shadows(failure_of(text), set(), around, tmp_path / "elsewhere")
        assert one.file == tmp_path / "secrets.py"
