"""Times a clone of a torch environment beside `cp -a`, and checks that the original stays.

    .venv/bin/python benchmarks/clone.py [--python P] [--runs N]

The environment that is made for this has some forty distributions. Both ways run in turns. Bytes
are blocks of the disk that did not exist before, those of folders too. Inside one of the clones, uv
removes torch and moves numpy; the SHA-256 of every file of the original is compared at the end.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from doctor.environments.clone import clone
from doctor.environments.environment import Environment, environment_at
from doctor.host import Host
from tests import environments

_MORE = ("torchvision==0.28.0", "transformers", "pandas", "pip")
TARGET_SECONDS, TARGET_SHARE = 5.0, 0.02
"""A clone takes at most so many seconds, and this share of the bytes of a copy."""


def main() -> int:
    """Measure, print a table, and return 1 where a target is missed or a file changed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", type=Path, help="an interpreter of the environment to clone")
    parser.add_argument("--runs", type=int, default=3, help="how often each way is measured")
    options = parser.parse_args()
    python = options.python or environments.variant("torch", *_MORE)
    try:
        environment = environment_at(python.absolute(), Host())
        return measure(environment, options.runs)
    finally:
        if options.python is None:
            environments.remove(python)


def measure(environment: Environment, times: int) -> int:
    """Clone and copy in turns, print the table, and return the exit code."""
    before = _digests(environment.root)
    clones, copies = [], []
    for number in range(times):
        clones.append(_clone(environment, is_changed=number == 0))
        copies.append(_copy(environment.root))
    is_same = _digests(environment.root) == before
    metadata = sum(len(list(folder.glob("*.dist-info"))) for folder in environment.folders)
    print(
        f"{metadata} distributions, {len(before):,} files and links; {times} runs of each, in "
        f"turns; {os.cpu_count()} processors; {time.strftime('%Y-%m-%d')}\n\n"
        "| way | seconds, median | min – max | MiB on the disk |\n| --- | --- | --- | --- |"
    )
    for name, runs in (("`doctor.environments.clone`", clones), ("`cp -a`", copies)):
        seconds = [run[0] for run in runs]
        print(
            f"| {name} | {statistics.median(seconds):.2f} | {min(seconds):.2f} – "
            f"{max(seconds):.2f} | {runs[0][1] / (1 << 20):,.1f} |"
        )
    middle, share = statistics.median(run[0] for run in clones), clones[0][1] / copies[0][1]
    faster = statistics.median(run[0] for run in copies) / middle
    print(f"\nThe clone takes 1/{faster:.0f} of the time and {share:.1%} of the bytes.")
    print(f"The original is {'byte for byte the same' if is_same else 'CHANGED'}.")
    return 0 if is_same and middle <= TARGET_SECONDS and share <= TARGET_SHARE else 1


def _clone(environment: Environment, *, is_changed: bool) -> tuple[float, int]:
    with clone(environment, Host()) as trial:
        taken = trial.seconds, _new_bytes(trial.environment.root, environment.root)
        if is_changed:
            python = str(environment.python)
            for words in (("uninstall", "torch"), ("install", "numpy<2.3")):
                ran = trial.run(
                    [environments.uv(), "pip", words[0], "--python", python, words[1]], timeout=600
                )
                if not ran.ok:
                    raise SystemExit(ran.output)
        return taken


def _copy(root: Path) -> tuple[float, int]:
    folder = Path(tempfile.mkdtemp(prefix=".benchmark-", dir=root.parent))
    try:
        started = time.monotonic()
        subprocess.run(["cp", "-a", str(root), str(folder / "copy")], check=True)
        return time.monotonic() - started, _new_bytes(folder / "copy", root)
    finally:
        shutil.rmtree(folder)


def _new_bytes(folder: Path, original: Path) -> int:
    """Return the bytes of the blocks below a folder that the original does not share."""
    shared = {path.lstat().st_ino for path in original.rglob("*")}
    found = {}
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        if status.st_ino not in shared:
            found[status.st_ino] = status.st_blocks * 512
    return sum(found.values())


def _digests(root: Path) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    for path in root.rglob("*"):
        status = path.lstat()
        content: str | None = None
        if path.is_symlink():
            content = os.readlink(path)  # noqa: PTH115 - as it stands
        elif path.is_file():
            with path.open("rb") as file:
                digest = hashlib.sha256()
                while block := file.read(1 << 20):
                    digest.update(block)
            content = digest.hexdigest()
        found[str(path.relative_to(root))] = status.st_mode, status.st_mtime_ns, content
    return found


if __name__ == "__main__":
    sys.exit(main())
