"""What two sizes tell, and where a module comes from; the texts are genuine."""

from __future__ import annotations

import pytest

from tests.analyzers.explained import explained, said

_A, _B = "The size of tensor a", "must match the size of tensor b"
_NOT = "Sizes of tensors must match except in dimension 1."
SIZES = (
    (
        f"{_A} (0) {_B} (4) at non-singleton dimension 1",
        "One side is empty",
    ),
    (
        f"{_A} (64) {_B} (128) at non-singleton dimension 3",
        "64 and 128 in height or width",
    ),
    (
        f"{_A} (519) {_B} (512) at non-singleton dimension 1",
        "519 and 512: the text is longer",
    ),
    (
        f"{_NOT} Got 15 and 16 in dimension 2 at x.cu:83",
        "15 and 16: the size of the picture is no multiple",
    ),
    (
        (f"{_NOT} Expected size 40 but got size 41 for tensor number 1 in the list."),
        "40 and 41: the size of the picture is no multiple",
    ),
    (
        f"{_NOT} Got 4 and 9 in dimension 2 at x.cu:71",
        "4 and 9 in height or width",
    ),
    ("running_mean should contain 36 elements not 38", "is made for 38 channels, and its input"),
    (
        f"{_A} (16) {_B} (10) at non-singleton dimension 1",
        "Shapes do not fit: 16 and 10",
    ),
)


@pytest.mark.parametrize(("message", "expected"), SIZES, ids=[one[:50] for one, _ in SIZES])
def test_two_sizes_tell_what_does_not_fit(message: str, expected: str) -> None:
    """An empty sample, one step too few, another picture, a text that is too long."""
    (found,) = explained(f"RuntimeError: {message}")
    assert expected in found.detection.title
    assert found.detection.recipes


ENCODINGS = (
    ("0xff in position 0: invalid start byte", "in UTF-16"),
    ("0x80 in position 0: invalid start byte", "binary file"),
    ("0xb0 in position 5561: invalid start byte", "not in UTF-8"),
)


@pytest.mark.parametrize(("where", "expected"), ENCODINGS)
def test_bytes_that_are_no_utf8_are_not_mended_by_utf8(where: str, expected: str) -> None:
    """PYTHONUTF8 helps where Python reads another encoding, not where it reads UTF-8 already."""
    (found,) = explained(f"UnicodeDecodeError: 'utf-8' codec can't decode byte {where}")
    assert expected in found.detection.title
    assert not any(step.env for one in found.detection.recipes for step in one.steps)
    (other,) = explained("UnicodeDecodeError: 'gbk' codec can't decode byte 0xb0 in position 5")
    assert other.detection.recipes[0].steps[0].env == {"PYTHONUTF8": "1"}


def test_a_name_that_each_release_has_is_missing_in_something_else() -> None:
    """A file or a folder of that name is imported, which one look shows."""
    (found,) = explained("AttributeError: module 'evaluate' has no attribute 'load'")
    assert "each release has load" in found.detection.title
    assert "__path__" in " ".join(found.detection.recipes[0].steps[0].run or ())


def test_a_module_that_nobody_listed_is_looked_at() -> None:
    """Another release or another place: no package of an unknown name is installed."""
    (found,) = explained("AttributeError: module 'senteval' has no attribute 'engine'.")
    assert found.detection.id == "failure/module-of-another-place"
    installed = [
        name for one in found.detection.recipes for step in one.steps for name in step.install or ()
    ]
    assert installed == ["<package>"]
    (own,) = explained("AttributeError: module 'utils' has no attribute 'engine'")
    assert "The program's own utils" in own.detection.title


def test_a_package_whose_own_file_lacks_what_each_release_has_is_not_whole() -> None:
    """The path is that of the installed package."""
    (found,) = explained(
        "ImportError: cannot import name '__version__' from 'keras' "
        "(/usr/lib/python3/site-packages/keras/__init__.py)"
    )
    assert found.detection.id == "failure/package-inconsistent"


def test_a_setup_script_that_imports_torch_is_run_by_a_python_without() -> None:
    """By hand, or with sudo, which takes the Python of the system."""
    trace = """Traceback (most recent call last):
  File "setup.py", line 6, in <module>
    import torch
ModuleNotFoundError: No module named 'torch'"""
    (found,) = explained(trace)
    assert found.detection.recipes[0].steps[0].install == ("torch",)
    (root,) = explained("$ sudo python3 setup.py develop\n" + trace)
    assert "sudo" in root.detection.title
    assert root.detection.recipes[0].title.startswith("Run it without sudo")


HOOKS = (
    ("Trainer.compute_loss", "num_items_in_batch", "transformers<4.46"),
    ("Phi3VTrainer._save_checkpoint", "metrics", ""),
    ("MyModelForCausalLM._init_weights", "x", None),
)


