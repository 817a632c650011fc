"""The installers, the resolvers and Python are heard in their own words."""

from __future__ import annotations

import pytest

from doctor.events.reading import events_of
from doctor.model.observation import Log


@pytest.mark.parametrize(
    ("line", "speaker", "kind", "objects"),
    [
        (
            "ImportError: cannot import name 'x' from 'a.b' (C:\\Program Files (x86)\\a\\b.py)",
            "Python",
            "name-not-importable",
            {"name": "x", "module": "a.b", "path": "C:\\Program Files (x86)\\a\\b.py"},
        ),
        (
            (
                "[rank0]: AttributeError: module 'numpy' has no attribute 'bool8'. Did you "
                "mean: 'bool'?"
            ),
            "Python",
            "module-attribute-missing",
            {"module": "numpy", "name": "bool8"},
        ),
        (
            "2025-01-01 12:00:00 ERROR TypeError: C.f() got an unexpected keyword argument 'k'",
            "Python",
            "keyword-not-accepted",
            {"function": "C.f", "name": "k"},
        ),
        (
            "/usr/bin/python3: No module named pip",
            "Python",
            "module-not-found",
            {"module": "pip"},
        ),
        ("ImportError: No module named yaml", "Python", "module-not-found", {"module": "yaml"}),
        (
            (
                "#12 3.4 ERROR: torch-2.1.0-cp312-cp312-win_amd64.whl is not a supported "
                "wheel on this platform."
            ),
            "pip",
            "wheel-refused",
            {"wheel": "torch-2.1.0-cp312-cp312-win_amd64.whl"},
        ),
        (
            (
                "  ERROR: Could not find a version that satisfies the requirement torch==2.0 "
                "(from versions: none)"
            ),
            "pip",
            "no-version",
            {"requirement": "torch==2.0", "versions": "none"},
        ),
        (
            (
                "ERROR: Could not find a version that satisfies the requirement torch>=2.0 "
                "(from a) (from versions: 1.0, 1.1)"
            ),
            "pip",
            "no-version",
            {"requirement": "torch>=2.0", "versions": "1.0, 1.1"},
        ),
        (
            "  Unable to find installation candidates for torch (2.0.0+cu118)",
            "Poetry",
            "no-fitting-wheel",
            {"requirement": "torch", "version": "2.0.0+cu118"},
        ),
        (
            "  - nothing provides requested pytorch ==1.3.1 py3.6_cuda10.0.130_cudnn7.6.3_0",
            "conda",
            "nothing-provides",
            {"requirement": "pytorch ==1.3.1 py3.6_cuda10.0.130_cudnn7.6.3_0"},
        ),
        (
            "   └─ __cuda >=12 , which is missing on the system.",
            "conda",
            "system-too-old",
            {"requirement": "__cuda >=12"},
        ),
        (
            "error: no matching package named `cudarc` found",
            "cargo",
            "crate-not-found",
            {"requirement": "cudarc"},
        ),
    ],
)
def test_a_line_is_heard(line: str, speaker: str, kind: str, objects: dict[str, str]) -> None:
    """The program, the mechanism and what the message names."""
    events = [one for one in events_of(Log(source="log", lines=(line,))) if one.kind == kind]
    assert [(one.speaker, {k: v.strip() for k, v in one.objects.items()}) for one in events] == [
        (speaker, objects)
    ]


@pytest.mark.parametrize(
    "line",
    [
        "Attribute docs: a module may have no attribute 'x'",
        "the keyword argument 'x' is unexpected",
        "no version of this file was found",
        "Requirement already satisfied: numpy in /v/lib/python3.11/site-packages (2.0.0)",
        "Successfully installed torch-2.1.0",
    ],
)
def test_other_lines_are_no_events(line: str) -> None:
    """Prose and good news."""
    assert not events_of(Log(source="log", lines=(line,)))
