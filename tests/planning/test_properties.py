"""What holds of each plan, over made-up environments."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.facts.families import requirements
from doctor.model.scales import Severity
from doctor.planning.environment import Environment
from doctor.planning.overlay import Changes
from tests.planning.environments import after, catalog, judged, made_up

_ROWS = [row for row in catalog().tables["torch"].rows if "torchaudio" in row and "cuda" in row][:9]
_NUMPY = ["<2.4,>=1.22", "<2.3,>=1.22", "<2,>=1.22"]
_BYSTANDERS = {"idna": "3.20", "requests": "2.34.2", "click": "8.5.1"}


class MadeUp(NamedTuple):
    """Packages, who asks for what, and torch's CUDA."""

    packages: dict[str, str]
    needs: list[tuple[str, str, str]]
    cuda: str


@st.composite
def environments(draw: st.DrawFn, *, healthy: bool = False) -> MadeUp:
    """Draw a torch and companions that were made for it, or for another one."""
    row = draw(st.sampled_from(_ROWS))
    packages = {**_BYSTANDERS, "torch": str(row["torch"]), "numpy": "2.3.4"}
    needs = []
    for name in draw(st.sets(st.sampled_from(["torchvision", "torchaudio"]))):
        own = row if healthy else draw(st.sampled_from(_ROWS))
        packages[name] = str(own[name])
        # torchaudio 2.11.0 names no torch.
        needs.append((name, "torch", "" if own[name] == "2.11.0" else f"=={own['torch']}"))
    if draw(st.booleans()):
        packages["numba"] = "0.63.0"
        needs.append(("numba", "numpy", "<2.4" if healthy else draw(st.sampled_from(_NUMPY))))
    return MadeUp(packages, needs, str(row["cuda"]))


@settings(max_examples=25, deadline=None)
@given(environments())
def test_every_rule_holds_after_a_plan(seen: MadeUp) -> None:
    found, facts, plan = judged(made_up(*seen))
    assert not plan.leaves
    there = after(plan, facts)
    assert not [one.fact("met") for one in requirements(there.facts) if one.is_unmet(there.facts)]
    left, _, again = judged(there)
    assert not {one.id for one in left if one.severity is not Severity.NOTE} & {*plan.solves}
    assert again.is_empty
    moved = {one.name for one in plan.changes}
    assert not moved & _BYSTANDERS.keys()
    cited = {part for one in found for piece in one.evidence for part in piece.fact.split(".")}
    assert moved <= cited | {"torch", "torchvision", "torchaudio"}


@settings(max_examples=10, deadline=None)
@given(environments(healthy=True))
def test_a_healthy_environment_has_an_empty_plan(seen: MadeUp) -> None:
    _, _, plan = judged(made_up(*seen))
    assert plan.is_empty
    assert not plan.changes


def test_equal_changes_are_judged_once() -> None:
    found, facts, _ = judged(made_up({"torch": "2.9.1", "numpy": "2.3.4"}, [], "12.8"))
    around = Environment(found, facts, catalog())
    two = Changes(moved={"torch": "2.8.0", "numpy": "2.2.0"})
    same = Changes(moved={"numpy": "2.2.0", "torch": "2.8.0"})
    assert around.after(same) is around.after(two)
    assert around.after(two).facts["package.numpy.version"].value == "2.2.0"
    other = around.after(Changes(moved={"numpy": "2.2.0"}))
    assert other.facts["torch.version"].value == "2.9.1"
