"""Write the timeline of the standard library from interpreters of each minor release.

    python -m doctor.timelines.build.standard_library PYTHON3.8 PYTHON3.9 …

Each is asked for the modules and public names that it has; the file keeps those that some release
lacks.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

from doctor.timelines.standard_library import FILE, Library

_SCRIPT = Path(__file__).with_name("standard_names.py")


def main(interpreters: list[str]) -> int:
    """Ask each interpreter, and write the file."""
    listed: dict[str, list[str]] = {}
    for _, _, found in (_asked(one, {}) for one in interpreters):
        for module, names in found["names"].items():
            listed[module] = sorted({*listed.get(module, ()), *names})
    asked = sorted((_asked(one, listed) for one in interpreters), key=lambda one: one[0])
    releases = [one for one, _, _ in asked]
    full = tuple(f"{one[0]}.{one[1]}" for one in releases)
    everything = [found for _, _, found in asked]
    modules = _bits([set(found["names"]) for found in everything])
    inside = _bits([_flat(found["names"]) for found in everything])
    classes = _bits([_flat(found["classes"]) for found in everything])
    every = (1 << len(full)) - 1
    library = Library(
        pythons=full,
        read=tuple(version for _, version, _ in asked),
        made=date.today().isoformat(),
        modules=modules,
        # A name of a module that is not there in a release says no more than the module does.
        names={
            name: bits
            for name, bits in inside.items()
            if bits != modules[name.rpartition(".")[0]] and bits != every
        },
        classes={name: bits for name, bits in classes.items() if bits != every},
    )
    FILE.write_bytes(library.encoded())
    sys.stdout.write(f"{FILE}: {len(library.modules)} modules, {len(library.names)} names\n")
    return 0


def _asked(
    interpreter: str, names: dict[str, list[str]]
) -> tuple[tuple[int, ...], str, dict[str, Any]]:
    version = subprocess.run(
        [interpreter, "-c", "import platform; print(platform.python_version())"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.strip()
    answer = subprocess.run(
        [interpreter, "-I", str(_SCRIPT)],
        input=json.dumps(names),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    # A module that prints when it is imported comes before the answer.
    found: dict[str, Any] = json.loads(answer[answer.index('{"names"') :])
    return tuple(int(part) for part in version.split(".")[:2]), version, found


def _flat(found: dict[str, list[str]]) -> set[str]:
    return {f"{owner}.{name}" for owner, names in found.items() for name in names}


def _bits(found: list[set[str]]) -> dict[str, int]:
    """Return the releases that have each thing, as a bit set."""
    return {
        name: sum(1 << at for at, names in enumerate(found) if name in names)
        for name in sorted(set().union(*found))
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
