"""A small tree laid out as flash-attn's source is.

What setup.py says is read, and the kernel compiles in a second.
"""

from __future__ import annotations

from pathlib import Path

_SETUP = """\
raise SystemExit("setup.py was run")
if "80" in cuda_archs(): pass
if "90" in cuda_archs(): pass
nvcc_flags = [
"-O3",
"-std=c++17",
"--expt-relaxed-constexpr",
"--expt-extended-lambda",
"--use_fast_math",
# "-DFLASHATTENTION_DISABLE_LOCAL",
]
sources=[
    "csrc/flash_attn/flash_api.cpp",
    "csrc/flash_attn/src/flash_fwd_hdim32_fp16_causal_sm80.cu",
    "csrc/flash_attn/src/flash_fwd_hdim32_fp16_sm80.cu",
]
"""
_HEADER = """\
#pragma once
#include <cuda.h>
#define FLASH_NAMESPACE flash
namespace FLASH_NAMESPACE {
struct Flash_fwd_params {
    void *q_ptr, *k_ptr, *v_ptr, *o_ptr, *softmax_lse_ptr;
    long q_row_stride, k_row_stride, v_row_stride, o_row_stride, q_head_stride, k_head_stride, v_head_stride, o_head_stride;
    long q_batch_stride, k_batch_stride, v_batch_stride, o_batch_stride;
    int b, h, h_k, h_h_k_ratio, d, d_rounded, seqlen_q, seqlen_k, seqlen_q_rounded, seqlen_k_rounded;
    float scale_softmax, scale_softmax_log2, p_dropout, rp_dropout, scale_softmax_rp_dropout;
    unsigned char p_dropout_in_uint8_t;
    int window_size_left, window_size_right;
    bool is_causal, is_seqlens_k_cumulative;
};
template <typename T, int Headdim, bool Is_causal> void run_mha_fwd_(Flash_fwd_params &params, cudaStream_t stream);
}
"""  # noqa: E501
_UNIT = """\
#include <c10/cuda/CUDAException.h>
#include <cuda_fp16.h>
#include <cutlass/numeric_types.h>
#include "flash.h"
__global__ void halve(__half *values) { values[threadIdx.x] = __hmul(values[threadIdx.x], __float2half(0.5f)); }
namespace FLASH_NAMESPACE {
template<>
void run_mha_fwd_<cutlass::half_t, 32, %s>(Flash_fwd_params &params, cudaStream_t stream) {
    halve<<<1, 32, 0, stream>>>(static_cast<__half *>(params.o_ptr));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
}
}
"""  # noqa: E501


def lay_out(folder: Path) -> Path:
    """Make the tree in `folder` and return its root."""
    root = folder / "flash_attn-2.8.3"
    units, cutlass = root / "csrc/flash_attn/src", root / "csrc/cutlass/include/cutlass"
    for made in (units, cutlass):
        made.mkdir(parents=True)
    files = {
        root / "setup.py": _SETUP,
        root / "PKG-INFO": "Metadata-Version: 2.4\nName: flash_attn\nVersion: 2.8.3\n",
        root
        / "csrc/flash_attn/flash_api.cpp": '#include <c10/cuda/CUDAStream.h>\n#include "flash.h"\n',
        units / "flash.h": _HEADER,
        units / "flash_fwd_hdim32_fp16_causal_sm80.cu": _UNIT % "true",
        units / "flash_fwd_hdim32_fp16_sm80.cu": _UNIT % "false",
        units / "flash_fwd_hdim128_fp16_sm80.cu": "#error not the smallest\n",
        cutlass / "cutlass.h": "#pragma once\n",
        cutlass / "numeric_types.h": (
            "#pragma once\nnamespace cutlass { struct half_t { unsigned short bits; }; }\n"
        ),
    }
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    return root
