"""Drivers, containers, communication, and GPUs of other vendors."""

from __future__ import annotations

import pytest

from doctor.analyzers.drivers import cuda_of
from doctor.model.issues import Option
from tests.analyzers.explained import explained, said

COVERED = (
    ("The NVIDIA driver on your system is too old (found version 11040).", "driver-too-old"),
    ("CUDA driver version is insufficient for CUDA runtime version", "driver-too-old"),
    ("RuntimeError: Found no NVIDIA driver on your system.", "no-driver"),
    ("AssertionError: Torch not compiled with CUDA enabled", "torch-for-cpu"),
    ("RuntimeError: No CUDA GPUs are available", "no-gpu-visible"),
    ('could not select device driver "nvidia" with capabilities : [[gpu]]', "no-gpu-runtime"),
    (
        "docker: Error response from daemon: unknown or invalid runtime name: nvidia.",
        "no-gpu-runtime",
    ),
    (
        "nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown",
        "container-gpu-failed",
    ),
    ("unresolvable CDI devices nvidia.com/gpu=all: unknown", "cdi-device-missing"),
    ("ImportError: /usr/lib/libcuda.so.1: file too short", "library-unusable"),
    ("Unable to open /dev/kfd read-write: Permission denied", "rocm-device-denied"),
    ("GPU access blocked by the operating system", "wsl-gpu-blocked"),
    (
        "ptxas v.ptx, line 9; fatal   : Unsupported .version 9.9; current version is '9.0'",
        "ptx-too-new",
    ),
    ("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1a000", "nccl-duplicate-gpu"),
    (
        "misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.0.0.2<5> failed",
        "nccl-network",
    ),
    ("NCCL WARN Call to posix_fallocate failed : No space left on device", "nccl-shared-memory"),
    (
        (
            "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, "
            "Timeout(ms)=600000) ran for 600410 milliseconds"
        ),
        "nccl-timeout",
    ),
    ("environment variable MASTER_ADDR expected, but not set", "rank-variable-missing"),
    ("KeyError: 'LOCAL_RANK'", "rank-variable-missing"),
    ("torch.distributed.DistStoreError: Timed out after 601 seconds", "rendezvous-timeout"),
    ("Error: dial tcp 127.0.0.1:11434: connect: connection refused", "connection-refused"),
    ("502 Bad Gateway for http://127.0.0.1:7860/startup-events", "proxy-answers"),
    ("RuntimeError: HIP error: invalid device function", "gfx-not-in-binary"),
    (
        "rocBLAS error: Cannot read /opt/TensileLibrary.dat: No such file for GPU arch : gfx1010",
        "tensile-missing",
    ),
    (
        "Memory access fault by GPU node-1 (Agent handle: 0x5) on address 0x7. Reason: Unknown.",
        "gpu-memory-fault",
    ),
    ("No device of requested type available. -1 (PI_ERROR_DEVICE_NOT_FOUND)", "sycl-no-device"),
    ("ggml_metal_graph_compute: command buffer 0 failed with status 5", "metal-command-buffer"),
    ("MLX error: Failed to load the default metallib. library not found", "metal-library"),
    (
        "error: 'mps.add' op requires the same element type for all operands and results",
        "mps-types-differ",
    ),
    ("Cannot convert a MPS Tensor to float64 dtype as the MPS framework", "mps-type"),
    (
        (
            "NotImplementedError: The operator 'aten::x' is not currently implemented for the "
            "MPS device"
        ),
        "mps-operator-missing",
    ),
)


@pytest.mark.parametrize(("text", "kind"), COVERED, ids=[text[:40] for text, _ in COVERED])
def test_the_cause_is_named(text: str, kind: str) -> None:
    """Each wording has a finding of its kind."""
    assert [one for one, _ in said(text)] == [kind]


@pytest.mark.parametrize(
    ("number", "cuda"), [("11040", "11.4"), ("12080", "12.8"), ("9020", "9.2")]
)
def test_the_number_of_a_driver_is_decoded(number: str, cuda: str) -> None:
    """The driver counts 1000 for a major and 10 for a minor version."""
    assert cuda_of(number) == cuda


def test_an_older_cuda_is_offered_that_the_driver_serves() -> None:
    """A driver of CUDA 11 gets a build for cu118, and nothing is installed beside the old torch."""
    (one,) = explained("NVIDIA driver on your system is too old (found version 11040)")
    steps = one.detection.recipes[-1].steps
    assert steps[0].options == (Option.REINSTALL, Option.NO_DEPS)
    assert steps[1].index == "https://download.pytorch.org/whl/cu118"


def test_a_chip_gets_the_override_of_its_relative_alone() -> None:
    """gfx1031 runs code of gfx1030; a chip without a relative gets none."""
    text = "HIP error: invalid device function\nName: {}"
    (known,) = explained(text.format("gfx1031"))
    (other,) = explained(text.format("gfx803"))
    assert known.detection.recipes[0].steps[0].env == {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}
    assert not any(step.env for recipe in other.detection.recipes for step in recipe.steps)


def test_a_crash_of_hip_on_a_chip_without_code() -> None:
    """An integrated GPU that nothing was compiled for ends the process by SIGSEGV."""
    text = (
        "Thread 1 received signal SIGSEGV, Segmentation fault.\n"
        "#0 0x7f in ?? () from /opt/rocm/lib/libamdhip64.so.5\n  Name: gfx90c"
    )
    ((_, title),) = said(text)
    assert title == "The program has no code for the AMD GPU gfx90c"


def test_a_peer_that_is_gone_follows_an_error() -> None:
    """The rank that failed says why; the others only lose it."""
    text = (
        "RuntimeError: can't start new thread\n"
        "RuntimeError: [../third_party/gloo/transport/tcp/pair.cc:534] Connection closed by peer"
    )
    assert [kind for kind, _ in said(text)] == ["too-many-threads"]


@pytest.mark.parametrize(
    "text",
    [
        "The operator 'aten::x' is not currently supported on the MPS backend and will fall back",
        "NCCL INFO Call to connect returned, all fine",
        "found version " + "1" * 1900,
        "could not select device driver " + '"' * 1900,
        "connection refused" + ":" * 1900,
        "NCCL version 2.20.5+cuda12.4",
    ],
)
def test_silence_on_other_lines(text: str) -> None:
    """Warnings that do no harm, and hostile text, get no finding."""
    assert said(text) == []
