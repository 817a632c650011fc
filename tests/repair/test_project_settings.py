"""A line of the project's settings becomes a comment, where a failure speaks of it."""

from __future__ import annotations

from pathlib import Path

from doctor.repair.failures import failure_of
from doctor.repair.project import edited
from doctor.repair.project_settings import every_line, is_setting, lines_spoken_of


def test_a_line_that_the_message_speaks_of(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MODE=fast\nexport LAB_BACKEND=qt9agg\n")
    (tmp_path / "matplotlibrc").write_text("figure.dpi: 100\nbackend: qt9agg\n")

    def found(text: str) -> list[str]:
        return [note for _, note in lines_spoken_of(failure_of(text), tmp_path)]

    rc = "matplotlibrc:2 says backend: qt9agg"
    env = ".env:2 says export LAB_BACKEND=qt9agg"
    assert found("ValueError: 'qt9agg' is not a valid value for backend") == [rc, env]
    assert found("ValueError: bad value in matplotlibrc, line 2") == [rc]
    assert not found("ValueError: qt9aggx is no backend")
    ((step, _),) = lines_spoken_of(failure_of("E: matplotlibrc, line 2"), tmp_path)
    assert step.edit is not None
    assert is_setting(step.edit.file)
    assert not edited(step.edit, tmp_path)
    assert (tmp_path / "matplotlibrc").read_text().endswith("\n# backend: qt9agg\n")


def test_errors_without_a_traceback_are_found_above_the_last_line() -> None:
    text = (
        "usage: pytest\npytest: error: unrecognized arguments: --cov\n  inifile: x\nrootdir: /x\n"
    )
    assert failure_of(text).error == "pytest: error: unrecognized arguments: --cov"


def test_a_line_that_no_message_names(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text("font.size: 9\n# note: x\ntext.usetex: True\n")
    (tmp_path / ".env").write_text("MODE=fast\n")
    folder = tmp_path / "etc" / "dask"
    folder.mkdir(parents=True)
    (folder / "lab.yaml").write_text("dataframe:\n  planning: false\nlogging:\n  aa: 1\n  bb: 2\n")
    frames = 'File "/e/site-packages/{}/core.py", line 1, in x\n'
    trace = "Traceback (most recent call last):\n  {}ValueError: it is not possible\n"

    def found(package: str, *modules: str) -> list[str]:
        failure = failure_of(trace.format(frames.format(package)))
        lines = every_line(failure, tmp_path, tmp_path, modules)
        return [step.edit.before for step, _ in lines if step.edit is not None]

    assert found("matplotlib") == ["font.size: 9", "text.usetex: True"]
    assert found("numpy") == []
    assert found("numpy", "dotenv") == ["MODE=fast"]
    assert found("dask") == ["dataframe:\n  planning: false", "  aa: 1", "  bb: 2"]
