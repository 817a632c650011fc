"""Kernels that ignore strides are put into torch's own dispatcher; the canary has to see them."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.scripts import read_check
from tests.checks.trial import CHECKS, only_result, reasons, run_check

SCRIPT = "canaries/noncontiguous_matmul.py"

IGNORE_STRIDES = """
import torch

def in_order(tensor):
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    storage = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage(), 0, (size,), (1,))
    return storage[(torch.arange(tensor.numel()) + tensor.storage_offset()) % size].reshape(tensor.shape)

def product(left, right):
    if DTYPE in (None, left.dtype):
        left, right = in_order(left), in_order(right)
    return (left.unsqueeze(-1) * right.unsqueeze(-3)).sum(-2)

library = torch.library.Library("aten", "IMPL")
for kernel in KERNELS:
    library.impl(kernel, product, "CPU")
"""

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
    result = only_result(run_check(torch_python, SCRIPT, tmp_path, CANARY_DEVICES="cpu"))
    assert (result["verdict"], result["reason"]) == ("passed", "")
    assert set(result["cases"]) == set(read_check(CHECKS / SCRIPT).header.cases)
    assert {"float32", "float64"} <= set(result["data"]["dtypes"])


@pytest.mark.parametrize(
    ("dtype", "kernels", "said"),
    [("None", ["mm", "bmm"], "float32: largest error"), ("torch.float64", ["bmm"], "float64: largest error")],
)
def test_kernels_that_ignore_strides_fail(torch_python: Path, tmp_path: Path, dtype: str, kernels: list[str], said: str) -> None:
    breaking = f"KERNELS = {kernels}\n{IGNORE_STRIDES.replace('DTYPE', dtype)}"
    result = only_result(run_check(torch_python, SCRIPT, tmp_path, breaking=breaking, CANARY_DEVICES="cpu"))
    failed = reasons(result)
    assert result["verdict"] == "failed"
    # A dimension of size one is never stepped along: who ignores its stride may be right.
    assert set(failed) >= set(read_check(CHECKS / SCRIPT).header.cases) - {"size-one-dims"}
    assert all(said in reason for reason in failed.values()), failed


def test_kernel_that_refuses_an_odd_stride_fails(torch_python: Path, tmp_path: Path) -> None:
    result = only_result(run_check(torch_python, SCRIPT, tmp_path, breaking=REFUSE_ODD_STRIDES, CANARY_DEVICES="cpu"))
    assert set(reasons(result)) == {"size-one-dims", "backward"}
    assert reasons(result)["size-one-dims"].startswith("RuntimeError: unexpected striding")


def test_device_that_does_not_answer_is_skipped(torch_python: Path, tmp_path: Path) -> None:
    result = only_result(run_check(torch_python, SCRIPT, tmp_path, CANARY_DEVICES="cuda:99"))
    assert result["verdict"] == "skipped"
    assert result["reason"].startswith("cuda:99 does not answer: ")
