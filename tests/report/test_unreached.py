"""What is said of GPUs that no check reached, and how GPUs of each maker are named."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.model.facts import absent, present
from doctor.model.outcomes import Outcome
from doctor.model.report import Report
from doctor.report.html import document as html
from doctor.report.markdown import document as markdown
from doctor.report.markdown import step_summary
from doctor.report.terminal import document as terminal
from doctor.report.view import gpus
from doctor.report.view import outcomes as ends
from doctor.report.view import unreached as reached
from tests import toy
from tests.report import reports

CPU = toy.outcome("passed", check="torch-runtime")
H100 = [{"index": 0, "name": "NVIDIA H100"}, {"index": 1, "name": "NVIDIA H100"}]
SHOWN: dict[str, Any] = {"torch.build": "cuda", "gpu.vendors": ["nvidia"], "nvidia.gpus": H100}


def facts(**values: Any) -> dict[str, Any]:
    named = {name.replace("__", "."): value for name, value in values.items()}
    return {
        name: absent("test") if value is None else present(value, "test")
        for name, value in named.items()
    }


def seen(**changes: Any) -> Report:
    """Return a healthy report of a machine that shows two GPUs, none of which a check reached."""
    healthy = reports.healthy()
    known = healthy.observation.facts | toy.seen(SHOWN).facts | facts(**changes)
    outcomes = tuple(
        one for one in healthy.observation.outcomes if not (one.device or "").startswith("cuda")
    )
    return msgspec.structs.replace(
        healthy,
        observation=msgspec.structs.replace(healthy.observation, facts=known, outcomes=outcomes),
    )


def written(report: Report) -> dict[str, str]:
    """Return the report in every format that says in words that nothing was found."""
    return {
        "terminal": " ".join(
            terminal.render(report, verbosity=0, width=200, colour=False, unicode=True).split()
        ),
        "markdown": markdown.render(report),
        "html": html.render(report),
        "step summary": step_summary.render(report),
    }


def test_no_format_says_that_nothing_was_found_without_the_gpus_that_were_not_reached() -> None:
    for name, text in written(seen()).items():
        assert "torch did not reach 2 x NVIDIA H100" in text, name
        assert "Nothing found: the checks passed" not in text, name


def test_where_the_gpus_were_reached_nothing_is_added() -> None:
    report = seen()
    outcomes = (*report.observation.outcomes, toy.outcome("passed", device="cuda:0"))
    report = msgspec.structs.replace(
        report, observation=msgspec.structs.replace(report.observation, outcomes=outcomes)
    )
    for name, text in written(report).items():
        assert "did not reach" not in text, name


def test_a_variable_that_keeps_jax_on_the_processor_stands_beside_the_gpus() -> None:
    known = facts(torch__build="cpu", jax__build="cuda", jax__kept_on_cpu="JAX_PLATFORMS=cpu")
    said = "JAX (JAX_PLATFORMS=cpu) did not reach 2 x NVIDIA H100"
    assert reached.unreached_gpus({**toy.seen(SHOWN).facts, **known}, [CPU]) == said
    changes = {name.replace(".", "__"): fact.value for name, fact in known.items()}
    for name, text in written(seen(**changes)).items():
        assert said in text, name


@pytest.mark.parametrize(
    "changes",
    [
        {"gpu__vendors": None},
        {"torch__build": "cpu"},
        {"torch__build": None},
        {"gpu__vendors": "odd"},
    ],
    ids=["no GPU", "a CPU build", "no torch", "an odd value"],
)
def test_nothing_is_missed_where_no_gpu_is_meant(changes: dict[str, Any]) -> None:
    assert reached.unreached_gpus({**toy.seen(SHOWN).facts, **facts(**changes)}, [CPU]) == ""


@pytest.mark.parametrize(
    ("build", "error", "row"),
    [
        ("cuda", "torch.cuda_error", "no check ran on cuda: no reason known"),
        ("rocm", "torch.cuda_error", "no check ran on cuda (ROCm): no reason known"),
        ("xpu", "torch.xpu_error", "no check ran on xpu: no reason known"),
    ],
)
def test_each_build_says_that_no_check_ran_on_its_devices(build: str, error: str, row: str) -> None:
    known = facts(torch__build=build, **{error.replace(".", "__"): "no reason known. Nor a cure."})
    assert reached.unreached(known, [CPU]) == [row]
    kind = "xpu" if build == "xpu" else "cuda"
    assert reached.unreached(known, [CPU, toy.outcome("passed", device=f"{kind}:0")]) == []


MI300X = {"name": "AMD Instinct MI300X", "gfx": "gfx942", "memory_bytes": 192 << 30}


@pytest.mark.parametrize(
    ("changes", "row"),
    [
        (
            {
                "gpu__vendors": ["amd"],
                "amd__gpus": [MI300X],
                "amd__driver": "6.10.5",
                "torch__build": "rocm",
            },
            "AMD Instinct MI300X (gfx942, 192 GiB); driver amdgpu 6.10.5",
        ),
        (
            {
                "gpu__vendors": ["amd"],
                "amd__gpus": [MI300X],
                "amd__driver": None,
                "amd__kfd": "missing",
                "torch__build": "rocm",
            },
            "AMD Instinct MI300X (gfx942, 192 GiB); no driver, /dev/kfd is missing",
        ),
        (
            {
                "gpu__vendors": ["intel"],
                "intel__gpus": [{}],
                "intel__driver": "xe",
                "intel__render": "no permission",
                "torch__build": "xpu",
            },
            "Intel GPU; driver xe, its render node is closed to this user",
        ),
        (
            {"gpu__vendors": None, "torch__build": "rocm", "nvidia__driver_version": None},
            "no AMD GPU on this machine",
        ),
        (
            {"gpu__vendors": None, "torch__build": "cuda", "nvidia__driver_version": None},
            "no NVIDIA driver on this machine",
        ),
        (
            {
                "gpu__vendors": None,
                "torch__build": "cuda",
                "nvidia__driver_version": None,
                "host__wsl_dxg": False,
            },
            "Windows hands no GPU into WSL (no /dev/dxg)",
        ),
        (
            {
                "torch__build": "cuda",
                "nvidia__driver_version": None,
                "torch__reaches_cuda": True,
                "torch__cuda_devices": [{"name": "H200"}],
            },
            "H200; no driver shows itself, and torch computes all the same",
        ),
        (
            {
                "gpu__vendors": ["nvidia", "amd"],
                "amd__gpus": [{}],
                "nvidia__gpus": H100[:1],
                "torch__build": "cuda",
            },
            "NVIDIA H100",
        ),
    ],
)
def test_gpus_of_each_maker_are_named(changes: dict[str, Any], row: str) -> None:
    assert gpus.row(facts(**changes)) == row


def pairs(device: str, verdict: str) -> Outcome:
    ended = toy.outcome(
        "passed",
        check="cross-device-add",
        device=device,
        **{"every-pair": verdict, "sum": "passed"},
    )
    return msgspec.structs.replace(ended, reason="")


def test_devices_on_which_other_cases_were_skipped_do_not_share_a_line() -> None:
    """A pair needs two GPUs, so the CPU skips it.

    The GPUs, which tried it, must not be said to have skipped it.
    """
    outcomes = [pairs("cpu", "skipped"), pairs("cuda:0", "passed"), pairs("cuda:1", "passed")]
    assert [ends.devices(alike) for alike in ends.grouped(outcomes, {})] == ["cpu", "cuda:0-1"]


def test_a_red_check_names_the_card_in_every_format() -> None:
    known = toy.seen(
        {
            **SHOWN,
            "torch.cuda_devices": [{"index": 0, "name": "RTX 3060", "pci_bus_id": "0000:41:00.0"}],
        }
    ).facts
    report = seen()
    red = toy.outcome("failed", check="sums", device="cuda:0")
    observation = msgspec.structs.replace(
        report.observation, facts={**report.observation.facts, **known}, outcomes=(red,)
    )
    texts = written(msgspec.structs.replace(report, observation=observation))
    del texts["step summary"]
    for name, text in texts.items():
        assert "the card is RTX 3060, 0000:41:00.0" in text.replace("&#8203;", ""), name
