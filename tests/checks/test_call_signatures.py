"""Calls from one package into another.

Those that cannot work are found, and those that may are left alone.
"""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.checks.test_autograd_contract import site
from tests.checks.trial import only_result, reasons, run_check
from tests.environments import site_packages

SCRIPT = "canaries/call_signatures.py"
TAKES = "def choose(kind, stage='both', *, strict=False):\n    return kind\n"


def look(folder: Path, caller: str, takes: str = TAKES) -> dict[str, Any]:
    """Return the result of the check on a caller and a package with a name that the check knows."""
    files = {
        "yunchang/kernels.py": takes,
        "yunchang/api.py": "from .kernels import choose\n",
        "above/model.py": dedent(caller),
    }
    return only_result(
        run_check(Path(sys.executable), SCRIPT, folder, CANARY_SITE=str(site(folder, files)))
    )


def calling(arguments: str) -> str:
    """Return a caller that hands these arguments over."""
    return (
        "import torch\nfrom yunchang.api import choose\ndef forward(x, *rest, **more):\n"
        f"    return choose({arguments})\n"
    )


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ("x, processor=None", "got an unexpected keyword argument 'processor'"),
        ("x, 1, 2", "takes 2 positional arguments but 3 were given"),
        ("stage=1", "is missing the argument 'kind'"),
    ],
)
def test_call_that_cannot_work_is_found(arguments: str, wrong: str, tmp_path: Path) -> None:
    result = look(tmp_path, calling(arguments))
    assert reasons(result) == {
        "signatures": "above calls choose() of yunchang, which "
        f"{wrong}: move above and yunchang to releases "
        "made for each other "
        "(above/model.py:4, yunchang/kernels.py:1)"
    }
    assert result["data"]["matters"] == "warning"


def test_import_where_the_machine_has_an_accelerator_counts(tmp_path: Path) -> None:
    caller = """
        import torch
        import some.envs as envs
        if torch.cuda.is_available() or envs.is_npu():
            from yunchang.kernels import choose
        else:
            choose = None
        def forward(x):
            return choose(x, processor=None)
    """
    assert set(reasons(look(tmp_path, caller))) == {"signatures"}


@pytest.mark.parametrize(
    "arguments",
    ["x", "x, 'both', strict=True", "kind=x", "*rest", "**more", "x, **more", "*rest, strict=True"],
)
def test_call_that_may_work_is_left_alone(arguments: str, tmp_path: Path) -> None:
    assert look(tmp_path, calling(arguments))["verdict"] == "passed"


WRONG = "choose(x, processor=None)"
TOP = "from yunchang.api import choose\n"
HEDGED = {
    "an attempt": (
        f"{TOP}def f(x):\n    try:\n        return {WRONG}\n    except TypeError:\n"
        "        return None\n"
    ),
    "a version": f"{TOP}NEW = 1\ndef f(x):\n    if NEW.version > 1:\n        return {WRONG}\n",
    "an early return": f"{TOP}def f(x):\n    if x.version:\n        return x\n    return {WRONG}\n",
    "two ways of calling": (
        f"{TOP}def f(x):\n    if x:\n        return {WRONG}\n    return choose(x)\n"
    ),
    "an import within a function": (
        f"def f(x):\n    from yunchang.api import choose\n    return {WRONG}\n"
    ),
    "two imports": (
        f"try:\n    {TOP}except ImportError:\n    from other import choose\ndef f(x):\n"
        f"    return {WRONG}\n"
    ),
    "an import that depends on a release": (
        f"import new\nif new.enough:\n    {TOP}def f(x):\n    return {WRONG}\n"
    ),
    "a parameter of that name": f"{TOP}def f(x, choose):\n    return {WRONG}\n",
    "another module": (
        f"from elsewhere.api import choose\nimport yunchang\ndef f(x):\n    return {WRONG}\n"
    ),
}


@pytest.mark.parametrize("shape", HEDGED)
def test_call_in_doubt_is_left_alone(shape: str, tmp_path: Path) -> None:
    assert not reasons(look(tmp_path, HEDGED[shape]))


@pytest.mark.parametrize(
    "takes",
    [
        "def choose(kind, **more): ...\n",
        "import functools\n@functools.singledispatch\ndef choose(kind): ...\n",
        (
            "try:\n    import fast\n    def choose(kind, processor): ...\n"
            "except ImportError:\n    def choose(kind): ...\n"
        ),
        "def choose(kind): ...\nchoose = print\n",
        "class choose:\n    pass\n",
        "from elsewhere import choose\n",
    ],
)
def test_function_in_doubt_is_left_alone(takes: str, tmp_path: Path) -> None:
    assert not reasons(look(tmp_path, calling("x, processor=None"), takes))


def test_environment_without_such_packages_is_a_skip(torch_python: Path, tmp_path: Path) -> None:
    result = only_result(
        run_check(torch_python, SCRIPT, tmp_path, CANARY_SITE=str(site_packages(torch_python)))
    )
    assert result["verdict"] == "skipped"
