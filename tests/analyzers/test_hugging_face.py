"""What the Hub refuses, and files that are no weights."""

from __future__ import annotations

import pytest

from doctor.model.scales import Severity
from tests.analyzers.packages import explained, hostile, installs, told


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            (
                "huggingface_hub.errors.GatedRepoError: 403 Client Error.\n\n"
                "Cannot access gated repo for "
                "url https://huggingface.co/meta-llama/Llama-2-7b-hf/resolve/main/config.json."
            ),
            "The model meta-llama/Llama-2-7b-hf is for those who accepted its terms",
        ),
        (
            (
                "huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error.\n\n"
                "Repository Not Found "
                "for url: https://huggingface.co/api/models/ada/no-such-model."
            ),
            "The Hub has no repository ada/no-such-model that this account may see",
        ),
        (
            (
                "OSError: microsoft/phi-2 does not appear to have a file named pytorch_model.bin, "
                "tf_model.h5, model.ckpt or flax_model.msgpack."
            ),
            "microsoft/phi-2 has no file pytorch_model.bin",
        ),
        (
            (
                "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: "
                "https://huggingface.co/api/whoami-v2"
            ),
            "The Hub refuses the token: it is wrong, expired or was revoked",
        ),
        (
            (
                "huggingface_hub.errors.LocalEntryNotFoundError: Cannot find an appropriate cached "
                "snapshot folder for the specified revision on the local disk and outgoing "
                "traffic has "
                "been disabled."
            ),
            "The Hub is switched off here (offline), and the file is not in the cache",
        ),
        (
            (
                "'[Errno -3] Temporary failure in name resolution' thrown while requesting HEAD "
                "https://huggingface.co/gpt2/resolve/main/config.json"
            ),
            "huggingface.co is not reached from here: its name is not resolved",
        ),
        (
            (
                "huggingface_hub.errors.HFValidationError: Repo id must be in the form "
                "'repo_name' or "
                "'namespace/repo_name': '/data/llama'. Use `repo_type` argument if needed."
            ),
            "/data/llama is neither a folder that exists nor a name on the Hub",
        ),
    ],
)
def test_refusals_are_notes(text: str, title: str) -> None:
    """Nothing that is installed is at fault."""
    found = told("hugging_face", text)
    assert found.detection.title == title
    assert found.detection.severity is Severity.NOTE
    assert not any(installs(found))


def test_code_of_a_model_is_read_before_it_is_trusted() -> None:
    text = (
        "ValueError: The repository for microsoft/x contains custom code which must be executed to "
        "correctly load the model."
    )
    found = told("untrusted_code", text)
    assert found.detection.recipes[0].use_if == ("you have read the code and trust it",)


def test_a_data_set_that_is_a_program_is_no_model() -> None:
    text = (
        "ValueError: The repository for mteb/x contains custom code which must be executed to "
        "correctly load the dataset."
    )
    found = told("untrusted_code", text)
    assert found.detection.title.startswith("The data set is loaded by a program")
    assert found.detection.recipes[0].steps[0].env == {"HF_DATASETS_TRUST_REMOTE_CODE": "1"}


def test_packages_of_the_models_code() -> None:
    text = (
        "ImportError: This modeling file requires the following packages that were not found in "
        "your "
        "environment: einops, peft. Run `pip install einops peft`"
    )
    assert installs(told("hugging_face", text)) == [("einops", "peft")]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge",
            "The file is no file of weights: most likely a pointer of git-lfs",
        ),
        (
            "torch.load('models/x.pth')\n_pickle.UnpicklingError: invalid load key, '<'.",
            "models/x.pth holds a web page instead of weights",
        ),
        (
            (
                "safetensors_rust.SafetensorError: Error while deserializing header: "
                "MetadataIncompleteBuffer"
            ),
            "The file is cut off: not all of it was written",
        ),
    ],
)
def test_files_that_are_no_weights(text: str, title: str) -> None:
    assert told("hugging_face", text).detection.title == title


def test_another_empty_input_is_left_alone() -> None:
    assert not explained("hugging_face", "EOFError: Ran out of input")


def test_hostile_texts() -> None:
    hostile(
        "hugging_face",
        (
            "Repository Not Found for url: https://huggingface.co/",
            "packages that were not found in your environment: $(reboot). Run",
            "Repo id must be in the form 'a': '",
            "invalid load key, '",
        ),
    )
