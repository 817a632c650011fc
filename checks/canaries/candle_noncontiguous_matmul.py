# /// script
# requires-python = ">=3.8"
# dependencies = []
#
# [tool.doctor]
# kind = "canary"
# role = "runs-candle"
# summary = "Multiplies views of every layout with the workspace's candle, against float64"
# target = "cargo"
# needs = ["candle-core"]
# tier = "deep"
# quick_where = "candle.built"
# timeout = 900
# devices = "host"
# cases = [
#     "compile", "plain", "contiguous-copy", "transposed", "sliced", "batched", "thin", "broadcast",
#     "rank-5",
# ]
# ///
"""candle-core multiplies matrices correctly, whatever the strides of its operands.

A program of ours is built against the workspace's own candle: the same source, the same commit, the
versions of its lock. It multiplies every view with every other one and compares with products that
it computes itself in float64. Values are small integers, so each product is exact and a wrong
number is a failure. What a release may not refuse either: operands made contiguous
(`contiguous-copy`), and plain transposes. Where candle refuses another layout with an error, that
is told and no failure.

`compile` fails with rustc's first error where candle itself does not compile; a build that cannot
begin here is skipped. The processor is always tried, built without the accelerators' features; CUDA
and Metal where the workspace has their feature on.
"""

from __future__ import annotations

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from canary_report import Report  # noqa: E402
from candle.outcomes import exact, refusable, spread  # noqa: E402
from candle.trial import Trial  # noqa: E402

REPORT = Report()
PROGRAM = "matmul"
CASES = {
    "plain": exact,
    "contiguous-copy": exact,
    "transposed": exact,
    "sliced": refusable,
    "batched": refusable,
    "thin": refusable,
    "broadcast": spread,
    "rank-5": refusable,
}
"""How each case is judged."""


if __name__ == "__main__":
    REPORT.run(Trial(REPORT, PROGRAM, CASES).run)