@pytest.mark.parametrize(("function", "name", "older"), HOOKS)
def test_a_hook_that_was_written_anew_lets_the_argument_in(
    function: str, name: str, older: str | None
) -> None:
    """The method of the program is mended, or the package goes back to the release before."""
    found = explained(f"TypeError: {function}() got an unexpected keyword argument '{name}'")
    if older is None:
        assert not any("wrote anew" in one.detection.title for one in found)
        return
    (one,) = found
    assert one.detection.recipes[0].snippet is not None
    assert f"{name}=None, **kwargs" in one.detection.recipes[0].snippet.after
    installed = [
        each
        for recipe in one.detection.recipes
        for step in recipe.steps
        for each in step.install or ()
    ]
    assert not older or older in installed


def test_a_method_of_one_class_names_the_release_that_has_the_parameter() -> None:
    """The class and its method together are enough, without a traceback."""
    assert said("TypeError: Blocks.launch() got an unexpected keyword argument 'ssl_verify'") == [
        (
            "name-not-in-release",
            (
                "The installed gradio is too old: the parameter ssl_verify of Blocks.launch came "
                "with 3.28"
            ),
        )
    ]


def test_a_c_file_of_cython_is_written_by_cython() -> None:
    """In a checkout; an archive that pip builds lacks the file instead."""
    build = """python setup.py build_ext --inplace
running build_ext
building 'nms.cpu_nms' extension
gcc: error: nms/cpu_nms.c: No such file or directory
gcc: fatal error: no input files"""
    (first, *_) = explained(build)
    assert first.detection.recipes[0].steps[-1].run is not None
    assert first.detection.recipes[0].steps[-1].run[-1] == "nms/cpu_nms.pyx"
    (other, *_) = explained("Building wheel for x (setup.py) ... error\n" + build)
    assert "Cython" not in other.detection.recipes[0].title


def test_a_flag_for_another_processor_is_named() -> None:
    """Apple's clang says it in its own words."""
    (found,) = explained(
        "clang: error: the clang compiler does not support '-march=armv8-a+simd -D__AVX2__'"
    )
    assert "set for another processor" in found.detection.title


def test_an_import_beside_setup_is_found_with_its_folder_on_the_path() -> None:
    """Pip does not search the folder of setup.py."""
    (found,) = explained(
        """Traceback (most recent call last):
  File "setup.py", line 143, in <module>
    from tools.setup_helpers.env import check_env_flag
ModuleNotFoundError: No module named 'tools'"""
    )
    assert found.detection.recipes[0].steps[-1].env == {"PYTHONPATH": "."}


def test_a_module_above_the_script_is_found_with_its_folder_on_the_path() -> None:
    """The script lies in the folder whose name it imports."""
    (found,) = explained(
        """Traceback (most recent call last):
  File "./programy/clients/console.py", line 3, in <module>
    from programy.clients.clients import BotClient
ImportError: No module named 'programy'"""
    )
    assert found.detection.recipes[0].steps[0].env == {"PYTHONPATH": "<folder>"}


def test_pip_is_asked_for_torch() -> None:
    """The package pytorch on PyPI is empty."""
    (found,) = explained(
        "ERROR: Could not find a version that satisfies the requirement pytorch==1.0.1 "
        "(from versions: 0.1.2, 1.0.2)"
    )
    assert found.detection.recipes[0].steps[0].install == ("torch==1.0.1",)


SYMBOLS = (
    ("_ZN3MPI8Datatype4FreeEv", "libmpi_cxx.so"),
    ("GOMP_parallel", "libgomp.so.1"),
)


@pytest.mark.parametrize(("symbol", "library"), SYMBOLS)
def test_a_library_that_was_not_linked_is_loaded_first(symbol: str, library: str) -> None:
    """MPI and OpenMP are no part of torch."""
    (found,) = explained(f"ImportError: /x/site-packages/torch/_C.so: undefined symbol: {symbol}")
    assert found.detection.id == "failure/symbol-of-another-library"
    assert found.detection.recipes[0].steps[0].env == {"LD_PRELOAD": library}


def test_a_function_that_a_saved_object_names_is_no_worker() -> None:
    """The script that loads lacks what the script that saved had."""
    line = (
        "AttributeError: Can't get attribute 'exclude_bias_and_norm' on <module '__mp_main__' from "
        "'/home/ubuntu/evaluate.py'>"
    )
    (found,) = explained(line)
    assert "has no function exclude_bias_and_norm" in found.detection.title
    (worker,) = explained("torch/multiprocessing/spawn.py\n" + line)
    assert worker.detection.id == "failure/not-picklable"


def test_k_tf_is_tensorflow_itself() -> None:
    """Keras before 2.3 imported it there."""
    (found,) = explained("AttributeError: module 'keras.backend' has no attribute 'tf'")
    assert found.detection.id == "failure/former-name"


def test_ranks_that_call_different_exchanges() -> None:
    """NCCL names the rank."""
    (found,) = explained(
        "[0] init.cc:1256 NCCL WARN Your program may be hanging, this may be caused by a "
        "collective mismatch around rank 1. Please check your collective calls"
    )
    assert found.detection.id == "failure/nccl-collectives-differ"
