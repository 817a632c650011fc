"""Whose code failed: a package's own, that of a base class, or an overridden method."""

from __future__ import annotations

from doctor.analyzers.case import Precision
from doctor.logs.interpreters import interpreter_of
from tests.analyzers.explained import explained, said

SITE = "/opt/venv/lib/python3.10/site-packages"
OVERRIDDEN = f"""
Traceback (most recent call last):
  File "{SITE}/transformers/trainer.py", line 2481, in _inner_training_loop
    tr_loss_step = self.training_step(model, inputs, num_items_in_batch)
TypeError: GlinerTrainer.training_step() takes 3 positional arguments but 4 were given
"""


def test_an_overridden_method_names_the_release_that_hands_in_more() -> None:
    (found,) = explained(OVERRIDDEN)
    assert found.precision is Precision.EXACT
    assert found.detection.recipes[0].steps[0].install == ("transformers<4.46",)


INHERITED = f"""
  File "{SITE}/scboolseq/simulation.py", line 90, in fit
    _validated = super()._validate_data(X=X, y=y)
AttributeError: 'super' object has no attribute '_validate_data'
"""


def test_a_method_of_a_base_class_is_looked_up_in_the_package_of_the_base() -> None:
    (found,) = explained(INHERITED)
    assert "BaseEstimator" in found.detection.title
    assert found.detection.recipes[-1].steps[0].install == ("scikit-learn>=0.23,<1.7",)
    own = INHERITED.replace("_validate_data", "_anything_else_of_mine")
    assert not any(name == "name-not-in-release" for name, _ in said(own))


SMALL = f"""
Traceback (most recent call last):
  File "/home/ada/run.py", line 3, in <module>
    model.fit(x)
  File "{SITE}/imblearn/utils/_validation.py", line 40, in __init__
    self.y_name = y.name
  File "{SITE}/pandas/core/generic.py", line 5274, in __getattr__
    return object.__getattribute__(self, name)
AttributeError: 'DataFrame' object has no attribute 'name'
"""


def test_a_small_package_whose_own_line_is_refused_is_named() -> None:
    (found,) = explained(SMALL)
    assert found.precision is Precision.GUESS
    assert found.detection.title.startswith("imblearn stops in its own code")
    assert found.detection.recipes[0].steps[0].install == ("imbalanced-learn",)


def test_a_package_that_nobody_knows_is_left_for_the_reader_to_type() -> None:
    (found,) = explained(SMALL.replace("imblearn", "strange_name"))
    assert found.detection.recipes[0].steps[0].install == ("<package>",)


def test_neither_a_grown_package_nor_the_program_itself_is_blamed() -> None:
    for package in ("sklearn", "matplotlib"):
        assert said(SMALL.replace("imblearn", package)) == []
    assert said(SMALL.replace(f"{SITE}/imblearn", "/home/ada/imblearn")) == []
    assert said(SMALL.replace("'DataFrame' object", "'NoneType' object")) == []


def test_a_program_with_a_python_in_a_folder_of_its_own() -> None:
    for line, python in (
        (
            r'  File "C:\AI\framepack\system\python\lib\site-packages\diffusers\x.py", line 1',
            r"C:\AI\framepack\system\python\python.exe",
        ),
        (
            r"D:\textgen\installer_files\env\Lib\site-packages\torch\__init__.py",
            r"D:\textgen\installer_files\env\python.exe",
        ),
        (
            "/mnt/b/textgen/installer_files/env/lib/python3.11/site-packages/x.py",
            "/mnt/b/textgen/installer_files/env/bin/python",
        ),
        (r"C:\Python311\Lib\site-packages\torch\__init__.py", ""),
    ):
        assert interpreter_of([line], line) == python
