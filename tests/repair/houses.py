"""Broken environments of small wheels, mended by the real uv from a folder of wheels."""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import msgspec
import uv


class House(msgspec.Struct, frozen=True, kw_only=True):
    """An environment whose packages do not fit, and the wheels around it."""

    root: Path
    python: Path
    wheels: Path
    env: dict[str, str]

    @property
    def packages(self) -> Path:
        """Return site-packages."""
        return next(self.root.glob("lib/python*/site-packages"))

    def install(self, *requirements: str) -> None:
        """Install from the wheels with the real uv."""
        argv = [uv.find_uv_bin(), "pip", "install", "-q", "--python", str(self.python)]
        subprocess.run([*argv, *requirements], check=True, env=self.env)


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    *,
    requires: Sequence[str] = (),
    code: str = "",
    more: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write a wheel with one module into a folder; its RECORD has hashes and sizes.

    `more` are other files of it, by their paths.
    """
    module, info = name.replace("-", "_"), f"{name.replace('-', '_')}-{version}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    lines += [f"Requires-Dist: {one}" for one in requires]
    files = {
        **more,
        f"{module}/__init__.py": code or f"__version__ = {version!r}\n",
        f"{info}/METADATA": "\n".join(lines) + "\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [f"{path},{_digest(text)},{len(text.encode())}" for path, text in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]) + "\n"
    with zipfile.ZipFile(folder / f"{module}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def house(folder: Path, wheels: Mapping[str, Sequence[str]], *here: str) -> House:
    """Make wheels, `{'torch==2.13.0': requirements}`, and an environment with some of them."""
    place = folder / "wheels"
    place.mkdir()
    for spec, requires in wheels.items():
        name, _, version = spec.partition("==")
        make_wheel(place, name, version, requires=requires)
    root = folder / "env"
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("VIRTUAL_ENV", "PIP_", "UV_", "CONDA_"))
    }
    env = {
        **kept,
        "PATH": os.pathsep.join((str(Path(uv.find_uv_bin()).parent), kept.get("PATH", ""))),
        "UV_OFFLINE": "1",
        "UV_FIND_LINKS": str(place),
        "UV_CACHE_DIR": str(folder / "cache"),
        "XDG_STATE_HOME": str(folder / "state"),
        "DOCTOR_CACHE_DIR": "",
    }
    subprocess.run(
        [uv.find_uv_bin(), "venv", "-q", "--python", sys.executable, str(root)], check=True, env=env
    )
    made = House(root=root, python=root / "bin" / "python", wheels=place, env=env)
    made.install("--no-deps", *here)
    return made


WHEELS: Mapping[str, Sequence[str]] = {
    "numba==0.61.0": ("numpy>=2", "small"),
    "numpy==1.0": (),
    "numpy==2.0": ("small>=2",),
    "small==1.0": (),
    "small==2.0": (),
    "other==1.0": ("small",),
}
HERE = ("numba==0.61.0", "numpy==1.0", "small==1.0", "other==1.0")
"""numba asks for a newer numpy, which asks for a newer small."""
