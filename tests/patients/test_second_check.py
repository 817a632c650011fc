"""A second check of an environment that did not change recalls what passed.

One that did is examined anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.command import Said, check
from tests.conftest import Clone, furnish
from tests.fingerprint import changes, fingerprint

_SOME = ("--only", "torch-runtime", "--only", "noncontiguous-matmul", "--only", "module-imports")


def _recalled(said: Said) -> dict[str, bool]:
    return {
        f"{outcome['id']} {outcome['device']}": bool(outcome["cached_from"])
        for outcome in said.report["outcomes"]
    }


def _ends(said: Said) -> list[tuple[Any, ...]]:
    return [
        (outcome["id"], outcome["device"], outcome["verdict"], outcome["data"])
        for outcome in said.report["outcomes"]
    ]


def test_the_second_check_runs_nothing_and_says_so(torch_python: Path, tmp_path: Path) -> None:
    folders, env = furnish(tmp_path, torch_python)
    before = fingerprint(folders["home"])
    env["DOCTOR_CACHE_DIR"] = str(folders["home"] / ".cache/canary-doctor")
    first, second = (
        check("--python", torch_python, *_SOME, cwd=folders["project"], env=env) for _ in range(2)
    )
    assert set(_recalled(first).values()) == {False}
    assert set(_recalled(second).values()) == {True}
    assert _ends(first) == _ends(second)
    assert first.code == second.code == 0
    written = [
        path
        for path in changes(before, fingerprint(folders["home"]))
        if not path.startswith(".cache/canary-doctor")
    ]
    assert written == [".cache"]  # the time of its last change
    third = check("--python", torch_python, *_SOME, "--fresh", cwd=folders["project"], env=env)
    assert set(_recalled(third).values()) == {False}


def test_an_environment_that_broke_since_is_examined_anew(clone: Clone, tmp_path: Path) -> None:
    python = clone("torch")
    env = {"DOCTOR_CACHE_DIR": str(tmp_path / "kept")}
    assert check("--python", python, *_SOME, cwd=tmp_path, env=env).code == 0
    (entry,) = python.parents[1].glob("lib/python3*/site-packages/torch/__init__.py")
    text = entry.read_text(encoding="utf-8")
    entry.unlink()  # a hard link into a cache of packages
    entry.write_text(text + "\nraise ImportError('broken since')\n", encoding="utf-8")
    said = check("--python", python, *_SOME, cwd=tmp_path, env=env)
    assert said.code == 1
    assert not any(_recalled(said).values())
