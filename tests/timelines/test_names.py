"""What the timeline of names knows, checked against facts of the published releases."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from doctor.timelines import names
from doctor.timelines.build.name_coverage import coverage
from doctor.timelines.name_file import DamagedError, NameFile
from doctor.timelines.names import (
    class_attributes,
    covered,
    distribution_of,
    distributions_of,
    functions,
    importable,
    module_history,
    parameters,
)

_LINES = """
transformers PreTrainedModel              first
transformers.modeling_utils PreTrainedModel  first
transformers AutoModelForImageTextToText  4.46
transformers AutoModelWithLMHead          first 4.57
transformers TFBertModel                  first 4.57
transformers LlamaForCausalLM             4.28
transformers.file_utils is_torch_available  first
torch compile                             2.0
torch uint16                              2.3
torch.nn.functional scaled_dot_product_attention  2.0
torch.library register_fake               2.4
torch.optim.lr_scheduler LRScheduler      2.0
torch.optim.lr_scheduler _LRScheduler     first
torch.amp GradScaler                      2.3
torch rfft                                first 1.7
torch get_default_device                  2.3
huggingface_hub cached_download           first 0.25
huggingface_hub HfFolder                  first 0.36
numpy float                               first 1.23
numpy product                             first 1.26
numpy trapz                               first 2.3
numpy in1d                                first 2.3
jax.random KeyArray                       first 0.4
keras.wrappers scikit_learn               first 2.12
scipy.integrate simps                     first 1.13
scipy.integrate trapz                     first 1.13
pydantic BaseSettings                     first 1.10
pydantic field_validator                  2.0
diffusers FluxPipeline                    0.30
peft prepare_model_for_int8_training      0.2 0.9
peft prepare_model_for_kbit_training      0.4
datasets load_metric                      first 2.21
pandas Int64Index                         first 1.5
sklearn.datasets load_boston              first 1.1
torchvision.transforms InterpolationMode  0.9
gradio Blocks                             2.8
gradio inputs                             first 3.50
bitsandbytes cuda_setup                   first 0.42
flax optim                                first 0.5
"""
FACTS = [line.split() for line in _LINES.strip().splitlines()]


def _line(version: str | None) -> str:
    return ".".join((version or "").split(".")[:2])


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact[0]}.{fact[1]}")
def test_a_name_is_there_from_one_release_to_another(fact: list[str]) -> None:
    module, name, first, *last = fact
    history = importable(module, name)
    assert history is not None
    expected = _line(history.releases[0]) if first == "first" else first
    assert _line(history.first) == expected
    assert _line(history.last) == (last[0] if last else _line(history.newest_known))
    assert history.has_left == bool(last)


MODULES = [
    ("torch._six", "1.13"),
    ("torchvision.transforms.functional_tensor", "0.16"),
    ("torchvision.models.utils", "0.10"),
    ("keras.utils.np_utils", "2.12"),
    ("transformers.generation_utils", "4.39"),
    ("transformers.modeling_bert", "3.5"),
    ("diffusers.models.unet_2d_condition", "0.28"),
    ("diffusers.models.cross_attention", "0.19"),
    ("pkg_resources", "81.0"),
    ("triton.ops", "3.1"),
]


@pytest.mark.parametrize(("module", "last"), MODULES)
def test_a_module_left(module: str, last: str) -> None:
    history = module_history(module)
    assert history is not None
    assert (history.has_left, _line(history.last)) == (True, last)


MOVES = [
    ("numpy", "VisibleDeprecationWarning", "numpy.exceptions.VisibleDeprecationWarning"),
    ("numpy", "in1d", None),  # numpy.ma.in1d is another function
    ("transformers.modeling_utils", "Conv1D", "transformers.Conv1D"),
    ("transformers", "deepspeed", "transformers.integrations.deepspeed"),
    ("pydantic", "BaseSettings", "pydantic.v1.BaseSettings"),
    ("diffusers.utils", "randn_tensor", "diffusers.utils.torch_utils.randn_tensor"),
    ("scipy.misc", "face", "scipy.datasets.face"),
    ("gradio.outputs", "Label", "gradio.Label"),
    ("jax", "tree_map", "jax.tree_util.tree_map"),
    ("torch", "rfft", None),
]


@pytest.mark.parametrize(("module", "name", "place"), MOVES)
def test_a_name_moved(module: str, name: str, place: str | None) -> None:
    history = importable(module, name)
    assert history is not None
    assert history.moved_to == place


def test_a_module_moved() -> None:
    history = module_history("transformers.modeling_bert")
    assert history is not None
    assert history.moved_to == "transformers.models.bert.modeling_bert"


def test_a_name_came_back() -> None:
    history = importable("numpy", "bool")
    assert history is not None
    assert [(_line(first), _line(last)) for first, last in history.present] == [
        (_line(history.releases[0]), "1.23"),
        ("2.0", _line(history.newest_known)),
    ]


def test_an_older_release_has_the_name_elsewhere() -> None:
    history = importable("diffusers.models.unets.unet_2d_condition", "UNet2DConditionModel", "0.20")
    assert history is not None
    assert history.moved_to == "diffusers.UNet2DConditionModel"


PARAMETERS = [
    ("huggingface_hub", "hf_hub_download", "use_auth_token", "0.10"),
    ("huggingface_hub", "hf_hub_download", "resume_download", "0.36"),
    ("transformers", "TrainingArguments", "evaluation_strategy", "4.50"),
    ("trl", "SFTTrainer", "tokenizer", "0.15"),
    ("trl", "SFTTrainer", "max_seq_length", "0.12"),
    ("accelerate", "Accelerator", "dispatch_batches", "0.34"),
    ("accelerate", "Accelerator", "logging_dir", "0.19"),
    ("peft", "LoraConfig", "merge_weights", "0.2"),
    ("gradio", "Chatbot", "bubble_full_width", "5.50"),
    ("sklearn.preprocessing", "OneHotEncoder", "sparse", "1.3"),
]


@pytest.mark.parametrize(("module", "name", "parameter", "last"), PARAMETERS)
def test_a_parameter_left(module: str, name: str, parameter: str, last: str) -> None:
    found = parameters(module, name)
    assert found is not None
    assert _line(found.parameters[parameter].last) == last
    assert found.parameters[parameter].has_left


def test_a_function_is_found_by_its_name_alone() -> None:
    (found,) = [each for each in functions("SFTTrainer.__init__", "trl") if each.module == "trl"]
    assert "processing_class" in found.parameters
    assert not found.any_keyword.present


def test_a_class_that_moved_is_one_class() -> None:
    found = functions("LoraConfig", "peft")[0]
    assert found.module == "peft"
    assert found.history.always


def test_attributes_of_a_class() -> None:
    cache = class_attributes("DynamicCache", "transformers")[0]
    assert _line(cache.attributes["seen_tokens"].last) < _line(cache.history.newest_known)
    assert "get_seq_length" in cache.attributes
    frame = class_attributes("DataFrame", "pandas")[0]
    assert _line(frame.attributes["append"].last) == "1.5"
    assert frame.attributes["to_numpy"].always


@pytest.mark.parametrize(
    ("module", "distribution"),
    [
        ("cv2", "opencv-python"),
        ("sklearn.svm", "scikit-learn"),
        ("PIL.Image", "pillow"),
        ("yaml", "pyyaml"),
        ("flash_attn.flash_attn_interface", "flash-attn"),
        ("google.protobuf.message", "protobuf"),
        ("pkg_resources", "setuptools"),
        ("huggingface_hub", "huggingface-hub"),
        ("no_such_module", None),
    ],
)
def test_the_distribution_of_a_module(module: str, distribution: str | None) -> None:
    assert distribution_of(module) == distribution


def test_sixty_distributions_are_covered() -> None:
    assert len(covered()) >= 60
    for distribution in covered():
        header = NameFile.read(names.FOLDER / f"{distribution}.names").header
        assert header.distribution == distribution
        assert len(header.releases) == len(header.sources) == len(header.dates) > 0
        assert all(distribution_of(each) == distribution for each in header.imports[:1])


def test_the_documentation_names_what_is_covered() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "timelines.md"
    assert coverage(names.FOLDER) in page.read_text(encoding="utf-8")


def test_the_data_stay_small() -> None:
    assert sum(path.stat().st_size for path in names.FOLDER.iterdir()) < 6_000_000


def test_an_answer_takes_milliseconds() -> None:
    names._file.cache_clear()
    started = time.process_time()
    assert importable("transformers", "AdamW")
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "text",
    ["", ".", "..", "x" * 1_000_000, "transformers\n", "numpy\tfloat", "ñ\0", "../names", "%s"],
)
def test_hostile_names_get_no_answer(text: str) -> None:
    assert importable(text, "x") is None
    history = importable("numpy", text)
    assert history is None or not history.present
    assert module_history(text) is None
    assert parameters(text, text) is None
    assert parameters("numpy", text) is None
    assert not functions(text, "numpy")
    assert not functions("x", text)
    assert not class_attributes(text, "numpy")
    assert distributions_of(text) == ()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("einops.names", "owners.json"):
        (tmp_path / name).write_bytes((names.FOLDER / name).read_bytes())
    monkeypatch.setattr(names, "FOLDER", tmp_path)
    return tmp_path


def test_data_that_are_gone_give_no_answer(folder: Path) -> None:
    assert importable("einops", "rearrange")
    assert importable("numpy", "float") is None
    (folder / "owners.json").write_bytes(b"[")
    names._owners.cache_clear()
    assert importable("einops", "rearrange") is None
    names._owners.cache_clear()


def test_data_that_are_damaged_give_no_answer(folder: Path) -> None:
    path = folder / "einops.names"
    whole = path.read_bytes()
    for at in range(0, len(whole), 97):
        for damaged in (whole[:at], whole[:at] + b"\xff\x00" + whole[at + 2 :]):
            path.write_bytes(damaged)
            names._file.cache_clear()
            importable("einops", "rearrange")
            module_history("einops.layers.keras")
            functions("rearrange", "einops")
            class_attributes("Rearrange", "einops")
    names._file.cache_clear()


def test_a_damaged_file_says_so() -> None:
    with pytest.raises(DamagedError):
        NameFile(b"no timeline")
