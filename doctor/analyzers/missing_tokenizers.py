"""Explain models without a tokenizer: a folder, a name of the hub, or a hub that is not reached."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import code, command, variables
from doctor.model.events import Event
from doctor.model.scales import Severity

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,60}(?:/[A-Za-z0-9][\w.-]{0,90})?")
_LOCAL = re.compile(r"^[./~]|^[A-Za-z]:|\\|(?:output|checkpoint|results|saved|pretrain)")


def explain(case: Case) -> Iterator[Explanation]:
    """Yield why no tokenizer was found, once."""
    for event in case.of("tokenizer-missing"):
        yield _explain(event, event.objects["model"])
        return


def _explain(event: Event, model: str) -> Explanation:
    if _LOCAL.search(model) or not _REPOSITORY.fullmatch(model):
        return _of_folder(event, model)
    return _of_hub(event, model)


def _of_folder(event: Event, model: str) -> Explanation:
    return explanation(
        event,
        f"The folder {model} holds no tokenizer",
        "transformers wants tokenizer.json or the vocabulary, and tokenizer_config.json, "
        "beside "
        "the weights. They were not saved or not downloaded, or the path is another one: a "
        "relative one counts from the folder in which the program was started.",
        (
            code(
                "Save the tokenizer beside the model",
                "where the model is saved",
                "tokenizer.save_pretrained(folder)",
                note="Or copy the files of the tokenizer from the base model's folder.",
            ),
            command("See what the folder holds", "ls", "-la", model, look=True)
            if re.fullmatch(r"[\w./~ -]{1,200}", model) and not model.startswith("-")
            else code(
                "Take the tokenizer of the base model",
                "the call that loads the tokenizer",
                'AutoTokenizer.from_pretrained("<base model>")',
            ),
        ),
        name="tokenizer-missing",
        severity=Severity.NOTE,
    )


def _of_hub(event: Event, model: str) -> Explanation:
    fetch = f"from huggingface_hub import snapshot_download; snapshot_download('{model}')"
    reach = command(
        "Download the model alone: it shows whether the hub is reached, and fills the cache",
        "{python.executable}",
        "-c",
        fetch,
        note="If it succeeds, start the program again from a folder that holds none of that name. "
        "If it shows no tokenizer among the files, the model's page names the tokenizer of another "
        "model to take.",
    )
    mirror = variables(
        "Ask a mirror, where the hub is not reached from your network",
        {"HF_ENDPOINT": "https://hf-mirror.com"},
        use_if=("you trust the mirror, and huggingface.co is not reached",),
    )
    other = code(
        "Take the tokenizer that the model's page names",
        "the call that loads the tokenizer",
        'AutoTokenizer.from_pretrained("<the model that the page names>")',
        before=f'AutoTokenizer.from_pretrained("{model}")',
        use_if=("the repository of the model holds no files of a tokenizer",),
    )
    has_owner = "/" in model
    return explanation(
        event,
        f"No tokenizer was found for {model} of the Hugging Face hub",
        (
            "Its repository holds no files of a tokenizer, the hub was not reached, or a folder of "
            "that name beside the program hides it."
            if has_owner
            else "The hub was not reached (a proxy, a firewall, no network, offline mode), or a "
            "folder of that name beside the program hides the model."
        ),
        (reach, other, mirror) if has_owner else (reach, mirror),
        name="tokenizer-missing",
        exact=False,
        severity=Severity.NOTE,
    )
