"""Refuse a release whose tag, versions, changelog and documents disagree.

`python integrations/release.py v0.2.0 --notes notes.md` writes the notes of the release, or names
everything that is wrong and exits with 1. Runs with the standard library of Python 3.11 or newer.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import tomllib

_ROOT = Path(__file__).resolve().parents[1]
_NOT_YET = "not on a package index yet"
"""What the documents say before the first release: false on the day of it."""


def faults(root: Path, tag: str) -> Iterator[str]:
    """Yield each reason against the release, as a sentence."""
    version = tag.removeprefix("v")
    if not re.fullmatch(r"v\d+\.\d+\.\d+((a|b|rc)\d+)?", tag):
        yield f"the tag {tag} is not of the form v1.2.3"
    for name in ("pyproject.toml", "pytest-plugin/pyproject.toml"):
        project = tomllib.loads((root / name).read_text(encoding="utf-8"))["project"]
        if project["version"] != version:
            yield f"{name} has version {project['version']}"
    package = (root / "doctor" / "__init__.py").read_text(encoding="utf-8")
    if f'\n__version__ = "{version}"\n' not in package:
        yield "doctor/__init__.py has another version"
    if not notes(root, version):
        yield f"CHANGELOG.md has no section '## {version}'"
    for name in _documents(root):
        if _NOT_YET in " ".join((root / name).read_text(encoding="utf-8").split()):
            yield f"{name} says that doctor is {_NOT_YET}"


def notes(root: Path, version: str) -> str:
    """Return the section of a version in the changelog, and an empty text without one."""
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    for section in re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]:
        heading, _, text = section.partition("\n")
        if heading.split()[:1] == [version]:
            return text.strip() + "\n"
    return ""


def _documents(root: Path) -> list[str]:
    """Return the names of documents and templates: what a user reads."""
    command = ["git", "ls-files", "-z", "--", "*.md", "doctor/cli/templates"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.split("\0") if name and not name.endswith(".py")]


def main() -> int:
    """Print what is wrong, or write the notes."""
    parser = argparse.ArgumentParser(description="Compare a tag with what would be released.")
    parser.add_argument("tag")
    parser.add_argument("--notes", type=Path, required=True)
    asked = parser.parse_args()
    found = list(faults(_ROOT, asked.tag))
    for fault in found:
        print(f"::error title=No release::{fault}")
    if not found:
        asked.notes.write_text(notes(_ROOT, asked.tag.removeprefix("v")), encoding="utf-8")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
