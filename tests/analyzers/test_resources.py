"""Memory and other resources: who holds them, and how much was asked for."""

from __future__ import annotations

import pytest

from doctor.analyzers.gpu_memory import size
from doctor.model.scales import Severity
from tests.analyzers.explained import explained, said

OURS = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {wanted}. GPU 0 has a total "
    "capacity of 23.65 GiB of which {free} is free. {process}Including non-PyTorch memory, this "
    "process has 2.40 GiB memory in use. Of the allocated memory {allocated} is allocated by "
    "PyTorch, and {reserved} is reserved by PyTorch but unallocated."
)
HOLDERS = (
    (
        (
            "2.00 GiB",
            "1.20 GiB",
            "Process 7 has 20.00 GiB memory in use. ",
            "1.90 GiB",
            "10.00 MiB",
        ),
        "Other processes hold 20.0 GiB",
    ),
    (("1.00 GiB", "0.50 GiB", "", "18.00 GiB", "4.00 GiB"), "fragmentation"),
    (("32.00 MiB", "18.19 MiB", "", "22.49 GiB", "3.81 MiB"), "Tensors of this process hold 22.49"),
    (("60.00 GiB", "16.91 GiB", "", "1.00 GiB", "0 bytes"), "more than the whole GPU has"),
    (("20.00 MiB", "5.13 GiB", "", "1.43 GiB", "0 bytes"), "not in one piece"),
)


@pytest.mark.parametrize(("amounts", "cause"), HOLDERS, ids=[cause for _, cause in HOLDERS])
def test_the_amounts_say_who_holds_the_memory(amounts: tuple[str, ...], cause: str) -> None:
    """Other processes, fragments, one huge tensor, or the tensors of the program itself."""
    names = ("wanted", "free", "process", "allocated", "reserved")
    (one,) = explained(OURS.format(**dict(zip(names, amounts, strict=True))))
    assert cause in one.detection.message
    assert one.detection.severity is Severity.NOTE
    assert amounts[0] in one.detection.title


COVERED = (
    (
        "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 214,748,364,800 bytes",
        "gpu-memory",
    ),
    (
        (
            "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
            "allocate "
            "200.00GiB with allocator GPU_0_bfc on device 0."
        ),
        "gpu-memory",
    ),
    ("ResourceExhaustedError: OOM when allocating tensor with shape[64,512,512,64]", "gpu-memory"),
    ("ggml_cuda_host_malloc: cudaMalloc failed: out of memory", "gpu-memory"),
    ("vk::Device::allocateMemory: ErrorOutOfDeviceMemory", "gpu-memory"),
    ("ValueError: No available memory for the cache blocks.", "kv-cache-memory"),
    (
        (
            "ValueError: Free memory on device (20.15/23.55 GiB) on startup is less than "
            "desired GPU "
            "memory utilization (0.9, 21.2 GiB)."
        ),
        "gpu-memory-taken",
    ),
    (
        (
            "The model's max seq len (32768) is larger than the maximum number of tokens that "
            "can be "
            "stored in KV cache (12000)."
        ),
        "kv-cache-too-small",
    ),
    (
        (
            "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: "
            "147456, "
            "Hardware limit: 101376."
        ),
        "kernel-resources",
    ),
    (
        (
            "MPS backend out of memory (MPS allocated: 17.66 GB, other allocations: 384.00 KB, max "
            "allowed: 18.13 GB). Tried to allocate 500.00 MB on private pool."
        ),
        "mps-memory",
    ),
    (
        (
            "DefaultCPUAllocator: can't allocate memory: you tried to allocate 16777216000 bytes. "
            "Error code 12 (Cannot allocate memory)"
        ),
        "host-memory",
    ),
    ("MemoryError", "host-memory"),
    ("terminate called after throwing an instance of 'std::bad_alloc'", "host-memory"),
    ("OSError: [Errno 28] No space left on device: '/psm_a1b2c3'", "shared-memory"),
    ("OSError: [Errno 28] No space left on device: '/home/ada/x.bin'", "disk-full"),
    ("OSError: [Errno 28] inotify watch limit reached", "inotify"),
    ("OSError: [Errno 24] Too many open files: 'x'", "too-many-files"),
    ("RuntimeError: can't start new thread", "too-many-threads"),
    (
        (
            "OpenBLAS blas_thread_init: pthread_create failed for thread 31 of 64: Resource "
            "temporarily unavailable"
        ),
        "too-many-threads",
    ),
    ("OSError: [WinError 1455] The paging file is too small for this operation", "page-file"),
    (
        (
            "RuntimeError: unable to open shared memory object </torch_41_1> in read-write "
            "mode: Too "
            "many open files (24)"
        ),
        "too-many-files",
    ),
    ("virtual memory exhausted: Cannot allocate memory", "compiler-out-of-memory"),
    ("libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes. This will limit", "locked-memory"),
    ("ibv_reg_mr_iova2 failed with error Cannot allocate memory", "locked-memory"),
    ("Bind for 0.0.0.0:8080 failed: port is already allocated.", "port-in-use"),
    (
        (
            "The server socket has failed to listen on any local network address. port: 29500, "
            "useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use"
        ),
        "port-in-use",
    ),
)


