"""Which devices no check reached: it stands beside every `nothing found`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from doctor.facts.devices import cards, vendors
from doctor.facts.placeholders import as_text
from doctor.model.facts import Facts, value_of
from doctor.model.outcomes import RED, Outcome, Verdict
from doctor.report.view.phrases import first_sentence

_MAKERS = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel"}
_BUILDS = {
    "cuda": ("cuda", "cuda", "nvidia"),
    "rocm": ("cuda (ROCm)", "cuda", "amd"),
    "xpu": ("xpu", "xpu", "intel"),
}
"""Of each build of torch: how its devices are called, how their names begin, and whose they are."""
_FRAMEWORKS = {"jax": "JAX", "onnxruntime": "ONNX Runtime"}


def unreached(facts: Facts, outcomes: Sequence[Outcome]) -> list[str]:
    """Say for which kind of device this torch was built that no check reached."""
    reached = _reached(outcomes)
    if not outcomes or not reached:
        return []
    rows = []
    called, kind, _ = _BUILDS.get(str(value_of(facts, "torch.build")), ("", "", ""))
    if kind and kind not in reached:
        rows.append(_row(called, kind, str(value_of(facts, f"torch.{kind}_error") or ""), outcomes))
    if value_of(facts, "torch.mps_built") is True and "mps" not in reached:
        rows.append(_row("mps", "mps", "Metal does not answer", outcomes))
    return rows


def _row(called: str, kind: str, why: str, outcomes: Sequence[Outcome]) -> str:
    told = any(_kind(outcome) == kind for outcome in outcomes)
    return f"no check ran on {called}" + (f": {first_sentence(why)}" if why and not told else "")


def unreached_gpus(facts: Facts, outcomes: Sequence[Outcome]) -> str:
    """Name the GPUs that a framework was built for and did not reach; empty for none."""
    shown, reached = vendors(facts), _reached(outcomes)
    if not shown or not reached:
        return ""
    _, kind, vendor = _BUILDS.get(str(value_of(facts, "torch.build")), ("", "", ""))
    who = ["torch"] if vendor in shown and kind not in reached else []
    who += [
        spelled for name, spelled in _FRAMEWORKS.items() if value_of(facts, f"{name}.unreached")
    ]
    kept = as_text(value_of(facts, "jax.kept_on_cpu") or "")
    if kept and "JAX" not in who:
        who.append(f"JAX ({kept})")
    vendor = vendor if "torch" in who else _BUILDS.get(_other(facts), ("", "", ""))[2]
    return f"{' and '.join(who)} did not reach {gpus(vendor, facts) or 'the GPU'}" if who else ""


def _other(facts: Facts) -> str:
    for name in _FRAMEWORKS:
        if build := value_of(facts, f"{name}.unreached"):
            return str(build)
    return str(value_of(facts, "jax.build")) if value_of(facts, "jax.kept_on_cpu") else ""


def gpus(vendor: str, facts: Facts) -> str:
    """Name the GPUs of a vendor that the machine shows: `2 x NVIDIA H100`.

    Without a name `an AMD GPU`, without a GPU nothing.
    """
    names = [
        as_text(entry["name"]) for entry in cards(facts, f"{vendor}.gpus") if entry.get("name")
    ]
    counted = [
        f"{number} x {name}" if number > 1 else name for name, number in Counter(names).items()
    ]
    return ", ".join(counted) or (
        f"an {_MAKERS[vendor]} GPU" if vendor in _MAKERS and vendor in vendors(facts) else ""
    )


def _reached(outcomes: Sequence[Outcome]) -> set[str]:
    return {_kind(outcome) for outcome in outcomes if outcome.verdict in (Verdict.PASSED, *RED)} - {
        ""
    }


def _kind(outcome: Outcome) -> str:
    return (outcome.device or "").partition(":")[0]
