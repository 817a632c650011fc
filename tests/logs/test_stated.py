"""Releases of packages that stand anywhere in a paste."""

from __future__ import annotations

import pytest

from doctor.logs.log import log_facts
from doctor.logs.stated import releases
from doctor.model.facts import value_of
from doctor.model.observation import Log


def _read(text: str) -> dict[str, str]:
    return {name: one.release for name, one in releases(text.split("\n")).items()}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Python 3.8, torch 2.1.0+cuda 12.1", {"torch": "2.1.0"}),
        ("torch 2.1.0+cu118, torchvision 0.16.0+cu118", {"torch": "2.1.0+cu118"}),
        ("- PyTorch version: 2.5.1\n- Platform: Linux", {"torch": "2.5.1"}),
        ("transformers Version: 4.31.0", {"transformers": "4.31.0"}),
        ("torch=2.1.0+cu118 | cuda=11.8 | has_gpu=False", {"torch": "2.1.0+cu118"}),
        ("My torch version is 1.13.1, and it fails", {"torch": "1.13.1"}),
        ("| **numpy** | 1.26.4 |", {"numpy": "1.26.4"}),
        (
            "$ pip list | grep -E 'cumm|spconv'\ncumm 0.2.8\ncumm-cu111   0.2.8",
            {"cumm": "0.2.8", "cumm-cu111": "0.2.8"},
        ),
        (
            ">>> import torch\n>>> torch.__version__\n'2.3.0+cu121'",
            {"torch": "2.3.0+cu121"},
        ),
        ("Name: onnxruntime-gpu\nVersion: 1.20.1", {"onnxruntime-gpu": "1.20.1"}),
        ("spconv-cu113 2.1.21\n\ncumm-cu113 0.4.9", {"spconv-cu113": "2.1.21"}),
        (
            "torch 2.0.0\nSuccessfully installed torch-2.1.0+cu118 numpy-1.26.0",
            {"torch": "2.1.0+cu118", "numpy": "1.26.0"},
        ),
        (
            "OSError: /venv/site-packages/numpy-1.24.4.dist-info/METADATA",
            {"numpy": "1.24.4"},
        ),
    ],
)
def test_releases_are_read_in_any_form(text: str, wanted: dict[str, str]) -> None:
    assert wanted.items() <= _read(text).items()


@pytest.mark.parametrize(
    "text",
    [
        "pip install torch==2.1.0 torchvision==0.16.0",
        "torch==2.1.0",
        "wanted=yes, torch=2.1.0, cuda=11.8",
        "ERROR: No matching distribution found for torch==1.8.1",
        "this release needs torch 2.6.0 or newer",
        "transformers>=4.45.0 is required for a normal functioning of this module",
        "xformers 0.0.23 requires torch==2.1.1, but you have other things",
        "torch 2.1.0\ntorch 2.3.0",
        "step 12.5, loss 0.31, lr 0.001",
        "torch was built 2024.01.02",
    ],
)
def test_what_is_demanded_or_stands_twice_is_not_installed(text: str) -> None:
    assert _read(text) == {}


def test_the_build_of_a_listed_torch_becomes_a_fact() -> None:
    text = (
        "# Name                    Version                   Build  Channel\n"
        "pytorch                   1.9.0               py3.8_cpu_0    pytorch\n"
        "torchvision               0.10.0                 py38_cpu    pytorch\n"
    )
    facts = log_facts(Log(source="log", lines=tuple(text.split("\n"))))
    assert value_of(facts, "torch.version") == "1.9.0"
    assert value_of(facts, "torch.build") == "cpu"


@pytest.mark.parametrize(
    ("line", "python"),
    [
        ("ImportError: /x/a.cpython-38-x86_64-linux-gnu.so: undefined symbol: f", "3.8"),
        (r'  File "C:\Python310\lib\site-packages\torch\__init__.py", line 1, in f', "3.10"),
        ('  File "/venv/lib/python3.9/site-packages/torch/__init__.py", line 1, in f', "3.9"),
        ("This needs Python 3.9 or newer", None),
    ],
)
def test_the_python_is_read_from_paths_and_names(line: str, python: str | None) -> None:
    facts = log_facts(Log(source="log", lines=(line,)))
    assert value_of(facts, "python.version") == python


def test_the_packages_of_a_traceback_outweigh_the_standard_library_of_another_python() -> None:
    lines = (
        '  File "/usr/lib/python3.8/ctypes/__init__.py", line 373, in __init__',
        '  File "/venv/lib/python3.11/site-packages/torch/__init__.py", line 168, in f',
    )
    assert value_of(log_facts(Log(source="log", lines=lines)), "python.minor") == "3.11"


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (
            r'  File "D:\a\ComfyUI_windows_portable\ComfyUI\nodes.py", line 1734, in load',
            r"D:\a\ComfyUI_windows_portable\python_embeded\python.exe",
        ),
        (
            r"PS C:\x y\ComfyUI_windows_portable> python_embeded\Scripts\pip.exe install x",
            r".\python_embeded\python.exe",
        ),
        (
            '  File "/isaac-sim/kit/python/lib/python3.7/site-packages/torch/a.py", line 1, in f',
            "/isaac-sim/python.sh",
        ),
        (
            '  File "/home/a/.local/share/pipx/venvs/x/lib/python3.11/site-packages/x/a.py"',
            "/home/a/.local/share/pipx/venvs/x/bin/python",
        ),
        ('  File "/usr/lib/python3/dist-packages/x.py", line 1, in f', None),
        ("$ .venv/bin/python -m pytest tests", ".venv/bin/python"),
        ('  File "/a/.venv/bin/pytest", line 1, in f', None),
    ],
)
def test_a_program_that_brings_its_python_names_it(line: str, path: str | None) -> None:
    facts = log_facts(Log(source="log", lines=(line,)))
    assert value_of(facts, "python.executable") == path
