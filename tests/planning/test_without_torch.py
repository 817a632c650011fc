"""Plans for environments without torch: nobody who did not ask for it gets it."""

from __future__ import annotations

import msgspec
import pytest

from doctor.model.facts import absent, present
from doctor.planning.overlay import Changes
from doctor.planning.plan import is_loss
from doctor.planning.search import Draft
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


def test_a_package_that_stays_gets_its_other_part() -> None:
    """JAX for CUDA 13 on a driver for CUDA 12: the plugin that fits has to come."""
    plugins = {"jax-cuda13-plugin": "0.8.0", "jax-cuda13-pjrt": "0.8.0"}
    seen = made_up({"jax": "0.8.0", "jaxlib": "0.8.0", **plugins}, [])
    driver = {
        "nvidia.driver_version": present("550.54.15", ""),
        "host.jetson": absent(""),
        **{f"package.{name}.version": present(version, "") for name, version in plugins.items()},
        "package.jax.version": present("0.8.0", ""),
    }
    found, _, plan = judged(msgspec.structs.replace(seen, facts={**seen.facts, **driver}))
    assert "compat/jax-cuda13/driver" in [one.id for one in found]
    words = [word for step in plan.steps if step.command for word in step.command.argv]
    assert "jax[cuda12]==0.8.0" in words


@pytest.mark.parametrize(
    ("removed", "solved", "left", "lost"),
    [
        (("torchvision",), (), ("torch/no-kernel-for-gpu",), True),
        (("torchvision",), ("torchvision/other-torch",), ("torch/no-kernel-for-gpu",), False),
        ((), (), ("torch/no-kernel-for-gpu",), False),
    ],
)
def test_no_package_goes_where_that_ends_nothing(
    removed: tuple[str, ...], solved: tuple[str, ...], left: tuple[str, ...], lost: bool
) -> None:
    changes = Changes(moved={}, removed=frozenset(removed))
    draft = Draft(anchor="keep", picks={}, wishes={}, changes=changes, solved=solved, left=left)
    assert is_loss(draft) is lost
