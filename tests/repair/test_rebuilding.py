"""An extension of the project that was built for another NumPy is built again."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.model.facts import present
from doctor.model.plans import Plan
from doctor.observe.installed.distributions import installed
from doctor.repair.comparing import is_same_error
from doctor.repair.ending import Ending
from doctor.repair.examination import Trial
from doctor.repair.failures import failure_of
from doctor.repair.merging import sources, titled
from doctor.repair.prove import goes_back
from doctor.repair.rebuilding import rebuildings

_UNFIT = "ImportError: numpy.core.multiarray failed to import"
_PROGRAM = (
    'Traceback (most recent call last):\n  File "/p/run.py", line {line}, in <module>\n{error}'
)


@pytest.mark.parametrize(
    ("error", "editable", "found"),
    [
        (_UNFIT, False, True),
        (_UNFIT, True, True),
        ("ModuleNotFoundError: No module named 'fastdist'", False, True),
        ("ModuleNotFoundError: No module named 'other'", False, False),
        ("ValueError: the distance is negative", False, False),
    ],
)
def test_an_extension_of_the_project_is_built_from_its_own_folder(
    tmp_path: Path, error: str, *, editable: bool, found: bool
) -> None:
    site, folder = tmp_path / "site", tmp_path / "project/fastdist"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text("[build-system]\nrequires = ['setuptools']\n")
    (folder / "setup.py").write_text('from setuptools import setup\nsetup(name="fastdist")\n')
    (folder / "fastdist.c").write_text("")
    for name in ("fastdist", "alien"):
        info = site / f"{name}-1.4.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Name: {name}\nVersion: 1.4\n")
        (info / "RECORD").write_text("" if editable else f"{name}.cpython-311.so,,\n")
    if editable:
        address = f'{{"url": "{folder.as_uri()}", "dir_info": {{"editable": true}}}}'
        (site / "fastdist-1.4.dist-info/direct_url.json").write_text(address)
    facts = {"python.executable": present("/e/bin/python", ""), "python.uv": present("0.9", "")}
    facts |= {"python.installer": present("uv", "")}
    here = {one.name: one for one in installed([str(site)])}
    failure = failure_of(_PROGRAM.format(line=1, error=error))
    ways = [*rebuildings(failure, here, facts, tmp_path / "project")]
    assert {one.name for one in ways} == ({"fastdist"} if found else set())
    for one in ways:
        argv = one.step.command.argv if one.step.command else ()
        assert "--no-deps" in argv
        assert "--reinstall-package" in argv
        assert ("-e" in argv) is editable
        assert sources(one.step) == (str(folder),)
        assert titled(Plan(title="", steps=(one.step,))).title == "Install fastdist"
    assert ["--no-build-isolation" in str(one.step) for one in ways] == [False, True][: len(ways)]


def test_what_stops_earlier_is_no_better_plan() -> None:
    """It leaves fewer findings, since the program never gets to the next one."""

    def ended(line: int, error: str) -> Trial:
        ending = Ending(code=1, text=_PROGRAM.format(line=line, error=error))
        return Trial(plan=Plan(title=""), seconds=0.0, program=ending)

    late, early = ended(3, _UNFIT), ended(2, "ImportError: Jumpy is not installed")
    assert goes_back(late, early)
    assert not goes_back(early, late)
    assert not goes_back(late, late)


def test_an_import_that_fails_by_another_error_does_not_fail_as_before() -> None:
    clones = ("cannot import name 'a' from 'b' (/tmp/one/b.py)", "(/tmp/other/b.py)")
    assert is_same_error(clones[0], f"cannot import name 'a' from 'b' {clones[1]}")
    assert not is_same_error("email-validator is not installed", "Fields of that type")
