"""A plan moves the fewest packages, and each of them no farther than it has to go."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.command import doctor
from tests.repair.houses import House, house

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="clones of virtual environments")
_WHEELS: Mapping[str, Sequence[str]] = {
    **{f"wire=={one}": () for one in ("1.0", "2.1", "2.1.3", "2.2", "5.0")},
    **{f"hub=={one}": () for one in ("0.3", "0.4", "1.1")},
    "graph==1.0": ("wire>=2.1",),
    "models==4.0": ("hub<1",),
    "models==5.0": ("hub>=1",),
    "data==2.0": ("hub<1", "graph"),
}
_HERE = ("wire==1.0", "graph==1.0", "models==4.0", "data==2.0")
_PROGRAM = """
import hub, wire
if wire.__version__ < "2" or hub.__version__ > "1":
    raise SystemExit("site-packages/wire/__init__.py site-packages/hub/__init__.py")
"""


@pytest.fixture(scope="module")
def drifted(tmp_path_factory: pytest.TempPathFactory) -> House:
    """Make an environment whose hub came last, too new, and whose wire is too old."""
    made = house(tmp_path_factory.mktemp("drifted"), _WHEELS, *_HERE)
    made.install("--no-deps", "hub==1.1")
    for folder in made.packages.glob("*.dist-info"):
        age = 0 if folder.name.startswith("hub") else 600
        os.utime(folder, (time.time() - age,) * 2)
    return made


def test_each_package_goes_to_the_nearest_release_that_suits_all(drifted: House) -> None:
    said = doctor(
        *("fix", "--python", drifted.python, "--no-canaries", "--offline", "--prove"),
        *("--format", "json", "--", "python", "-c", _PROGRAM),
        cwd=Path(drifted.root.parent),
        env=drifted.env,
    )
    assert said.code == 0, said.out + said.err
    plan = said.report["plan"]
    assert [(one["name"], one["to"]) for one in plan["changes"]] == [
        ("hub", "0.4"),
        ("wire", "2.1.3"),
    ]
    assert len(plan["steps"]) == 1
