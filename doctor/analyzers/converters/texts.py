"""What is said of models that llama.cpp's converters refuse."""

from __future__ import annotations

from doctor.analyzers.case import Precision
from doctor.analyzers.recipes import UNIX, code, command
from doctor.analyzers.texts import Text
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Severity

_CLONE = "the current folder is the clone of llama.cpp"
_UPDATE = Recipe(
    title="Bring llama.cpp and the packages of its converter up to date",
    use_if=(_CLONE,),
    steps=(
        Action(run=("git", "pull")),
        Action(run=("{python.executable}", "-m", "pip", "install", "-r", "requirements.txt")),
    ),
    note="Then convert again, and build llama.cpp again: the program has to know the model too.",
)
BY_NEWER_SCRIPT = Recipe(
    title="Convert with convert_hf_to_gguf.py, which takes the place of convert.py",
    use_if=(_CLONE,),
    steps=(
        Action(run=("git", "pull")),
        Action(run=("{python.executable}", "-m", "pip", "install", "-r", "requirements.txt")),
        Action(run=("{python.executable}", "convert_hf_to_gguf.py", "<folder>")),
    ),
    ask={"folder": "the folder of the model, with its config.json"},
    note="The older convert.py reads models of the LLaMA family alone.",
)
_TOKENIZER_OF_BASE = command(
    "Take the files of the tokenizer from the base model",
    *("hf", "download", "<base>", "--include", "token*", "special_tokens_map.json", "*.model"),
    *("vocab*", "merges.txt", "--local-dir", "<folder>"),
    ask={
        "base": "the model that was fine-tuned, as owner/name",
        "folder": "the folder of the model",
    },
    use_if=("the model is a fine-tuning that added no tokens",),
    note="Move added_tokens.json of the folder away first, if the base model has none.",
)
IS_ADAPTER = Text(
    "The checkpoint is a LoRA adapter, or holds one that is not merged: {tensor}",
    "The converter of models takes whole models. Tensors with lora_A, lora_B or base_layer in "
    "their names are those of an adapter of PEFT.",
    (
        command(
            "Convert the adapter by the converter of adapters",
            *("{python.executable}", "convert_lora_to_gguf.py", "--base", "<base>", "<adapter>"),
            ask={
                "base": "the folder of the base model, with its config.json",
                "adapter": "the folder with adapter_config.json",
            },
            use_if=(_CLONE, "the folder holds an adapter alone"),
            note="llama-cli and llama-server load it with --lora beside the base model.",
        ),
        code(
            "Merge the adapter into the model, then convert the result",
            "a short program",
            "from peft import AutoPeftModelForCausalLM\n"
            'model = AutoPeftModelForCausalLM.from_pretrained("<adapter>").merge_and_unload()\n'
            'model.save_pretrained("<merged>")',
            note="Save the tokenizer into the same folder.",
        ),
    ),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
)
IS_QUANTIZED = Text(
    "The checkpoint is quantized already (bitsandbytes, GPTQ or AWQ): {tensor}",
    "The converter reads plain weights (float32, float16, bfloat16) and quantizes them itself. "
    "Weights in the form of another quantizer have no tensor of llama.cpp to go into.",
    (
        code(
            "Convert the model that was not quantized, then quantize the GGUF file",
            "the command line",
            "python convert_hf_to_gguf.py <folder of the plain model> --outfile model-f16.gguf\n"
            "llama-quantize model-f16.gguf model-q4_k_m.gguf Q4_K_M",
            note="A fine-tuning in 4 bits is merged into the plain base model: load that in "
            "float16, add the adapter, and call merge_and_unload().",
        ),
    ),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
)
HAS_PICTURES = Text(
    "The model has a part for pictures, which this converter does not read: {tensor}",
    "llama.cpp keeps the language model and the part for pictures (mmproj) in two files. An old "
    "convert.py knows the language model alone.",
    (
        Recipe(
            title="Convert both parts with the converter of today",
            use_if=(_CLONE, "llama.cpp supports this family of models (docs/multimodal)"),
            steps=(
                Action(run=("git", "pull")),
                Action(run=("{python.executable}", "convert_hf_to_gguf.py", "<folder>")),
                Action(
                    run=("{python.executable}", "convert_hf_to_gguf.py", "<folder>", "--mmproj")
                ),
            ),
            ask={"folder": "the folder of the model, with its config.json"},
        ),
    ),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
)
OTHER_TENSOR = Text(
    "The converter has no place for the tensor {tensor}",
    "The model is of an architecture, or of a variant, that this state of the converter does not "
    "know. convert.py knows the LLaMA family alone.",
    (BY_NEWER_SCRIPT,),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
)
COUNT_UNKNOWN = Text(
    "params.json gives -1 as the number of tokens",
    "Meta's own files of Llama 2 leave the number open, and the converter takes it from there.",
    (
        Recipe(
            title="Write the number of Llama 2's tokens into params.json",
            use_if=(UNIX, "the current folder is the one with params.json"),
            steps=(
                Action(
                    run=(
                        *("sed", "-i.old", 's/"vocab_size": *-1/"vocab_size": 32000/'),
                        "params.json",
                    )
                ),
            ),
        ),
        code(
            "Write the number of Llama 2's tokens into params.json",
            "params.json, in the folder of the model",
            '"vocab_size": 32000',
            before='"vocab_size": -1',
        ),
    ),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
)
FEWER_TOKENS = Text(
    "The model has {model} tokens, its tokenizer {tokens}",
    "The table of the model was made longer, mostly to a multiple of 32 or 64, and the tokenizer "
    "names fewer. Or a file of added tokens is missing in the folder.",
    (
        code(
            "Have the converter add tokens that stand for nothing",
            "the command line of convert.py",
            "--pad-vocab",
            note="convert_hf_to_gguf.py does that by itself.",
        ),
        _TOKENIZER_OF_BASE,
    ),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
)
_MORE_TOKENS_CAUSE = (
    "Tokens were added to the tokenizer, and the model's table of embeddings was not made longer. "
    "vocab_size in config.json is that of the model."
)
MORE_TOKENS = Text(
    "The model has {model} tokens, its tokenizer {tokens}",
    _MORE_TOKENS_CAUSE,
    (_TOKENIZER_OF_BASE,),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
)
NO_TOKENIZER = "converter-tokenizer-missing"
TOKENS_EXCEED = Text(
    "The tokenizer has more tokens than the model",
    _MORE_TOKENS_CAUSE + " What the converter says of BpeVocab before it is only its second "
    "attempt.",
    (
        _TOKENIZER_OF_BASE,
        code(
            "Make the table of the model as long as the tokenizer, and save both",
            "the program that saves the model",
            "model.resize_token_embeddings(len(tokenizer))\n"
            "model.save_pretrained(folder)\ntokenizer.save_pretrained(folder)",
            use_if=("the new tokens were trained",),
        ),
    ),
    severity=Severity.ERROR,
    precision=Precision.EXACT,
)
TOKENIZER_MISSING = Text(
    "The folder of the model has no tokenizer that the converter reads",
    "Older models have SentencePiece's tokenizer.model, newer ones tokenizer.json. A folder of "
    "a fine-tuning has neither if only the weights were saved.",
    (
        _TOKENIZER_OF_BASE,
        command(
            "See which files of a tokenizer the folder has",
            *("ls", "-lL", "<folder>"),
            ask={"folder": "the folder of the model"},
            use_if=(UNIX,),
            look=True,
        ),
    ),
    severity=Severity.ERROR,
)
TABLE: dict[str, Text] = {
    "converter-model-unknown": Text(
        "The converter of llama.cpp does not know the architecture {architecture}",
        "It looks up the name that config.json gives under architectures. The checkout is older "
        "than the model, or llama.cpp does not run this family at all.",
        (
            _UPDATE,
            command(
                "See whether the converter has the name",
                *("git", "grep", "-n", "{log.architecture}"),
                use_if=(_CLONE,),
                look=True,
                note="If the newest state has it nowhere, llama.cpp does not run the model: take "
                "transformers or vLLM.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "converter-of-llama-only": Text(
        "convert.py does not read this model: it is no LLaMA",
        "The script knows the settings and the tensors of the LLaMA family alone, and types of "
        "tensors that these have.",
        (BY_NEWER_SCRIPT,),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "converter-pretokenizer-unknown": Text(
        "The converter does not recognise the tokenizer of the model (BPE)",
        "It knows a tokenizer by a checksum of what that makes of a fixed text, and does not have "
        "this one: the model is newer than the checkout, or a fine-tuning changed the tokenizer.",
        (_UPDATE, _TOKENIZER_OF_BASE),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "converter-rope-unknown": Text(
        "The converter does not know the scaling {type} of positions",
        "config.json names it under rope_scaling. The model is newer than the checkout of "
        "llama.cpp.",
        (_UPDATE,),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "tokenizer-file-damaged": Text(
        (
            "{file} is no model of SentencePiece",
            "The tokenizer.model is no model of SentencePiece",
        ),
        "The file is empty, stopped halfway, is the pointer of git-lfs (130 bytes) or an error "
        "page. Meta's own tokenizer.model of Llama 3 is of another kind (tiktoken): the files of "
        "the Hub have tokenizer.json for it.",
        (
            command(
                "See the size and the beginning of the file",
                *("sh", "-c", 'ls -lL "$1"; head -c 100 "$1"', "sh", "<file>"),
                ask={"file": "the tokenizer.model of the model"},
                use_if=(UNIX,),
                look=True,
            ),
            command(
                "Download the file again",
                *("hf", "download", "<repository>", "tokenizer.model", "--force-download"),
                *("--local-dir", "<folder>"),
                ask={
                    "repository": "the model, as owner/name",
                    "folder": "the folder of the model",
                },
                use_if=("the file is smaller than on the model's page",),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "physical-batch-small": Text(
        (
            "The input of {tokens} tokens is longer than llama.cpp's physical batch",
            "An input is longer than llama.cpp's physical batch",
        ),
        "Models for embeddings and for ranking take the whole input in one physical batch. It has "
        "512 tokens if nothing else is said.",
        (
            code(
                "Make both batches as long as the longest input",
                "the command line of llama-server",
                "-b 8192 -ub 8192",
                note="Both are limited by -c. A larger batch takes more memory.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "cpu-backend-missing": Text(
        "llama.cpp finds none of its libraries for the processor",
        "It was built with backends as libraries of their own (GGML_BACKEND_DL), which it looks "
        "for beside the program. libggml-cpu is not there: only the program was copied, or it was "
        "not built.",
        (
            command(
                "See whether libggml-cpu lies beside the program",
                *("sh", "-c", 'ls "$(dirname "$(command -v llama-server)")" | grep ggml'),
                use_if=(UNIX, "llama-server is on PATH"),
                look=True,
            ),
            Recipe(
                title="Build llama.cpp with its backends inside",
                use_if=(_CLONE,),
                steps=(
                    Action(
                        run=("cmake", "-B", "build", "-DGGML_BACKEND_DL=OFF", "-DGGML_NATIVE=ON")
                    ),
                    Action(run=("cmake", "--build", "build", "--config", "Release", "-j")),
                ),
                note="Repeat the options of the GPU, such as -DGGML_CUDA=ON.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "split-file-alone": Text(
        "{file} is one part of a split model, and its name does not say which",
        "The parts of a model are found by their names, which end in -00001-of-00003.gguf. This "
        "file says that it has parts and was given another name, or was quantized from parts.",
        (
            command(
                "Put the parts together in one file",
                *("llama-gguf-split", "--merge", "<first>", "merged.gguf"),
                ask={"first": "the first part, whose name ends in -00001-of-…"},
                use_if=("the parts have their original names",),
                note="Older builds call it gguf-split. Quantize the merged file.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
}