def test_a_pool_of_memory_is_no_disk() -> None:
    """Ggml speaks of space in a pool of its own."""
    text = "ggml_new_tensor_impl: not enough space in the context's memory pool (needed 9, had 8)"
    assert "disk-full" not in [kind for kind, _ in said(text)]


@pytest.mark.parametrize(("text", "kind"), COVERED, ids=[text[:40] for text, _ in COVERED])
def test_what_ran_out_is_named(text: str, kind: str) -> None:
    """Each resource has its finding."""
    assert [one for one, _ in said(text)] == [kind]


def test_the_library_that_the_page_file_is_too_small_for() -> None:
    """Windows names the DLL that it could not load."""
    text = (
        "OSError: [WinError 1455] The paging file is too small for this operation to complete. "
        'Error loading "C:\\torch\\lib\\cufft64_10.dll" or one of its dependencies.'
    )
    ((kind, title),) = said(text)
    assert kind == "page-file"
    assert "cufft64_10.dll" in title


def test_memory_that_jax_asks_for_in_vain_at_its_start_is_no_failure() -> None:
    """XLA tries smaller amounts; what fails later is the failure."""
    text = (
        "E1122 cuda_executor.cc:1365] [0] Failed to allocate device memory of 59.38GiB: "
        "RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
        "TypeError: add got incompatible shapes for broadcasting: (4,), (5,)."
    )
    assert said(text) == [("shapes-differ", "Shapes do not fit: 4 and 5")]


def test_pinned_memory_is_memory_of_the_machine() -> None:
    """CUDA reports "out of memory" for it as well."""
    text = (
        "torch.empty(400<<30,dtype=torch.uint8,pin_memory=True)\n"
        "torch.AcceleratorError: CUDA error: out of memory"
    )
    ((kind, title),) = said(text)
    assert kind == "pinned-memory"
    assert "not of the GPU" not in title


def test_commands_of_linux_are_not_shown_for_windows() -> None:
    """The log of a Windows machine gets no df and no ulimit."""
    (linux,) = explained("OSError: [Errno 28] No space left on device", os="linux")
    (windows,) = explained("OSError: [Errno 28] No space left on device", os="windows")
    assert len(windows.detection.recipes) < len(linux.detection.recipes)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("2.00 GiB", 2 << 30),
        ("512.00 KiB", 512 << 10),
        ("214,748 bytes", 214748),
        ("1..2 GiB", 0),
        ("", 0),
        ("many", 0),
    ],
)
def test_amounts(text: str, count: int) -> None:
    """An amount that is none counts as nothing."""
    assert size(text) == count


@pytest.mark.parametrize(
    "text",
    [
        "CUDA out of memory errors are explained in the manual",
        "out of memory. Tried to allocate " + "9" * 1900 + " GiB",
        "Epoch 3: memory 12.3 GiB, no space left in the batch",
        "Killed the old server",
        "No processes are using the port",
    ],
)
def test_silence_on_other_lines(text: str) -> None:
    """Prose and hostile text are no failure."""
    assert said(text) == []


def test_the_process_of_a_container_that_torch_lists_by_its_number_is_its_own() -> None:
    """Where the container has numbers of its own, torch takes itself for another process."""
    (one,) = explained(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a "
        "total capacity of 23.69 GiB of which 40.00 MiB is free. Process 7 has 23.60 GiB memory in "
        "use. Of the allocated memory 23.00 GiB is allocated by PyTorch, and 90.00 MiB is reserved "
        "by PyTorch but unallocated."
    )
    assert "Tensors of this process hold 23.00 GiB" in one.detection.message
    assert [recipe.title for recipe in one.detection.recipes] == ["Use less memory at once"]
