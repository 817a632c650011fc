"""What the command that fuzzes does with an input that breaks a target."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.promises.sources import ROOT

_BROKEN = """
import sys
from pathlib import Path
import tests.fuzz.__main__ as command
import tests.fuzz.targets

def broken(data):
    if data[:1] == b"x":
        raise ZeroDivisionError("found")

command.TARGETS["broken"] = broken
command._ROOT = Path(sys.argv.pop())
command.CORPUS = tests.fuzz.targets.CORPUS = command._ROOT / "corpus"
sys.argv += ["--runs", "1000000", "broken"]
sys.exit(command.main())
"""


@pytest.mark.patient  # every module of doctor is instrumented, which takes seconds
@pytest.mark.skipif(not importlib.util.find_spec("atheris"), reason="atheris is not installed")
def test_an_input_that_breaks_a_target_is_left_behind(tmp_path: Path) -> None:
    (tmp_path / "corpus" / "broken").mkdir(parents=True)
    (tmp_path / "corpus" / "broken" / "one").write_bytes(b"wx")
    begun = [sys.executable, "-c", _BROKEN, str(tmp_path)]
    ran = subprocess.run(begun, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 1, ran.stderr[-2000:]
    assert "ZeroDivisionError: found" in ran.stderr
    (left,) = (tmp_path / "crashes").glob("broken-*")
    assert left.read_bytes()[:1] == b"x"
