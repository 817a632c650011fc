"""Errors of the program are notes that say what to change."""

from __future__ import annotations

import pytest

from doctor.model.scales import Severity
from tests.analyzers.explained import explained, said

ASSERT = "IndexKernel.cu:1: k: block: [0,0,0], thread: [0,0,0] Assertion `{}` failed."
COVERED = (
    (ASSERT.format("t >= 0 && t < n_classes"), "A class label lies outside"),
    (ASSERT.format("srcIndex < srcSelectDimSize"), "beyond the end of its table"),
    (
        ASSERT.format('-sizes[i] <= index && index < sizes[i] && "index out of bounds"'),
        "An index is out of bounds",
    ),
    ("IndexError: index out of range in self", "beyond the end of its table"),
    ("IndexError: Target 12 is out of bounds.", "Label 12"),
    ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (3x5 and 4x2)", "3x5 and 4x2"),
    (
        (
            "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at "
            "non-singleton dimension 1"
        ),
        "3 and 4 (dimension 1)",
    ),
    ("ValueError: operands could not be broadcast together with shapes (2,3) (4,)", "2,3 and 4"),
    (
        (
            "size mismatch for model.embed_tokens.weight: copying a param with shape "
            "torch.Size([32001, 4096]) from checkpoint, the shape in current model is "
            "torch.Size([32000, 4096])."
        ),
        "model.embed_tokens.weight is [32001, 4096] there, [32000, 4096] here",
    ),
    ("mat1 and mat2 must have the same dtype, but got Float and Half", "Float and Half"),
    ("RuntimeError: expected scalar type Half but found Float", "Half and Float"),
    ("\"addmm_impl_cpu_\" not implemented for 'Half'", "no addmm_impl_cpu_ for Half"),
    (
        (
            "Expected all tensors to be on the same device, but found at least two devices, "
            "cuda:0 and "
            "cpu!"
        ),
        "cuda:0 and cpu",
    ),
    ("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()", "cuda:0"),
    ("RuntimeError: Trying to backward through the graph a second time", "backward() runs twice"),
    (
        "RuntimeError: einsum(): fewer operands were provided than specified in the equation",
        "fewer operands",
    ),
    (
        (
            "RuntimeError: einsum(): subscript k has size 5 for operand 1 which does not "
            "broadcast with previously seen size 4"
        ),
        "subscript k has size 5",
    ),
    (
        "element 0 of tensors does not require grad and does not have a grad_fn",
        "records no gradient",
    ),
    ("RuntimeError: Cannot re-initialize CUDA in forked subprocess.", "uses CUDA, which"),
    ("CUDA error: operation not permitted when stream is capturing", "CUDA graph"),
    ("RuntimeError: probability tensor contains either `inf`, `nan` or element < 0", "NaN"),
    ("AttributeError: Can't pickle local object 'main.<locals>.f'", "cannot be sent"),
    ("if __name__ == '__main__': freeze_support()", "started while the main module"),
    ("Error: dtype mismatch in matmul, lhs: F32, rhs: F16", "Candle: matmul got"),
    ("shape mismatch in matmul, lhs: [1, 3], rhs: [4, 2]", "[1, 3] and [4, 2]"),
    ("device mismatch in matmul, lhs: Cpu, rhs: Cuda { gpu_id: 0 }", "Cpu and Cuda"),
    ("unsupported dtype BF16 for op matmul", "Candle has no matmul for BF16"),
    ("KeyboardInterrupt", "Ctrl-C"),
    ("FileNotFoundError: [Errno 2] No such file or directory: 'data/a.csv'", "data/a.csv"),
    ("json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)", "JSON"),
    ("OSError: Can't load tokenizer for 'mymodel'. If you were trying", "mymodel"),
    ("ValueError: Unrecognized model in /data/m. Should have a `model_type` key", "/data/m"),
    ("Cannot access gated repo for url https://huggingface.co/a/b/resolve/x.", "a/b is for those"),
    ("AssertionError: batch must not be empty", "batch must not be empty"),
)


@pytest.mark.parametrize(("text", "title"), COVERED, ids=[title for _, title in COVERED])
def test_the_program_is_what_to_change(text: str, title: str) -> None:
    """One note names the objects of the message and installs nothing."""
    (one,) = explained(text)
    assert title in one.detection.title
    assert one.detection.severity is Severity.NOTE
    assert not any(step.install for recipe in one.detection.recipes for step in recipe.steps)


def test_an_assertion_of_the_gpu_is_explained_once() -> None:
    """Every thread of a block prints its own line."""
    lines = [ASSERT.format("srcIndex < srcSelectDimSize")] * 30
    found = said("\n".join([*lines, "torch.AcceleratorError: CUDA error: device-side assert"]))
    assert [kind for kind, _ in found] == ["device-assert"]


def test_two_places_are_no_matter_of_types() -> None:
    """A tensor of the processor beside one of the GPU was not moved; two of the GPU differ."""
    text = "Input type ({}) and weight type ({}) should be the same"
    moved = said(text.format("torch.FloatTensor", "torch.cuda.FloatTensor"))
    (types,) = explained(text.format("torch.cuda.FloatTensor", "torch.cuda.HalfTensor"))
    assert moved == []
    assert "torch/tensor-not-moved-to-the-gpu" in types.contradicts


def test_a_program_that_is_missing_is_no_file() -> None:
    """A bare name is looked up on PATH."""
    (one,) = explained("FileNotFoundError: [Errno 2] No such file or directory: 'git'")
    assert one.detection.title == "The program git is not found"
    assert one.detection.severity is Severity.ERROR


@pytest.mark.parametrize(
    "text",
    [
        "FileNotFoundError: [Errno 2] No such file or directory: '/usr/lib/libx.so'",
        "KeyboardInterrupt is caught by the server and ends it",
        "loss: nan-safe mode is on",
        "Assertion `x == 1` failed",
        "size mismatch for " + "x" * 3000,
        "test passed: raises AssertionError on empty batches",
    ],
)
def test_silence_on_other_lines(text: str) -> None:
    """What is no failure of the program, or hostile text, gets no note."""
    assert said(text) == []


def test_a_program_is_named_by_the_call_that_starts_it() -> None:
    """Windows does not say which program is missing; the traceback shows the call."""
    text = (
        '    subprocess.run(["git", "submodule", "update"])\n'
        '  File "C:\\Python\\subprocess.py", line 1456, in _execute_child\n'
        "FileNotFoundError: [WinError 2] The system cannot find the file specified"
    )
    assert [title for _, title in said(text)] == ["The program git is not found"]


def test_a_folder_that_cannot_be_made_is_no_missing_file() -> None:
    """Caches of compiled kernels are made on first use."""
    text = (
        '  File "<frozen os>", line 225, in makedirs\n'
        "FileNotFoundError: [Errno 2] No such file or directory: '/proc/.triton'"
    )
    assert [title for _, title in said(text)] == ["The folder /proc/.triton cannot be made"]


def test_a_title_is_bounded() -> None:
    """An object of thousands of characters is cut."""
    ((_, title),) = said("TypeError: cannot pickle " + "<" * 3000)
    assert len(title) < 200


def test_a_failure_says_more_than_the_interruption_after_it() -> None:
    """Who presses Ctrl-C after an error wants to know about the error."""
    text = "RuntimeError: can't start new thread\nKeyboardInterrupt"
    assert [kind for kind, _ in said(text)] == ["too-many-threads"]
