"""What makes and checks the tables reads headers as C writes them."""

from __future__ import annotations

import zlib

import msgspec
import pytest

from doctor.base.errors import DoctorError
from doctor.catalog.reference import load_tables
from doctor.model.reference import CodeTable
from doctor.timelines.build import cuda_names
from doctor.timelines.build.codes import HEADERS, differences, enumeration, main
from doctor.timelines.build.headers import encoded, headers_of
from doctor.timelines.headers import TorchHeaders

_HEADER = """
/* an enum { NOT_THIS = 1 } status_t; */
typedef enum { OTHER } other_t;
enum __device_builtin__ cudaError {
    cudaSuccess = 0, // fine
    cudaErrorInvalidValue,   /**< a, b */
    A_HEX = 0x10u, SHIFTED = 1 << 5, AGAIN = A_HEX, NEGATIVE = -3,
    cudaNumResults,
};
"""


def test_the_members_of_an_enumeration_are_read() -> None:
    assert enumeration(_HEADER, "cudaError") == {
        "cudaSuccess": 0,
        "cudaErrorInvalidValue": 1,
        "A_HEX": 16,
        "SHIFTED": 32,
        "AGAIN": 16,
        "NEGATIVE": -3,
    }
    assert enumeration(_HEADER, "other_t") == {"OTHER": 0}
    assert enumeration("NVML_SUCCESS = 0\nNVML_ERROR_X  = 7\n", "") == {
        "NVML_SUCCESS": 0,
        "NVML_ERROR_X": 7,
    }


@pytest.mark.parametrize("text", ["", "enum cudaError { A = print() };", "enum x { A };"])
def test_a_header_without_the_enumeration_is_an_error(text: str) -> None:
    with pytest.raises(DoctorError):
        enumeration(text, "cudaError")


def test_what_a_table_lacks_is_named() -> None:
    table = load_tables("codes", CodeTable)["cuda"]
    assert [*differences(table, {"cudaErrorAssert": 710, "cudaSuccess": 0})] == []
    assert [*differences(table, {"cudaErrorAssert": 711, "cudaErrorNew": 1234})] == [
        "cudaErrorAssert is 711 in the header and 710 in the table",
        "cudaErrorNew = 1234 is missing",
    ]


def test_headers_are_named_as_programs_include_them() -> None:
    members = [
        "torch/include/ATen/ATen.h",
        "torch/lib/include/THC/THC.h",
        "torch/include/torch/csrc/api/include/torch/torch.h",
        "torch/lib/libc10.so",
        "torch/include/x.py",
    ]
    assert headers_of(members) == {"ATen/ATen.h", "THC/THC.h", "torch/torch.h"}
    both = frozenset({"a.h"})
    data = zlib.decompress(encoded([("1.0.1", both | {"b.h"}), ("1.10.2", both)]))
    found = msgspec.msgpack.decode(data, type=TorchHeaders)
    assert found == TorchHeaders(("1.0", "1.10"), {1: ("b.h",), 3: ("a.h",)})


@pytest.mark.patient
@pytest.mark.parametrize("kind", list(HEADERS))
def test_the_tables_have_every_code_of_the_newest_wheels(kind: str) -> None:
    pytest.importorskip("remotezip")
    assert main(["--only", kind]) == 0


def test_the_tables_of_hipify_are_read() -> None:
    text = (
        "|**CUDA**|**A**|**D**|**C**|**R**|**HIP**|\n"
        "|`CUSPARSE_ALG0`|8.0| | |11.0| | | |\n"
        "|`cusparseScsrmm`| |10.2| |11.0|`hipsparseScsrmm`|1.9.2|\n"
        "|`cublasLtMatmul`|10.1| | | |`hipblasLtMatmul`|5.5.0|\n"
        "|`cublasCreate`| | | | |`hipblasCreate`|1.8.2|\n"
    )
    assert dict(cuda_names.rows(text)) == {
        "CUSPARSE_ALG0": "8.0-11.0",
        "cusparseScsrmm": "-11.0",
        "cublasLtMatmul": "10.1-",
    }
