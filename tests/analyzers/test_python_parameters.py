"""Arguments that the installed release does not take."""

from __future__ import annotations

from tests.analyzers.packages import explained, hostile, installs, told

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
