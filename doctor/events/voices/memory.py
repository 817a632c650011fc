"""What runs out: memory of GPU and machine, shared memory, disk, files, threads and locks."""

from __future__ import annotations

from doctor.events.forms import Form, Voice

_SIZE = r"[\d.,]+ ?(?:[KMGT]i?B|bytes|MB|GB)"

VOICES = (
    Voice(
        "CUDA allocator",
        (
            Form(
                "gpu-memory",
                rf"(?:CUDA|HIP|XPU) out of memory\. Tried to allocate (?P<wanted>{_SIZE})"
                rf"(?:\.? \(?GPU (?P<gpu>\d{{1,3}})(?: has a total capaci?ty of|;) "
                rf"(?P<capacity>{_SIZE}))?"
                rf"(?: of which (?P<free>{_SIZE}) is free)?",
                ("out of memory. tried to allocate",),
            ),
            Form(
                "gpu-memory",
                r"(?:torch\.(?:cuda\.)?OutOfMemoryError|Allocation on "
                r"device|CUDA_ERROR_OUT_OF_MEMORY"
                r"|cudaErrorMemoryAllocation|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED"
                r"|(?i:\bCUDA (?:driver |runtime )?error(?: 2| \(2\))?:? ?(?:: )?out of memory)"
                r"|(?i:cuda runtime error \(2\)))",
                (
                    "outofmemoryerror",
                    "allocation on device",
                    "cuda_error_out_of_memory",
                    "cudaerrormemoryallocation",
                    "_status_alloc_failed",
                    "error: out of memory",
                    "runtime error (2)",
                ),
            ),
            Form(
                "gpu-memory",
                rf"(?:cudaMalloc failed: out of memory|failed to allocate "
                rf"(?:CUDA|ROCm|Vulkan|Metal)\d? ?buffer"
                rf"|allocating (?P<wanted>{_SIZE}) on device (?P<gpu>\d{{1,3}}): cudaMalloc failed"
                r"|ErrorOutOfDeviceMemory|requested buffer size exceeds)",
                (
                    "cudamalloc failed",
                    "failed to allocate cuda",
                    "failed to allocate rocm",
                    "failed to allocate vulkan",
                    "failed to allocate metal",
                    "erroroutofdevicememory",
                    "requested buffer size exceeds",
                ),
            ),
            Form(
                "gpu-memory",
                rf"cupy\.cuda\.memory\.OutOfMemoryError: Out of memory allocating "
                rf"(?P<wanted>{_SIZE})"
                rf"(?: \(allocated so far: (?P<allocated>{_SIZE})\))?",
                ("out of memory allocating",),
            ),
        ),
    ),
    Voice(
        "XLA",
        (
            Form(
                "gpu-memory",
                rf"RESOURCE_EXHAUSTED: (?:Out of memory|XLA:TPU|Failed to "
                rf"allocate)(?:[^\n]{{0,60}}?allocat\w{{1,6}} "
                rf"(?P<wanted>{_SIZE}))?",
                ("resource_exhausted",),
            ),
            Form(
                "gpu-memory",
                r"OOM when allocating tensor with shape ?\[(?P<shape>[\d,]{1,80})\]",
                ("oom when allocating",),
            ),
        ),
    ),
    Voice(
        "vLLM",
        (
            Form(
                "kv-cache-memory",
                r"No available memory for the cache blocks",
                ("no available memory for the cache",),
            ),
            Form(
                "kv-cache-too-small",
                r"(?i)max seq(?:uence)? len(?:gth)? \(?(?P<wanted>\d+)\)?.{0,60}?(?:larger|KV"
                r" cache is needed)"
                r"(?:.{0,200}?(?:KV cache \(?(?P<free>\d+)\)?|(?P<needed>[\d.]+ GiB) KV cache))?",
                ("max seq len", "max sequence length"),
            ),
            Form(
                "kv-cache-too-small",
                r"(?P<needed>[\d.]+) GiB KV cache is needed.{0,60}larger than the available "
                r"KV cache memory"
                r" \((?P<available>[\d.]+) GiB\)",
                ("kv cache is needed",),
            ),
            Form(
                "gpu-memory-taken",
                r"Free memory on device (?:cuda:\d+ )?\((?P<free>[\d.]+)/(?P<capacity>[\d.]+)"
                r" GiB\) on startup is "
                r"less than desired GPU memory utilization \((?P<share>[\d.]+), "
                r"(?P<wanted>[\d.]+) GiB\)",
                ("is less than desired gpu memory",),
            ),
        ),
    ),
    Voice(
        "allocator",
        (
            Form(
                "host-memory",
                rf"DefaultCPUAllocator: (?:can't allocate memory|not enough memory): you "
                rf"tried to allocate "
                rf"(?P<wanted>{_SIZE})",
                ("defaultcpuallocator",),
            ),
            Form(
                "host-memory",
                rf"(?:MemoryError: )?Unable to allocate (?P<wanted>{_SIZE}) for an array",
                ("unable to allocate",),
            ),
            Form(
                "host-memory",
                r"^(?:\w[\w.]{0,60}\.)?MemoryError(?::|\s*$)|\bstd::bad_alloc\b|memory "
                r"allocation of (?P<wanted>\d+ "
                r"bytes) failed|c10::Error.{0,20}alloc_cpu|Cannot allocate memory|\[Errno "
                r"12\]|os error 12\b",
                (
                    "memoryerror",
                    "bad_alloc",
                    "memory allocation of",
                    "alloc_cpu",
                    "cannot allocate memory",
                    "errno 12",
                    "os error 12",
                ),
            ),
            Form(
                "page-file",
                r"(?i)paging file is too small|os error 1455|WinError 1455|Die Auslagerungsdatei",
                ("paging file is too small", "error 1455", "auslagerungsdatei"),
                general=True,
            ),
            Form(
                "locked-memory",
                r"(?i)(?:ibv_(?:reg_mr|create_\w+)|RLIMIT_MEMLOCK|locked memory|\bmlock"
                r"|memlock limit)[^\n]{0,100}"
                r"(?:Cannot allocate memory|fail|too (?:low|small)|error|limit)",
                ("ibv_", "rlimit_memlock", "locked memory", "mlock"),
            ),
        ),
    ),
    Voice(
        "system",
        (
            Form(
                "shared-memory",
                r"(?i)insufficient shared memory \(shm\)|unable to (?:open|allocate|resize|mm"
                r"ap) shared memory"
                r"|No space left on device: ?'/(?:psm_|torch_|dev/shm)|shm_open.{0,60}(?:fail"
                r"|error)"
                r"|unable to write to file </torch_\w+>|(?:/dev/shm|shm).{0,40}(?:no space "
                r"left|too small)",
                (
                    "shared memory",
                    "no space left on device: '/",
                    "shm_open",
                    "unable to write to file </torch",
                    "/dev/shm",  # noqa: S108 - a word to look for
                ),
            ),
            Form(
                "disk-full",
                r"(?i)(?:(?:\[Errno 28\] )?No space left on device|os error 28|ENOSPC: no "
                r"space|not enough (?:free )?"
                r"(?:disk )?space(?: (?:on|for|left|available|in [/~'\"])|[^\w ]|\s{0,9}$)"
                r"|There is not enough space on the disk|Disk quota "
                r"exceeded|\[Errno 122\])"
                r"(?:: ?['\"](?P<path>[^'\"]{1,300})['\"])?",
                (
                    "no space left on device",
                    "errno 28",
                    "os error 28",
                    "enospc",
                    "not enough free",
                    "not enough disk",
                    "not enough space",
                    "disk quota exceeded",
                    "errno 122",
                ),
            ),
            Form(
                "inotify",
                r"(?i)inotify (?:watch |instance )?limit reached|System limit for number of "
                r"file watchers",
                ("inotify", "number of file watchers"),
            ),
            Form(
                "too-many-files",
                r"(?i)Too many open files|\[Errno 24\]|os error 24\b|EMFILE",
                ("too many open files", "errno 24", "os error 24", "emfile"),
            ),
            Form(
                "too-many-threads",
                r"(?i)can't start new thread|pthread_create failed|Resource temporarily "
                r"unavailable.{0,60}(?:thread|fork)"
                r"|(?:thread|fork).{0,60}Resource temporarily unavailable",
                ("can't start new thread", "pthread_create failed", "resource temporarily unav"),
            ),
        ),
    ),
    Voice(
        "Triton",
        (
            Form(
                "kernel-resources",
                r"out of resources?: (?P<resource>[\w ]{3,40}), Required: (?P<wanted>\d+), "
                r"Hardware limit: (?P<limit>\d+)",
                ("out of resource: ", "out of resources: "),
            ),
        ),
    ),
)
