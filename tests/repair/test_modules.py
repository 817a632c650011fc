"""What a plan may have broken is imported: together where that goes well, else one by one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.repair.modules import CHILD


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="nothing is forked there")
def test_modules_share_a_process_until_one_fails(tmp_path: Path) -> None:
    dear = "import pathlib, sys\nopen(sys.path[0] + '/count', 'a').write('x')\n"
    (tmp_path / "dear.py").write_text(dear)
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text("import dear\n")
    (tmp_path / "crash.py").write_text("import os; os.kill(os.getpid(), 11)\n")
    assert _tried(tmp_path, "one", "two", "dear") == {"one": True, "two": True, "dear": True}
    assert (tmp_path / "count").read_text() == "x"
    assert _tried(tmp_path, "one", "nowhere", "two") == {"one": True, "nowhere": False, "two": True}
    assert _tried(tmp_path, "one", "crash", "two") == {"one": True, "crash": False, "two": True}


def _tried(folder: Path, *names: str) -> dict[str, bool]:
    result = folder / "answers.jsonl"
    result.unlink(missing_ok=True)
    subprocess.run(
        [sys.executable, str(CHILD), str(result), *names],
        env={"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        check=True,
        timeout=60,
    )
    answers = [json.loads(line) for line in result.read_text().splitlines()]
    return {one["module"]: one["ok"] for one in answers}
