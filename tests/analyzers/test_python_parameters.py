"""Arguments that the installed release does not take."""

from __future__ import annotations

import pytest

from doctor.analyzers.called_classes import called_class
from tests.analyzers.packages import case_of, explained, hostile, installs, told

CALL = """
huggingface_hub==0.30.2
Traceback (most recent call last):
  File "/home/ada/prog/a.py", line 2, in <module>
    hf_hub_download("gpt2", "config.json", dry_run=True)
  File "/venv/lib/python3.11/site-packages/huggingface_hub/utils/_validators.py", line 89, in _inner_fn
    return fn(*args, **kwargs)
TypeError: hf_hub_download() got an unexpected keyword argument 'dry_run'
"""  # noqa: E501
OTHER = """
Traceback (most recent call last):
  File "/venv/lib/python3.10/site-packages/somebody/run.py", line 12, in go
    build(flag=1)
TypeError: build() got an unexpected keyword argument 'flag'
"""


def test_a_parameter_of_a_newer_release() -> None:
    found = told("python_parameters", CALL)
    assert found.detection.title.startswith(
        "huggingface-hub 0.30.2 does not have the parameter dry_run of hf_hub_download yet"
    )
    assert installs(found) == [("huggingface-hub>=1",)]


def test_a_parameter_that_went() -> None:
    text = CALL.replace("0.30.2", "1.0.1").replace("dry_run", "legacy_cache_layout")
    found = told("python_parameters", text)
    assert "no longer has the parameter legacy_cache_layout" in found.detection.title


def test_a_decorator_asks_for_nothing() -> None:
    text = """
trl==0.13.0
Traceback (most recent call last):
  File "/home/ada/tune.py", line 7, in <module>
    SFTTrainer(model, max_seq_length=512)
  File "/venv/lib/python3.11/site-packages/transformers/utils/deprecation.py", line 165, in wrapped_func
    return func(*args, **kwargs)
TypeError: SFTTrainer.__init__() got an unexpected keyword argument 'max_seq_length'
"""  # noqa: E501
    found = told("python_parameters", text)
    assert "The program tune.py asks for it" in found.detection.message
    assert installs(found) == [("trl>=0.4,<0.13",)]


def test_a_call_between_two_unknown_packages() -> None:
    """Who calls is known, and nothing more: no fix is made up."""
    found = told("python_parameters", OTHER)
    assert found.detection.title.startswith("somebody calls build() with flag")
    assert not installs(found)


def test_a_call_of_the_program_is_left_alone() -> None:
    text = OTHER.replace("/venv/lib/python3.10/site-packages/somebody/run.py", "/home/ada/run.py")
    assert not explained("python_parameters", text)


def test_hostile_texts() -> None:
    hostile(
        "python_parameters",
        (
            "TypeError: hf_hub_download() got an unexpected keyword argument '",
            "TypeError: hf_hub_download() missing 1 required positional argument: '",
        ),
    )


HYDRA = """
Traceback (most recent call last):
  File "/usr/lib/python3.7/site-packages/lightning_transformers/core/instantiator.py", line 70, in trainer
    return hydra.utils.instantiate(cfg, **kwargs)
TypeError: Error instantiating 'pytorch_lightning.trainer.trainer.Trainer' : __init__() got an unexpected keyword argument 'truncated_bptt_steps'
"""  # noqa: E501
OLD_PYTHON = """
Traceback (most recent call last):
  File "train.py", line 12, in <module>
    trainer = pl.Trainer(truncated_bptt_steps=2)
  File "/usr/lib/python3.7/site-packages/pytorch_lightning/trainer/connectors/env_vars_connector.py", line 38, in insert_env_defaults
    return fn(self, **kwargs)
TypeError: __init__() got an unexpected keyword argument 'truncated_bptt_steps'
"""  # noqa: E501
PRETRAINED = """
Traceback (most recent call last):
  File "train.py", line 35, in run_training
    model = transformers.T5ForConditionalGeneration.from_pretrained(
  File "/opt/env/lib/python3.8/site-packages/transformers/modeling_utils.py", line 1489, in from_pretrained
    model = cls(config, *model_args, **model_kwargs)
TypeError: __init__() got an unexpected keyword argument '{name}'
"""  # noqa: E501
CALLBACK = """
Traceback (most recent call last):
  File "/opt/env/lib/python3.6/site-packages/transformers/trainer_callback.py", line 388, in call_event
    **kwargs,
TypeError: on_init_end() got an unexpected keyword argument 'model'
"""  # noqa: E501


def test_hydra_names_the_class_of_a_call() -> None:
    assert told("python_parameters", HYDRA).detection.title == (
        "pytorch-lightning no longer has the parameter truncated_bptt_steps of Trainer: releases "
        "before 1.5 have it"
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "attn_implementation",
            "from_pretrained takes attn_implementation since transformers 4.36",
        ),
        ("tuning_mode", "train.py hands tuning_mode to from_pretrained"),
    ],
)
def test_an_argument_that_from_pretrained_hands_on(name: str, words: str) -> None:
    found = told("python_parameters", PRETRAINED.format(name=name))
    assert found.detection.title.startswith(words)
    assert found.detection.recipes


def test_a_callback_of_another_library() -> None:
    found = told("python_parameters", CALLBACK)
    assert "on_init_end() does not take model" in found.detection.title


def test_a_class_is_named_by_the_line_above() -> None:
    case = case_of(OLD_PYTHON.replace("    return fn(self, **kwargs)", "    x = pl.Trainer(a=1)"))
    (event,) = case.of("keyword-not-accepted")
    assert called_class(case, event) == ("Trainer", "")


def test_a_parameter_that_each_known_release_has_means_an_older_one() -> None:
    text = """
    out = xformers.ops.memory_efficient_attention(q, k, v, attn_bias=None, op=self.attention_op)
TypeError: memory_efficient_attention() got an unexpected keyword argument 'attn_bias'
"""
    found = told("python_parameters", text)
    assert found.detection.title.startswith("The installed xformers is too old")
    assert installs(found) == [("xformers>=0.0.13",)]
    assert not explained("python_parameters", text.replace("xformers.ops", "mine"))
