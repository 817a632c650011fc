"""A program that somebody else wrote is brought up to date before anybody edits it."""

from __future__ import annotations

from doctor.catalog import loading
from doctor.judge.match.diagnose import diagnose
from doctor.model.observation import Log, Observation

TWO = """
Traceback (most recent call last):
  File "{own}", line 620, in get_sd_model
    load_model()
  File "{site}/torch/nn/functional.py", line 2546, in layer_norm
    return torch.layer_norm(input, normalized_shape, weight, bias, eps)
RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
"""  # noqa: E501


def _first_fix(own: str, site: str = "/opt/venv/lib/python3.10/site-packages") -> tuple[str, ...]:
    text = TWO.format(own=own, site=site)
    log = Log(source="log", lines=tuple(text.split("\n")))
    found = diagnose(Observation(facts={}, logs=(log,)), loading.load()).findings[0]
    steps = found.recipes[0].steps
    return steps[0].run if steps else ()


def test_a_web_ui_is_pulled() -> None:
    own = r"C:\webui_forge\webui\modules\sd_models.py"
    assert _first_fix(own) == ("git", "-C", r"C:\webui_forge\webui", "pull")
    own = "/srv/stable-diffusion-webui/modules/sd_models.py"
    assert _first_fix(own) == ("git", "-C", "/srv/stable-diffusion-webui", "pull")


def test_code_of_ones_own_is_edited() -> None:
    assert _first_fix("/home/ada/train.py") == ()


def test_an_add_on_is_not_its_program() -> None:
    wanted = ("git", "-C", "/srv/ComfyUI/custom_nodes/joy", "pull")
    assert _first_fix("/srv/ComfyUI/custom_nodes/joy/nodes.py") == wanted


def test_a_folder_with_odd_characters_is_asked_for() -> None:
    assert _first_fix("/srv/a;b/ComfyUI/nodes.py") == ("git", "-C", "<folder>", "pull")
