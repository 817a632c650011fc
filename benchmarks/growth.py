"""Draw how the processor time of doctor grows with what it reads.

    .venv/bin/python benchmarks/growth.py [--out growth.svg] [--runs 3]

Four curves: known issues (the catalog several times over, judging one log), distributions of an
environment, crates of a lock file, and megabytes of a log. Each point is the least processor time
of the runs, children included. The table goes to standard output, the picture to the file.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.long_log import lines
from doctor.catalog.loading import load
from doctor.pipeline.assess import assess
from doctor.pipeline.logs import observation_from_logs, read_log
from tests import command

WIDTH, HEIGHT, MARGIN = 360, 240, 48
_CRATE = '[[package]]\nname = "crate-{n}"\nversion = "1.0.{n}"\n'
_METADATA = "Metadata-Version: 2.1\nName: package-{n}\nVersion: 1.{n}\nRequires-Dist: package-{m}\n"


class Curve(msgspec.Struct, frozen=True):
    """One measurement: what grows, its sizes, and the seconds of processor time at each."""

    name: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]


def main() -> int:
    """Measure, print the table, write the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("growth.svg"))
    parser.add_argument("--runs", type=int, default=3)
    wanted = parser.parse_args()
    measured: list[tuple[str, tuple[int, ...], Callable[[Path, int], float]]] = [
        ("known issues, in catalogs", (1, 2, 4, 8), issues),
        ("distributions", (0, 100, 200, 400, 800), distributions),
        ("crates of a lock", (10, 250, 500, 1000, 2000), crates),
        ("megabytes of a log", (1, 5, 10, 20, 40), log),
    ]
    curves = [curve(*one, runs=wanted.runs) for one in measured]
    wanted.out.write_text(picture(curves), encoding="utf-8")
    return 0


def curve(
    name: str, sizes: tuple[int, ...], measure: Callable[[Path, int], float], runs: int
) -> Curve:
    """Measure every size, and print a line for each."""
    taken = []
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            taken.append(min(measure(Path(folder), size) for _ in range(runs)))
        print(f"{name:<28} {size:>6} {taken[-1]:>8.3f} s", flush=True)
    return Curve(name, sizes, tuple(taken))


def issues(_: Path, times: int) -> float:
    """Judge a log by the catalog and copies of it under other ids."""
    own = load()
    copies = {
        f"{name}-{number}": issue
        for number in range(1, times)
        for name, issue in own.issues.items()
    }
    catalog = msgspec.structs.replace(own, issues={**own.issues, **copies})
    text = io.BytesIO("\n".join(lines(100_000)).encode())
    seen = observation_from_logs((read_log("build.log", text, catalog),))
    begun = time.process_time()
    assess(seen, catalog, command="diagnose")
    return time.process_time() - begun


def distributions(folder: Path, count: int) -> float:
    """Run the static check of an environment with so many packages."""
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True
        )
        site = next((folder / "venv").glob("lib/python*/site-packages"))
        for number in range(count):
            info = site / f"package_{number}-1.{number}.dist-info"
            info.mkdir()
            text = _METADATA.format(n=number, m=max(number - 1, 0))
            (info / "METADATA").write_text(text, encoding="utf-8")
            (info / "RECORD").write_text(f"package_{number}/__init__.py,,\n", encoding="utf-8")
    return _processor_time(["check", "--no-canaries", "--python", str(python)], folder)


def crates(folder: Path, count: int) -> float:
    """Run the static check of a workspace with so many locked crates."""
    manifest = '[package]\nname = "app"\nversion = "1.0.0"\n\n[dependencies]\ncandle-core = "0.9"\n'
    (folder / "Cargo.toml").write_text(manifest, encoding="utf-8")
    packages = "\n".join(_CRATE.format(n=number) for number in range(count))
    (folder / "Cargo.lock").write_text(f"version = 3\n\n{packages}", encoding="utf-8")
    return _processor_time(["check", "--no-canaries", "--project", str(folder)], folder)


def log(folder: Path, megabytes: int) -> float:
    """Diagnose a build log of so many megabytes."""
    path = folder / "build.log"
    if not path.exists():
        with path.open("w", encoding="utf-8") as file:
            file.writelines(lines(megabytes * 1_000_000))
    return _processor_time(["diagnose", str(path)], folder)


def _processor_time(arguments: Sequence[str], folder: Path) -> float:
    argv = [*command.COLD, *arguments]
    child = subprocess.Popen(
        argv,
        cwd=folder,
        env=command.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(child.pid, 0)
    if (code := os.waitstatus_to_exitcode(status)) not in (0, 1, 4):
        raise SystemExit(f"{' '.join(argv)} ended with {code}")
    return usage.ru_utime + usage.ru_stime


def picture(curves: Sequence[Curve]) -> str:
    """Return the curves as an SVG document, two in a row."""
    rows = -(-len(curves) // 2)
    panels = "\n".join(
        f'<g transform="translate({number % 2 * WIDTH} {number // 2 * HEIGHT})">{_panel(one)}</g>'
        for number, one in enumerate(curves)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * WIDTH}" height="{rows * HEIGHT}" '
        f'font-family="sans-serif" font-size="11">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{panels}\n</svg>\n'
    )


def _panel(one: Curve) -> str:
    right, bottom = WIDTH - MARGIN // 2, HEIGHT - MARGIN
    wide, high = max(one.sizes), max(one.seconds)
    points = [
        (
            MARGIN + (right - MARGIN) * size / wide,
            bottom - (bottom - MARGIN) * seconds / high,
        )
        for size, seconds in zip(one.sizes, one.seconds, strict=True)
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#1f6feb"/>' for x, y in points)
    return (
        f'<text x="{MARGIN}" y="20" font-weight="bold">{one.name}</text>'
        f'<path d="M{MARGIN} {MARGIN}V{bottom}H{right}" fill="none" stroke="#888"/>'
        f'<polyline points="{path}" fill="none" stroke="#1f6feb" stroke-width="2"/>{dots}'
        f'<text x="{MARGIN - 6}" y="{MARGIN + 4}" text-anchor="end">{high:.2f} s</text>'
        f'<text x="{MARGIN - 6}" y="{bottom}" text-anchor="end">0</text>'
        f'<text x="{right}" y="{bottom + 16}" text-anchor="end">{wide}</text>'
    )


if __name__ == "__main__":
    sys.exit(main())
