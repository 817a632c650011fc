"""Explain that a program cannot read a model's file, or cannot hold what it read.

| event | what is read |
| --- | --- |
| a file of a newer or older format | both releases of the format, or the key |
| exllama without room or without the GPU | which of them |
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import LINUX, code, command, newest
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what a program cannot read."""
    yield from explained(case, _TABLE)


_TABLE: dict[str, Text] = {
    "path-with-blank": Text(
        "llama.cpp takes {part} for an argument of its own: the path of the model holds a blank",
        "The shell or the program that started llama.cpp passed the path in two parts.",
        (
            code(
                "Put the model into a folder without blanks in its name",
                "the command",
                "llama-server -m C:\\models\\model.gguf",
                before='llama-server -m "C:\\AI models\\model.gguf"',
            ),
        ),
        precision=Precision.EXACT,
    ),
    "cache-needs-flash-attention": Text(
        "llama.cpp stores the values of its cache in fewer bits with flash attention alone",
        "The setting for the type of the V cache (--cache-type-v) is not f16, and flash attention "
        "is off.",
        (
            code(
                "Switch flash attention on",
                "the command that starts the server, or the settings of the program",
                "--flash-attn on",
                note="Releases before September 2025 take -fa without a word behind it; "
                "llama-cpp-python takes flash_attn=True.",
            ),
            code(
                "Leave the values in f16",
                "the same place",
                "--cache-type-v f16",
                before="--cache-type-v q8_0",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "gguf-other-file": Text(
        "{path} is no GGUF file, and llama.cpp reads GGUF alone",
        "safetensors and PyTorch's files have to be converted. A .bin of 2023 holds GGML, the "
        "format before GGUF, which llama.cpp dropped in August 2023.",
        (
            command(
                "Download the model as GGUF",
                "hf",
                "download",
                "<repository>",
                "--include",
                "*Q4_K_M.gguf",
                "--local-dir",
                ".",
                ask={"repository": "a repository with GGUF files of the model, owner/name"},
                note="convert_hf_to_gguf.py of llama.cpp makes one from a folder of safetensors.",
            ),
            Recipe(
                title="Take the last llama-cpp-python that reads GGML",
                use_if=("the file has to stay",),
                shown=(r"(?i)ggml",),
                steps=(Action(install=("llama-cpp-python==0.1.78",), options=(Option.NO_CACHE,)),),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "gguf-cut-short": Text(
        "The file of the model ends before its tensors do",
        "The download stopped, or the disk was full.",
        (
            command(
                "Compare its size with that on the page of the model, then download it again",
                "hf",
                "download",
                "<repository>",
                "<file>",
                "--force-download",
                "--local-dir",
                ".",
                ask={
                    "repository": "the repository of the model, owner/name",
                    "file": "the name of the file there",
                },
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "gguf-not-opened": Text(
        "llama.cpp cannot open {path}: no such file, or no right to read it",
        "The file is not at this path for the process that loads it: another name or folder, a "
        "split or unfinished download, a folder that a container does not mount, or a user without "
        "the right. The advice about VRAM in the log is for other failures.",
        (
            command(
                "See whether the file is there, and who may read it",
                "ls",
                "-la",
                "{log.path}",
                look=True,
                note="Run it as the user, and in the container, of the program. An empty file is "
                "an unfinished download.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "gguf-key-missing": Text(
        "The GGUF file has no {key}, which this llama.cpp asks for",
        "The file was made by another release than the one that reads it, or by a converter that "
        "does not know the architecture.",
        (
            command(
                "See the release of llama.cpp, then take the newest one",
                "llama-cli",
                "--version",
                look=True,
                note="Ollama, LM Studio and llama-cpp-python bring their own: update that program, "
                "and download the file again where its card names a later upload.",
            ),
            newest(
                "llama-cpp-python",
                title="Take the newest llama-cpp-python",
                use_if=("the program is llama-cpp-python",),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "gguf-for-newer-reader": Text(
        "The file is GGUF, and this llama.cpp only reads the older GGML",
        "46554747 is the word GGUF. llama.cpp reads it since August 2023, and llama-cpp-python "
        "since 0.1.79.",
        (
            newest(
                "llama-cpp-python",
                title="Take the newest llama-cpp-python",
                use_if=("the program is llama-cpp-python, or text-generation-webui uses it",),
            ),
            command(
                "Take the newest llama.cpp",
                "git",
                "pull",
                use_if=("it is a build of llama.cpp's own sources",),
                note="Then build it again.",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "ggml-no-backend": Text(
        "llama.cpp finds none of its own backends, not even that for the CPU",
        "This build keeps each backend in a library of its own (ggml-cpu, ggml-cuda …), and looks "
        "for them beside the program. They were not copied or not built.",
        (
            command(
                "Build it with the backends inside",
                "sh",
                "-c",
                "cmake -B build -DGGML_BACKEND_DL=OFF && cmake --build build --config Release",
                use_if=(LINUX,),
                note="For NVIDIA also -DGGML_CUDA=ON.",
            ),
            command(
                "See whether the libraries lie beside the program",
                "sh",
                "-c",
                'ls -l "$(dirname "$(command -v llama-server)")" | grep -i ggml',
                use_if=(LINUX,),
                look=True,
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "ctranslate2-model-newer": Text(
        "The model has CTranslate2's format {wanted}, and the installed release reads up to {here}",
        "The model was converted by a newer CTranslate2.",
        (
            newest("ctranslate2", title="Take a CTranslate2 that reads the format"),
            code(
                "Convert the model with the installed CTranslate2",
                "a terminal; for a Whisper model",
                "ct2-transformers-converter --model <model> --output_dir <folder>",
                use_if=("the installed release has to stay",),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "onnx-model-newer": Text(
        "The ONNX file has format {wanted}, and this ONNX Runtime reads up to {here}",
        "Each release of ONNX Runtime reads up to one opset and one IR version; the file was "
        "written by a newer onnx.",
        (
            Recipe(
                title="Take a newer ONNX Runtime",
                note="onnxruntime-gpu, -directml and -openvino are packages of their own: update "
                "the one that is installed.",
                steps=(
                    Action(install=("onnxruntime",), options=(Option.UPGRADE, Option.HOLD_TORCH)),
                ),
                unless=(r"(?i)onnxruntime[-_](?:gpu|directml|openvino)|CUDAExecutionProvider",),
            ),
            Recipe(
                title="Take a newer onnxruntime-gpu",
                shown=(r"(?i)onnxruntime[-_]gpu|CUDAExecutionProvider",),
                use_if=("onnxruntime-gpu is the installed package",),
                steps=(
                    Action(
                        install=("onnxruntime-gpu",), options=(Option.UPGRADE, Option.HOLD_TORCH)
                    ),
                ),
            ),
            code(
                "Write the file in the older format",
                "the program that exports the model",
                "torch.onnx.export(model, args, path, opset_version=17)",
                note="For the IR version of a finished file: model = onnx.load(path); "
                "model.ir_version = 9; onnx.save(model, path).",
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
    "onnx-input-type": Text(
        "The ONNX model wants {wanted}, and the program gives {actual}",
        "ONNX Runtime converts no types by itself. NumPy's default is double.",
        (
            code(
                "Convert the input",
                "the program, before session.run",
                "x = x.astype(np.float32)",
                note="float is np.float32, float16 np.float16, int64 np.int64. A model in half "
                "precision has such inputs: some programs have an option for it (fp16).",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "exllama-buffer": Text(
        "The buffer of exllama is smaller than the prompt",
        "GPTQ models with act-order (desc_act) keep a buffer for the longest input.",
        (
            code(
                "Give the buffer more room",
                "the program, after the model is loaded",
                "from auto_gptq import exllama_set_max_input_length\n"
                "model = exllama_set_max_input_length(model, 4096)",
                note="4096 is the longest prompt, in tokens. gptqmodel has the same function.",
            ),
            code(
                "Load the model without exllama",
                "the place where the model is loaded; transformers",
                "GPTQConfig(bits=4, use_exllama=False)",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "exllama-needs-gpu": Text(
        "A part of the GPTQ model lies outside of the GPU, and exllama computes there only",
        "device_map put layers on the CPU or the disk, since the GPU has too little memory free, "
        "or torch sees none.",
        (
            code(
                "Load the model without exllama",
                "the place where the model is loaded",
                "config = GPTQConfig(bits=4, use_exllama=False)\n"
                'AutoModelForCausalLM.from_pretrained(name, device_map="auto", '
                "quantization_config=config)",
            ),
            code(
                "Put all of it on one GPU",
                "the place where the model is loaded",
                'device_map={"": 0}',
                before='device_map="auto"',
                use_if=("the model fits into the memory of the GPU",),
            ),
        ),
        precision=Precision.EXACT,
    ),
}
