"""What is taken out of LD_LIBRARY_PATH: the folders that are known to be at fault, and no other."""

from __future__ import annotations

import pytest

from doctor.fixes.prescribe import fixes_for
from doctor.judge.match import diagnose
from doctor.model.facts import present
from doctor.model.observation import Observation
from tests.planning.environments import catalog

_NAME = "libs.undefined_symbols"


@pytest.mark.parametrize(
    ("soname", "wanted"),
    [("libnvJitLink.so.12", "/opt/ours:/srv/lib"), ("libcudnn.so.9", "")],
)
def test_the_other_folders_stay_in_the_variable(soname: str, wanted: str) -> None:
    shadowed = {
        "soname": soname,
        "by": f"/opt/cuda/lib/{soname}",
        "expected": f"/env/nvidia/{soname}",
        "how": "LD_LIBRARY_PATH",
    }
    facts = {
        _NAME: present(["__nvJitLinkComplete_12_4"], ""),
        "env.LD_LIBRARY_PATH": present("/opt/ours:/opt/cuda/lib:/srv/lib", ""),
        "libs.ld_library_path": present(["/opt/cuda/lib"], ""),
        "libs.ld_library_path_rest": present("/opt/ours:/srv/lib", ""),
        "libs.shadowed": present([shadowed], ""),
        "host.os": present("linux", ""),
        "python.executable": present("/env/bin/python", ""),
    }
    found = diagnose(Observation(facts=facts, static=True), catalog()).findings
    (one,) = [each for each in found if each.id == "cuda/nvjitlink-other-version"]
    first = fixes_for(one, facts)[0]
    assert first.commands[0].env == {"LD_LIBRARY_PATH": wanted}
