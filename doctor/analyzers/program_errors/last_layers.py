"""Explain a checkpoint whose last layer has another number of outputs than the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from doctor.analyzers.case import Case, Precision
from doctor.analyzers.recipes import code
from doctor.analyzers.texts import Text
from doctor.model.issues import Recipe

_VOCABULARY = ("lm_head", "embed_tokens", "wte")


def last_layer(case: Case, differing: Sequence[Mapping[str, str]]) -> Text | None:
    """Return what to say where only the outputs of a last layer differ; None for other shapes."""
    counts = {
        pair
        for one in differing
        if (pair := _outputs(one.get("file", ""), one.get("model", ""))) is not None
    }
    if len(counts) != 1:
        return None
    ((there, here),) = counts
    words = any(part in one.get("parameter", "") for one in differing for part in _VOCABULARY)
    hub = any("from_pretrained" in line for line in case.log.lines)
    return Text(
        f"The checkpoint was trained for {there} {'tokens' if words else 'classes'}, and the model "
        f"here has {here}: {{parameter}} is [{{file}}] there, [{{model}}] here",
        (
            "Tokens were added to, or taken from, one of the two. "
            if words
            else "The model was made with another number of classes than the file. "
        )
        + "The installation is sound.",
        _tokens(there) if words else _classes(there, here, hub=hub),
        precision=Precision.EXACT,
        contradicts=("torch/checkpoint-other-names",),
    )


def _outputs(file: str, model: str) -> tuple[int, int] | None:
    """Return the first sizes of two shapes that are equal otherwise."""
    there, here = _sizes(file), _sizes(model)
    same = there and len(there) == len(here) and there[1:] == here[1:] and there[0] != here[0]
    return (there[0], here[0]) if same and min(there[0], here[0]) > 0 else None


def _sizes(shape: str) -> list[int]:
    parts = [part.strip() for part in shape.split(",") if part.strip()]
    return [int(part) for part in parts] if all(part.isdigit() for part in parts) else []


def _classes(there: int, here: int, *, hub: bool) -> tuple[Recipe, ...]:
    if not hub:
        return (
            code(
                f"Make the model with the {there} classes of the checkpoint",
                "the place that makes the model",
                f"model = Model(num_classes={there})",
                before=f"model = Model(num_classes={here})",
                note="Some models call the number num_labels, out_features or nc.",
            ),
        )
    return (
        code(
            f"Make the model with the {there} classes of the checkpoint",
            "the call that loads the model",
            f"Model.from_pretrained(name, num_labels={there})",
            before="Model.from_pretrained(name)",
            note="The config.json that was saved with the checkpoint has the number as well.",
        ),
        code(
            "Throw the trained last layer away, and train a new one",
            "the call that loads the model",
            f"Model.from_pretrained(name, num_labels={here}, ignore_mismatched_sizes=True)",
            before="Model.from_pretrained(name)",
            use_if=(f"the model is to be trained anew, for {here} classes",),
            note="Until it is trained, its answers are random.",
        ),
    )


def _tokens(there: int) -> tuple[Recipe, ...]:
    return (
        code(
            "Give the model the number of tokens of the checkpoint before it is loaded",
            "the place that makes the model",
            f"model.resize_token_embeddings({there})\nmodel.load_state_dict(state)",
            before="model.load_state_dict(state)",
            note="The tokenizer of the checkpoint belongs to it.",
        ),
    )
