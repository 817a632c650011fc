"""Build the timeline of public Python names from the sources of published releases.

`python -m doctor.timelines.build.names [DISTRIBUTION …]` reads each release from the package index
that pip is configured for, and writes one file per distribution. Nothing is imported or run.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import json
import sys
import time
import zipfile
import zlib
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import requests
from pypi_simple import NoSuchProjectError

from doctor.timelines.build.name_coverage import coverage
from doctor.timelines.build.name_files import Member, Release
from doctor.timelines.build.name_history import Histories
from doctor.timelines.build.name_owners import owners
from doctor.timelines.build.name_package import Package, Scanner
from doctor.timelines.build.name_packages import COVERED, Covered
from doctor.timelines.build.name_selection import select
from doctor.timelines.build.name_sources import Index
from doctor.timelines.names import FOLDER

_REFUSED = (
    NoSuchProjectError,
    OSError,
    requests.RequestException,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
)


def collect(index: Index, covered: Covered) -> Histories:
    """Read the releases of one distribution."""
    releases = index.releases(
        covered.distribution,
        since=covered.since,
        every=covered.every,
        patches=covered.patches,
    )
    histories, scanner = Histories(), Scanner()
    with ThreadPoolExecutor(1) as pool:  # the next release is fetched while one is read
        ahead: Future[list[Member]] | None = None
        for number, release in enumerate(releases):
            waiting = ahead or pool.submit(_members, index, release)
            following = releases[number + 1 : number + 2]
            ahead = pool.submit(_members, index, following[0]) if following else None
            try:
                members = waiting.result()
            except _REFUSED as error:
                _print(f"{covered.distribution} {release.version}: {error}")
                continue
            package = Package(members, set(covered.imports), scanner)
            scanner.forget()
            if package.modules:
                histories.add(release, package)
    return histories


def encode(histories: Histories, covered: Covered, made: str) -> bytes:
    """Return the file of one distribution."""
    select(histories)
    roots = sorted({_root(name, covered.imports) for name in histories.modules})
    return histories.encode(covered.distribution, roots, made)


def _members(index: Index, release: Release) -> list[Member]:
    return list(index.members(release))


def _root(module: str, imports: tuple[str, ...]) -> str:
    return next((x for x in imports if module == x or module.startswith(x + ".")), imports[0])


def main() -> None:
    """Build the files of some distributions, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("distributions", nargs="*", help="only these; default: all")
    parser.add_argument("--missing", action="store_true", help="only those without a file")
    parser.add_argument("--list", action="store_true", help="write what is covered, as a table")
    parser.add_argument("--into", type=Path, default=FOLDER, help="folder to write into")
    options = parser.parse_args()
    if options.list:
        sys.stdout.write(coverage(options.into))
        return
    index = Index()
    made = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    gc.disable()  # syntax trees are many objects and no cycles
    for covered in COVERED:
        if options.distributions and covered.distribution not in options.distributions:
            continue
        path = options.into / f"{covered.distribution}.names"
        if options.missing and path.exists():
            continue
        started = time.monotonic()
        try:
            histories = collect(index, covered)
        except _REFUSED as error:
            _print(f"{covered.distribution}: {error}")
            continue
        if not histories.releases:
            _print(f"{covered.distribution}: nothing")
            continue
        data = encode(histories, covered, made)
        path.write_bytes(data)
        gc.collect()
        _print(f"{covered.distribution}: {len(data):,} bytes, {time.monotonic() - started:.0f} s")
    write_owners(options.into)


def write_owners(into: Path) -> None:
    """Write which distributions have a name to import, a line for each."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(list(found))}" for name, found in owners(into).items()
    )
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (into / "owners.json").write_text(text, encoding="utf-8")


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
