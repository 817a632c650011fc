"""What llama.cpp's converters refuse is explained by the tensor, the tokenizer and the counts."""

from __future__ import annotations

from tests.analyzers.explained import explained, said
from tests.each import each

TRACE = 'Traceback (most recent call last):\n  File "/work/{}", line 9, in f\n    g()\n{}'
UNEXPECTED = "Exception: Unexpected tensor name: {}"
UNMAPPED = "ValueError: Can not map tensor '{}'"
NO_FILE = "FileNotFoundError: {}"
CHECK = "    assert max(tokenizer.vocab.values()) < vocab_size\nAssertionError"
OF_BASE = "files of the tokenizer from the base model"
NEWER = "with convert_hf_to_gguf.py"
UPDATE = "up to date"
COVERED = (
    (
        "ERROR:hf-to-gguf:Model Phi3SmallForCausalLM is not supported",
        "Phi3SmallForCausalLM",
        UPDATE,
    ),
    ("NotImplementedError: Architecture 'OPTForCausalLM' not supported!", "OPTFor", UPDATE),
    ("KeyError: ('torch', 'BoolStorage')", "it is no LLaMA", NEWER),
    (
        "Exception: failed to guess 'n_ctx'. This model is unknown or unsupported.",
        "no LLaMA",
        NEWER,
    ),
    (UNEXPECTED.format("layers.0.q_proj.lora_A.default.weight"), "LoRA adapter", "Merge"),
    (UNMAPPED.format("base_model.model.lm_head.base_layer.weight"), "LoRA adapter", "Merge"),
    (
        UNMAPPED.format("model.layers.0.mlp.down_proj.weight.absmax"),
        "quantized already",
        "not quant",
    ),
    (UNMAPPED.format("model.layers.0.self_attn.k_proj.qweight"), "quantized already", "not quant"),
    (UNEXPECTED.format("model.mm_projector.weight"), "a part for pictures", "both parts"),
    (UNEXPECTED.format("model.layers.0.block_sparse_moe.gate.weight"), "has no place for", NEWER),
    (
        TRACE.format("convert.py", NO_FILE.format("spm tokenizer.model not found.")),
        "no tokenizer",
        NEWER,
    ),
    (
        TRACE.format("convert_hf_to_gguf.py", NO_FILE.format("File not found: m/spiece.model")),
        "no tokenizer",
        OF_BASE,
    ),
    (
        "NotImplementedError: BPE pre-tokenizer was not recognized - update get_vocab_base_pre()",
        "does not recognise the tokenizer",
        UPDATE,
    ),
    (
        "NotImplementedError: The rope scaling type longrope is not supported yet",
        "scaling longrope",
        UPDATE,
    ),
    (TRACE.format("convert_hf_to_gguf.py", CHECK), "more tokens than the model", OF_BASE),
    (
        "Exception: Vocab size mismatch (model has -1, but models/tokenizer.model has 32000).",
        "params.json gives -1",
        "into params.json",
    ),
    (
        "Exception: Vocab size mismatch (model has 32064, but m/tokenizer.model has 32000).",
        "32064 tokens, its tokenizer 32000",
        "stand for nothing",
    ),
    (
        "Exception: Vocab size mismatch (model has 32000, but m/tokenizer.model has 32002).",
        "32000 tokens, its tokenizer 32002",
        OF_BASE,
    ),
    (
        "RuntimeError: Internal: could not parse ModelProto from /m/tokenizer.model",
        "/m/tokenizer.model is no model of SentencePiece",
        "size and the beginning",
    ),
    (
        "error: input (3262 tokens) is too large to process. increase the physical batch size",
        "The input of 3262 tokens",
        "Make both batches",
    ),
    (
        "llama_model_load: error loading model: make_cpu_buft_list: no CPU backend found",
        "none of its libraries for the processor",
        "beside the program",
    ),
    (
        "llama_model_load: error loading model: invalid split file: ../m/command-r-Q2_K_S.gguf",
        "one part of a split model",
        "Put the parts together",
    ),
)


def test_what_the_converter_refuses_is_explained() -> None:
    """The title names the object, and one of the first two fixes cures."""

    def look(case: tuple[str, str, str]) -> None:
        text, title, fix = case
        found = [one.detection for one in explained(text) if title in one.detection.title]
        assert found, [one.detection.title for one in explained(text)]
        assert any(fix in one.title for one in found[0].recipes[:2])

    each(((case[0][-60:], case) for case in COVERED), look)


def test_last_attempt_of_the_converter_counts() -> None:
    """A tokenizer of another kind that is found later is no missing file."""
    missing = NO_FILE.format("File not found: /m/tokenizer.model")
    titles = [title for _, title in said(f"{missing}\n{TRACE.format('c.py', CHECK)}")]
    assert titles == ["The tokenizer has more tokens than the model"]


def test_a_failure_that_the_converter_survives_is_not_told() -> None:
    """What it tried first has failed, and what it tried last says why."""
    missing = NO_FILE.format("File not found: /m/tokenizer.model")
    allow = "ValueError: The repository for /m contains custom code which must be executed to load"
    text = f"{missing}\n\nDuring handling of the above exception, another exception occurred:\n\n"
    kinds = [kind for kind, _ in said(text + TRACE.format("c.py", allow))]
    assert "converter-tokenizer-missing" not in kinds
