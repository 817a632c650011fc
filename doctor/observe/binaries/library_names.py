"""Which libraries are CUDA's and which are torch's, by their names."""

from __future__ import annotations

from doctor.base.lazy_pattern import Pattern

_CUDA = Pattern(
    r"lib(cudart|cublas|cublasLt|cudnn\w*|nvJitLink|nvrtc|nvrtc-builtins|nccl|cusparse|cusparseLt"
    r"|cufft|curand|cusolver|cusolverMg"
    r"|cupti|cufile|nvToolsExt|nvtx3interop|nvshmem_host|cudss)\.(alt\.)?so[.\d]*"
)
_TORCH = Pattern(r"lib(torch|c10|caffe2|shm)\w*\.so")


def is_cuda(name: str) -> bool:
    """Say whether a file name is that of a library of the CUDA toolkit, cuDNN or NCCL."""
    return _CUDA.fullmatch(name) is not None


def is_torch(name: str) -> bool:
    """Say whether a file name is that of a library of torch."""
    return _TORCH.fullmatch(name) is not None
