"""Environments made by hand, and the state of a folder down to the last byte."""

from __future__ import annotations

import base64
import ensurepip
import hashlib
import os
import stat
import zipfile
import zlib
from pathlib import Path

from doctor.environments.environment import Environment
from tests.environments import install, interpreter, make


def environment(root: Path) -> Environment:
    """Describe a folder as a virtual environment."""
    site = root / "lib/python3.11/site-packages"
    return Environment(
        root=root,
        python=root / "bin/python",
        folders=(site,),
        kind="venv",
        base=Path("/usr"),
        version="3.11.7",
    )


def state(root: Path) -> dict[str, tuple[object, ...]]:
    """Return mode, owner, time, target of a link and checksum of everything, the folder included.

    A CRC tells apart what a fault leaves behind, in a quarter of the time of SHA-256.
    """
    found = {"": _of(root)}
    for parent, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(parent, name)
            found[str(path.relative_to(root))] = _of(path)
    return found


def _of(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    content: object = None
    if stat.S_ISLNK(status.st_mode):
        content = os.readlink(path)  # noqa: PTH115 - as it stands
    elif stat.S_ISREG(status.st_mode):
        content = status.st_size, _checksum(path)
    return status.st_mode, status.st_uid, status.st_mtime_ns, content


def _checksum(path: Path) -> int:
    """Read a file piece by piece, into the same memory: torch has libraries of a gigabyte."""
    checksum, block = 0, memoryview(bytearray(1 << 20))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(block):
            checksum = zlib.crc32(block[:size], checksum)
    return checksum


def wheel(folder: Path, name: str, version: str) -> Path:
    """Build a wheel with a module, a large file and a console script."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": f"version = {version!r}\ndef main():\n    import sys\n"
        "    print(version, sys.prefix)\n",
        f"{name}/large.so": version * 100_000,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name}-run = {name}:main\n",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for each, text in files.items():
            archive.writestr(each, text)
        rows = [f"{each},{_hash(text)},{len(text)}" for each, text in files.items()]
        archive.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,"]) + "\n")
    return path


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def real_environment(root: Path, wheels: Path) -> Path:
    """Make a virtual environment with pip and a small package; return its interpreter."""
    wheels.mkdir()
    for version in ("1.0", "2.0"):
        wheel(wheels, "alpha", version)
    make(root, ())
    bundled = next(Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl"))
    install(
        interpreter(root), "--no-index", "--find-links", str(wheels), str(bundled), "alpha==1.0"
    )
    return interpreter(root)
