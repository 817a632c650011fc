"""Time `doctor check` with its quick canaries beside a bare script that runs the same checks.

    .venv/bin/python benchmarks/canaries.py [--python P] [--runs N]

The bare script runs every check script that doctor runs, one after another in one process: no
isolation, no time bounds, no probes, no judgement. Both begin with empty caches of Inductor and
Triton, in a temporary folder each; to compile takes most of the time of both. The second check
follows in the same environment, where the verdicts of the first one are known.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import install, measure, middle, span, subject
from doctor.base.bundled import bundled
from doctor.catalog.check_headers import load_checks
from doctor.model.scales import Tier
from tests import environments

DOCTOR, AGAIN, BARE = (
    "doctor check --fresh",
    "doctor check, the second time",
    "one process, the same scripts",
)
TARGET, SHARE = 1.3, 0.1
"""At most this many times as long as the bare script; of a check, for the second one."""
_SCRIPT = """\
import os, runpy, sys, tempfile
import torch
with tempfile.TemporaryDirectory() as folder:
    for name in "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TRITON_HOME", "TORCH_EXTENSIONS_DIR", "XDG_CACHE_HOME", "TMPDIR":
        os.environ[name] = os.path.join(folder, name)
        os.mkdir(os.environ[name])
    tempfile.tempdir = None
    os.chdir(folder)
    os.environ.update(CANARY_TIER="quick", CANARY_DEVICES="cpu", CANARY_RESULT=os.path.join(folder, "result.json"))
    for script in sys.argv[1:]:
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as end:
            assert not end.code, (script, end.code)
    os.chdir("/")
"""  # noqa: E501


def main() -> int:
    """Measure, print a table, and return 1 where the target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--python",
        type=Path,
        help="the interpreter to examine; default: one with torch 2.13.0, made for this",
    )
    parser.add_argument("--runs", type=int, default=5, help="how often each command is measured")
    options = parser.parse_args()
    python = (options.python or environments.patient("torch")).absolute()
    scripts = [check.path for check in load_checks().values() if check.header.tier is Tier.QUICK]
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        os.environ["DOCTOR_CACHE_DIR"] = str(Path(folder) / "verdicts")
        doctor = (str(install(Path(folder) / "venv")), "check", "--python", str(python))
        commands = {
            DOCTOR: (*doctor, "--fresh"),
            AGAIN: doctor,
            BARE: (str(python), "-c", _SCRIPT, *map(str, scripts)),
        }
        runs = measure(commands, options.runs, Path(folder))
    ratio, share = (
        middle(runs[DOCTOR]) / middle(runs[BARE]),
        middle(runs[AGAIN]) / middle(runs[DOCTOR]),
    )
    print(
        f"{subject(python)}; {options.runs} runs of each, in turns; {os.cpu_count()} "
        f"processors; {time.strftime('%Y-%m-%d')}"
    )
    print(f"{len(scripts)} scripts of {bundled('checks').name}/\n")
    print(
        "| command | seconds, median | min – max | peak MiB of one process |\n| --- | --- "
        "| --- | --- |"
    )
    for name, found in runs.items():
        print(
            f"| {name} | {middle(found):.2f} | {span(found)} | "
            f"{max(run.memory for run in found):.0f} |"
        )
    print(f"\ndoctor takes {ratio:.2f} times as long (target: at most {TARGET})")
    print(f"the second check takes {share:.3f} of the first (target: at most {SHARE})")
    return 0 if ratio <= TARGET and share <= SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
