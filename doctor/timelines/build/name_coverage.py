"""Name the distributions and releases that the timeline of names covers, for the documentation."""

from __future__ import annotations

from pathlib import Path

from doctor.timelines.name_file import NameFile


def coverage(folder: Path) -> str:
    """Return a Markdown table of the files in a folder."""
    rows = [("distribution", "import names", "releases", "first", "last"), ("---",) * 5]
    for path in sorted(folder.glob("*.names")):
        header = NameFile.read(path).header
        imports = ", ".join(f"`{name}`" for name in header.imports)
        releases = header.releases
        number = str(len(releases))
        rows.append((header.distribution, imports, number, releases[0], releases[-1]))
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
