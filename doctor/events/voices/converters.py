"""llama.cpp's converters of models: which architecture, tensor or tokenizer they refuse.

The wordings stand in convert_hf_to_gguf.py, in its predecessor convert.py, and in the loaders of
llama.cpp and SentencePiece.
"""

from __future__ import annotations

from doctor.events.forms import Form, Voice

VOICES = (
    Voice(
        "llama.cpp's converter",
        (
            Form(
                "converter-model-unknown",
                r"hf-to-gguf: ?Model (?P<architecture>\w{3,80}) is not supported"
                r"|Architecture ['\"](?P<architecture2>\w{3,80})['\"] not supported!",
                ("is not supported", "not supported!"),
            ),
            Form(
                "converter-of-llama-only",
                r"failed to guess 'n_(?:ctx|layer|mult)'\. This model is unknown or unsupported"
                r"|KeyError: \('torch', '(?P<storage>Byte|Bool|Char|Int|Long)Storage'\)",
                ("this model is unknown or unsupported", "keyerror: ('torch'"),
            ),
            Form(
                "converter-tensor-unknown",
                r"(?:Exception: Unexpected tensor name: |Can not map tensor ['\"])"
                r"(?P<tensor>[\w.-]{3,160})",
                ("unexpected tensor name: ", "can not map tensor "),
            ),
            Form(
                "converter-tokenizer-missing",
                r"FileNotFoundError: (?:(?:spm|bpe|hfft) [\w.]{3,40} not found"
                r"|Could not find any of \['tokenizer\.model'"
                r"|Could not find a tokenizer matching any of"
                r"|File not found: .{0,200}\b(?:tokenizer|spiece)\.model)",
                ("filenotfounderror: ",),
            ),
            Form(
                "converter-pretokenizer-unknown",
                r"BPE pre-tokenizer was not recognized - update get_vocab_base_pre",
                ("pre-tokenizer was not recognized",),
            ),
            Form(
                "converter-rope-unknown",
                r"NotImplementedError: The rope scaling type (?P<type>\w{1,40}) is not supported",
                ("the rope scaling type ",),
            ),
            Form(
                "converter-vocabulary-differs",
                r"Vocab size mismatch \(model has (?P<model>-?\d{1,8}), but .{1,400} has "
                r"(?P<tokens>\d{1,8})"
                r"|The model's vocab size is set to (?P<model2>-1) in params\.json",
                ("vocab size mismatch", "vocab size is set to"),
            ),
        ),
    ),
    Voice(
        "SentencePiece",
        (
            Form(
                "tokenizer-file-damaged",
                r"could not parse ModelProto from (?P<file>\S{1,300})"
                r"|sentencepiece_processor\.cc\(\d{1,5}\) \[model_proto->ParseFromArray",
                ("could not parse modelproto", "model_proto->parsefromarray"),
            ),
        ),
    ),
    Voice(
        "llama.cpp",
        (
            Form(
                "physical-batch-small",
                r"input (?:\((?P<tokens>\d{1,9}) tokens\) )?is too large to process\. increase "
                r"the physical batch size",
                ("increase the physical batch size",),
            ),
            Form(
                "cpu-backend-missing",
                r"make_cpu_buft_list: no CPU backend found",
                ("no cpu backend found",),
            ),
            Form(
                "split-file-alone",
                r"error loading model: invalid split file(?: name)?:? ?(?P<file>\S{1,300})",
                ("invalid split file",),
            ),
        ),
    ),
)
