"""The step of the action.

Puts doctor into an environment of its own, runs it on the inputs, and tells the outputs.

Runs in whatever Python a runner has, 3.10 or newer, with its standard library alone. Inputs come as
variables, `INPUT_*`.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_USAGE, _FAULT = 2, 3
_KEPT_OF_PIP = (
    "CACHE_DIR",
    "CERT",
    "CLIENT_CERT",
    "EXTRA_INDEX_URL",
    "FIND_LINKS",
    "INDEX_URL",
    "NO_INDEX",
    "PROXY",
    "TRUSTED_HOST",
)
"""Settings of pip that say where packages come from.

The others may lead it into another environment than ours.
"""
_CREDENTIALS = re.compile(r"(://)[^\s/@]{1,256}@")
_VERSION = re.compile(r"[0-9][0-9A-Za-z.!+]*")
_TOLD = {"errors": "error", "warnings": "warning", "notes": "note"}


class MistakeError(Exception):
    """An input that cannot be right."""


class FaultError(Exception):
    """Doctor cannot be installed."""


def main() -> int:
    """Run the step; return its exit code, which is doctor's."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    reports = _reports(os.environ)
    older = {path: _state(path) for path in reports.values()}
    try:
        arguments = [
            *_arguments(os.environ),
            *(f"--report={kind}={path}" for kind, path in reports.items()),
            "--report=github",
        ]
        code = _run(
            [str(_installed(_requirement(os.environ))), "-I", "-m", "doctor", "check", *arguments]
        )
    except (MistakeError, FaultError) as error:
        _complain(str(error))
        code = _USAGE if isinstance(error, MistakeError) else _FAULT
    written = {
        kind: path if _state(path) != older[path] else None for kind, path in reports.items()
    }
    _tell(
        {
            "exit-code": str(code),
            **_counts(written["json"]),
            **{kind: str(path or "") for kind, path in written.items()},
        }
    )
    return code


def _reports(env: Mapping[str, str]) -> dict[str, Path]:
    """Return where the reports go."""
    names = {"json": "doctor.json", "sarif": "doctor.sarif"}
    own = Path(tempfile.mkdtemp(prefix="canary-doctor-", dir=env["RUNNER_TEMP"]))
    return {kind: Path.cwd() / (_input(env, kind) or own / name) for kind, name in names.items()}


def _state(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file is written: an older report is not this run's."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _arguments(env: Mapping[str, str]) -> Iterator[str]:
    """Yield the options that the inputs stand for.

    Each is one word, so that a value is never taken for an option.
    """
    for name in ("python", "project", "tier", "fail-on", "baseline"):
        if value := _input(env, name):
            yield f"--{name}={value}"
    for name in ("expect", "assume"):
        yield from (f"--{name}={word}" for word in re.split(r"[\s,]+", _input(env, name)) if word)
    yield from _words(_input(env, "args"))


def _input(env: Mapping[str, str], name: str) -> str:
    return env.get(f"INPUT_{name.replace('-', '_').upper()}", "").strip()


def _words(text: str) -> list[str]:
    """Split like a shell that knows quotes and nothing else.

    A backslash is part of a path on Windows.
    """
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.escape, lexer.commenters = True, "", ""
    try:
        return list(lexer)
    except ValueError:
        raise MistakeError("the input args holds a quote that nothing closes") from None


def _requirement(env: Mapping[str, str]) -> str:
    """Return what pip is asked for: a release, else the checkout that this action is."""
    version = _input(env, "version")
    if version and not _VERSION.fullmatch(version):
        raise MistakeError("the input version is no version of a package, such as 0.1.0")
    return f"canary-doctor=={version}" if version else str(Path(__file__).resolve().parents[1])


def _installed(requirement: str) -> Path:
    """Return the interpreter of an environment that holds doctor.

    A second step of a job finds it made.
    """
    home = Path(os.environ["RUNNER_TEMP"]) / "canary-doctor"
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = home / "installed"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == requirement and python.exists():
        return python
    print("::group::Install doctor, apart from the environments of this job", flush=True)
    _bring(
        [sys.executable, "-I", "-m", "venv", "--clear", str(home)],
        "Where venv is missing, actions/setup-python brings a whole Python.",
    )
    wanted = ["install", "--quiet", "--disable-pip-version-check", "--no-input", requirement]
    _bring([str(python), "-I", "-m", "pip", *wanted], "pip could not install it.")
    print("::endgroup::", flush=True)
    stamp.write_text(requirement, encoding="utf-8")
    return python


def _bring(command: Sequence[str], advice: str) -> None:
    """Run one step of the installation, without the job's own Python settings."""
    dropped = ("PYTHON", "PIP_", "VIRTUAL_ENV", "CONDA_PREFIX")
    kept = {f"PIP_{name}" for name in _KEPT_OF_PIP}
    env = {
        name: value
        for name, value in os.environ.items()
        if name in kept or not name.upper().startswith(dropped)
    }
    ran = subprocess.run(
        command,
        env={**env, "PIP_USER": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if ran.returncode:
        said = _CREDENTIALS.sub(
            r"\1[hidden]@", ran.stdout.decode("utf-8", "replace").strip()
        ).replace("##", "# #")
        print(
            "\n".join(f"| {line}" for line in said.splitlines()),
            "::endgroup::",
            sep="\n",
            flush=True,
        )
        raise FaultError(f"Its own environment could not be made. {advice}")


def _run(command: Sequence[str]) -> int:
    """Run doctor, which writes for itself; return its exit code, a signal's as a shell tells it."""
    code = subprocess.run(command, check=False).returncode
    return code if code >= 0 else 128 - code


def _counts(report: Path | None) -> dict[str, str]:
    summary = json.loads(report.read_text(encoding="utf-8"))["summary"] if report else {}
    return {name: str(summary.get(severity, "")) for name, severity in _TOLD.items()}


def _tell(outputs: Mapping[str, str]) -> None:
    """Write the outputs.

    A mark that nobody can guess ends each, so that no value can pretend to be another output.
    """
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8", newline="\n") as file:
        for name, value in outputs.items():
            mark = f"end-{secrets.token_hex(16)}"
            file.write(f"{name}<<{mark}\n{value}\n{mark}\n")


def _complain(text: str) -> None:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::error title=doctor::{escaped}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
