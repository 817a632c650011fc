"""A package that the project lists comes in place of a namesake that nobody asks for."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from doctor.environments.environment import environment_at
from doctor.host import Host
from doctor.observe.installed.distributions import installed
from doctor.repair.absent import namesakes
from doctor.repair.reading import unmet, without_twins
from tests.sites import install, site_of


def test_a_namesake_goes_unless_somebody_asks_for_it(tmp_path: Path) -> None:
    site = site_of(tmp_path)
    install(tmp_path, "slugify", "0.0.1", files={"slugify.py": ""})
    install(tmp_path, "other", "1.0", files={"other.py": ""})
    here = {one.name: one for one in installed([str(site)])}
    assert namesakes("python-slugify", here, ("other",)) == {"slugify"}
    assert not namesakes("python-slugify", here, ("slugify",))
    install(tmp_path, "user", "1.0", "Requires-Dist: slugify", files={"user.py": ""})
    here = {one.name: one for one in installed([str(site)])}
    assert not namesakes("python-slugify", here, ())


def test_another_build_of_a_package_meets_what_is_asked_of_it(tmp_path: Path) -> None:
    """Both would write the same files."""
    site = site_of(tmp_path)
    install(tmp_path, "opencv-python-headless", "4.10.0.84", files={"cv2/__init__.py": ""})
    real = environment_at(Path(sys.executable), Host())
    around = msgspec.structs.replace(real, root=tmp_path, folders=(site,))
    found = unmet(
        [
            "The package `imgaug` requires `opencv-python`, but it's not installed",
            "The package `imgaug` requires `numpy`, but it's not installed",
        ]
    )
    assert [one.wanted for one in without_twins(found, around)] == ["numpy"]
