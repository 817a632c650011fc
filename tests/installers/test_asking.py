"""An installer that does not start with foreign libraries is asked again without them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from doctor.environments.asking import Question
from doctor.host import CompletedCommand, Host

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ld.so")


def test_an_installer_that_a_foreign_library_ends_is_asked_without_it(tmp_path: Path) -> None:
    """`sleep` stands for uv: both are linked to the C library of the system."""
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    (libraries / "libc.so.6").write_text("no library")
    env = {"LD_LIBRARY_PATH": str(libraries)}
    host = Host(env=env, cwd=tmp_path)
    question = Question(program=("/bin/sleep",), arguments=(), host=host, env={}, cwd=tmp_path)
    done = question.run("0")
    assert isinstance(done, CompletedCommand)
    assert done.ok, done
    failed = question.run("soon")
    assert isinstance(failed, CompletedCommand)
    assert not failed.ok
