"""Ring attention that takes over a backward pass of another package.

The releases that fail, the ones that heal, told apart unimported.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.checks.trial import only_result, reasons, run_check
from tests.command import Said, check
from tests.conftest import Clone
from tests.environments import site_packages, uv
from tests.patients.healing import heal

CHECK = "autograd-contract"
KNOWN = "xdit/ring-attention-backward"
FORWARD = "'xFuserRingFlashAttnFuncBackward' object has no attribute 'softcap'"
COUNT = "function xFuserRingFlashAttnFuncBackward returned an incorrect number of gradients"

AFFECTED = [
    (
        "0.4.2",
        "0.6.1",
        {
            "attributes": "sets no ctx.softcap, ctx.attn_type, which",
            "gradient-count": "given 15 inputs, and yunchang's",
        },
    ),
    (
        "0.4.3.post2",
        "0.6.1",
        {
            "attributes": "sets no ctx.softcap, which",
            "gradient-count": "given 16 inputs, and yunchang's",
        },
    ),
    (
        "0.4.5",
        "0.6.4",
        {"gradient-count": "given 17 inputs, and yunchang's RingFlashAttnFunc.backward returns 14"},
    ),
]
HEALTHY = [("0.5.0", "0.6.4"), ("0.7.0", "0.6.4")]


CALLS = "xdit/yunchang-without-attn-processor"


def examine(python: Path, folder: Path) -> Said:
    """Return what doctor says when it looks at autograd functions only."""
    return check(
        "--python", python, "--only", CHECK, "--skip", "torch-runtime", cwd=folder, env=with_uv()
    )


def with_uv() -> dict[str, str]:
    """Return settings under which doctor finds uv, and advises to use it."""
    return {"PATH": f"{Path(uv()).parent}{os.pathsep}{os.environ['PATH']}"}


def outcome(said: Said) -> dict[str, Any]:
    """Return the one outcome of the check."""
    (only,) = said.outcomes(CHECK)
    return only


@pytest.mark.parametrize(("xfuser", "yunchang", "expected"), AFFECTED)
def test_affected_releases_are_told_apart_without_torch(
    xfuser: str, yunchang: str, expected: dict[str, str], clone: Clone, tmp_path: Path
) -> None:
    said = examine(
        clone("bare", "--no-deps", f"xfuser=={xfuser}", f"yunchang=={yunchang}"), tmp_path
    )
    red = {
        name: case["reason"]
        for name, case in outcome(said)["cases"].items()
        if case["verdict"] == "failed"
    }
    assert set(red) == set(expected)
    assert all(words in red[name] for name, words in expected.items())
    found = said.finding(KNOWN)
    assert (found["severity"], found["confidence"]) == ("warning", "high")
    assert not [
        finding["id"]
        for finding in said.report["findings"]
        if finding["id"].startswith(("canary/", "check/"))
    ]


@pytest.mark.parametrize(("xfuser", "yunchang"), HEALTHY)
def test_healed_releases_are_left_alone(
    xfuser: str, yunchang: str, clone: Clone, tmp_path: Path
) -> None:
    said = examine(
        clone("bare", "--no-deps", f"xfuser=={xfuser}", f"yunchang=={yunchang}"), tmp_path
    )
    assert outcome(said)["verdict"] == "passed"
    assert {finding["id"] for finding in said.report["findings"]} <= {
        "requires/xfuser",
        "requires/yunchang",
    }
    assert [name.rpartition(" ")[2] for name in outcome(said)["data"]["set_aside"]] == [
        "xFuserSanaRingFlashAttnFunc"
    ]


def test_gradients_are_asked_of_the_installed_classes(
    torch_python: Path, clone: Clone, tmp_path: Path
) -> None:
    python = clone("torch", "--no-deps", "xfuser==0.4.2", "yunchang==0.6.1")
    said = examine(python, tmp_path)
    assert FORWARD in outcome(said)["cases"]["running"]["reason"]
    found = said.finding(KNOWN)
    assert (found["severity"], found["confidence"]) == ("warning", "high")
    other = site_packages(clone("bare", "--no-deps", "xfuser==0.4.5", "yunchang==0.6.4"))
    result = only_result(
        run_check(
            torch_python, f"canaries/{CHECK.replace('-', '_')}.py", tmp_path, CANARY_SITE=str(other)
        )
    )
    assert f"{COUNT} (expected 17, got 14)" in reasons(result)["running"]
    heal(found, tmp_path)
    healed = outcome(examine(python, tmp_path))
    assert (healed["verdict"], healed["cases"]["running"]["verdict"]) == ("passed", "passed")


@pytest.mark.parametrize(
    ("xfuser", "yunchang", "red"),
    [("0.4.3.post3", "0.6.1", True), ("0.4.2", "0.6.1", False), ("0.7.0", "0.6.4", False)],
)
def test_argument_that_the_other_package_does_not_take_is_found(
    xfuser: str, yunchang: str, red: bool, clone: Clone, tmp_path: Path
) -> None:
    python = clone("bare", "--no-deps", f"xfuser=={xfuser}", f"yunchang=={yunchang}")
    said = check("--python", python, "--only", "call-signatures", cwd=tmp_path, env=with_uv())
    (only,) = said.outcomes("call-signatures")
    assert only["verdict"] == ("failed" if red else "passed")
    if not red:
        return
    found = said.finding(CALLS)
    assert (found["severity"], found["confidence"]) == ("warning", "high")
    assert (
        "select_flash_attn_impl() of yunchang, which got an unexpected keyword argument "
        "'attn_processor'"
    ) in only["reason"]
    heal(found, tmp_path)
    (healed,) = check(
        "--python", python, "--only", "call-signatures", cwd=tmp_path, env=with_uv()
    ).outcomes("call-signatures")
    assert healed["verdict"] == "passed"


def test_renamed_copy_is_found_and_explained_by_its_own_words(clone: Clone, tmp_path: Path) -> None:
    python = clone("bare", "--no-deps", "xfuser==0.4.5", "yunchang==0.6.4")
    packages = site_packages(python)
    for old, new in ("xfuser", "nearby"), ("yunchang", "faraway"):
        shutil.rmtree(next(packages.glob(f"{old}-*.dist-info")))
        shutil.move(packages / old, packages / new)
    for path in packages.rglob("*.py"):
        text = (
            path.read_text(encoding="utf-8")
            .replace("yunchang", "faraway")
            .replace("xfuser", "nearby")
            .replace("RingFlash", "Circular")
        )
        path.unlink()
        path.write_text(text, encoding="utf-8")
    said = examine(python, tmp_path)
    assert {finding["id"] for finding in said.report["findings"]} == {f"canary/{CHECK}"}
    found = said.finding(f"canary/{CHECK}")
    assert found["severity"] == "warning"
    told = found["evidence"][0]["text"]
    assert (
        "xFuserCircularAttnFunc is given 17 inputs, and faraway's "
        "CircularAttnFunc.backward returns 14"
    ) in told
    assert "move nearby and faraway to releases made for each other" in told
