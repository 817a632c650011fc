"""A fault that came and went with releases of torch.

The canary finds it in the one and not in the other.
"""

from __future__ import annotations

from pathlib import Path

from tests.command import check

SYMBOLIC = "torch/inductor-symbolic-triton-constant"


def test_the_symbolic_constant_of_torch_251_is_found(torch251_python: Path, tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text("import triton\n\n\n@triton.jit\ndef copy(x):\n    pass\n")
    said = check("--python", torch251_python, "--only", "inductor-compile", cwd=tmp_path)
    assert said.code == 1
    found = said.finding(SYMBOLIC)
    assert found["severity"] == "error"
    assert found["confidence"] in ("high", "medium")
    assert said.report["findings"][0] == found
    assert any("torch==2.6.0" in command for command in found["fixes"][0]["commands"])
    # torch 2.5.1 comes with the CUDA of 2.6.0; whoever advises another CUDA is wrong.
    advice = " ".join(
        f"{fix['title']} {fix['when']} {' '.join(fix['commands'])}" for fix in found["fixes"]
    ).lower()
    assert not [word for word in ("cuda", "nvidia", "driver", "toolkit", "cu12") if word in advice]
    assert {outcome["verdict"] for outcome in said.outcomes("inductor-compile")} == {"failed"}


def test_torch_251_without_a_kernel_of_the_project_s_own_fails_no_build(
    torch251_python: Path, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text("import torch\n")
    said = check("--python", torch251_python, "--only", "inductor-compile", cwd=tmp_path)
    found = said.finding(SYMBOLIC)
    assert (said.code, found["severity"], found["confidence"]) == (0, "warning", "high")
    assert {outcome["verdict"] for outcome in said.outcomes("inductor-compile")} == {"failed"}


def test_torch_260_is_healed_of_it(torch260_python: Path, tmp_path: Path) -> None:
    said = check("--python", torch260_python, "--only", "inductor-compile", cwd=tmp_path)
    assert said.code == 0
    assert SYMBOLIC not in {finding["id"] for finding in said.report["findings"]}
    assert {outcome["verdict"] for outcome in said.outcomes("inductor-compile")} == {"passed"}
