"""Explain what llama.cpp's converters refuse: by the name of the tensor, the tokenizer, the counts.

A tensor's name tells what the checkpoint is: an adapter, a quantized model, a model with a part
for pictures, or an architecture that the converter does not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.converters.texts import (
    BY_NEWER_SCRIPT,
    COUNT_UNKNOWN,
    FEWER_TOKENS,
    HAS_PICTURES,
    IS_ADAPTER,
    IS_QUANTIZED,
    MORE_TOKENS,
    NO_TOKENIZER,
    OTHER_TENSOR,
    TABLE,
    TOKENIZER_MISSING,
    TOKENS_EXCEED,
)
from doctor.analyzers.texts import Text, explained, explanation
from doctor.events.tracebacks import HANDLING
from doctor.model.events import Event

_ADAPTER = re.compile(r"\blora_[AB]\b|\blora_embedding|\.base_layer\.|^base_model\.model\.")
_BITSANDBYTES = re.compile(r"\.(?:absmax|quant_map|nested_absmax|quant_state|SCB|weight_format)\b")
_GPTQ = re.compile(r"\.(?:qweight|qzeros|scales|g_idx|qscales)$")
_OLD_SCRIPT = re.compile(r"\bconvert\.py\b")
_LONGEST = 400
_PICTURES = re.compile(
    r"mm_projector|multi_modal_projector|vision_(?:tower|model)|\bvisual\.|\bmlp1\.\d"
)
_TOO_MANY_TOKENS = "max(tokenizer.vocab.values()) < vocab_size"
_ABOVE = 4


def explain(case: Case) -> Iterator[Explanation]:
    """Yield why a model was not converted, or why its file is not run."""
    exceeded = _exceeding(case)
    if exceeded and (found := explanation(case, exceeded, TOKENS_EXCEED)):
        yield found
    table = {**TABLE, NO_TOKENIZER: _no_tokenizer(case)}
    if exceeded or any(_goes_on(case, one) for one in case.of(NO_TOKENIZER)):
        del table[NO_TOKENIZER]  # the converter went on to other kinds of tokenizers
    yield from explained(case, table)
    for event in case.of("converter-tensor-unknown"):
        if found := explanation(case, event, _of_tensor(event.objects["tensor"])):
            yield found
            break
    for event in case.of("converter-vocabulary-differs"):
        if found := explanation(case, event, _of_counts(event)):
            yield found
            break


def _goes_on(case: Case, event: Event) -> bool:
    """Say whether the converter tried something else after a failure."""
    return any(HANDLING in line[:_LONGEST].lower() for line in case.log.lines[event.at :]) or any(
        True for _ in case.of("converter-pretokenizer-unknown")
    )


def _exceeding(case: Case) -> Event | None:
    """Return the failure of the check that compares the tokenizer with the model."""
    if not any(_TOO_MANY_TOKENS in line[:_LONGEST] for line in case.log.lines):
        return None
    for event in case.of("own-assertion"):
        near = case.log.lines[max(0, event.at - _ABOVE) : event.at]
        if any(_TOO_MANY_TOKENS in line[:_LONGEST] for line in near):
            return event
    return next(case.of(NO_TOKENIZER), None)


def _no_tokenizer(case: Case) -> Text:
    """Return what a folder without a tokenizer means to the converter that ran."""
    is_old = any(_OLD_SCRIPT.search(line[:_LONGEST]) for line in case.log.lines)
    newer = (BY_NEWER_SCRIPT,) if is_old else ()
    return TOKENIZER_MISSING._replace(recipes=(*newer, *TOKENIZER_MISSING.recipes))


def _of_tensor(name: str) -> Text:
    """Return what a checkpoint is whose tensors have such a name."""
    if _ADAPTER.search(name):
        return IS_ADAPTER
    if _BITSANDBYTES.search(name) or _GPTQ.search(name):
        return IS_QUANTIZED
    return HAS_PICTURES if _PICTURES.search(name) else OTHER_TENSOR


def _of_counts(event: Event) -> Text:
    model = int(event.objects.get("model") or event.objects.get("model2") or 0)
    tokens = int(event.objects.get("tokens") or 0)
    if model < 0:
        return COUNT_UNKNOWN
    return FEWER_TOKENS if tokens < model else MORE_TOKENS
