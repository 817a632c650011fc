"""Time `doctor check --no-canaries` in a large Cargo workspace beside `cargo metadata`, in turns.

    .venv/bin/python benchmarks/workspace_check.py [--crates N] [--runs N]

The workspace is made for this: path crates in a lock, each with a feature and a source that speaks
of devices; nothing is built or fetched. doctor comes from its wheel; its time holds one `cargo
metadata`, which cargo answers with all packages and features.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import install, measure, middle, span
from tests import workspaces

DOCTOR, CARGO = "doctor check --no-canaries", "cargo metadata"
_CRATE = (
    '[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n\n[features]\ncuda = []\n'
)
_SOURCE = (
    "use candle_core::Device;\n\npub fn run(device: &Device) {{\n    let _ = device; // "
    "{name}\n}}\n"
) * 20


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--crates", type=int, default=400, help="how many crates the workspace has")
    parser.add_argument("--runs", type=int, default=9, help="how often each command is measured")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        workspace = workspace_of(Path(folder), options.crates)
        doctor = (str(install(Path(folder) / "venv")), "check", "--no-canaries")
        cargo = ("cargo", "metadata", "--offline", "--locked", "--format-version", "1")
        runs = measure({DOCTOR: doctor, CARGO: cargo}, options.runs, workspace)
    print(
        f"{options.crates} crates; {options.runs} runs of each, in turns; {os.cpu_count()} "
        f"processors; {time.strftime('%Y-%m-%d')}\n"
    )
    print("| command | seconds, median | min – max |\n| --- | --- | --- |")
    for name, found in runs.items():
        print(f"| `{name}` | {middle(found):.2f} | {span(found)} |")
    print(
        f"\ndoctor takes {middle(runs[DOCTOR]) / middle(runs[CARGO]):.1f} times as long as "
        "cargo alone"
    )
    return 0


def workspace_of(folder: Path, crates: int) -> Path:
    """Make a workspace whose one program depends on candle-core and on all the other crates."""
    names = [f"part-{number}" for number in range(crates)]
    listed = "".join(f'{name} = {{ path = "parts/{name}" }}\n' for name in names)
    files = {f"parts/{name}/Cargo.toml": _CRATE.format(name=name) for name in names}
    files |= {f"parts/{name}/src/lib.rs": _SOURCE.format(name=name) for name in names}
    manifest = f'{workspaces.APP}{listed}\n[workspace]\nmembers = ["parts/*"]\n'
    return workspaces.stand_in(folder / "ws", files, manifest=manifest)


if __name__ == "__main__":
    sys.exit(main())
