"""Bring what the page "Paste your error" loads into a folder of the site.

`python integrations/browser_runtime.py docs/site/paste` needs npm and pip. The folder gets Pyodide,
the wheels that doctor needs in it, and doctor itself. The versions go together: a Pyodide runs
wheels of its own platform only (https://peps.python.org/pep-0783/).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PYODIDE: Final = "pyodide@314.0.7"
WHEELS: Final = ("msgspec==0.22.0", "packaging==26.3")
_FOR = ("--python-version", "3.14", "--abi", "cp314", "--platform", "pyemscripten_2026_0_wasm32")
_FILES = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "pyodide-lock.json",
    "python_stdlib.zip",
)


def bring(folder: Path) -> None:
    """Write Pyodide and the wheels into a folder, and their names into wheels.json."""
    (folder / "pyodide").mkdir(parents=True, exist_ok=True)
    npm = shutil.which("npm") or "npm"
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        subprocess.run([npm, "pack", "--silent", PYODIDE], cwd=place, check=True)
        with tarfile.open(next(place.glob("pyodide-*.tgz"))) as archive:
            for name in _FILES:
                packed = archive.extractfile(f"package/{name}")
                if packed is None:
                    raise FileNotFoundError(name)
                (folder / "pyodide" / name).write_bytes(packed.read())
        own = (*pip, "wheel", "--no-deps", "--wheel-dir", scratch, str(ROOT))
        others = ("--no-deps", "--only-binary", ":all:", *_FOR, "--dest", scratch, *WHEELS)
        subprocess.run(own, check=True)
        subprocess.run((*pip, "download", *others), check=True)
        wheels = sorted(place.glob("*.whl"))
        for wheel in wheels:
            shutil.copy(wheel, folder)
    names = [wheel.name for wheel in wheels]
    (folder / "wheels.json").write_text(json.dumps(names), encoding="utf-8")


if __name__ == "__main__":
    bring(Path(sys.argv[1]))
