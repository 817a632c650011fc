"""Explain the assertions of torch's kernels on the GPU: labels, indices and probabilities.

What a kernel asserts stands in its source, such as aten/src/ATen/native/cuda/Loss.cu of torch.
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import code
from doctor.analyzers.texts import Text, explanation

_SOUND = " The installation is sound."


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what the first assertion of each kind means."""
    seen = set()
    for event in case.of("device-assert"):
        assertion = event.objects.get("assertion", "")
        word = next((word for word in _ASSERTS if word in assertion), None)
        if word is None or word in seen:
            continue
        seen.add(word)
        text = _ASSERTS[word]._replace(precision=Precision.EXACT)
        if (one := explanation(case, event, text)) is not None:
            yield one


_BY_PROCESSOR = code(
    "Run the failing step once on the processor, where the message names the index",
    "the call that fails",
    "model.cpu()(inputs.cpu())",
    before="model(inputs)",
)
_LABELS = code(
    "Compare the labels with the number of classes",
    "before the loss",
    "print(labels.min(), labels.max(), logits.shape)",
    note="Labels have to lie from 0 to classes - 1; others may only be the ignore_index, -100.",
)
_TOKENS = code(
    "Compare the indices with the size of the table",
    "before the embedding",
    "print(ids.min(), ids.max(), model.get_input_embeddings().num_embeddings)",
    note="After adding tokens to a tokenizer: model.resize_token_embeddings(len(tokenizer)).",
)
_ASSERTS: dict[str, Text] = {
    "n_classes": Text(
        "A class label lies outside 0 to classes - 1: assertion `{assertion}`",
        ("The loss got a label that the model has no class for." + _SOUND),
        (_LABELS, _BY_PROCESSOR),
    ),
    "srcIndex < srcSelectDimSize": Text(
        "An index is beyond the end of its table (embedding): assertion `{assertion}`",
        (
            "A token or position id is not below the number of rows of the embedding, most "
            "often since the tokenizer has more words than the model, or the text is longer "
            "than the positions." + _SOUND
        ),
        (_TOKENS, _BY_PROCESSOR),
    ),
    "index out of bounds": Text(
        "An index is out of bounds on the GPU: assertion `{assertion}`",
        ("A tensor was indexed beyond its size by another tensor." + _SOUND),
        (_BY_PROCESSOR, _TOKENS),
    ),
    "idx_dim": Text(
        "An index of gather or scatter is out of bounds: assertion `{assertion}`",
        ("The index tensor holds a number that is not below the size there." + _SOUND),
        (_BY_PROCESSOR,),
    ),
    "input_val": Text(
        "Binary cross entropy got a value outside 0 to 1: assertion `{assertion}`",
        ("The loss asks for probabilities; these are raw scores, or not numbers (NaN)." + _SOUND),
        (
            code(
                "Take the loss that works on raw scores",
                "the loss",
                "torch.nn.BCEWithLogitsLoss()",
                before="torch.nn.BCELoss()",
            ),
        ),
    ),
    "probability": Text(
        "Sampling got probabilities that are negative or no numbers",
        "The logits hold NaN or infinity. Half precision that overflows, or a damaged or "
        "wrongly quantized model, is the usual cause.",
        (
            code(
                "Load the model in bfloat16 or single precision",
                "the call that loads the model",
                "torch_dtype=torch.bfloat16",
                before="torch_dtype=torch.float16",
            ),
        ),
    ),
}
"""What the assertions of torch's kernels mean, by a piece of their text."""
