"""Explain outputs of a model that are no numbers."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.recipes import code
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Recipe, Snippet


def explain(case: Case) -> Iterator[Explanation]:
    """Yield why no token can be drawn."""
    yield from explained(case, _TABLE)


_TABLE: dict[str, Text] = {
    "output-not-a-number": Text(
        "The model's output is NaN or infinite, so that no token can be drawn from it",
        "The weights do not fit the code that computes with them (a quantized checkpoint loaded "
        "as a plain one, a damaged or half-loaded file), or numbers in float16 exceed its range. "
        "Temperature, top_p and the GPU are not at fault.",
        (
            Recipe(
                title="Load the quantized checkpoint as a quantized one, or take the plain one",
                shown=(r"(?i)(?:quant|int8|int4|4bit|gptq|awq)[\w-]{0,20}\.(?:ckpt|pt|bin|safet)",),
                use_if=("the checkpoint is quantized",),
                snippet=Snippet(
                    where="the settings of the model, before the weights are loaded",
                    after="model_config.quant = True",
                ),
                note="Programs call it quant, --quant or quantization_config. Where answers are "
                "poor then, compare them with those of the plain checkpoint.",
            ),
            Recipe(
                title="Use bfloat16 or float32 instead of float16",
                shown=(r"(?i)float16|\bfp16|\.half\(\)",),
                unless=(r"(?i)(?:quant|int8)[\w-]{0,20}\.(?:ckpt|pth?)",),
                use_if=("the model runs in float16",),
                snippet=Snippet(
                    where="the call that loads the model",
                    before="torch_dtype=torch.float16",
                    after="torch_dtype=torch.bfloat16",
                ),
            ),
            code(
                "See whether the weights are whole",
                "the program, after the model is loaded",
                "print([n for n, p in model.named_parameters() if not p.isfinite().all()])",
                note="A name in the list: download or convert that checkpoint again.",
            ),
        ),
    ),
}
