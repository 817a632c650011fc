# /// script
# requires-python = ">=3.8"
# dependencies = []
#
# [tool.doctor]
# kind = "canary"
# role = "runs-candle"
# summary = "Adds across handles of one device and the CPU, with the workspace's own candle"
# target = "cargo"
# needs = ["candle-core"]
# tier = "deep"
# quick_where = "candle.built"
# timeout = 900
# devices = "host"
# cases = ["compile", "one-handle", "two-handles", "cpu-and-device"]
# ///
"""candle-core never loses an operand that belongs to another handle of the same device.

A program of ours is built against the workspace's own candle, opens the device twice and adds two
results that nothing has waited for. Right, or candle's own error (`device mismatch in add`), is a
pass; a sum that lacks an operand is a failure. So it is for a tensor of the processor and one of
the device. Any other error decides nothing: `one-handle` says whether the device adds at all, and
fails where it does not.

The processor is always tried, which also type-checks what is for Metal; CUDA and Metal where the
workspace has their feature on.
"""

from __future__ import annotations

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from canary_report import Report  # noqa: E402
from candle.outcomes import alone, together  # noqa: E402
from candle.trial import Trial  # noqa: E402

REPORT = Report()
PROGRAM = "add"
CASES = {
    "one-handle": alone,
    "two-handles": together,
    "cpu-and-device": together,
}
"""How each case is judged."""


if __name__ == "__main__":
    REPORT.run(Trial(REPORT, PROGRAM, CASES).run)
