"""Names that are gone, not there yet, moved or hidden; each text is genuine output of Python."""

from __future__ import annotations

import pytest

from doctor.analyzers import python_names
from doctor.analyzers.case import Case, Precision
from doctor.model.facts import present
from doctor.model.scales import Severity
from tests.analyzers.packages import case_of, explained, hostile, installs, told

HUB = """
Traceback (most recent call last):
  File "<string>", line 1, in <module>
  File "/venv/lib/python3.11/site-packages/transformers/__init__.py", line 30, in <module>
    from . import dependency_versions_check
  File "/venv/lib/python3.11/site-packages/transformers/utils/hub.py", line 29, in <module>
    from huggingface_hub import (
ImportError: cannot import name 'is_offline_mode' from 'huggingface_hub' (/venv/lib/python3.11/site-packages/huggingface_hub/__init__.py)
"""  # noqa: E501
PRODUCT = """
Traceback (most recent call last):
  File "/home/ada/prog/c.py", line 2, in <module>
    print(np.product([1, 2]))
          ^^^^^^^^^^
  File "/venv/lib/python3.11/site-packages/numpy/__init__.py", line 792, in __getattr__
    raise AttributeError(f"module {__name__!r} has no attribute {attr!r}")
AttributeError: module 'numpy' has no attribute 'product'
"""
FOLDER = """
Traceback (most recent call last):
  File "/home/ada/prog/d.py", line 1, in <module>
    from huggingface_hub.utils import HfFolder, is_torch_available
ImportError: cannot import name 'HfFolder' from 'huggingface_hub.utils' (/venv/lib/python3.11/site-packages/huggingface_hub/utils/__init__.py)
"""  # noqa: E501
SHADOW = """
Traceback (most recent call last):
  File "/home/ada/prog/numpy.py", line 1, in <module>
    import numpy as np; print(np.array)
    ^^^^^^^^^^^^^^^^^^
  File "/home/ada/prog/numpy.py", line 1, in <module>
    import numpy as np; print(np.array)
                              ^^^^^^^^
AttributeError: partially initialized module 'numpy' has no attribute 'array' (most likely due to a circular import)
"""  # noqa: E501
CIRCLE = """
Traceback (most recent call last):
  File "<string>", line 1, in <module>
  File "/home/ada/circ/a.py", line 1, in <module>
    from b import y; x=1
    ^^^^^^^^^^^^^^^
  File "/home/ada/circ/b.py", line 1, in <module>
    from a import x; y=1
    ^^^^^^^^^^^^^^^
ImportError: cannot import name 'x' from partially initialized module 'a' (most likely due to a circular import) (/home/ada/circ/a.py)
"""  # noqa: E501
THREAD = """
Traceback (most recent call last):
  File "/home/ada/prog/i.py", line 1, in <module>
    import threading; threading.Thread(target=print).isAlive()
                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
AttributeError: 'Thread' object has no attribute 'isAlive'. Did you mean: 'is_alive'?
"""


def test_the_asked_package_is_too_old() -> None:
    """The caller is the package of the innermost frame; a later release has the name."""
    found = told("python_names", HUB)
    assert found.precision is Precision.EXACT
    assert found.detection.title == (
        "The installed huggingface-hub is too old: is_offline_mode came with 1.2"
    )
    assert "The package transformers asks for it" in found.detection.message
    assert installs(found) == [("huggingface-hub>=1.2",)]
    assert "*/*-removed" in found.contradicts


def test_the_asked_package_is_too_new() -> None:
    """A release of the log decides, and the program's own code can stay on the older release."""
    found = told("python_names", "numpy==2.4.6\n" + PRODUCT)
    assert found.detection.title == "numpy 2.4.6 no longer has product: releases before 2 have it"
    assert installs(found) == [("numpy<2",)]
    assert "The program c.py asks for it" in found.detection.message


