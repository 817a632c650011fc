"""What is said of a layer that was quantized although its model reads it as plain numbers."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Precision
from doctor.analyzers.recipes import code
from doctor.analyzers.texts import Text

_BYTES = re.compile(r"ByteTensor|CharTensor|\bByte\b|\bChar\b|unsigned char")
_QUANTIZED = re.compile(r"load_in_[48]bit|BitsAndBytes|bitsandbytes|bnb_4bit|quantization_config")
_LONGEST = 1000


def is_quantized_layer(case: Case) -> bool:
    """Say whether two types differ since bitsandbytes packed one of them into bytes."""
    return any(_BYTES.search(event.text) for event in case.of("types-differ")) and any(
        _QUANTIZED.search(line[:_LONGEST]) for line in case.log.lines
    )


QUANTIZED_LAYER = Text(
    "A layer was quantized that its model reads as plain numbers: {a} and {b}",
    "bitsandbytes packs the weights of linear layers into bytes. The model's own code takes the "
    "type of such a weight for that of its input, or uses it without the layer: mostly the part "
    "for pictures or sound of a model with several.",
    (
        code(
            "Leave that part of the model out of the quantization",
            "the call that loads the model",
            "from_pretrained(name, quantization_config=BitsAndBytesConfig(\n"
            "    load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16,\n"
            '    llm_int8_skip_modules=["visual", "vision_tower", "lm_head"]))',
            before="from_pretrained(name, load_in_4bit=True)",
            note="print(model) shows how the part is called. llm_int8_skip_modules counts for 4 "
            "bits as well.",
        ),
        code(
            "Load the variant that its authors quantized",
            "the name of the model",
            'from_pretrained("<name>-Int4")',
            before="from_pretrained(name, load_in_4bit=True)",
            use_if=("the page of the model offers one: Int4, AWQ, GPTQ",),
        ),
    ),
    precision=Precision.EXACT,
)
