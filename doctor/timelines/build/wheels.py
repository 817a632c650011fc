"""Read single members of a published wheel, from the index that pip uses."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from doctor.base.errors import DoctorError
from doctor.host.process import run

_TAGS = ("1", "2014", "_2_17", "_2_24", "_2_27", "_2_28")
_TIME_LIMIT = 180


def wheel_address(requirement: str, python: str = "3.12") -> str:
    """Return the address of the wheel that pip would install on Linux with x86-64.

    Raises DoctorError if pip finds none.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
        command += ["--no-deps", "--quiet", "--only-binary=:all:", "--target", folder]
        command += ["--python-version", python, "--report", str(report)]
        command += [part for tag in _TAGS for part in ("--platform", f"manylinux{tag}_x86_64")]
        ran = run([*command, requirement], timeout=_TIME_LIMIT)
        if not report.is_file():
            raise DoctorError(f"pip finds no wheel of {requirement}: {ran.errors[-400:]!r}")
        found = json.loads(report.read_text(encoding="utf-8"))
    return str(found["install"][0]["download_info"]["url"])


def member_names(address: str) -> tuple[str, ...]:
    """Return the names of the files in a wheel, reading its directory only."""
    from remotezip import RemoteZip

    with RemoteZip(address) as archive:
        return tuple(archive.namelist())


def read_members(address: str, endings: Iterable[str]) -> dict[str, str]:
    """Return the text of the members whose names end with one of `endings`, by name."""
    from remotezip import RemoteZip

    wanted = tuple(endings)
    with RemoteZip(address) as archive:
        names = [name for name in archive.namelist() if name.endswith(wanted)]
        return {name: archive.read(name).decode("utf-8", "replace") for name in names}
