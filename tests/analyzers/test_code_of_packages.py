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


def test_the_class_in_the_message_names_the_package_that_has_to_move() -> None:
    text = OVERRIDDEN.replace("GlinerTrainer.training_step", "GRPOTrainer._get_train_sampler")
    text = text.replace(
        "takes 3 positional arguments but 4 were", "takes 1 positional argument but 2 were"
    )
    (found,) = explained(text)
    assert found.detection.recipes[0].steps[0].install == ("trl",)


def test_a_part_that_is_a_file_where_it_has_to_be_a_folder() -> None:
    text = (
        "ModuleNotFoundError: No module named 'torchvision.transforms.functional'; "
        "'torchvision.transforms' is not a package"
    )
    assert said(text)[0][0] == "package-of-two-releases"
    own = text.replace("torchvision.transforms.functional", "utils.x").replace(
        "torchvision.transforms", "utils"
    )
    assert not any(name == "package-of-two-releases" for name, _ in said(own))


def test_a_layer_that_was_packed_into_bytes() -> None:
    text = (
        "model = AutoModel.from_pretrained(name, load_in_4bit=True)\n"
        "RuntimeError: Input type (torch.cuda.ByteTensor) and weight type (CUDABFloat16Type) "
        "should be the same"
    )
    assert any("quantized" in title for _, title in said(text))
    plain = text.replace("load_in_4bit=True", "dtype=torch.float16")
    assert not any("quantized" in title for _, title in said(plain))


def test_what_python_says_of_any_mistake_is_no_advice() -> None:
    text = """
Traceback (most recent call last):
  File "/home/ada/run.py", line 3, in <module>
    x = rows["a"]
TypeError: list indices must be integers or slices, not str
"""
    assert said(text) == []


def test_a_layer_that_an_older_library_saved() -> None:
    text = f"""
File "{SITE}/torch/nn/modules/module.py", line 1709, in __getattr__
AttributeError: 'ConvNormAct' object has no attribute 'aa'
"""
    (found,) = (one for one in explained(text) if one.precision is Precision.EXACT)
    assert found.detection.recipes[0].steps[0].install == ("timm<1.0",)


def test_files_of_two_families_of_models() -> None:
    text = (
        "- **Node Type:** KSampler\n"
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (154x999 and 768x320)"
    )
    assert any("families" in title for _, title in said(text))
    own = text.replace("KSampler", "Own")
    assert not any("families" in title for _, title in said(own))


def test_a_quantized_model_whose_kind_the_server_was_not_told() -> None:
    text = (
        "vllm serve OpenGVLab/InternVL2-Llama3-76B-AWQ\n"
        "KeyError: 'layers.39.mlp.gate_up_proj.qweight'"
    )
    (found,) = (one for one in explained(text) if one.detection.id.endswith("not-expected"))
    snippet = found.detection.recipes[0].snippet
    assert snippet is not None
    assert "--quantization awq" in snippet.after
    named = explained(text.replace("serve", "serve --quantization awq"))
    assert not any(one.detection.recipes[0].snippet for one in named)
