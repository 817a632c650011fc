"""Load the unit and, where asked, attend with it on the GPU.

Compare with the same in float64 on the CPU.
"""

import ctypes
import os
import sys

import torch

unit = ctypes.CDLL(os.path.abspath("unit.so"), mode=os.RTLD_NOW)
print("gpu", torch.cuda.is_available())
if sys.argv[1] == "load":
    sys.exit(0)
width, causal, seed = int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
torch.manual_seed(seed)
batch, length, heads = 2, 200, 3
query, key, value = (
    torch.randn(batch, length, heads, width, device="cuda").half() for _ in range(3)
)
out = torch.full_like(query, float("nan"))
lse = torch.empty(batch, heads, 256, device="cuda")
torch.cuda.synchronize()
pointers = [ctypes.c_void_p(each.data_ptr()) for each in (query, key, value, out, lse)]
code = unit.canary_attend(*pointers, batch, length, heads, width, causal)
assert code == 0, f"the kernel ended with CUDA error {code}"
q, k, v = (each.cpu().double().transpose(1, 2) for each in (query, key, value))
scores = q @ k.transpose(2, 3) / width**0.5
if causal:
    scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), float("-inf"))
wanted = (scores.softmax(-1) @ v).transpose(1, 2)
error = (out.cpu().double() - wanted).abs().max().item()
assert error <= 0.01, f"largest error against attention in float64 {error:.3g}, allowed 0.01"
print("largest error", error)