def test_a_name_without_a_known_release_is_told_by_both_ends() -> None:
    found = told("python_names", FOLDER)
    assert "HfFolder" in found.detection.title
    assert installs(found)[-1][0].startswith("huggingface-hub")


def test_the_names_beside_it_decide_the_direction() -> None:
    """Python had imported the name to the left, which only NumPy 2.1 and later have."""
    text = (
        'Traceback (most recent call last):\n  File "/home/ada/prog/e.py", line 1, in <module>\n'
        "    from numpy import {}array_api\n"
        "ImportError: cannot import name 'array_api' from 'numpy' "
        "(/venv/lib/python3.11/site-packages/numpy/__init__.py)"
    )
    alone = told("python_names", text.format(""))
    assert alone.detection.title == (
        "The installed numpy lacks array_api: 1.22 brought it, and 2 dropped it"
    )
    beside = told("python_names", text.format("astype, "))
    assert beside.detection.title == (
        "numpy no longer has array_api: 1.22 brought it, and 2 dropped it"
    )


def test_a_file_hides_a_package() -> None:
    found = told("import_cycles", SHADOW)
    assert found.detection.title == "/home/ada/prog/numpy.py hides the module numpy"
    assert found.detection.recipes[0].steps[0].run == (
        "mv",
        "-i",
        "/home/ada/prog/numpy.py",
        "/home/ada/prog/numpy_own.py",
    )


def test_modules_of_the_program_import_each_other() -> None:
    """That is in the program: a note, and nothing to install."""
    found = told("import_cycles", CIRCLE)
    assert found.detection.severity is Severity.NOTE
    assert not any(installs(found))


def test_a_folder_without_code() -> None:
    text = (
        'Traceback (most recent call last):\n  File "<string>", line 1, in <module>\n'
        "ImportError: cannot import name 'SFTTrainer' from 'trl' (unknown location)"
    )
    assert told("python_names", text).detection.title == (
        "A folder named trl without code is imported"
    )


@pytest.mark.parametrize(
    ("line", "title"),
    [
        (
            (
                "ImportError: cannot import name 'getargspec' from 'inspect' "
                "(/opt/python/lib/python3.11/inspect.py)"
            ),
            "inspect.getargspec is gone since Python 3.11, and Python 3.11 runs the program",
        ),
        (
            (
                "ImportError: cannot import name 'override' from 'typing' "
                "(/opt/python/lib/python3.11/typing.py)"
            ),
            "typing.override came with Python 3.12, and Python 3.11 runs the program",
        ),
    ],
)
def test_names_of_python(line: str, title: str) -> None:
    """The table of the standard library was made from interpreters."""
    text = (
        f'Traceback (most recent call last):\n  File "/home/ada/g.py", line 1, in <module>\n{line}'
    )
    assert told("python_names", text).detection.title == title


def test_a_method_of_python() -> None:
    assert "The method isAlive of Thread is gone since Python 3.9" in (
        told("python_names", THREAD).detection.title
    )


def test_a_passing_message_is_no_failure() -> None:
    """Programs say so, and go on without the part."""
    text = (
        "WARNING: xformers is not available: cannot import name 'is_offline_mode' from "
        "'huggingface_hub' (/v/lib/python3.11/site-packages/huggingface_hub/__init__.py)"
    )
    assert not explained("python_names", text)


def test_a_name_of_a_stranger_is_left_alone() -> None:
    """Nothing is known of a module of the program."""
    assert not explained(
        "python_names", "ImportError: cannot import name 'x' from 'helpers' (/home/ada/helpers.py)"
    )


def test_hostile_texts() -> None:
    hostile(
        "python_names",
        (
            "ImportError: cannot import name 'x' from 'numpy' (",
            "AttributeError: module 'numpy' has no attribute '",
            "AttributeError: 'Thread' object has no attribute '",
        ),
    )
    hostile(
        "import_cycles",
        (
            "AttributeError: partially initialized module 'numpy' has no attribute '",
            "consider renaming '",
        ),
    )


