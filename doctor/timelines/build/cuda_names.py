"""Write since and until which release of CUDA and cuDNN their names exist.

    python -m doctor.timelines.build.cuda_names HIPIFY_CHECKOUT

AMD's HIPIFY keeps tables of every name of CUDA's interfaces with the release that added it and the
release that removed it (https://github.com/ROCm/HIPIFY, docs/tables). Names that every release has
are left out.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from doctor.timelines.cuda_names import FILE, Interface, Names

_ROW = re.compile(r"^\|`(\w{3,120})`\|([^|]*)\|[^|]*\|[^|]*\|([^|]*)\|", re.MULTILINE)
_RELEASE = re.compile(r"\d{1,2}\.\d{1,2}(?:\.\d{1,2})?")


def main(arguments: list[str]) -> int:
    """Read the tables of a checkout, and write the file."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m doctor.timelines.build.cuda_names HIPIFY_CHECKOUT\n")
        return 2
    found: dict[str, dict[str, str]] = {"CUDA": {}, "cuDNN": {}}
    for path in sorted(Path(arguments[0], "docs", "tables").glob("*_supported_by_*.md")):
        product = "cuDNN" if path.name.startswith("CUDNN") else "CUDA"
        found[product].update(rows(path.read_text("utf-8")))
    if not all(found.values()):
        sys.stderr.write(f"{arguments[0]}: docs/tables holds no table of HIPIFY\n")
        return 1
    interfaces = {product: _interface(names) for product, names in found.items()}
    names = Names(made=date.today().isoformat(), products=interfaces)
    FILE.write_bytes(names.encoded())
    counts = ", ".join(f"{product} {len(each)}" for product, each in found.items())
    sys.stdout.write(f"{FILE}: {counts}\n")
    return 0


def rows(text: str) -> Iterator[tuple[str, str]]:
    """Yield each name that came or went, with `since-gone`; either side may be empty."""
    for name, added, removed in _ROW.findall(text):
        since, gone = _RELEASE.search(added), _RELEASE.search(removed)
        if since or gone:
            yield name, f"{since[0] if since else ''}-{gone[0] if gone else ''}"


def _interface(names: dict[str, str]) -> Interface:
    spans: dict[str, list[str]] = {}
    for name, span in sorted(names.items()):
        spans.setdefault(span, []).append(name)
    releases = {one for span in spans for one in span.split("-") if one}
    return Interface(
        releases=tuple(sorted(releases, key=lambda one: tuple(map(int, one.split("."))))),
        spans={span: " ".join(each) for span, each in sorted(spans.items())},
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
