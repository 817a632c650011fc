"""What is said of shapes that do not fit in a program for pictures: files of two model families.

The sizes are those of the text encoders' output and of the first layers of well-known models.
"""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Precision
from doctor.analyzers.model_families import pair_of
from doctor.analyzers.recipes import code
from doctor.analyzers.texts import Text

_PROGRAM = re.compile(
    r"ComfyUI|comfy[/\\]|KSampler|CLIPTextEncode|webui[_-]forge|stable-diffusion-webui|Fooocus"
)
_SIZES = {
    "768": "the text of Stable Diffusion 1",
    "1024": "the text of Stable Diffusion 2",
    "2048": "the text of SDXL",
    "2816": "SDXL's sizes and pooled text",
    "4096": "the text of T5 (Flux, SD3, Wan)",
    "3584": "the text of Qwen 2.5 VL (Qwen-Image)",
    "384": "the input of Flux Fill",
    "64": "the input of Flux",
}
_NUMBER = re.compile(r"\d{2,5}")
_LONGEST = 600


def files_of_two_families(case: Case) -> Text | None:
    """Return the text for shapes that differ in such a program; None where both are known."""
    if any(map(pair_of, case.of("shapes-differ"))) or not any(
        _PROGRAM.search(line[:_LONGEST]) for line in case.log.lines
    ):
        return None
    known: list[str] = []
    for event in case.of("shapes-differ"):
        for number in _NUMBER.findall(
            event.objects.get("a", "") + " " + event.objects.get("b", "")
        ):
            if number in _SIZES and (sentence := f"{number} is {_SIZES[number]}") not in known:
                known.append(sentence)
    sizes = f" {'; '.join(known[:3])}." if known else ""
    return Text(
        "The files of the workflow are of different families of models: {a} meets {b}",
        "Checkpoint, text encoder, LoRA, ControlNet, IP-Adapter and VAE have to be made for the "
        f"same base model; one of them is not.{sizes} Nothing is wrong with what is installed.",
        (
            code(
                "Choose all files of one base model",
                "the workflow",
                "checkpoint SDXL + LoRA SDXL + ControlNet SDXL + VAE SDXL",
                before="checkpoint SDXL + LoRA SD 1.5",
                note="Look at the type of the node that loads the text encoder too (CLIPLoader, "
                "DualCLIPLoader), and take out LoRA, ControlNet and IP-Adapter one by one.",
            ),
            code(
                "Bring the program and its add-ons up to date, where the workflow is newer",
                "a terminal in the folder of ComfyUI",
                "git pull",
                use_if=("the files are those that the workflow names",),
                note="In the portable edition: update\\update_comfyui.bat.",
            ),
        ),
        precision=Precision.EXACT,
    )
