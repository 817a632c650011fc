"""Plans for environments without torch: nobody who did not ask for it gets it."""

from __future__ import annotations

import msgspec
import pytest

from doctor.model.facts import present
from tests.planning.environments import judged, made_up

_MET = {"transformers": "4.46.3", "tokenizers": "0.20.3", "huggingface-hub": "0.26.5"}


@pytest.mark.parametrize("companion", ["accelerate", "torchmetrics", "timm", "peft"])
def test_an_environment_without_torch_gets_none(companion: str) -> None:
    seen = made_up(
        {**_MET, companion: "1.0.0", "numpy": "2.3.4"},
        [("transformers", "tokenizers", "<0.20,>=0.19"), ("transformers", "numpy", ">=1.17")],
    )
    found, _, plan = judged(seen)
    assert [one.id for one in found] == ["requires/transformers"]
    for one in (plan, *plan.alternatives):
        assert {change.name for change in one.changes} <= {"tokenizers", "transformers"}
        assert "torch" not in one.title
        assert not any("torch" in word for step in one.steps for word in step.command.argv)  # type: ignore[union-attr]


def test_a_package_that_asks_for_a_torch_that_is_not_there_gets_one() -> None:
    seen = made_up({"torchvision": "0.28.0"}, [])
    lacks = {
        "requires.torchvision.torch.specifier": present("==2.13.0", ""),
        "requires.torchvision.torch.met": present(False, ""),
    }
    _, _, plan = judged(msgspec.structs.replace(seen, facts={**seen.facts, **lacks}))
    assert not plan.leaves
    assert {one.name: one.after for one in plan.changes} == {"torch": "2.13.0"}
    assert plan.title.startswith("Install torch 2.13.0")
