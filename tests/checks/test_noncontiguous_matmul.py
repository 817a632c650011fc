"""A healthy processor passes, and a kernel that refuses does not.

Kernels that are silently wrong are in the gallery.
"""

from __future__ import annotations

from pathlib import Path

from doctor.catalog.check_headers import read_check
from tests.checks.trial import CHECKS, only_result, reasons, run_check_warm

SCRIPT = "canaries/noncontiguous_matmul.py"

REFUSE_ODD_STRIDES = """
import torch

def product(left, right):
    for tensor in (left, right):
        if any(size == 1 and stride == 7 for size, stride in zip(tensor.shape, tensor.stride())):
            raise RuntimeError(f"unexpected striding {tuple(tensor.stride())}")
    return (left.unsqueeze(-1) * right.unsqueeze(-3)).sum(-2)

library = torch.library.Library("aten", "IMPL")
library.impl("bmm", product, "CPU")
"""


def test_healthy_processor_passes_every_case(torch_python: Path, tmp_path: Path) -> None:
    result = only_result(run_check_warm(torch_python, SCRIPT, tmp_path, CANARY_DEVICES="cpu"))
    assert (result["verdict"], result["reason"]) == ("passed", "")
    assert set(result["cases"]) == set(read_check(CHECKS / SCRIPT).header.cases)
    assert {"float32", "float64"} <= set(result["data"]["dtypes"])


def test_kernel_that_refuses_an_odd_stride_fails(torch_python: Path, tmp_path: Path) -> None:
    result = only_result(
        run_check_warm(
            torch_python,
            SCRIPT,
            tmp_path,
            breaking=REFUSE_ODD_STRIDES,
            CANARY_DEVICES="cpu",
        )
    )
    assert set(reasons(result)) == {"size-one-dims", "backward"}
    assert reasons(result)["size-one-dims"].startswith("RuntimeError: unexpected striding")


def test_device_that_does_not_answer_is_skipped(torch_python: Path, tmp_path: Path) -> None:
    result = only_result(run_check_warm(torch_python, SCRIPT, tmp_path, CANARY_DEVICES="cuda:99"))
    assert result["verdict"] == "skipped"
    assert result["reason"].startswith("cuda:99 does not answer: ")
