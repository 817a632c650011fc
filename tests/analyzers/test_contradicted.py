"""What a log says takes away the explanation that it contradicts."""

from __future__ import annotations

import pytest

from doctor.analyzers import explanations
from doctor.events.context import Context
from tests.analyzers.explained import case_of, explained, said

_UNKNOWN = (
    "ValueError: The checkpoint you are trying to load has model type `{}` but Transformers does "
    "not recognize this architecture."
)
_HMAX = 'compatibility.cuh(11): error: identifier "__hmax" is undefined'
_DLL = """  File "C:\\Users\\ada\\anaconda3\\Lib\\ctypes\\__init__.py", line 8, in <module>
ImportError: DLL load failed while importing {}: The specified module could not be found."""


def test_a_type_that_no_transformers_had_is_a_project_s_own() -> None:
    assert "model-type-of-a-project" in dict(said(_UNKNOWN.format("tinyllm")))
    for kind in ("qwen3_next", "gemma3_text"):
        assert "model-type-of-a-project" not in dict(said(_UNKNOWN.format(kind))), kind


def test_another_transformers_is_not_offered_to_who_tried_it() -> None:
    def titles(text: str) -> list[str]:
        (one,) = (e for e in explained(text) if e.detection.id.endswith("of-a-project"))
        return [recipe.title for recipe in one.detection.recipes]

    plain = titles(_UNKNOWN.format("tinyllm"))
    tried = titles(f"I upgraded transformers.\n{_UNKNOWN.format('tinyllm')}")
    assert len(plain) == len(tried) + 1


def test_an_architecture_that_the_log_builds_for_is_not_too_old() -> None:
    built = f"$ nvcc --ptx --gpu-architecture=sm_61 affine.cu\n{_HMAX}"
    ((_, title),) = [one for one in said(built) if one[0] == "architecture-too-old-for-code"]
    assert "8.0" in title
    other = 'a.cu(1): error: identifier "__hmul" is undefined\nnvcc -arch=sm_86 a.cu'
    assert "architecture-too-old-for-code" not in dict(said(other))


@pytest.mark.parametrize(("module", "is_own"), [("_ctypes", True), ("torch_python", False)])
def test_conda_s_python_asks_for_its_own_library(module: str, is_own: bool) -> None:
    case = case_of(_DLL.format(module))._replace(context=Context(os="windows", conda=True))
    titles = [one.detection.title for one in explanations(case, strict=True)]
    assert any("libffi" in title for title in titles) == is_own


def test_a_bare_name_is_looked_up_in_the_packages_of_the_log() -> None:
    text = "    import jax\nAttributeError: CallPrimitive"
    assert any("jax has no CallPrimitive" in title for _, title in said(text))
    assert "name-of-another-release" not in dict(said("AttributeError: CallPrimitive"))


def test_escapes_of_a_nested_message_stay_out_of_the_title() -> None:
    text = (
        "nvidia-container-cli: initialization error: driver error: failed to process request"
        '\\\\n\\\\"\\"": unknown.'
    )
    ((_, title),) = [one for one in said(text) if one[0] == "container-gpu-failed"]
    assert title.endswith("failed to process request")


def test_a_wheel_of_pyg_lib_is_taken_out() -> None:
    text = (
        "/lib64/libm.so.6: version `GLIBC_2.29' not found (required by /a/site-packages/libpyg.so)"
    )
    (one,) = (e for e in explained(text) if e.detection.id == "failure/c-library-too-old")
    assert one.detection.recipes[0].steps[0].uninstall == ("pyg-lib",)
