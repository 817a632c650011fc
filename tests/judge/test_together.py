"""Fixes that take a folder or a bound from elsewhere in the log."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from doctor.catalog import loading
from doctor.model.report import Report
from doctor.pipeline.assess import assess
from doctor.pipeline.logs import observation_from_logs, read_log

Judge = Callable[[str], Report]


@pytest.fixture(scope="module")
def judge() -> Judge:
    catalog = loading.load(())

    def judged(text: str) -> Report:
        log = read_log("log", io.BytesIO(text.encode()), catalog)
        return assess(observation_from_logs((log,)), catalog, command="diagnose")

    return judged


_CUDNN = (
    "Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open "
    "shared object file: No such file or directory\n"
)


def test_a_missing_library_that_the_log_shows_gets_the_folder(judge: Judge) -> None:
    folder = "/home/ada/.local/lib/python3.8/site-packages/nvidia/cudnn/lib"
    text = f"{_CUDNN}$ locate libcudnn_ops_infer.so.8\n{folder}/libcudnn_ops_infer.so.8\n"
    fix = judge(text).findings[0].fixes[0]
    assert fix.commands[0].env["LD_LIBRARY_PATH"] == f"{folder}:$LD_LIBRARY_PATH"


@pytest.mark.parametrize(
    "text",
    [
        _CUDNN,
        _CUDNN + "/a/lib/libcudnn_ops_infer.so.9\n",
        _CUDNN + "/a/libcudnn_ops_infer.so.8\n/b/libcudnn_ops_infer.so.8\n",
        _CUDNN + "ls: /a/libcudnn_ops_infer.so.8: No such file or directory\n",
    ],
)
def test_no_folder_is_named_where_the_log_shows_none_or_several(judge: Judge, text: str) -> None:
    title = judge(text).findings[0].fixes[0].title
    assert not title.startswith("Let the loader search /")


def test_two_bounds_of_one_package_become_one_range(judge: Judge) -> None:
    hub = "from 'huggingface_hub' (/venv/lib/python3.10/site-packages/huggingface_hub/__init__.py)"
    text = (
        f"ImportError: cannot import name 'cached_download' {hub}\n\n"
        f"after pip install of an older one:\n"
        f"ImportError: cannot import name 'split_torch_state_dict_into_shards' {hub}\n"
    )
    found = [one for one in judge(text).findings if one.id == "failure/name-not-in-release"]
    commands = [one.fixes[0].commands[0].argv[-1] for one in found]
    assert set(commands) == {"huggingface-hub>=0.21,<0.26"}


def test_the_gpu_that_a_log_names_decides_about_fixes(judge: Judge) -> None:
    report = judge("GPU: NVIDIA GeForce RTX 3090\nRuntimeError: nothing known\n")
    assert report.observation.facts["nvidia.capabilities"].value == ["8.6"]
    report = judge("works on RTX 3090 and RTX 5090\nRuntimeError: nothing known\n")
    assert report.observation.facts["nvidia.capabilities"].value is None
