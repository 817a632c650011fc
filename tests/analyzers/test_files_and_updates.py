"""Graphs, tensors and bytecode that do not fit who reads them, and failures that an update began.

The messages are genuine, or siblings of genuine ones in the words of the same program.
"""

from __future__ import annotations

import pytest

from tests.analyzers.explained import explained, said

_INVALID = "This is an invalid model. In Node, ('/n', X) , Error Unrecognized attribute: "
LINES = (
    (f"{_INVALID}allowzero for operator Reshape", "from opset 14 on"),
    (f"{_INVALID}antialias for operator Resize", "from opset 18 on"),
    (f"{_INVALID}axes for operator Squeeze", "up to opset 12"),
    (f"{_INVALID}shiny for operator Mul", "no attribute shiny"),
    (
        (
            "INVALID_ARGUMENT : Invalid model. Node input '449' is not a graph input, initializer, "
            "or output of a previous node."
        ),
        "a node reads 449",
    ),
    (
        "Nodes in a graph must be topologically sorted, however input 'x.1' of node:",
        "a node reads x.1",
    ),
    (
        "Graph must be in single static assignment (SSA) form, however 'y' has been used as output",
        "two nodes or inputs are called y",
    ),
    ("RuntimeError: invalid low watermark ratio 1.4", "low ratio 1.4"),
    ("ValueError: bad marshal data (unknown type code)", "another Python"),
    ("TypeError: code() argument 13 must be str, not int", "another Python"),
    ("EOFError: marshal data too short", "another Python"),
    (
        "done_getting_tensors: wrong number of tensors; expected 578, got 470",
        "578 tensors, and this llama.cpp uses 470",
    ),
    ("TypeError: list_() takes exactly one argument (2 given)", "pyarrow that runs is too old"),
    ("pyarrow.lib.A size changed, may indicate binary incompatibility.", "two releases"),
    (
        "Could not load dynamic library 'cudart64_101.dll'; dlerror: cudart64_101.dll not found",
        "cudart64_101.dll",
    ),
    ("RuntimeError: probability tensor contains either `inf`, `nan` or element < 0", "no token"),
)


@pytest.mark.parametrize(("text", "words"), LINES)
def test_each_message_says_which_side_is_at_fault(text: str, words: str) -> None:
    """The title names the side, with the numbers of the message."""
    assert any(words in title for _, title in said(text)), said(text)


def test_a_cache_file_is_no_saved_model() -> None:
    """Where an import reads the bytecode, the file is one of Python's own."""
    text = '  File "<frozen importlib._bootstrap_external>", line 672, in _compile_bytecode\n'
    assert said(f"{text}EOFError: marshal data too short")[0][0] == "bytecode-cache"


def test_numpy_s_types_stay_with_numpy() -> None:
    """A type of NumPy has numbers of its own."""
    text = (
        "numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header"
    )
    assert "parts-of-two-releases" not in dict(said(text))


_MPI = (
    "At least one pair of MPI processes are unable to reach each other for\n"
    "MPI communications.\n"
    "Process 1 ([[34405,1],2]) is on host: {}\n"
    "Process 2 ([[34405,1],0]) is on host: {}\n"
)


def test_two_machines_with_one_name_are_told_apart_by_the_command() -> None:
    """Two addresses in the command and one name below the error: the name is at fault."""
    command = "horovodrun -np 4 -H 10.0.0.1:2,10.0.0.2:2 python train.py\n"
    assert "call themselves XX64" in said(command + _MPI.format("XX64", "XX64"))[0][1]
    assert "no network" in said(command + _MPI.format("node1", "node2"))[0][1]
    assert "no network" in said(_MPI.format("XX64", "XX64"))[0][1]


_NAME = "AttributeError: module 'jax.core' has no attribute 'eval_context'"
_NAN = "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0"
UPDATES = (
    (f"After updating from flax 0.2.0 to flax 0.2.2 it fails.\n{_NAME}", "flax 0.2.2 asks jax"),
    (f"I upgraded flax from 0.2.0 to 0.2.2\n{_NAME}", "flax 0.2.2 asks jax"),
    (f"Using flashinfer 0.0.3\nruns fine but under 0.0.3 throws\n{_NAN}", "began with flashinfer"),
    (f"works with transformers 4.40.0 but fails with 4.41.0\n{_NAN}", "began with transformers"),
)


@pytest.mark.parametrize(("text", "words"), UPDATES)
def test_a_text_that_blames_an_update_is_believed(text: str, words: str) -> None:
    """The release that it names comes before what usually causes such a message."""
    assert any(words in title for _, title in said(text)), said(text)


@pytest.mark.parametrize(
    "text",
    [
        f"I upgraded flax from 0.2.2 to 0.2.0\n{_NAN}",  # not an update
        f"I upgraded hoverboard from 1.2 to 1.3\n{_NAN}",  # no package that is known
        f"upgraded numpy from 1.2.0 to 1.3.0 and scipy from 1.2.0 to 1.3.0\n{_NAN}",
    ],
)
def test_a_text_that_blames_nothing_in_particular_is_not(text: str) -> None:
    """A way back, an unknown word and two updates name no cause."""
    assert "began-with-update" not in dict(said(text))


def test_a_size_that_divides_no_heads_needs_heads_above_it() -> None:
    """The same assertion is also one of data that cannot be split."""
    error = "AssertionError: 96 is not divisible by 64"
    above = "    num_attention_heads = divide(all_head_size, self.attention_head_size)\n"
    assert "heads" in said(above + error)[0][1]
    assert "not-divisible" not in dict(said(f"    batch = divide(rows, columns)\n{error}"))


def test_the_quantized_checkpoint_comes_before_the_precision() -> None:
    """The name of the file answers which cause it is."""
    (one,) = explained(f"infering with gemma-7b-quant.ckpt\n{_NAN}")
    assert one.detection.recipes[0].shown
