"""Explain adapters (LoRA) that name layers which the model does not have."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import code
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Recipe, Snippet


def explain(case: Case) -> Iterator[Explanation]:
    """Yield how the model calls its layers."""
    yield from explained(case, _TABLE)


_LAYERS = tuple(
    Recipe(
        title=f"Name the layers of {family}",
        shown=(shown,),
        use_if=(f"the model is {family}",),
        snippet=Snippet(where="the LoRA config", after=f"LoraConfig(target_modules={layers})"),
    )
    for family, shown, layers in (
        ("BLOOM", r"(?i)\bbloom", '["query_key_value"]'),
        ("Falcon", r"(?i)\bfalcon", '["query_key_value"]'),
        ("ChatGLM", r"(?i)\bchatglm|THUDM", '["query_key_value"]'),
        ("GPT-NeoX", r"(?i)gpt[-_]?neox|\bpythia|\bdolly", '["query_key_value"]'),
        ("GPT-2", r"(?i)\bgpt-?2\b", '["c_attn"]'),
        ("Baichuan", r"(?i)\bbaichuan", '["W_pack"]'),
        ("T5", r"(?i)\b(?:flan-)?t5\b", '["q", "v"]'),
        ("MPT", r"(?i)\bmpt-\d", '["Wqkv"]'),
    )
)
"""The layers of attention by family: TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING of PEFT."""
_TABLE: dict[str, Text] = {
    "target-modules-missing": Text(
        "The model has no layers called {modules}",
        "Architectures name their layers differently: q_proj and v_proj in Llama, "
        "query_key_value in Falcon, Bloom, ChatGLM and GPT-NeoX, c_attn in GPT-2, W_pack in "
        "Baichuan, q and v in T5.",
        (
            code(
                "Let PEFT take every linear layer",
                "the LoRA config",
                'LoraConfig(target_modules="all-linear")',
                note="It takes peft 0.8 or newer. for n, _ in model.named_modules(): print(n) "
                "lists what the model has. One that PEFT wraps already has other names.",
            ),
            *_LAYERS,
        ),
        precision=Precision.EXACT,
    ),
}
