"""Candle's own releases, built for the processor.

The healthy ones pass, and one that does not compile is named and healed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.checks.trial import only_result, reasons, run_check
from tests.conftest import missing
from tests.fingerprint import changes, fingerprint
from tests.workspaces import CargoError, application, cargo, cargo_home, fetched

pytestmark = pytest.mark.patient

MATMUL, ADD, FLASH = (
    f"canaries/candle_{name}.py"
    for name in ("noncontiguous_matmul", "cross_device_add", "flash_attn_build")
)

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(tmp_path: Path, needs: Callable[[str], str]) -> Run:
    """Return a function that runs a canary offline, with one build for all canaries."""
    needs("cargo")
    needs("cc")
    for name in "run", "shared":
        (tmp_path / name).mkdir()

    def start(script: str, workspace: Path, **more: str) -> dict[str, Any]:
        given = {
            "CANARY_WORKSPACE": str(workspace),
            "CARGO_HOME": str(cargo_home()),
            "CANARY_SHARED": str(tmp_path / "shared"),
            **more,
        }
        return run_check(Path(sys.executable), script, tmp_path / "run", **given)

    return start


def on(folder: Path, dependency: str, *pins: str) -> Path:
    """Make a workspace that depends on a release."""
    try:
        return fetched(application(folder, dependency), *pins)
    except CargoError as error:
        missing(str(error))


@pytest.mark.dear  # a build from nothing takes minutes; a push links with one build of an owner
@pytest.mark.parametrize("version", ["0.9.1", "0.11.0"])
def test_a_healthy_release_passes_both(run: Run, tmp_path: Path, version: str) -> None:
    workspace = on(tmp_path / "workspace", f'candle-core = "={version}"')
    before = fingerprint(workspace)
    product, added = (only_result(run(script, workspace)) for script in (MATMUL, ADD))
    assert (product["verdict"], product["reason"]) == ("passed", "")
    assert (added["verdict"], added["reason"]) == ("passed", "")
    assert added["seconds"] < product["seconds"] / 3
    assert any("rank-5 735 of 735" in line for line in product["data"]["told"])
    assert changes(before, fingerprint(workspace)) == []


# Every push tests what the lock alone shows: tests/patients/test_candle.py
@pytest.mark.dear
def test_a_release_that_does_not_compile_is_healed_by_an_older_half(
    run: Run, tmp_path: Path
) -> None:
    workspace = on(tmp_path / "workspace", 'candle-core = "=0.8.2"')
    document = run(MATMUL, workspace)
    said = reasons(only_result(document))["compile"]
    assert said.startswith(
        "error[E0277]: the trait bound `half::bf16: SampleBorrow<half::bf16>` is not satisfied"
    )
    assert "due to 20 previous errors" in document["log"]
    cargo(workspace, "update", "-p", "half", "--precise", "2.4.1")
    cargo(workspace, "fetch", "--locked")
    assert only_result(run(MATMUL, workspace))["verdict"] == "passed"


@pytest.mark.dear  # the same with a stand-in for Candle is a light test (test_candle_programs.py)
@pytest.mark.parametrize("version", ["0.9.1", "0.11.0"])
def test_what_a_larger_workspace_has_built_is_linked_in_seconds(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    entries = (
        f'candle-core = "={version}"\n'
        'serde = { version = "1", features = ["rc"] }\n'
        'half = { version = "2", features = ["serde"] }'
    )
    workspace = on(tmp_path / "workspace", entries)
    monkeypatch.setenv("CARGO_PROFILE_DEV_DEBUG", "0")  # a third of the time
    cargo(workspace, "build", "--locked", "--offline")
    monkeypatch.delenv("CARGO_PROFILE_DEV_DEBUG")
    before = fingerprint(workspace)
    for script in MATMUL, ADD:
        result = only_result(run(script, workspace, CANARY_TIER="quick"))
        assert (result["verdict"], result["reason"]) == ("passed", "")
        assert result["data"]["told"][0].startswith("linked with")
        if script == MATMUL:
            assert any("rank-5 735 of 735" in line for line in result["data"]["told"])
    assert changes(before, fingerprint(workspace)) == []


@pytest.mark.parametrize("version", ["0.9.1", "0.11.0"])
def test_the_build_script_of_a_release_compiles(run: Run, tmp_path: Path, version: str) -> None:
    workspace = on(tmp_path / "workspace", f'candle-flash-attn = "={version}"')
    result = only_result(run(FLASH, workspace))
    assert (result["verdict"], result["cases"]["build-script"]["verdict"]) == ("passed", "passed")
    assert not any("stubs" in line for line in result["data"].get("told", []))
