"""Explain GGUF files whose tensors are not those that llama.cpp expects."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.gguf import SEE_RELEASE
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield how a file and its reader differ."""
    yield from explained(case, _TABLE)


_TABLE: dict[str, Text] = {
    "gguf-other-tensors": Text(
        (
            "The file holds {expected} tensors, and this llama.cpp uses {used} of them",
            "The file and this llama.cpp do not agree on the model: {what}",
        ),
        "The download is whole: a file that was cut fails otherwise. It was written by another "
        "converter or for a fork, from a checkpoint with further tensors (an adapter, an already "
        "quantized or merged model), or for another release. Quantizing does not check it.",
        (
            Recipe(
                title="Convert the model anew, from the original checkpoint, with one clean and "
                "newest llama.cpp, and load it with the same",
                shown=(
                    r"(?i)\b(?:when|while|after|I) ?(?:was |am )?(?:quanti[sz]|convert|fine-?tun)",
                    r"convert(?:[-_]hf[-_]to[-_]gguf|\.py)|llama-quantize",
                ),
                use_if=("the file was converted or quantized here",),
                note="An adapter has to be merged into the model first. The type of the "
                "quantization and the layers on the GPU do not matter.",
                steps=(
                    Action(
                        run=(
                            *("{python.executable}", "convert_hf_to_gguf.py", "<checkpoint>"),
                            *("--outfile", "<file>"),
                        )
                    ),
                ),
                ask={
                    "checkpoint": "the folder of the original model, with its safetensors",
                    "file": "the new file, such as model-f16.gguf",
                },
            ),
            msgspec.structs.replace(SEE_RELEASE, unless=(r"ik_llama",)),
            Recipe(
                title="Bring the fork up to date, and build it again",
                shown=(r"ik_llama",),
                use_if=("the program is ik_llama.cpp, and the current folder its sources",),
                note="A fork and llama.cpp itself write some tensors in other shapes (MLA of "
                "DeepSeek). Where the newest state refuses the file too: take one made for the "
                "fork, or run this one with llama.cpp itself.",
                steps=(
                    Action(run=("git", "pull")),
                    Action(run=("cmake", "--build", "build", "--config", "Release", "-j", "4")),
                ),
            ),
            Recipe(
                title="List the tensors of the file, to see which are too many",
                steps=(
                    Action(install=("gguf",)),
                    Action(run=("gguf-dump", "<model>")),
                ),
                ask={"model": "the file of the model"},
                lasting=False,
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
}
