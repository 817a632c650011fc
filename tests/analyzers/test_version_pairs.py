"""Two releases that do not go together, by the numbers of the message."""

from __future__ import annotations

import pytest

from tests.analyzers.packages import explained, hostile, installs, told


@pytest.mark.parametrize(
    ("text", "title", "wanted"),
    [
        (
            (
                "ImportError: tokenizers>=0.21,<0.22 is required for a normal functioning of "
                "this module, "
                "but found tokenizers==0.20.3."
            ),
            "A package wants tokenizers>=0.21,<0.22, and tokenizers 0.20.3 is installed",
            "tokenizers>=0.21,<0.22",
        ),
        (
            (
                "google.protobuf.runtime_version.VersionError: Detected incompatible Protobuf "
                "Gencode/Runtime versions when loading x.proto: gencode 5.27.0 runtime 4.25.3. "
                "Runtime "
                "version cannot be older than the linked gencode version."
            ),
            "protobuf 4.25.3 is too old for code that was generated for 5.27.0",
            "protobuf>=5.27.0,<7",
        ),
        (
            (
                "RuntimeError: module compiled against API version 0xe but this version of "
                "numpy is 0xd"
            ),
            "NumPy is older than the one that A compiled module was compiled for (0xe against 0xd)",
            "numpy<2",
        ),
        (
            (
                "ValueError: numpy.dtype size changed, may indicate binary incompatibility. "
                "Expected 96 "
                "from C header, got 88 from PyObject"
            ),
            "A compiled module was compiled for a older NumPy than the installed one",
            "numpy<2",
        ),
        (
            (
                "ValueError: numpy.dtype size changed, may indicate binary incompatibility. "
                "Expected 88 "
                "from C header, got 96 from PyObject"
            ),
            "A compiled module was compiled for a newer NumPy than the installed one",
            "numpy>=2",
        ),
        (
            (
                "ValueError: numpy.ndarray size changed, may indicate binary incompatibility. "
                "Expected 88 from C header, got 80 from PyObject"
            ),
            "A compiled module was compiled for a newer NumPy than the installed one",
            "numpy<2",
        ),
    ],
)
def test_the_numbers_decide(text: str, title: str, wanted: str) -> None:
    found = told("version_pairs", text)
    assert found.detection.title == title.replace("a older", "an older").replace(
        "that A compiled", "that a compiled"
    )
    assert installs(found)[0] == (wanted,)


def test_the_module_of_the_traceback_is_named() -> None:
    text = (
        "Traceback (most recent call last):\n  File "
        '"/v/lib/python3.10/site-packages/sklearn/x.py", line 1, in <module>\n'
        "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 "
        "from "
        "C header, got 88 from PyObject"
    )
    assert told("version_pairs", text).detection.title.startswith(
        "sklearn was compiled for an older"
    )


def test_torch_moves_with_its_companions() -> None:
    text = (
        "ImportError: torch>=2.4 is required for a normal functioning of this module, but "
        "found torch==2.1.0"
    )
    (recipe,) = told("version_pairs", text).detection.recipes
    assert recipe.steps[0].install == ("torch>=2.4",)
    assert recipe.steps[0].companions == ("torchvision", "torchaudio")


def test_a_sentence_that_is_fulfilled_says_nothing() -> None:
    assert not explained("version_pairs", "accelerate requires numpy>=1.20 but found 1.26.4")


def test_hostile_texts() -> None:
    hostile(
        "version_pairs",
        (
            "a>=1 is required for a normal functioning of this module, but found a==",
            "gencode 5.27.0 runtime 4",
            "No package metadata was found for ",
            "importlib.metadata.PackageNotFoundError: ",
            "numpy.dtype size changed, may indicate binary incompatibility. Expected 9",
        ),
    )
