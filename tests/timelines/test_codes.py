"""Numbered errors are known by number, name and text, in the words of real logs."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.catalog.reference import load_tables
from doctor.lint.reference import lint_reference
from doctor.model.reference import CodeRow, CodeTable, Fault
from doctor.timelines.codes import code, codes_in, kinds


@pytest.mark.parametrize(
    ("kind", "which", "name"),
    [
        ("cuda", 209, "cudaErrorNoKernelImageForDevice"),
        ("cuda", "209", "cudaErrorNoKernelImageForDevice"),
        ("cuda", "cudaErrorNoKernelImageForDevice", "cudaErrorNoKernelImageForDevice"),
        ("cuda", "CUDAERRORASSERT", "cudaErrorAssert"),
        ("cuda", "device-side assert triggered", "cudaErrorAssert"),
        ("cuda-driver", 209, "CUDA_ERROR_NO_BINARY_FOR_GPU"),
        ("hip", "hipErrorNoBinaryForGpu", "hipErrorNoBinaryForGpu"),
        ("cudnn", 1, "CUDNN_STATUS_NOT_INITIALIZED"),  # cuDNN 8
        ("cudnn", 1001, "CUDNN_STATUS_NOT_INITIALIZED"),
        ("ntstatus", "0xC0000135", "STATUS_DLL_NOT_FOUND"),
        ("ntstatus", 3221225477, "STATUS_ACCESS_VIOLATION"),
        ("ntstatus", -1073741819, "STATUS_ACCESS_VIOLATION"),
        ("exit", -1073741819, "STATUS_ACCESS_VIOLATION"),
        ("exit", -11, "killed by SIGSEGV"),
        ("exit", 137, "killed by SIGKILL"),
        ("exit", "127", "command not found"),
        ("errno", 98, "EADDRINUSE"),
        ("errno-macos", 48, "EADDRINUSE"),
        ("winerror", 1455, "ERROR_COMMITMENT_LIMIT"),
        ("opencl", -999, "PI_ERROR_UNKNOWN"),
        ("xid", 79, "GPU has fallen off the bus"),
        ("slurm", "OUT_OF_MEMORY", "OUT_OF_MEMORY"),
    ],
)
def test_a_code_is_known_by_number_name_and_text(kind: str, which: int | str, name: str) -> None:
    found = code(kind, which)
    assert found is not None
    assert (found.kind if kind != "exit" else "", found.name) == (
        kind if kind != "exit" else "",
        name,
    )
    assert found.means
    assert found.check
    assert isinstance(found.fault, Fault)


@pytest.mark.parametrize(
    ("kind", "which"),
    [
        ("cuda", 208_000),
        ("cuda", -5),
        ("cuda", ""),
        ("cuda", "no such text"),
        ("cuda", "9" * 5000),
        ("errno", 1 << 70),
        ("exit", 3),
        ("exit", -65),
        ("no such kind", 1),
    ],
)
def test_an_unknown_code_is_none(kind: str, which: int | str) -> None:
    assert code(kind, which) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("CUDA error: an illegal memory access was encountered", [("cuda", 700)]),
        ("invalid device ordinal", [("cuda", 101)]),
        ("HIP error: invalid device ordinal", [("hip", 101)]),
        ("CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", [("cublas", 1)]),
        ("hipErrorNoBinaryForGpu: Unable to find code object", [("hip", 209)]),
        ("RuntimeError: CUDA error: out of memory", [("cuda", 2)]),
        ("exit code -11", [("exit", 139)]),
        ("failed (exitcode: -9) local_rank: 0 (pid: 71) of binary", [("exit", 137)]),
        ("rc=137", [("exit", 137)]),
        ("status 0xC0000135", [("ntstatus", 0xC0000135)]),
        ("Process finished with exit code -1073741819 (0xC0000005)", [("ntstatus", 0xC0000005)]),
        ("OSError: [WinError 126] The specified module could not be found", [("winerror", 126)]),
        ("OSError: [Errno 28] No space left on device", [("errno", 28)]),
        ("CUDA failure 304: OS call failed or operation not supported on this OS", [("cuda", 304)]),
        ("NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.", [("xid", 79)]),
        ("Segmentation fault (core dumped)", [("signal", 11)]),
        ("Killed", [("signal", 9)]),
        ("/tmp/run.sh: line 3: 12345 Killed                  python train.py", [("signal", 9)]),
        (
            "died with <Signals.SIGKILL: 9>.",
            [("signal", 9)],
        ),
        ("Native API returns: -999 (Unknown PI error)", [("opencl", -999)]),
        ("returns: 40 (UR_RESULT_ERROR_OUT_OF_RESOURCES)", [("ur", 40)]),
        (
            "Reason: OOMKilled Exit Code: 137",
            [("kubernetes", 1), ("exit", 137)],
        ),
        ("Failed to initialize NVML: Driver/library version mismatch", [("nvml", 18)]),
        ("unhandled cuda error (run with NCCL_DEBUG=INFO for details)", [("nccl", 1)]),
        (
            "Error 803: system has unsupported display driver / cuda driver combination",
            [("cuda", 803)],
        ),
    ],
)
def test_messages_of_real_programs_name_their_codes(
    line: str, expected: list[tuple[str, int]]
) -> None:
    assert [(found.code.kind, found.code.number) for found in codes_in(line)] == expected


@pytest.mark.parametrize(
    "line",
    [
        "I have killed it, then it failed.",
        "Failed to start the server",
        "an out of memory condition was not seen",
        "exit with care: 137 files",
        "invalid argument --foo for option",
        "rcv=137 src=9",
        "TIMEOUT is 30",
        "",
        "\0\ud800 \u0130\u0130 \U0001f600",
    ],
)
def test_plain_words_are_no_codes(line: str) -> None:
    assert codes_in(line) == ()


def test_numbers_of_errno_depend_on_the_system() -> None:
    line = "OSError: [Errno 48] something"
    assert [found.code.name for found in codes_in(line, "macos")] == ["EADDRINUSE"]
    assert not codes_in(line, "linux")
    assert [found.code.name for found in codes_in("(os error 193)", "windows")] == [
        "ERROR_BAD_EXE_FORMAT"
    ]


def test_a_mention_says_where_it_stands() -> None:
    line = "x: CUDA error: misaligned address (7)"
    (found,) = codes_in(line)
    assert line[found.start : found.end] == "misaligned address"
    assert found.by == "text"
    assert found.code.sticky


@given(st.text(max_size=300))
def test_no_text_raises(text: str) -> None:
    for found in codes_in(text):
        assert 0 <= found.start < found.end <= len(text)


def test_a_hostile_text_is_read_in_linear_time() -> None:
    texts = ["an illegal memory access was " * 40_000, "exit code " * 100_000, "0xc" * 400_000]
    codes_in("warm")
    start = time.process_time()
    for text in texts:
        assert len(codes_in(text)) <= 20
    assert time.process_time() - start < 5


def test_every_table_is_large_enough_and_without_fault() -> None:
    tables = load_tables("codes", CodeTable)
    assert {"cuda", "cuda-driver", "hip", "cudnn", "level-zero", "winerror", "xid"} <= {*kinds()}
    assert sum(len(table.rows) for table in tables.values()) > 1000
    assert sum(bool(row.means) for table in tables.values() for row in table.rows) >= 550
    assert not [fault for table in tables.values() for fault in lint_reference(table)]


def test_the_lint_finds_faults_of_a_table() -> None:
    rows = (
        CodeRow(number=1, name="A", means="no full stop", check="Look.", fault=Fault.DRIVER),
        CodeRow(number=1, name="B", means="It broke."),
    )
    faults = [*lint_reference(CodeTable(title="t", sources={}, rows=rows, context=("Cuda",)))]
    assert [fault.partition(":")[0] for fault in faults] == [
        *("sources", "rows", "rows[0]", "rows[1]", "context"),
    ]
