"""Ends without a message, and messages that hold their reason; the texts are genuine."""

from __future__ import annotations

import pytest

from tests.analyzers.explained import explained, said

ENDS = (
    ("H100 GPU docker container exit 137", "ended-by-sigkill"),
    ("4f2a   image   Exited (139) 5 minutes ago", "ended-by-sigsegv"),
    ("my docker container seems to be exiting due to 137", "ended-by-sigkill"),
)


@pytest.mark.parametrize(("words", "kind"), ENDS)
def test_a_status_in_words_is_explained(words: str, kind: str) -> None:
    """A container that prints nothing leaves its status alone."""
    assert [one for one, _ in said(words)] == [kind]
    for code in ("  exit 137", "foo || exit 132", "trap 'exit 137' TERM", "then exit 139"):
        assert not said(code)


def test_a_limit_in_the_command_is_raised_first() -> None:
    """Docker run -m 1g."""
    (found,) = explained("container exit 137\n$ docker run -d --gpus all --m 1g image")
    assert "higher limit" in found.detection.recipes[0].title


def test_a_program_of_windows_without_python_gets_no_variable_of_python() -> None:
    """An access violation of an application is mended by its authors."""
    (found,) = explained("Process exits with code 3221225477", os="windows")
    assert found.detection.recipes[0].title == "Update the program itself"
    (other,) = explained("python: Process exits with code 3221225477", os="windows")
    assert other.detection.recipes[0].title.startswith("Have Python print")


REASONS = (
    (
        (
            "Could not open D:\\w\\m: Unknown: NewRandomAccessFile failed to Create: D:\\w\\m : "
            "Access is denied."
        ),
        "tf-checkpoint-path",
    ),
    (
        "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for m",
        "tf-checkpoint-path",
    ),
    ("[2021-09-26 04:00:17   ERROR] Network must have at least one output", "trt-no-output"),
    ("INFO - TensorRT: export failure 0.0s: name 'emojis' is not defined", "own-code"),
)


@pytest.mark.parametrize(("line", "kind"), REASONS, ids=[kind for _, kind in REASONS])
def test_a_message_with_its_reason_is_read(line: str, kind: str) -> None:
    """Checkpoints of TensorFlow, an empty network of TensorRT, a name that nothing defines."""
    (found,) = explained(line)
    assert found.detection.id == f"failure/{kind}"
    assert found.detection.recipes


def test_a_model_that_is_not_wrapped_has_no_module() -> None:
    """On one GPU nothing wraps it; what is wrapped hides its attributes."""
    (found,) = explained(
        """Traceback (most recent call last):
  File "train.py", line 173, in validation
    'state_dict': self.model.module.state_dict(),
  File "/x/site-packages/torch/nn/modules/module.py", line 535, in __getattr__
    type(self).__name__, name))
AttributeError: 'DeepLab' object has no attribute 'module'"""
    )
    assert "not wrapped" in found.detection.title
    (other,) = explained("AttributeError: 'DataParallel' object has no attribute 'fit'")
    assert "fit belongs to the model inside" in other.detection.title


def test_a_module_of_the_program_itself_is_no_clone_to_install() -> None:
    """The frames lie in the folder, or its name is one that programs use."""
    (found,) = explained(
        """Traceback (most recent call last):
  File "/src/tba/modules/loss_calculator.py", line 17, in __init__
    self.mmd = smd.MMDLoss(sigmas=[0.01])
AttributeError: module 'modules.submodules' has no attribute 'MMDLoss'"""
    )
    assert found.detection.title == "The program's own modules.submodules has no MMDLoss"
    assert found.detection.recipes[0].steps[0].run == ("git", "pull")


def test_an_object_that_nobody_compiled() -> None:
    """The linker reports what the step before left out."""
    (found, *_) = explained("g++: error: /b/build/temp.linux/bindings.o: No such file or directory")
    assert found.detection.id == "failure/object-not-compiled"
