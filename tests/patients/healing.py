"""Does what a finding tells its reader to do."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.command import environment
from tests.environments import uv


def heal(finding: Mapping[str, Any], cwd: Path, env: Mapping[str, str] | None = None) -> None:
    """Run the commands of the first fix of a finding in a shell, all in one, as they are meant."""
    fix = finding["fixes"][0]
    assert fix["commands"], "the fix says nothing to run"
    assert not fix["sudo"], "a test changes nothing outside its environment"
    path = {"PATH": f"{Path(uv()).parent}{os.pathsep}{os.environ['PATH']}"}
    script = "\n".join(fix["commands"])
    command = ["bash", "-euo", "pipefail", "-c", script]
    ran = subprocess.run(
        command,
        cwd=cwd,
        env=environment({**path, **(env or {})}),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, f"{script}\n{ran.stderr}"


def packages(python: Path) -> dict[str, str]:
    """Return the version of each package of an environment."""
    listed = subprocess.run(
        [uv(), "pip", "list", "--python", str(python), "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return {one["name"]: one["version"] for one in json.loads(listed)}
