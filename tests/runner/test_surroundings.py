"""A check that fails by a variable of the shell is run again without it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.runner.test_devices_of_runner import Machine

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the stand-ins share imports, on Linux only"
)

_HARMLESS = {f"NCCL_SETTING_{number}": "1" for number in range(5)}


def _culprit(machine: Machine) -> dict[str, object]:
    """Return the facts about the culprit, by the ends of their names."""
    found = machine.seen.facts.items()
    return {
        name.removeprefix("checks."): fact.value
        for name, fact in found
        if name.startswith("checks.")
    }


def test_one_variable_of_many_is_found_by_halves(tmp_path: Path) -> None:
    """The message names no variable, and only one device fails."""
    machine = Machine(
        tmp_path, one="'CUDA_FORCE_PTX_JIT' in os.environ and fail('no kernel image')"
    )
    machine.check(env={**_HARMLESS, "CUDA_FORCE_PTX_JIT": "1"})
    assert _culprit(machine) == {
        "culprit": "CUDA_FORCE_PTX_JIT",
        "culprit_value": "1",
        "culprit_check": "torch-runtime on cuda:1",
    }
    assert machine.started().count("cuda:1") <= 8


def test_a_variable_that_stops_the_search_is_found(tmp_path: Path) -> None:
    """Without it the search lists devices, which is no result of its own."""
    look = "'CUDA_DEVICE_ORDER' in os.environ and fail('invalid device ordinal')"
    machine = Machine(tmp_path, look=look)
    machine.check(env={"CUDA_DEVICE_ORDER": "BUS"})
    assert _culprit(machine)["culprit"] == "CUDA_DEVICE_ORDER"


def test_a_variable_that_the_message_names_costs_one_run(tmp_path: Path) -> None:
    """A value that looks like a secret is not shown."""
    first = "'TORCH_LOGS' in os.environ and fail('see TORCH_LOGS')"
    machine = Machine(tmp_path, first=first)
    machine.check(env={**_HARMLESS, "TORCH_LOGS": "ghp_" + "a1B2" * 9})
    found = _culprit(machine)
    assert found["culprit"] == "TORCH_LOGS"
    assert "ghp_a1B2" not in str(found["culprit_value"])
    assert machine.started().count("cpu") <= 3


def test_the_harmful_folder_of_a_list_is_left_out(tmp_path: Path) -> None:
    one = "'/old' in os.environ.get('LD_LIBRARY_PATH', '') and fail('undefined symbol')"
    machine = Machine(tmp_path, one=one)
    machine.check(env={**_HARMLESS, "LD_LIBRARY_PATH": "/opt/tools:/opt/old:/opt/more"})
    found = _culprit(machine)
    assert (found["culprit"], found["culprit_rest"]) == ("LD_LIBRARY_PATH", "/opt/tools:/opt/more")


def test_what_fails_without_them_too_has_no_culprit(tmp_path: Path) -> None:
    """Two runs are enough to see that; which GPUs are visible, in which order, is not varied."""
    machine = Machine(tmp_path, one="fail('an uncorrectable ECC error')")
    chosen = {"CUDA_VISIBLE_DEVICES": "0,1,2,3", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    machine.check(env={**chosen, "LD_LIBRARY_PATH": "/opt/a", **_HARMLESS})
    assert _culprit(machine) == {}
    assert machine.started().count("cuda:1") == 3


def test_another_order_of_the_cards_is_no_cure(tmp_path: Path) -> None:
    """In another order the number means another card, and that one would pass."""
    one = "'CUDA_DEVICE_ORDER' in os.environ and fail('no kernel image')"
    machine = Machine(tmp_path, one=one)
    machine.check(env={"CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
    assert _culprit(machine) == {}


def test_without_such_variables_nothing_runs_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path, one="fail('an uncorrectable ECC error')")
    machine.check()
    assert machine.started().count("cuda:1") == 1
