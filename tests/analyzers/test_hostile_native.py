"""Texts of strangers: long, broken, with templates and commands in them."""

from __future__ import annotations

import time

import pytest

from doctor.analyzers import c_library, cmake, links, programs, rust
from doctor.analyzers.case import Analyzer, Explanation
from doctor.analyzers.compilers import explain as compilers
from doctor.analyzers.libraries import explain as libraries
from doctor.analyzers.undefined_symbols import explain as undefined_symbols
from doctor.fixes.prescribe import fixes_for
from tests.analyzers.logs import case_of

ANALYZERS: tuple[Analyzer, ...] = (
    compilers,
    libraries,
    undefined_symbols,
    c_library.explain,
    programs.explain,
    links.explain,
    rust.explain,
    cmake.explain,
)
LINES = (
    "{0}: undefined symbol: {0}",
    "ImportError: {0}.so: undefined symbol: _ZN3c10{0}",
    "{0}.cpp:1:1: error: {0}",
    "{0}.cu(1): error: {0}",
    "a.cpp(1): error C2039: '{0}': is not a member of '{0}'",
    "{0}: error while loading shared libraries: {0}.so.1: cannot open shared object file",
    "libc.so.6: version `GLIBC_{0}' not found (required by {0})",
    "nvcc fatal   : Unsupported gpu architecture 'compute_{0}'",
    "CMake Error at {0}:1 (message):\n  Could NOT find {0} (missing: {0})",
    "ld: cannot find -l{0}",
    "undefined reference to `{0}'",
    "error: rustc {0} is not supported by the following package:\n  {0} requires rustc {0}",
    "Could not load dynamic library 'lib{0}.so.1'; dlerror: {0}; LD_LIBRARY_PATH: {0}",
    "main.cpp:1:1: error: ‘{0}’ was not declared in this scope",
    "main.cpp:1:10: fatal error: {0}.h: No such file or directory",
    'OSError: [WinError 126] Error loading "{0}" or one of its dependencies.',
)
FILLINGS = (
    "{log.x}{torch.release}",
    "{0.__class__}",
    "$(touch_x)`id`;rm -rf x",
    "999999999999999999999",
    "9" * 1500,
    "a" * 1500,
    "_ZN" + "1a" * 700,
    "../" * 300,
    "\x1b[31m\u202e",
    "",
    "<package>",
    "%s%n",
)


def found_in(text: str) -> list[Explanation]:
    """Return what all analyzers of this file say of a text."""
    case = case_of(text)
    return [one for explain in ANALYZERS for one in explain(case)]


@pytest.mark.parametrize("filling", FILLINGS, ids=lambda one: repr(one[:12]))
def test_hostile_objects_give_short_findings(filling: str) -> None:
    """No exception, no long title, and no command that a text wrote."""
    for line in LINES:
        text = line.replace("{0}", filling)
        for found in found_in(text):
            assert len(found.detection.title) <= 300
            commands = [
                step.command
                for fix in fixes_for(found.detection, case_of(text).facts)
                for step in fix.steps
                if step.command is not None and step.command.argv
            ]
            # A text of the log is one argument of a known program, never a line for a shell.
            assert all(one.argv[0] not in ("sh", "bash", "cmd", "powershell") for one in commands)


def test_many_lines_take_linear_time() -> None:
    """Thousands of errors are explained within seconds."""
    lines = [line.replace("{0}", f"x{number}") for number in range(500) for line in LINES]
    start = time.process_time()
    found = found_in("\n".join(lines))
    assert time.process_time() - start < 2.5
    assert 1 <= len(found) <= 60
