"""GPUs that the machine shows and that torch does not reach.

Told as an error, with the reason, once.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from doctor.facts.derive import derive
from doctor.judge.match import diagnose
from doctor.model.catalog import Catalog
from doctor.model.findings import Detection
from doctor.model.issues import Affected, Signature
from doctor.model.outcomes import Outcome
from doctor.model.scales import Confidence, Severity
from tests import toy

GPUS = [
    {
        "index": number,
        "name": "NVIDIA H100",
        "uuid": f"GPU-{number}",
        "pci_bus_id": f"0000:{number}1:00.0",
    }
    for number in range(2)
]
MISSED: dict[str, Any] = {
    "torch.build": "cuda",
    "torch.cuda_available": False,
    "torch.devices": ["cpu"],
    "torch.cuda_error": "No CUDA GPUs are available",
    "nvidia.gpus": GPUS,
    "nvidia.visible": GPUS,
    "nvidia.driver_version": "580.65.06",
}
SKIPPED = toy.outcome("skipped", check="torch-runtime", device="cuda")


def found(
    *outcomes: Outcome, catalog: Catalog | None = None, **changes: Any
) -> tuple[Detection, ...]:
    known = catalog or toy.catalog()
    seen = toy.seen(
        MISSED | {name.replace("__", "."): value for name, value in changes.items()}, *outcomes
    )
    return diagnose(msgspec.structs.replace(seen, facts=derive(seen.facts, known)), known).findings


def test_gpus_that_torch_does_not_reach_are_an_error_in_its_own_words() -> None:
    (told,) = found(SKIPPED)
    assert (told.id, told.severity, told.confidence) == (
        "reach/cuda",
        Severity.ERROR,
        Confidence.HIGH,
    )
    assert "2 x NVIDIA H100" in told.title
    assert "No CUDA GPUs are available" in told.message
    assert {evidence.fact for evidence in told.evidence} == {
        "torch.cuda_error",
        "nvidia.driver_version",
    }
    assert told.recipes


@pytest.mark.parametrize(
    "changes",
    [
        {"torch__build": "cpu"},
        {"nvidia__gpus": None, "nvidia__visible": None},
        {"torch__cuda_available": None, "torch__devices": None},
        {"torch__cuda_available": True, "torch__devices": ["cpu", "cuda:0"]},
    ],
    ids=["a CPU build", "no GPU", "no check ran", "reached"],
)
def test_no_alarm_where_nothing_is_missed(changes: dict[str, Any]) -> None:
    assert found(**changes) == ()


@pytest.mark.parametrize(
    "variable", [{"env__CUDA_VISIBLE_DEVICES": "-1"}, {"nvidia__hidden_on_purpose": True}]
)
def test_gpus_that_are_hidden_on_purpose_are_a_note(variable: dict[str, Any]) -> None:
    (told,) = found(SKIPPED, **variable)
    assert (told.id, told.severity) == ("reach/hidden", Severity.NOTE)


def test_a_job_that_asked_slurm_for_no_gpu_is_not_what_somebody_meant() -> None:
    assert found(SKIPPED, env__CUDA_VISIBLE_DEVICES="NoDevFiles", env__SLURM_JOB_ID="1") == ()


def test_a_wrong_choice_of_gpus_is_named_in_the_title() -> None:
    wrong = "CUDA_VISIBLE_DEVICES=7, but this machine has GPUs 0 to 1"
    (told,) = found(SKIPPED, nvidia__visible_error=wrong, nvidia__visible=None)
    assert wrong in told.title
    assert told.recipes[0].steps[0].env == {"CUDA_VISIBLE_DEVICES": "0"}


FULL = {
    **GPUS[1],
    "memory_bytes": 80 << 30,
    "memory_used_bytes": 79 << 30,
    "processes": [{"pid": 4711, "memory_bytes": 78 << 30}],
}
CARD = {"index": 0, "name": "NVIDIA H100", "uuid": "1"}


@pytest.mark.parametrize(
    ("state", "nvml", "words", "severity"),
    [
        ("full", {}, "has no memory left: 1.0 of 80.0 GiB are free", Severity.WARNING),
        ("full", {"mig": True}, "has no memory left", Severity.WARNING),
        (
            "busy",
            {"compute_mode": "exclusive_process"},
            "is taken by another process (compute mode exclusive process)",
            Severity.WARNING,
        ),
        (
            "busy",
            {"compute_mode": "prohibited"},
            "takes no process at all (compute mode prohibited)",
            Severity.ERROR,
        ),
        ("busy", {}, "is busy or unavailable", Severity.WARNING),
    ],
)
def test_a_gpu_that_is_taken_is_named_with_what_is_free_and_who_has_it(
    state: str, nvml: dict[str, Any], words: str, severity: Severity
) -> None:
    skipped = msgspec.structs.replace(
        toy.outcome("skipped", check="torch-runtime", device="cuda:0"), data={"state": state}
    )
    gpus = [GPUS[0], {**FULL, **nvml}]
    reached: dict[str, Any] = {
        "torch__cuda_available": True,
        "torch__devices": ["cpu"],
        "torch__cuda_devices": [CARD],
    }
    told = found(skipped, nvidia__gpus=gpus, nvidia__visible=gpus[1:], **reached)
    assert [(each.id, each.severity) for each in told] == [(f"reach/cuda-{state}", severity)]
    assert told[0].title == f"cuda:0 (NVIDIA H100, 0000:11:00.0, nvidia-smi 1) {words}"
    assert "process 4711 (78.0 GiB)" in told[0].message


def test_a_gpu_that_any_process_may_use_and_that_takes_none_is_an_error_without_a_culprit() -> None:
    """So says a virtual GPU without a licence."""
    skipped = msgspec.structs.replace(
        toy.outcome("skipped", check="torch-runtime", device="cuda:0"), data={"state": "busy"}
    )
    gpus = [{**GPUS[1], "name": "GRID A100D-20C", "compute_mode": "default", "processes": []}]
    reached: dict[str, Any] = {
        "torch__cuda_available": True,
        "torch__devices": ["cpu"],
        "torch__cuda_devices": [CARD],
    }
    (told,) = found(skipped, nvidia__gpus=gpus, nvidia__visible=gpus, **reached)
    assert (told.id, told.severity) == ("reach/cuda-unavailable", Severity.ERROR)
    assert "another process" not in f"{told.title} {told.message}"
    assert "licence" in told.message


def test_a_container_without_gpus_is_told_that_its_start_decides() -> None:
    (told,) = found(SKIPPED, host__container="docker", env__NVIDIA_VISIBLE_DEVICES="void")
    assert (told.id, told.severity) == ("reach/hidden", Severity.NOTE)
    assert "Without the variable" not in told.message
    assert [str(one.use_if[0]).count("kubernetes") for one in told.recipes] == [1, 0]
    assert told.recipes[0].snippet is not None
    assert "nvidia.com/gpu" in told.recipes[0].snippet.after


def test_a_check_that_went_red_by_itself_is_told_alone() -> None:
    red = toy.outcome("failed", check="torch-runtime", device="cuda")
    assert [each.id for each in found(red)] == ["canary/torch-runtime"]


def test_an_amd_gpu_that_is_not_reached_is_named_by_its_target() -> None:
    amd = {
        "torch__build": "rocm",
        "amd__gpus": [{"gfx": "gfx942"}] * 2,
        "nvidia__gpus": None,
        "nvidia__visible": None,
    }
    (told,) = found(SKIPPED, torch__cuda_error="No HIP GPUs are available", **dict[str, Any](amd))
    assert (told.id, told.severity) == ("reach/rocm", Severity.ERROR)
    assert "2 x AMD GPU (gfx942)" in told.title


def test_a_known_issue_whose_text_torch_prints_is_told_in_its_place_and_with_its_weight() -> None:
    mild = toy.issue(
        title="no GPU",
        severity=Severity.NOTE,
        affected=(),
        proofs=(),
        signatures=(Signature(pattern="No CUDA GPUs"),),
    )
    (told,) = found(SKIPPED, catalog=toy.catalog(torch__none_visible=mild))
    assert (told.id, told.severity, told.confidence) == (
        "torch/none-visible",
        Severity.ERROR,
        Confidence.MEDIUM,
    )
    assert told.evidence[0].fact == "torch.cuda_error"


def test_words_of_a_torch_without_a_gpu_are_no_text_to_search() -> None:
    known = toy.issue(affected=(), proofs=(), signatures=(Signature(pattern="No CUDA GPUs"),))
    assert (
        found(
            catalog=toy.catalog(torch__none_visible=known), nvidia__gpus=None, nvidia__visible=None
        )
        == ()
    )


def test_a_cause_that_names_the_rule_among_its_symptoms_stands_for_it() -> None:
    row = Affected(when=(toy.condition("nvidia.libcuda", absent=True),))
    cause = toy.issue(
        title="no libcuda",
        certain=True,
        affected=(row,),
        signatures=(),
        proofs=(),
        symptoms=("reach/cuda",),
    )
    assert [
        each.id for each in found(catalog=toy.catalog(cuda__no_libcuda=cause), nvidia__libcuda=None)
    ] == ["cuda/no-libcuda"]


def test_words_of_nvml_are_searched_as_nvidia_smi_writes_them() -> None:
    known = toy.issue(
        affected=(),
        proofs=(),
        signatures=(Signature(pattern="Failed to initialize NVML: Insufficient Permissions"),),
    )
    static: dict[str, Any] = {
        "torch__cuda_available": None,
        "torch__devices": None,
        "torch__cuda_error": None,
        "nvidia__nvml": "Insufficient Permissions",
    }
    told = found(catalog=toy.catalog(nvidia__rights=known), nvidia__gpu_present=True, **static)
    assert [(each.id, each.evidence[0].fact) for each in told] == [("nvidia/rights", "nvidia.nvml")]
    assert (
        found(
            catalog=toy.catalog(nvidia__rights=known),
            **{**static, "nvidia__gpus": None, "nvidia__visible": None},
        )
        == ()
    )


def test_some_gpus_that_are_not_reached_are_named() -> None:
    one = [{"index": 0, "name": "NVIDIA H100", "uuid": "1"}]
    (told,) = found(
        torch__cuda_available=True, torch__devices=["cpu", "cuda:0"], torch__cuda_devices=one
    )
    assert (told.id, told.severity) == ("reach/cuda-some", Severity.ERROR)
    assert "nvidia-smi 0 (NVIDIA H100, 0000:01:00.0)" in told.title


@pytest.mark.parametrize(
    "visible",
    [
        GPUS[:1],
        [GPUS[0], {**GPUS[1], "error": "Insufficient Permissions"}],
        [{**GPUS[0], "mig": True}, GPUS[1]],
    ],
    ids=["one is hidden", "one belongs to another job", "divided GPUs are not counted"],
)
def test_no_alarm_where_the_rest_is_not_meant_for_this_process(visible: list[Any]) -> None:
    one = [{"index": 0, "name": "NVIDIA H100", "uuid": "0"}]
    reached: dict[str, Any] = {
        "torch__cuda_available": True,
        "torch__devices": ["cpu", "cuda:0"],
        "torch__cuda_devices": one,
    }
    assert found(nvidia__visible=visible, **reached) == ()


@pytest.mark.parametrize(
    "build", [{"torch__build": "cpu"}, {"torch__build": None}, {"env__CUDA_VISIBLE_DEVICES": "-1"}]
)
def test_words_of_nvml_say_nothing_where_nothing_here_wants_an_nvidia_gpu(
    build: dict[str, Any],
) -> None:
    """A broken driver is none of the business of a torch for the CPU."""
    mismatch = Signature(pattern="Driver/library version mismatch")
    known = toy.issue(affected=(Affected(exposes=False),), proofs=(), signatures=(mismatch,))
    words: dict[str, Any] = {
        "torch__cuda_available": None,
        "torch__devices": None,
        "torch__cuda_error": None,
    }
    words["nvidia__nvml"] = "Driver/library version mismatch"
    assert [each.id for each in found(catalog=toy.catalog(nvidia__mismatch=known), **words)] == [
        "nvidia/mismatch"
    ]
    assert found(catalog=toy.catalog(nvidia__mismatch=known), **words, **build) == ()


ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
CARDS = [{"index": number, "name": "RTX 3060", "uuid": f"GPU-{1 - number}"} for number in range(2)]


def test_the_dead_gpu_comes_first_and_is_named_as_nvidia_smi_knows_it() -> None:
    """CUDA counts by speed, nvidia-smi by slot; people pull cards by what is written."""
    dead = msgspec.structs.replace(
        toy.outcome("failed", check="torch-runtime", device="cuda:1"), reason=ECC
    )
    leaning = toy.outcome("failed", check="cross-device-add", device="cuda:0", pair="failed")
    reached = {
        "torch__cuda_available": True,
        "torch__devices": ["cpu", "cuda:0"],
        "torch__cuda_devices": CARDS,
    }
    told = found(leaning, dead, catalog=None, **dict[str, Any](reached))
    assert [each.id for each in told] == ["canary/torch-runtime", "canary/cross-device-add"]
    name = "torch-runtime on cuda:1 (RTX 3060, 0000:01:00.0, nvidia-smi 0) failed"
    assert told[0].title.startswith(name)
    assert "uncorrectable ECC error" in told[0].title
    lost = toy.issue(
        title="lost",
        affected=(),
        proofs=(),
        signatures=(Signature(pattern="uncorrectable ECC error"),),
    )
    named = found(leaning, dead, catalog=toy.catalog(nvidia__lost=lost), **dict[str, Any](reached))
    assert named[0].id == "nvidia/lost"
    assert (
        named[0].evidence[0].source
        == "torch-runtime on cuda:1 (RTX 3060, 0000:01:00.0, nvidia-smi 0)"
    )


_OTHERS = {
    "jax": (
        "jax.error",
        (
            "Unable to initialize backend 'cuda': INTERNAL: no supported devices found for "
            "platform CUDA"
        ),
        "JAX",
    ),
    "onnxruntime": (
        "onnxruntime.error",
        "CUDA failure 100: no CUDA-capable device is detected",
        "ONNX Runtime",
    ),
}


def _missed_by(framework: str, **changes: Any) -> tuple[Detection, ...]:
    fact, words, _ = _OTHERS[framework]
    facts: dict[str, Any] = {
        "nvidia.gpus": GPUS,
        "nvidia.visible": GPUS,
        f"{framework}.build": "cuda",
        fact: words,
        "jax.devices": ["cpu"],
    }
    facts |= {name.replace("__", "."): value for name, value in changes.items()}
    skipped = toy.outcome("skipped", check=f"{framework}-devices", device=None)
    known = toy.catalog()
    seen = toy.seen(facts, skipped)
    return diagnose(msgspec.structs.replace(seen, facts=derive(seen.facts, known)), known).findings


@pytest.mark.parametrize("framework", _OTHERS)
def test_gpus_that_another_framework_does_not_reach_are_an_error_in_its_own_words(
    framework: str,
) -> None:
    _, words, spelled = _OTHERS[framework]
    (told,) = _missed_by(framework)
    assert (told.id, told.severity) == (f"reach/{framework}", Severity.ERROR)
    assert told.title == (
        f"{spelled} is built for CUDA and reaches no GPU, though this machine has 2 x NVIDIA H100"
    )
    assert words in told.message


@pytest.mark.parametrize("framework", _OTHERS)
@pytest.mark.parametrize(
    "changes",
    [
        {"jax__build": "cpu", "onnxruntime__build": "cpu"},
        {"nvidia__gpus": None, "nvidia__visible": None},
        {"jax__devices": ["cuda:0"], "jax__error": None, "onnxruntime__error": None},
        {"env__CUDA_VISIBLE_DEVICES": "-1"},
    ],
    ids=["built for the processor", "no GPU", "reached", "hidden"],
)
def test_another_framework_that_misses_nothing_is_no_alarm(
    framework: str, changes: dict[str, Any]
) -> None:
    assert _missed_by(framework, **changes) == ()


@pytest.mark.parametrize("framework", _OTHERS)
def test_a_full_gpu_is_no_fault_of_another_framework(framework: str) -> None:
    """Where CUDA says out of memory, and NVML sees every GPU full."""
    full = {
        **GPUS[0],
        "memory_bytes": 80 << 30,
        "memory_used_bytes": 80 << 30,
        "processes": [{"pid": 7}],
    }
    words = {_OTHERS[framework][0].replace(".", "__"): "CUDA failure 2: out of memory"}
    (told,) = _missed_by(framework, nvidia__gpus=[full], nvidia__visible=[full], **words)
    assert (told.id, told.severity) == ("reach/cuda-full", Severity.WARNING)


@pytest.mark.parametrize(
    ("gpu", "static", "told"),
    [
        ({"memory_bytes": 80 << 30, "memory_used_bytes": 80 << 30}, True, ["reach/cuda-full"]),
        ({"memory_bytes": 80 << 30, "memory_used_bytes": 1 << 30}, True, []),
        (
            {"compute_mode": "exclusive_process", "processes": [{"pid": 7}]},
            True,
            ["reach/cuda-busy"],
        ),
        ({"memory_bytes": 80 << 30, "memory_used_bytes": 80 << 30}, False, []),
    ],
)
def test_without_checks_nvml_tells_who_holds_every_gpu(
    gpu: dict[str, Any], told: list[str], *, static: bool
) -> None:
    held = {**GPUS[0], **gpu}
    seen = toy.seen(
        {"torch.build": "cuda", "nvidia.gpus": [held], "nvidia.visible": [held]}, static=static
    )
    facts = derive(seen.facts, toy.catalog())
    found = diagnose(msgspec.structs.replace(seen, facts=facts), toy.catalog()).findings
    assert [one.id for one in found if one.id.startswith("reach/")] == told


def test_the_process_that_holds_the_only_gpu_stands_in_the_title() -> None:
    held = {**GPUS[0], "compute_mode": "exclusive_process", "processes": [{"pid": 48211}]}
    seen = toy.seen(
        {"torch.build": "cuda", "nvidia.gpus": [held], "nvidia.visible": [held]}, static=True
    )
    facts = derive(seen.facts, toy.catalog())
    found = diagnose(msgspec.structs.replace(seen, facts=facts), toy.catalog()).findings
    (told,) = [one for one in found if one.id == "reach/cuda-busy"]
    assert told.title.endswith("process 48211")
