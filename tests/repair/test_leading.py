"""A program with several faults: each failure leads to the next part of the cure."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.command import doctor
from tests.repair.houses import House, house, make_wheel

pytestmark = [
    pytest.mark.patient,
    pytest.mark.skipif(sys.platform == "win32", reason="clones of virtual environments"),
]
_OLD_SIDE = "import core\nif core.VERSION >= 2: raise RuntimeError('{name} was built for core 1')\n"


@pytest.fixture(scope="module")
def sided(tmp_path_factory: pytest.TempPathFactory) -> House:
    """Return an environment in which two packages were made for an older core; one says so."""
    made = house(tmp_path_factory.mktemp("sided"), {"other==1.0": ()}, "other==1.0")
    wheels = made.wheels
    make_wheel(wheels, "core", "1.0", code="VERSION = 1\n")
    make_wheel(wheels, "core", "2.0", code="VERSION = 2\nNEW = True\n")
    make_wheel(wheels, "alpha", "1.0", requires=["core<2"], code=_OLD_SIDE.format(name="alpha"))
    make_wheel(wheels, "alpha", "1.5", requires=["core"], code="import core\n")
    make_wheel(wheels, "alpha", "3.0", requires=["core"], code="import core\n")
    for release in ("1.0", "1.1", "1.2"):
        make_wheel(wheels, "beta", release, requires=["core"], code=_OLD_SIDE.format(name="beta"))
    for release in ("1.3", "1.4", "1.5", "2.0"):
        make_wheel(wheels, "beta", release, requires=["core"], code="import core\n")
    made.install("--no-deps", "core==2.0", "alpha==1.0", "beta==1.0")
    return made


def _plan(made: House, code: str, **env: str) -> dict[str, Any]:
    program = made.root.parent / "program.py"
    program.write_text(code)
    said = doctor(
        *("fix", "--python", made.python, "--no-canaries", "--offline", "--prove"),
        *("--format", "json", "--", "python", str(program)),
        cwd=made.root.parent,
        env={**made.env, **env},
    )
    assert said.code == 0, said.out + said.err
    plan: dict[str, Any] = said.report["plan"]
    assert plan["proof"]["verdict"] == "proved", said.out
    return plan


def _moves(plan: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["name"], one["to"]) for one in plan["changes"]]


def test_what_the_program_needs_stays_and_the_others_follow(sided: House) -> None:
    plan = _plan(sided, "import alpha\nimport beta\nimport core\nprint(core.NEW)\n")
    assert _moves(plan) == [("alpha", "1.5"), ("beta", "1.3")]
    assert any("beta was built for core 1" in note for note in plan["notes"])
    assert not plan["alternatives"]


def test_a_folder_that_a_pth_file_puts_first_goes_behind(sided: House, tmp_path: Path) -> None:
    """The copy without metadata no longer hides the package; its neighbour is still found."""
    lab = tmp_path / "lab"
    lab.mkdir()
    (lab / "other.py").write_text("OLD = True\n")
    (lab / "labtools.py").write_text("UNIT = 1\n")
    pth = sided.packages / "zz.pth"
    pth.write_text(f"import sys; sys.path.insert(0, {str(lab)!r})\n")
    path = f"{tmp_path / 'innocent'}"
    try:
        plan = _plan(
            sided, "import labtools\nimport other\nprint(other.__version__)\n", PYTHONPATH=path
        )
    finally:
        text = pth.read_text()
        pth.unlink()
    assert text.startswith("import sys")
    (step,) = plan["steps"]
    assert step["edit"]["file"] == str(pth)
    assert step["edit"]["after"] == str(lab)
    assert not plan["changes"]


def test_the_installed_release_comes_first_and_a_hiding_file_is_renamed(
    tmp_path: Path,
) -> None:
    """A file is gone, and another one of the project hides a module that a package imports."""
    wheels = {"other==1.0": ()}
    made = house(tmp_path, wheels, "other==1.0")
    for release in ("1.0", "1.1"):
        more = {"lost/inner.py": "import profile\nprofile.run\n"}
        make_wheel(made.wheels, "lost", release, code="import lost.inner\n", more=more)
    made.install("--no-deps", "lost==1.0")
    (made.packages / "lost" / "inner.py").unlink()
    (tmp_path / "profile.py").write_text("NAME = 1\n")
    plan = _plan(made, "import lost\n")
    assert [(one["name"], one["from"], one["to"]) for one in plan["changes"]] == [
        ("lost", "1.0", "1.0")
    ]
    assert plan["steps"][-1]["argv"][:2] == ["mv", "-i"]
    assert (tmp_path / "profile.py").exists()
    assert plan["solves"] == ["python/program-files-gone", "failure/module-hidden"]


def test_what_a_later_round_makes_needless_is_taken_out(tmp_path: Path) -> None:
    """A newer `early` passes by the old `late`, which has to move in the next round anyway."""
    made = house(tmp_path, {"other==1.0": ()}, "other==1.0")
    checks = "import late\nif not hasattr(late, 'NEW'): raise RuntimeError('early fails')\n"
    make_wheel(made.wheels, "early", "1.0", code=checks)
    make_wheel(made.wheels, "early", "2.0")
    make_wheel(made.wheels, "late", "1.0")
    make_wheel(made.wheels, "late", "2.0", code="NEW = True\n")
    made.install("--no-deps", "early==1.0", "late==1.0")
    plan = _plan(made, "import early\nimport late\nprint(late.NEW)\n")
    assert _moves(plan) == [("late", "2.0")]


def test_a_release_with_another_failure_is_gone_on_from(tmp_path: Path) -> None:
    """The next fault lies in what moved, and names another package, which moves then."""
    made = house(tmp_path, {"other==1.0": ()}, "other==1.0")
    wheels = made.wheels
    make_wheel(wheels, "core", "2.0", code="VERSION = 2\n")
    make_wheel(wheels, "gamma", "1.0", code="VERSION = 1\n")
    make_wheel(wheels, "gamma", "2.0", code="VERSION = 2\n")
    make_wheel(wheels, "alpha", "1.0", code=_OLD_SIDE.format(name="alpha"))
    newer = "import gamma\nif gamma.VERSION < 2: raise ImportError(\"alpha wants a 'gamma' 2\")\n"
    make_wheel(wheels, "alpha", "1.5", code=newer)
    made.install("core==2.0", "gamma==1.0", "alpha==1.0")
    plan = _plan(made, "import alpha\n")
    assert _moves(plan) == [("alpha", "1.5"), ("gamma", "2.0")]


def test_what_departed_is_lifted_before_its_neighbour_goes_back(tmp_path: Path) -> None:
    """`late` came last, and has a release for numpy 2; the message speaks of numpy alone."""
    made = house(tmp_path, {"other==1.0": ()}, "other==1.0")
    make_wheel(made.wheels, "numpy", "1.0", code="float_ = float\n")
    gone = "`np.float_` was removed in the NumPy 2.0 release. Use `np.float64` instead."
    code = f"def __getattr__(name):\n    raise AttributeError({gone!r})\n"
    make_wheel(made.wheels, "numpy", "2.0", code=code)
    fails = "import numpy as np\nnp.float_\n"
    make_wheel(made.wheels, "late", "1.0", requires=["numpy"], code=fails)
    make_wheel(made.wheels, "late", "1.5", requires=["numpy"])
    made.install("--no-deps", "numpy==2.0")
    time.sleep(1.2)
    made.install("--no-deps", "late==1.0")
    plan = _plan(made, "import late\n")
    assert _moves(plan) == [("late", "1.5")]


def test_what_came_late_goes_back_as_far_as_it_has_to(tmp_path: Path) -> None:
    """The nearest release ends in another failure; the one below it lets the program pass."""
    made = house(tmp_path, {"other==1.0": ()}, "other==1.0")
    wanted = "import late\nlate.check()\n"
    for release in ("1.0", "2.0"):
        make_wheel(made.wheels, "early", release, requires=["late"], code=wanted)
    fails = "def check():\n    raise RuntimeError('{0}')\n"
    make_wheel(made.wheels, "late", "1.0", code="def check():\n    pass\n")
    make_wheel(made.wheels, "late", "1.1", code="def check():\n    pass\n")
    make_wheel(made.wheels, "late", "1.2", code=fails.format("half of the way"))
    make_wheel(made.wheels, "late", "1.3", code=fails.format("the newest"))
    made.install("--no-deps", "early==1.0")
    time.sleep(1.2)
    made.install("--no-deps", "late==1.3")
    code = "import os, early\nassert os.environ.get('LAB_MODE') != 'old', 'set'\n"
    plan = _plan(made, code, LAB_MODE="old")
    assert _moves(plan) == [("late", "1.1")]
    assert any(step["argv"] == ["unset", "LAB_MODE"] for step in plan["steps"])


def test_a_plug_in_of_which_the_metadata_alone_are_left_goes(tmp_path: Path) -> None:
    """Its host loads every entry point of a group; no index has the plug-in any more."""
    made = house(tmp_path, {"other==1.0": ()}, "other==1.0")
    loads = (
        "from importlib.metadata import entry_points\n"
        "for one in entry_points(group='host.plugins'): one.load()\n"
    )
    make_wheel(made.wheels, "host", "1.0", code=loads)
    points = "[host.plugins]\nmain = plug.main:run\n"
    more = {"plug/main.py": "", "plug-1.0.dist-info/entry_points.txt": points}
    make_wheel(made.wheels, "plug", "1.0", more=more)
    made.install("--no-deps", "host==1.0", "plug==1.0")
    for path in ("main.py", "__init__.py"):
        (made.packages / "plug" / path).unlink()
    (made.wheels / "plug-1.0-py3-none-any.whl").unlink()
    plan = _plan(made, "import host\n")
    assert [(one["name"], one["from"], one["to"]) for one in plan["changes"]] == [
        ("plug", "1.0", None)
    ]


def test_a_file_that_the_program_asks_for_keeps_its_name(tmp_path: Path) -> None:
    """Without it the failure is another one, and no step forward."""
    made = house(tmp_path, {"other==1.0": ()}, "other==1.0")
    for release, ok in (("1.0", False), ("1.1", True)):
        code = "from lower import part\n" if ok else "from lower import gone\n"
        more = {"upper/middle.py": code}
        make_wheel(made.wheels, "upper", release, code="from upper import middle\n", more=more)
    make_wheel(made.wheels, "lower", "1.0", code="part = 1\n")
    made.install("--no-deps", "upper==1.0", "lower==1.0")
    record = next(made.packages.glob("upper-1.0.dist-info")) / "RECORD"
    lines = record.read_text().splitlines()
    record.write_text("\n".join(one for one in lines if "middle" not in one) + "\n")
    plan = _plan(made, "import upper\n")
    assert _moves(plan) == [("upper", "1.1")]
    assert len(plan["steps"]) == 1


def test_what_is_absent_comes_in_the_release_that_the_project_pins(tmp_path: Path) -> None:
    made = house(tmp_path, {"other==1.0": (), "lost==1.0": (), "lost==1.1": ()}, "other==1.0")
    (tmp_path / "requirements.txt").write_text("other\nlost==1.0\n")
    plan = _plan(made, "import other\nimport lost\n")
    assert [(one["name"], one["from"], one["to"]) for one in plan["changes"]] == [
        ("lost", None, "1.0")
    ]


def test_a_folder_that_a_script_puts_first_is_left_out_of_its_line(tmp_path: Path) -> None:
    made = house(tmp_path, {"other==1.0": ()}, "other==1.0")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "other.py").write_text("OLD = True\n")
    script = tmp_path / "run.sh"
    script.write_text("export PYTHONPATH=$PWD/old\npython -c 'import other; other.__version__'\n")
    said = doctor(
        *("fix", "--python", made.python, "--no-canaries", "--offline", "--prove"),
        *("--format", "json", "--", "bash", "run.sh"),
        cwd=tmp_path,
        env=made.env,
    )
    plan = said.report["plan"]
    assert plan["proof"]["verdict"] == "proved", said.out
    (step,) = plan["steps"]
    assert step["edit"]["after"] == "# export PYTHONPATH=$PWD/old"


def test_a_script_of_a_copied_project_starts_the_python_of_the_clone(tmp_path: Path) -> None:
    """It names the environment inside the project, from the folder in which it lies."""
    made = house(tmp_path, {"other==1.0": ()}, "other==1.0")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "other.py").write_text("OLD = True\n")
    python = Path(made.python).relative_to(tmp_path)
    (tmp_path / "run.sh").write_text(
        'cd "$(dirname "$0")"\nexport PYTHONPATH=$PWD/old\n'
        f"exec {python} -c 'import other; other.__version__'\n"
    )
    said = doctor(
        *("fix", "--python", made.python, "--no-canaries", "--offline", "--prove"),
        *("--format", "json", "--", "sh", "run.sh"),
        cwd=tmp_path,
        env=made.env,
    )
    plan = said.report["plan"]
    assert plan["proof"]["verdict"] == "proved", said.out
    (step,) = plan["steps"]
    assert step["edit"]["after"] == "# export PYTHONPATH=$PWD/old"
