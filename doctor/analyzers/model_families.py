"""Explain parts of image and video models that do not belong together, by the width that differs.

Each family of models takes the prompt from a text encoder of its own, whose width is known. Where
a program hands the prompt of one family to a model of another, both numbers stand in the message.
The widths are those of the models' configurations (`cross_attention_dim`, `hidden_size`,
`adm_in_channels`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inventory import NAME, frames, is_library
from doctor.analyzers.recipes import code, command
from doctor.model.events import Event
from doctor.model.issues import Recipe
from doctor.model.scales import Severity


class _Family(NamedTuple):
    """The models that take a prompt of this width, and the encoder that makes it."""

    models: str
    encoder: str


_WIDTHS = {
    768: _Family("Stable Diffusion 1.5", "the checkpoint's own CLIP-L"),
    1024: _Family("Stable Diffusion 2", "the checkpoint's own OpenCLIP"),
    1280: _Family("the refiner of SDXL", "the checkpoint's own OpenCLIP"),
    2048: _Family("SDXL", "the checkpoint's own two CLIPs"),
    2304: _Family("Lumina 2", "gemma_2_2b, type lumina2"),
    2560: _Family("Z-Image", "qwen_3_4b, type lumina2"),
    2816: _Family("SDXL", "the checkpoint's own two CLIPs"),
    3584: _Family("Qwen-Image", "qwen_2.5_vl_7b, type qwen_image"),
    4096: _Family(
        "Flux, SD3, Wan or another model with T5",
        "t5xxl with the type of the model (flux, sd3), for Wan umt5_xxl with type wan",
    ),
    5120: _Family("Flux 2 or HiDream", "the encoder that the model's page names"),
    5632: _Family("Kolors", "ChatGLM3, by the nodes for Kolors"),
    7680: _Family("Flux 2 klein 4B", "qwen_3_4b, type flux2"),
    12288: _Family("Flux 2 klein 9B", "qwen_3_8b, type flux2"),
    15360: _Family("Flux 2 dev", "mistral_3_small, type flux2"),
}
_PROGRAM = re.compile(
    r"(?i)comfy|k.?sampler|stable-diffusion-webui|sd-webui|diffusers|invokeai|fooocus|modules"
    r"[/\\]sd_|ldm[/\\]modules|sgm[/\\]modules|kohya|sdxl"
)
_COMFY = re.compile(r"(?i)comfy|k.?sampler")
_ADDON = re.compile(r"File \".{1,200}[/\\]custom_nodes[/\\]([^/\\]{1,100})[/\\]")
_SHAPE = re.compile(r"(\d{1,9})x(\d{1,9})")
_CHANNELS = re.compile(
    r"weight of size \[(\d{1,6}), (\d{1,6})(?:, \d{1,4}){1,3}\], expected input\[[\d, ]{1,40}\] to "
    r"have (\d{1,6}) channels, but got (\d{1,6}) channels"
)
_MOST, _LINES, _LONGEST = 12, 400, 300


def explain(case: Case) -> Iterator[Explanation]:
    """Yield which parts of a model are of two families, or which layer is of another size."""
    for event in islice(case.of("shapes-differ"), _MOST):
        found = _channels(event) or _families(case, event) or _layer(case, event)
        if found is not None:
            yield found


def _shows(case: Case, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(line[:_LONGEST]) for line in case.log.lines[:_LINES])


def pair_of(event: Event) -> tuple[int, int] | None:
    """Return the width of a prompt and that of the layer it meets, if both are of known models."""
    given, wanted = (_SHAPE.fullmatch(event.objects.get(one, "")) for one in "ab")
    if given is None or wanted is None:
        return None
    pair = int(given[2]), int(wanted[1])
    return pair if pair[0] != pair[1] and _WIDTHS.keys() >= {*pair} else None


def _families(case: Case, event: Event) -> Explanation | None:
    """Explain a prompt of one family in a model of another."""
    pair = pair_of(event)
    if pair is None or not _shows(case, _PROGRAM):
        return None
    given, wanted = pair
    prompt, model = _WIDTHS[given], _WIDTHS[wanted]
    addons = [found[1] for line in case.log.lines if (found := _ADDON.search(line[:_LONGEST]))]
    addon = addons[-1] if addons else ""
    recipes: list[Recipe] = []
    if NAME.fullmatch(addon):
        recipes.append(
            command(
                f"Bring {addon} up to date, and ComfyUI with it",
                *("git", "-C", f"custom_nodes/{addon}", "pull"),
                use_if=("the current folder is ComfyUI's",),
                note="It takes the place of a part of ComfyUI, and both have to be of one time.",
            )
        )
    own = "the checkpoint's own"
    if prompt.encoder.startswith(own) and model.encoder.startswith(own):
        recipes.append(_of_one_family(prompt, model))
    else:
        recipes.append(_encoder(case, prompt, model))
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The prompt was encoded for {prompt.models}, and the model that gets it is of "
            f"{model.models}",
            f"A prompt of width {given} meets a layer for {wanted}. The loaded parts are of "
            "two families: the text encoder, or something that was added to the model. The "
            "installation is sound.",
            recipes=tuple(recipes),
            name="families-mixed",
            severity=Severity.NOTE,
        ),
    )


def _of_one_family(prompt: _Family, model: _Family) -> Recipe:
    return code(
        "Take each added part of the family of the checkpoint",
        "the settings or the workflow",
        "checkpoint, ControlNet, IP-Adapter, LoRA and motion module all of one family",
        before=f"parts for {prompt.models} beside parts for {model.models}",
        note="Switch them off one after another: the run without the wrong one goes on. "
        "AnimateDiff's usual motion modules, for one, are for Stable Diffusion 1.5.",
    )


def _encoder(case: Case, prompt: _Family, model: _Family) -> Recipe:
    where = "the node that loads the text encoder" if _shows(case, _COMFY) else "the settings"
    return code(
        f"Load the text encoder of {model.models}",
        where,
        model.encoder,
        before=prompt.encoder,
        note=f"Or, where {prompt.models} is what you want, load that model in its place.",
    )


def _channels(event: Event) -> Explanation | None:
    """Explain an input with another number of channels than the first layer takes."""
    found = _CHANNELS.search(event.text)
    if found is None:
        return None
    wanted, given = int(found[3]), int(found[4])
    if wanted == 3 and given in (1, 2, 4):
        kind = {1: "shades of grey", 2: "grey with transparency", 4: "transparency (RGBA)"}[given]
        title = f"The picture has {given} channels ({kind}), and the model takes 3"
        recipe = code(
            "Read each picture as RGB",
            "where pictures are read",
            'image = Image.open(path).convert("RGB")',
            before="image = Image.open(path)",
            note="With OpenCV: cv2.imread(path), which gives three channels as a rule.",
        )
    elif wanted == 1 and given in (3, 4):
        title = f"The picture has {given} channels, and the model takes one (grey)"
        recipe = code(
            "Read each picture in shades of grey",
            "where pictures are read",
            'image = Image.open(path).convert("L")',
            before="image = Image.open(path)",
        )
    elif given > 16 and wanted in (1, 3):
        title = f"The channels of the picture stand last, and torch wants them first ({wanted})"
        recipe = code(
            "Put the channels first",
            "before the call of the model",
            "x = x.permute(0, 3, 1, 2)",
            note="transforms.ToTensor() does it for a single picture.",
        )
    elif {wanted, given} <= {4, 8, 9, 16}:
        title = f"The model takes {wanted} channels, and gets {given}: an inpainting model is mixed"
        recipe = code(
            "Load the checkpoint of the kind that the work needs",
            "the settings or the workflow",
            "a plain checkpoint for plain work, an inpainting checkpoint (9 channels) for masks",
            note="16 channels are those of SD3, Flux and newer models: their VAE belongs to them "
            "alone.",
        )
    else:
        return None
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            title,
            f"The first layer was made for {wanted} channels, and its input has {given}. The "
            "installation is sound.",
            recipes=(recipe,),
            name="channels-differ",
            severity=Severity.NOTE,
        ),
    )


def _layer(case: Case, event: Event) -> Explanation | None:
    """Explain a linear layer of the program that is made for rows of another length."""
    given, wanted = (_SHAPE.fullmatch(event.objects.get(one, "")) for one in "ab")
    own = any(not is_library(path) for path in frames(case, event))
    if given is None or wanted is None or not own or "mat1 and mat2" not in event.text:
        return None
    if given[2] == wanted[1] or _shows(case, _PROGRAM):
        return None
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"A linear layer takes rows of {wanted[1]} numbers, and gets rows of {given[2]}",
            "The input has another size than the one that the model was written for: a picture of "
            "another height or width, another number of features, or a flatten() that takes the "
            "batch with it. The installation is sound.",
            recipes=(
                code(
                    "Give the layer the length that comes in",
                    "the definition of the layer",
                    f"nn.Linear({given[2]}, {wanted[2]})",
                    before=f"nn.Linear({wanted[1]}, {wanted[2]})",
                    use_if=("no trained weights are loaded into it",),
                    note="With trained weights the input has to change: give it the size, or the "
                    "features, of the training.",
                ),
                code(
                    "See what comes in",
                    "before the call that the traceback names",
                    "print(x.shape)",
                ),
            ),
            name="shapes-differ",
            severity=Severity.NOTE,
        ),
        precision=Precision.EXACT,
    )
