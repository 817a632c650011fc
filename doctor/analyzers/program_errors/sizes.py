"""Read from two sizes that do not fit why they do not: one picture, one text or one sample.

| sizes | what it mostly is |
| --- | --- |
| 0 and another | a sample without boxes, labels or words |
| one apart, where two are joined | a picture whose size is no multiple of the network's steps |
| apart in height or width | a picture of another size than the network was made for |
| above 512, 1024 … and just that | a text that is longer than the model has positions |
"""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Precision
from doctor.analyzers.recipes import code
from doctor.analyzers.texts import Text, objects_of

_SOUND = " The installation is sound."
_POSITIONS = frozenset({77, 512, 514, 1024, 2048, 4096})
_JOINED = re.compile(r"Sizes of tensors must match")
_BROADCAST = re.compile(r"must match the size of tensor b")
_SPATIAL = 2
"""The first dimension of a batch of pictures that is one of space."""


def read_sizes(case: Case) -> Text | None:
    """Return what the sizes of the first message say; None where they say nothing."""
    event = next(iter(case.of("shapes-differ")), None)
    if event is None:
        return None
    known = objects_of(event)
    a, b = known.get("a", ""), known.get("b", "")
    if not (a.isdigit() and b.isdigit()) or len(a) > _DIGITS or len(b) > _DIGITS:
        return None
    one, other = int(a), int(b)
    axis = int(known["axis"]) if known.get("axis", "").isdigit() else None
    joined = bool(_JOINED.search(event.text))
    if not joined and not _BROADCAST.search(event.text):
        return None
    if min(one, other) == 0:
        return _EMPTY
    if not joined and axis in (None, 1) and min(one, other) in _POSITIONS:
        return _TOO_LONG
    if joined and abs(one - other) == 1:
        return _ODD
    if axis is not None and axis >= _SPATIAL:
        return _PICTURE
    return None


_DIGITS = 9
_EMPTY = Text(
    "One side is empty: {a} and {b} entries do not fit",
    "A sample has nothing in it: a picture without boxes, a row without labels, or nothing that "
    "was found. The program does not expect that." + _SOUND,
    (
        code(
            "Leave samples out that have no entry",
            "where the data set is read",
            "samples = [one for one in samples if len(one.boxes) > 0]",
            before="samples = load(path)",
            note="Or test for it before the line in the traceback: if boxes.numel() == 0: "
            "continue. Boxes that a crop or a filter of the augmentation removes count as well.",
        ),
    ),
    precision=Precision.EXACT,
)
_TOO_LONG = Text(
    "{a} and {b}: the text is longer than the model has positions",
    "The smaller number is how many tokens the model takes at once. A longer text has to be cut, "
    "or divided." + _SOUND,
    (
        code(
            "Cut the text at what the model takes",
            "the call of the tokenizer",
            "tokenizer(text, truncation=True, max_length=model.config.max_position_embeddings, "
            'return_tensors="pt")',
            before='tokenizer(text, return_tensors="pt")',
            note="Of RoBERTa it is that number minus 2. In a pipeline: pipe(text, "
            "truncation=True).",
        ),
    ),
    precision=Precision.EXACT,
)
_ODD = Text(
    "{a} and {b}: the size of the picture is no multiple of the network's steps",
    "The network halves the picture several times and doubles it again. A size that cannot be "
    "halved as often is rounded on one way and not on the other, so that the two parts differ by "
    "one." + _SOUND,
    (
        code(
            "Bring pictures to a multiple of 32",
            "where the picture is read, or in the option for the size",
            "height, width = (32 * max(round(size / 32), 1) for size in image.shape[:2])\n"
            "image = cv2.resize(image, (width, height))",
            note="Some networks want 64 or 128. The size in the settings has to be one as well.",
        ),
        code(
            "Bring the upper part to the size of the other",
            "the line of the model that joins them",
            "up = F.interpolate(up, size=skip.shape[2:])\nx = torch.cat([skip, up], dim=1)",
            before="x = torch.cat([skip, up], dim=1)",
            use_if=("every size has to work",),
        ),
    ),
    precision=Precision.EXACT,
)
_PICTURE = Text(
    "{a} and {b} in height or width: a picture of another size than is expected",
    "The network, or what it is compared with, is made for one size, and this picture, or this "
    "output, has another one." + _SOUND,
    (
        code(
            "Give all pictures the size that the model was made for",
            "the transforms of the data set, or the option for the size",
            "transforms.Resize((256, 256))",
            note="The README or the settings of the project name that size. Targets, masks and a "
            "second network have to get the same one.",
        ),
        code(
            "See both sizes before the line in the traceback",
            "the line of your own code in the traceback",
            "print(x.shape, y.shape)",
        ),
    ),
    precision=Precision.EXACT,
)
