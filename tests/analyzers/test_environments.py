"""Jobs without a GPU, networks without a way out, and fixes that the log chooses."""

from __future__ import annotations

import msgspec
import pytest

from doctor.judge.match.fix_signs import confirmed_first
from doctor.judge.match.signatures import Text
from doctor.logs.environment import environment_facts
from doctor.model.issues import Recipe, Snippet
from tests.analyzers.explained import explained, said

_CASES = {
    "ValueError: invalid literal for int() with base 10: 'NoDevFiles'": "no-gpu-asked-for",
    "ConnectionError: Couldn't reach https://data.example.org/set/info.json": "data-not-reached",
    "There was a problem when trying to write in your cache folder (/.cache/huggingface/hub).": (
        "cache-not-writable"
    ),
    "[E] [TRT] 2: [a.h::f::1] Error Code 2: (Assertion major >= 0 && major < 10 failed. )": (
        "gpu-unknown-to-tensorrt"
    ),
    'Unable to dynamically load shared library - searched for library names: ["cublas64.dll"]': (
        "cudarc-library-missing"
    ),
    "n1:12:34 [0] include/shm.h:27 NCCL WARN Call to shm_open failed : Permission denied": (
        "nccl-shared-memory-denied"
    ),
    "nvcc fatal   : Unsupported gpu architecture 'compute_No devices were found'": (
        "architecture-empty"
    ),
    "Error: status client error (429 Too Many Requests) for url (https://huggingface.co/a/b)": (
        "hub-too-many-requests"
    ),
    "Uvicorn running on http://127.0.0.1:30000\nAssertionError: res=<Response [502]>": (
        "proxy-answers"
    ),
}


@pytest.mark.parametrize(("text", "kind"), _CASES.items(), ids=list(_CASES.values()))
def test_the_cause_is_named_with_a_fix(text: str, kind: str) -> None:
    """Each cause has its own name, and at least one recipe."""
    (one,) = [one for one in explained(text) if one.detection.id == f"failure/{kind}"]
    assert one.detection.recipes


def test_closed_shared_memory_is_not_small() -> None:
    """Permission denied asks for rights, and not for more memory."""
    text = "n1:12:34 [0] include/shm.h:27 NCCL WARN Call to shm_open failed : Permission denied"
    (one,) = explained(text)
    assert "no right to write" in one.detection.title
    assert "--shm-size" not in str(one.detection.recipes)


def test_an_answer_of_another_server_is_no_proxy() -> None:
    """A 502 counts only where the log names this machine."""
    assert not said("AssertionError: res=<Response [502]>")[1:]
    assert "proxy-answers" not in dict(said("AssertionError: res=<Response [502]>"))


def test_empty_shapes_are_a_checkpoint_that_was_not_gathered() -> None:
    """A checkpoint of empty tensors is told once, and never loaded in spite of it."""
    line = (
        "size mismatch for h.{}.proj.weight: copying a param with shape torch.Size([0]) from "
        "checkpoint, the shape in current model is torch.Size([16, 64])."
    )
    (one,) = explained("\n".join(line.format(number) for number in range(3)))
    assert "empty tensors" in one.detection.title
    assert "ignore_mismatched_sizes=True" not in str(one.detection.recipes)


def test_the_log_chooses_the_fix() -> None:
    """A confirmed fix leads without its sentence, and one that is ruled out is left away."""
    snippet = Snippet(where="here", after="x")
    other = Recipe(title="other", use_if=("it fits",), snippet=snippet)
    recipes = (
        other,
        msgspec.structs.replace(other, title="ruled out", unless=("code 3",)),
        msgspec.structs.replace(other, title="confirmed", shown=("code 3",)),
    )
    left = confirmed_first(recipes, [Text("log", "it failed with code 3")])
    assert [(one.title, one.use_if) for one in left] == [
        ("confirmed", ()),
        ("other", ("it fits",)),
    ]


def test_a_report_of_transformers_is_read() -> None:
    """`transformers env` and its copies give the facts that they list."""
    lines = (
        "- `transformers` version: 4.41.2",
        "- Platform: Linux-5.15.0-100-generic-x86_64-with-glibc2.35",
        "- Python version: 3.10.12",
        "- PyTorch version (GPU?): 2.3.0+cu121 (True)",
    )
    facts = {name: fact.value for name, fact in environment_facts(lines).items()}
    assert facts["torch.version"] == "2.3.0+cu121"
    assert facts["torch.cuda_available"] is True
    assert facts["package.transformers.version"] == "4.41.2"
    assert facts["host.glibc"] == "2.35"
