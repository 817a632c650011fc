"""Where a script hung or crashed, by the stacks that a real Python prints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.observe.runner.places import place, printed

_HANG = """
import faulthandler, time
faulthandler.dump_traceback_later(0.2, exit=True, file=2)
import {name}
"""
_CRASH = """
import faulthandler
faulthandler.enable()
import {name}
"""


def _log(folder: Path, program: str, module: str) -> str:
    package = folder / "site-packages" / "stuck"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(module, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", program.format(name="stuck")],
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.stdout + ran.stderr


def test_a_hang_is_where_it_waits(tmp_path: Path) -> None:
    log = _log(tmp_path, _HANG, "import time\n\ndef wait():\n    time.sleep(60)\n\nwait()\n")
    assert place(log) == "in stuck/__init__.py:4 (wait)"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
def test_a_crash_is_in_the_thread_that_crashed(tmp_path: Path) -> None:
    log = _log(tmp_path, _CRASH, "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    assert place(log).startswith("in stuck/__init__.py:2 (<module>)")


def test_the_library_of_a_crash_is_named_where_python_prints_it() -> None:
    log = (
        "Fatal Python error: Segmentation fault\n\n"
        "Current thread 0x00007f (most recent call first):\n"
        '  File "/v/lib/python3.14/site-packages/torch/nn/functional.py", line 7 in linear\n\n'
        "Current thread's C stack trace (most recent call first):\n"
        '  Binary file "/usr/bin/python3.14", at _Py_DumpStack+0x1 [0x1]\n'
        '  Binary file "/lib/x86_64-linux-gnu/libc.so.6", at +0x1 [0x2]\n'
        '  Binary file "/v/lib/python3.14/site-packages/torch/lib/libtorch_cpu.so", at +0x3 [0x3]\n'
    )
    assert place(log) == (
        "in torch/nn/functional.py:7 (linear), in the library torch/lib/libtorch_cpu.so"
    )


def test_much_output_is_counted() -> None:
    assert printed("a\n[… 208974164848 bytes left out …]\nb") == "it printed 209 GB"
    assert printed("a\n[… 2000 bytes left out …]\nb") == ""
    assert place("Traceback (most recent call last):\n  File 'x'") == ""
