"""Make wheels without code, so that real installers resolve without a network."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    *,
    requires: Sequence[str] = (),
    python: str = "",
    tag: str = "py3-none-any",
    payload: int = 0,
) -> Path:
    """Write a wheel into `folder` and return it; `payload` bytes of data are not compressed."""
    path = folder / f"{name.replace('-', '_')}-{version}-{tag}.whl"
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {one}" for one in requires]
    lines += [f"Requires-Python: {python}"] if python else []
    files = {
        f"{name.replace('-', '_')}/data.bin": "x" * payload,
        f"{info}/METADATA": "\n".join(lines) + "\n",
        f"{info}/WHEEL": (
            f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n"
        ),
    }
    record = "".join(f"{file},,\n" for file in files) + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(file, text)
    return path
