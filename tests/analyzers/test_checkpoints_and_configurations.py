"""Files that do not fit their model, by their names, and configurations without old defaults."""

from __future__ import annotations

import pytest

from tests.analyzers.explained import explained, said

_FAILED = "RuntimeError: Error(s) in loading state_dict for {}:\n\t"


def test_a_file_with_parts_of_another_revision() -> None:
    (one,) = explained(
        _FAILED.format("DataParallel")
        + 'Unexpected key(s) in state_dict: "module.to_rgb.0.weight", "module.to_rgb.0.bias", '
        '"module.to_rgb.0.running_mean", "module.to_rgb.0.running_var". \n'
    )
    assert "holds to_rgb.0, which the model DataParallel" in one.detection.title
    assert "revision" in one.detection.recipes[0].title
    assert "torch/checkpoint-other-names" in one.contradicts


def test_parts_that_only_training_uses_are_left_out() -> None:
    (one,) = explained(
        _FAILED.format("PointSegmentationModule")
        + 'Unexpected key(s) in state_dict: "criterion.criteria.0.weight", '
        '"criterion.criteria.1.weight". \n'
    )
    assert [each.title for each in one.detection.recipes] == ["Leave these names out"]


def test_a_model_with_more_layers_than_the_file() -> None:
    (one,) = explained(
        _FAILED.format("FSNet")
        + 'Missing key(s) in state_dict: "Encoder.0.layers.layers.4.conv1.main.0.weight", '
        '"Encoder.0.layers.layers.4.conv1.main.0.bias", '
        '"Encoder.0.layers.layers.5.conv1.main.0.weight"\n'
    )
    assert "Encoder.0.layers.layers.4, Encoder.0.layers.layers.5" in one.detection.title
    assert "number of layers" in one.detection.message


@pytest.mark.parametrize(
    ("missing", "unexpected", "call"),
    [
        (
            '"conv1.weight", "conv1.bias"',
            '"module.conv1.weight", "module.conv1.bias"',
            'removeprefix("module.")',
        ),
        (
            '"backbone.conv1.weight", "backbone.fc.bias"',
            '"conv1.weight", "fc.bias"',
            '"backbone." + name',
        ),
    ],
)
def test_two_lists_that_differ_by_a_prefix(missing: str, unexpected: str, call: str) -> None:
    (one,) = explained(
        _FAILED.format("Net")
        + f"Missing key(s) in state_dict: {missing}. \n\tUnexpected key(s) in state_dict: "
        f"{unexpected}. \n"
    )
    snippet = one.detection.recipes[0].snippet
    assert snippet is not None
    assert call in snippet.after


@pytest.mark.parametrize(
    "lists",
    [
        'Missing key(s) in state_dict: "c1.block1.conv.weight", "c1.block1.conv.bias",',
        'Missing key(s) in state_dict: "basic_net.conv1.weight",.......',
        'Missing key(s) in state_dict: "a.weight". \n\tUnexpected key(s) in state_dict: "b.bias". ',
        'Unexpected key(s) in state_dict: "_orig_mod.fc.weight". ',
        "",
    ],
)
def test_lists_that_say_too_little(lists: str) -> None:
    ids = [id_ for id_, _ in said(_FAILED.format("Net") + lists + "\n")]
    assert "checkpoint-names" not in ids


def test_many_names_take_little_time() -> None:
    names = ", ".join(f'"module.layers.{at}.weight"' for at in range(50_000))
    explained(_FAILED.format("Net") + f"Missing key(s) in state_dict: {names}\n")


def test_a_default_that_transformers_5_does_not_set() -> None:
    text = "AttributeError: 'BertConfig' object has no attribute 'pad_token_id'\n"
    ((id_, title),) = said(text)
    assert id_ == "config-default-gone"
    assert "transformers 5" in title
    assert "config-default-gone" not in [
        id_ for id_, _ in said(f"Successfully installed transformers-4.40.0\n{text}")
    ]


def test_a_configuration_of_another_kind() -> None:
    ids = [
        id_
        for id_, _ in said("AttributeError: 'TrainConfig' object has no attribute 'pad_token_id'\n")
    ]
    assert "config-default-gone" not in ids


def test_a_layer_from_a_file_in_a_text_without_frames() -> None:
    text = "AttributeError: 'Upsample' object has no attribute 'recompute_scale_factor'\n"
    ((id_, title),) = said(text)
    assert id_ == "object-of-another-release"
    assert "saved by another release of torch" in title


def test_an_operation_of_the_gpu_that_lacks_a_type() -> None:
    ((id_, title),) = said("RuntimeError: \"radius_cuda\" not implemented for 'BFloat16'\n")
    assert id_ == "gpu-operator-lacks-type"
    assert "radius_cuda runs on the GPU" in title


def test_an_operation_of_the_processor_that_lacks_a_type() -> None:
    ((id_, _),) = said("RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'\n")
    assert id_ == "half-on-cpu"
