"""What a shell reads before a program starts, and the lines there that may go."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.repair.failures import failure_of
from doctor.repair.project import edited
from doctor.repair.project_settings import every_line, lines_spoken_of
from doctor.repair.shell_files import entries, shell_files


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("bash jobs/start.sh python", ["jobs/start.sh", "lab.env"]),
        ("bash -lc|source lab.env && python x.py", ["lab.env"]),
        ("sh -c|if true; then . 'jobs/more.env'; fi; python x.py", ["jobs/more.env"]),
        ("jobs/own.sh", ["jobs/own.sh", "jobs/more.env"]),
        ("python -c|. lab.env", []),
        ("bash -c|. $HOME/lab.env; . gone.env", []),
    ],
)
def test_the_files_that_a_command_reads(tmp_path: Path, command: str, files: list[str]) -> None:
    _project(tmp_path)
    start, _, text = command.partition("|")
    found = shell_files((*start.split(), *([text] if text else [])), tmp_path)
    assert [str(one.relative_to(tmp_path)) for one in found] == files


def test_a_word_goes_before_the_line_and_what_the_shell_uses_stays(tmp_path: Path) -> None:
    _project(tmp_path)
    files = shell_files(("bash", "jobs/start.sh"), tmp_path)

    def found(text: str) -> list[str]:
        ways = lines_spoken_of(failure_of(text), tmp_path, files)
        return [step.edit.after for step, _ in ways if step.edit is not None]

    flags = 'LAB_FLAGS="--threads=2 --turbo=on"'
    assert found("Error: unknown flag --turbo=on in LAB_FLAGS") == [
        'LAB_FLAGS="--threads=2"',
        f"# {flags}",
    ]
    assert found("Error: neither --threads=2 nor --turbo=on") == [f"# {flags}"]
    assert found("FileNotFoundError: 'measured.csv'") == []
    ((step, note), *_) = lines_spoken_of(failure_of("Error: --turbo=on"), tmp_path, files)
    assert note == f"lab.env:2 says {flags}"
    assert step.edit is not None
    assert not edited(step.edit, tmp_path)
    assert '--threads=2"\n' in (tmp_path / "lab.env").read_text()


def test_a_line_that_no_message_names(tmp_path: Path) -> None:
    """What changes Python comes first; paths that are there, and what is not exported, stay."""
    _project(tmp_path)
    files = shell_files(("bash", "jobs/start.sh"), tmp_path)
    failure = failure_of("python: No module named app")
    lines = [note for _, note in every_line(failure, tmp_path, tmp_path, (), files)]
    assert [note.partition(":")[0] for note in lines] == ["lab.env"] * 2
    assert lines[0] == "lab.env:4 says PYTHONSAFEPATH=1"


def _project(folder: Path) -> None:
    jobs = folder / "jobs"
    jobs.mkdir()
    (jobs / "start.sh").write_text(
        'cd "$(dirname "$0")/.."\nset -a; . ./lab.env; set +a\npython run.py --data "$DATA"\n'
    )
    (jobs / "own.sh").write_text('. "$(dirname "$0")/more.env"\npython x.py\n')
    (jobs / "more.env").write_text("ROUNDS=3\n")
    (folder / "lab.env").write_text(
        "DATA=measured.csv\n"
        'LAB_FLAGS="--threads=2 --turbo=on"\n'
        f"LAB_HOME={folder}\n"
        "PYTHONSAFEPATH=1\n"
        "HOSTS=$(hostname)\n"
    )


@pytest.mark.parametrize(
    ("line", "without"),
    [
        ("export PYTHONPATH={}/old", "# export PYTHONPATH={}/old"),
        ("export PYTHONPATH=$PWD/old:$PYTHONPATH", "# export PYTHONPATH=$PWD/old:$PYTHONPATH"),
        ('export PYTHONPATH="lab:$PWD/old"', 'export PYTHONPATH="lab"'),
        ("PYTHONPATH=./old python x.py", "python x.py"),
        ("PYTHONPATH=$LAB/old python x.py", ""),
    ],
)
def test_a_folder_that_a_line_puts_first(tmp_path: Path, line: str, without: str) -> None:
    file = tmp_path / "run.sh"
    file.write_text(f"set -e\n{line.format(tmp_path)}\n")
    found = [*entries((file,), tmp_path, ("PYTHONPATH",))]
    old = [one for one in found if one.place == tmp_path / "old"]
    assert [one.without for one in old] == ([without.format(tmp_path)] if without else [])
    assert all(one.number == 2 for one in old)
