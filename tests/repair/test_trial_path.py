"""What PYTHONPATH names is not what installers see."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from doctor.environments.environment import environment_at
from doctor.environments.inventory import installed
from doctor.host import Host
from doctor.repair.trial import without_path
from tests.repair.test_hiding import _package


def test_a_copy_on_the_path_is_no_installed_package(tmp_path: Path) -> None:
    """A package that is installed beside such a copy stands among the changes."""
    cluster, site = tmp_path / "cluster", tmp_path / "env/site-packages"
    _package(cluster, "pytz", "2022.7")
    _package(site, "numpy", "1.26.4")
    real = environment_at(Path(sys.executable), Host())
    around = msgspec.structs.replace(real, root=tmp_path / "env", folders=(cluster, site))
    env = {"PYTHONPATH": os.pathsep.join((str(cluster), ""))}
    assert installed(around) == {"pytz": "2022.7", "numpy": "1.26.4"}
    assert installed(without_path(around, env)) == {"numpy": "1.26.4"}
