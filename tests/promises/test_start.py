"""What the static check does not import, since it has no use for it.

Imports are the greater part of its time.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.command import environment

_PROGRAM = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, sep="\\n", file=sys.stderr))
from doctor.cli import main
main()
"""
_OTHER_COMMANDS = {
    f"doctor.cli.{name}"
    for name in ("completion", "config", "diagnose", "diff", "init", "catalog", "new_issue", "run")
}
_OTHER_WORK = {
    *(
        "doctor.catalog.check_headers",
        "doctor.observe.run_checks",
        "doctor.observe.runner",
        "doctor.lint",
        "doctor.judge.comparison",
        "doctor.judge.baseline",
        "doctor.pipeline.snapshots",
    ),
    *(
        "doctor.observe.probes.cargo.candle_sources",
        "doctor.report.html.document",
        "doctor.report.markdown.document",
        "doctor.report.structured.json_document",
        "doctor.host.scratch",
        "doctor.host.fork_server",
        "doctor.host.nvml_child",
    ),
}
_OF_LOGS = ("doctor.analyzers", "doctor.events", "doctor.logs", "doctor.timelines")
"""Packages that explain logs, which this command was not given."""
_DEAR = {
    "asyncio",
    "concurrent.futures",
    "csv",
    "click",
    "getpass",
    "importlib.metadata",
    "inspect",
    "logging",
    "pydantic",
    "re2",
    "rich.console",
    "rich.text",
    "tempfile",
    "typer",
}


def loaded(*arguments: str, cwd: Path) -> set[str]:
    """Return the modules that a command of doctor's has imported at its end."""
    argv = [sys.executable, "-c", _PROGRAM, *arguments]
    ran = subprocess.run(
        argv, cwd=cwd, env=environment({"PATH": ""}), capture_output=True, text=True, check=False
    )
    assert ran.returncode in (0, 1, 4), ran.stderr
    return set(ran.stderr.split())


def test_the_static_check_imports_what_it_uses(tmp_path: Path) -> None:
    modules = loaded("check", "--no-canaries", "--python", sys.executable, cwd=tmp_path)
    assert {"doctor.cli.plain_check", "doctor.observe.probes.files"} <= modules
    assert (
        sorted(modules & (_OTHER_COMMANDS - {"doctor.cli.completion"} | _OTHER_WORK | _DEAR)) == []
    )
    assert sorted(name for name in modules if name.startswith(_OF_LOGS)) == []


def test_another_command_imports_its_own(tmp_path: Path) -> None:
    modules = loaded("completion", "bash", cwd=tmp_path)
    assert "doctor.cli.completion" in modules
    others = _OTHER_COMMANDS - {"doctor.cli.completion"}
    assert (
        sorted(
            modules
            & (others | {"doctor.cli.check", "doctor.judge.match", "doctor.observe.probes", "rich"})
        )
        == []
    )
