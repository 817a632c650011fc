"""Find packages of which the metadata alone are left: an entry point of theirs cannot be loaded.

pytest, Jupyter, MLflow and many others load each entry point of a group, whoever installed it. So
a plug-in whose folder was deleted, or whose sources are gone, ends a program that never used it.
https://packaging.python.org/en/latest/specifications/entry-points/
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from doctor.base.requirements import normalize_name
from doctor.fixes import installer
from doctor.host import read_regular
from doctor.model.facts import Facts
from doctor.model.fixes import Step
from doctor.observe.installed.editables import folder_of
from doctor.observe.scene import Distribution
from doctor.repair.damage import listed
from doctor.repair.failures import Failure
from doctor.repair.reading import every_line

_MISSING = re.compile(r"No module named ['\"](\w{1,100})")
_LINE = re.compile(r"^[^\[#\n=]{1,200}=[ \t]*(\w{1,100})", re.MULTILINE)
_BYTES = 1 << 16


def leftovers(
    failure: Failure, here: Mapping[str, Distribution], wanted: Collection[str], facts: Facts
) -> Iterator[tuple[str, tuple[Step, ...], str]]:
    """Yield such a package whose module is missing: its name, the steps, and a note.

    What another package asks for, or a list of the project (`wanted`), is no leftover.
    """
    missing = {*_MISSING.findall(failure.chain)}
    found = [one for one in here.values() if missing & _loaded(one) and _is_hollow(one)]
    if not found:
        return
    asked = {normalize_name(line.name) for one in here.values() for line in every_line(one)}
    for one in found:
        if one.name not in asked and one.name not in wanted:
            steps = tuple(Step(command=each) for each in installer.uninstall([one.name], facts))
            why = "its metadata are left, its modules are gone, and nothing asks for it."
            yield one.name, steps, f"{one.name} {one.version}: {why}"


def _loaded(one: Distribution) -> set[str]:
    """Return the top modules that the entry points of a package name."""
    text = (read_regular(one.folder / "entry_points.txt", _BYTES) or b"").decode("utf-8", "replace")
    return {*_LINE.findall(text)}


def _is_hollow(one: Distribution) -> bool:
    """Say whether no module of a package is there, or the sources of an editable one are gone."""
    if folder := folder_of(one.direct_url):
        return not Path(folder).exists()
    site = one.folder.parent
    files = [path for path in listed(one) if path.endswith((".py", ".so")) and path[:2] != ".."]
    return bool(files) and not any((site / path).exists() for path in files)