LIBS = """
Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/pydantic_core/__init__.py", line 6, in <module>
    from typing_extensions import Sentinel
ImportError: cannot import name 'Sentinel' from 'typing_extensions' (/opt/pylibs/typing_extensions.py)
"""  # noqa: E501


@pytest.mark.parametrize(
    ("variable", "rest"),
    [("/opt/pylibs", ""), ("/home/ada/lib:/opt/pylibs/:/srv/lib", "/home/ada/lib:/srv/lib")],
)
def test_a_folder_of_pythonpath_that_hides_a_package_is_taken_out(variable: str, rest: str) -> None:
    (found,) = python_names.explain(_with(variable, {"typing-extensions": "4.16.0"}))
    assert found.detection.id == "failure/hidden-by-pythonpath"
    assert "/opt/pylibs" in found.detection.title
    (action,) = found.detection.recipes[0].steps
    assert action.env == {"PYTHONPATH": rest}


@pytest.mark.parametrize(
    ("variable", "packages"),
    [
        ("/opt/other", {"typing-extensions": "4.16.0"}),
        ("/opt/py", {"typing-extensions": "4.16.0"}),
        ("/opt/pylibs", {}),
    ],
)
def test_a_folder_that_hides_nothing_installed_is_not_blamed(
    variable: str, packages: dict[str, str]
) -> None:
    found = python_names.explain(_with(variable, packages))
    assert "failure/hidden-by-pythonpath" not in [one.detection.id for one in found]


def _with(variable: str, packages: dict[str, str]) -> Case:
    case = case_of(LIBS)
    facts = {"env.PYTHONPATH": present(variable, ""), "packages": present(packages, "")}
    return case._replace(facts={**case.facts, **facts})


def test_spconv_and_cumm_keep_the_suffix_of_their_cuda() -> None:
    text = """
Traceback (most recent call last):
  File "/venv/lib/python3.9/site-packages/spconv/core.py", line 18, in <module>
    from cumm.gemm.algospec.core import TensorOp
ImportError: cannot import name 'TensorOp' from 'cumm.gemm.algospec.core'
"""
    for listed, wanted in (("cumm-cu117  0.4.1", "cu117"), ("", "<cuda>")):
        (found,) = python_names.explain(case_of(text + listed))
        (recipe,) = found.detection.recipes
        assert recipe.steps[0].install == (f"spconv-{wanted}", f"cumm-{wanted}")


PICKLED = """
UserWarning: Trying to unpickle estimator SVR from version 0.22.1 when using version 0.24.1.
Traceback (most recent call last):
  File "serve.py", line 3, in <module>
    prediction = model.predict(x)
  File "/opt/env/lib/python3.7/site-packages/sklearn/svm/_base.py", line 337, in _dense_predict
    self.probA_, self.probB_, svm_type=svm_type, kernel=kernel,
AttributeError: 'SVR' object has no attribute 'probA_'
"""
MODULE = """
Traceback (most recent call last):
  File "detect.py", line 9, in <module>
    y = model(x)
  File "/opt/env/lib/python3.10/site-packages/torch/nn/modules/upsampling.py", line 157, in forward
    recompute_scale_factor=self.recompute_scale_factor)
  File "/opt/env/lib/python3.10/site-packages/torch/nn/modules/module.py", line 1614, in __getattr__
    raise AttributeError(message)
AttributeError: 'Upsample' object has no attribute 'recompute_scale_factor'
"""
OF_A_PROGRAM = """
  File "model/crat_pred.py", line 167, in on_train_epoch_start
    self.trainer.accelerator_backend.setup_optimizers(self.trainer)
AttributeError: 'Trainer' object has no attribute 'accelerator_backend'
"""


def test_a_pickled_estimator_names_the_release_that_saved_it() -> None:
    found = told("pickled_objects", PICKLED)
    assert found.detection.title.startswith("The SVR was saved by another release of scikit-learn")
    assert installs(found) == [("scikit-learn==0.22.1",)]


