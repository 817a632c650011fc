"""What a program does without, whom a message advises, and what fits a framework of its own."""

from __future__ import annotations

import pytest

from doctor.analyzers.case import Explanation
from doctor.logs.pythons import python_of
from doctor.model.issues import Option
from doctor.model.scales import Severity
from tests.analyzers.explained import explained

_OPEN_MPI = (
    "[node1:04999] mca_base_component_repository_open: unable to open mca_btl_usnic: "
    "libfabric.so.1: cannot open shared object file: No such file or directory"
)


def _named(found: list[Explanation], name: str) -> list[Explanation]:
    return [one for one in found if one.detection.id == f"failure/{name}"]


@pytest.mark.parametrize(
    ("ending", "severity"), [("", Severity.ERROR), (" (ignored)", Severity.NOTE)]
)
def test_what_a_line_ignores_is_a_note(ending: str, severity: Severity) -> None:
    (one,) = _named(explained(_OPEN_MPI + ending), "library-not-found")
    assert one.detection.severity is severity
    assert bool(one.detection.recipes) is (severity is Severity.ERROR)


@pytest.mark.parametrize(
    "between",
    [
        "[2024-05-10 11:33:19,738] [INFO] [real_accelerator.py:161:get_accelerator] Setting",
        "",
    ],
)
def test_a_later_line_is_no_advice_of_a_warning(between: str) -> None:
    text = (
        "2024-05-10 11:33:15.185131: W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] "
        f"TF-TRT Warning: Could not find TensorRT\n{between}\n"
        "To create a public link, set `share=True` in `launch()`."
    )
    assert not _named(explained(text), "own-advice")


@pytest.mark.parametrize(
    ("library", "place", "cause", "package"),
    [
        ("libcublas.so.8.0", "tensorflow/python/", "TensorFlow 1.0 to 1.4", "tensorflow-gpu=="),
        ("libcudart.so.9.0", "mxnet/", "This build of MXNet is for CUDA 9.0", "<package>"),
    ],
)
def test_a_framework_takes_its_own_cuda(library: str, place: str, cause: str, package: str) -> None:
    text = (
        "Traceback (most recent call last):\n"
        f'  File "/opt/conda/lib/python3.6/site-packages/{place}base.py", line 58, in <module>\n'
        "    _load_lib()\n"
        '  File "/opt/conda/lib/python3.6/ctypes/__init__.py", line 347, in __init__\n'
        "    self._handle = _dlopen(self._name, mode)\n"
        f"OSError: {library}: cannot open shared object file: No such file or directory"
    )
    (one,) = _named(explained(text), "library-not-found")
    assert cause in one.detection.message
    installed = [name for step in one.detection.recipes[0].steps for name in step.install]
    assert installed[0].startswith(package)


def test_a_package_that_loads_late_is_not_taken_for_a_folder() -> None:
    text = (
        "I installed TF 2.0 first.\n"
        "ImportError: cannot import name 'pipeline' from 'transformers' (unknown location)"
    )
    (one,) = _named(explained(text), "module-not-loaded")
    assert one.detection.recipes[0].steps[0].env == {"USE_TF": "0"}
    assert "site-packages, leave it" in one.detection.recipes[-1].note


def test_what_a_compiled_module_passes_on_is_not_called_unknown() -> None:
    text = "ImportError: cannot import name 'RunOptions' from 'onnxruntime.capi._pybind_state'"
    (one,) = explained(text)
    assert one.detection.id == "failure/compiled-part-not-loaded"
    (anew,) = (step for one in one.detection.recipes for step in one.steps if step.install)
    assert anew.install == ("onnxruntime=={package.onnxruntime.version|<release>}",)
    assert Option.NO_DEPS in anew.options


def test_a_paste_may_begin_with_the_rules_of_pip() -> None:
    text = (
        "The conflict is caused by:\n"
        "    fastapi 0.95.1 depends on pydantic!=1.7, <2.0.0 and >=1.6.2\n"
        "    gradio 4.16.0 depends on pydantic>=2.0"
    )
    (one,) = explained(text)
    assert "no pydantic is both" in one.detection.title


@pytest.mark.parametrize(
    ("text", "minor"),
    [
        ("the python version installed with miniforge is 3.9. Python 3.8 required for it", "3.9"),
        ("ERROR: Python 3.8 is required", ""),
        ("Python 3.8.10 (default)", "3.8"),
    ],
)
def test_a_python_that_is_demanded_is_not_the_one_here(text: str, minor: str) -> None:
    assert python_of(text) == minor