def test_a_saved_module_of_an_older_torch_gets_the_attribute() -> None:
    found = told("pickled_objects", MODULE)
    snippet = found.detection.recipes[0].snippet
    assert snippet is not None
    assert "isinstance(one, torch.nn.Upsample)" in snippet.after
    own = MODULE.replace("'Upsample'", "'MyModel'")
    assert not explained("pickled_objects", own)


def test_a_class_that_a_program_alone_names_is_looked_up() -> None:
    found = told("python_names", OF_A_PROGRAM)
    assert "no longer has Trainer.accelerator_backend" in found.detection.title


CLONE = """
Traceback (most recent call last):
  File "/content/trainer.py", line 61, in <module>
    trainer = trlx.train(
AttributeError: module 'trlx' has no attribute 'train'
"""


def test_a_clone_beside_the_program_hides_its_package() -> None:
    found = told("python_names", CLONE)
    assert found.detection.title.startswith("What Python imported as trlx has no train")
    assert installs(found)[0] == ("-e", "./trlx")


def test_the_modules_of_google_are_no_package_of_that_name() -> None:
    text = CLONE.replace("trlx", "google")
    assert not explained("python_names", text)


def test_a_module_of_python_has_no_version() -> None:
    found = told(
        "python_names",
        CLONE.replace(
            "'trlx' has no attribute 'train'", "'configparser' has no attribute '__version__'"
        ),
    )
    assert found.detection.title.startswith("configparser is Python's own module here")


def test_an_attribute_that_came_later_counts_where_a_base_is_not_known() -> None:
    text = "AttributeError: 'Qwen2MoeConfig' object has no attribute 'mlp_only_layers'"
    found = told("python_names", f"transformers\n{text}")
    assert "mlp_only_layers came with 4.41" in found.detection.title
    assert not explained("python_names", text.replace("mlp_only_layers", "of_nobody"))


def test_a_module_inside_of_a_package_is_no_package_of_that_name() -> None:
    """PyPI has somebody else's `lib`."""
    lib = """
Traceback (most recent call last):
  File "/home/ada/prog/d.py", line 1, in <module>
    import OpenSSL
  File "/venv/lib/python3.11/site-packages/OpenSSL/crypto.py", line 1556, in X509StoreFlags
    NOTIFY_POLICY = _lib.X509_V_FLAG_NOTIFY_POLICY
AttributeError: module 'lib' has no attribute 'X509_V_FLAG_NOTIFY_POLICY'
"""
    assert installs(told("python_names", lib)) == [("pyopenssl",)]


def test_a_part_of_the_path_that_was_left_out() -> None:
    text = """
net = tf.keras.load_model("net.h5")
AttributeError: module 'tensorflow.keras' has no attribute 'load_model'
"""
    found = told("python_names", text)
    assert found.detection.title.endswith("not in tensorflow.keras, but in tensorflow.keras.models")
    (recipe,) = found.detection.recipes
    assert recipe.snippet is not None
    assert recipe.snippet.before == "tf.keras.load_model"
    assert recipe.snippet.after == "tf.keras.models.load_model"


def test_a_gap_between_two_spans_is_left_by_the_smaller_move() -> None:
    """Release 4.57 of transformers is without the name, and 5 has it again."""
    text = "ImportError: cannot import name 'PytorchGELUTanh' from 'transformers.activations'"
    titles = {
        release: told("python_names", f"transformers    {release}\n{text}").detection
        for release in ("4.57.1", "4.20.0")
    }
    assert "no longer has" in titles["4.57.1"].title
    assert "5 has it again" in titles["4.57.1"].message
    assert titles["4.57.1"].recipes[0].steps[0].install == ("transformers>=4.27,<4.57",)
    assert "does not have PytorchGELUTanh yet" in titles["4.20.0"].title
