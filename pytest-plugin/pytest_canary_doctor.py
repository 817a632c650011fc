"""`pytest --doctor`.

Examine the GPU stack of this interpreter once, before any conftest is imported; stop where it is
broken.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Generator, NamedTuple, Optional

import pytest

_COMMANDS = ("canary-doctor", "doctor")
_SECONDS = "600"
_GRACE_SECONDS = 15.0
"""What doctor may take, once it was told to stop, to end what it had started."""
_SEVERITIES = ("error", "warning", "note")
_SHOWN = 3
_WIDTH = 300
_NO_RUN = (
    "help",
    "version",
    "markers",
    "showfixtures",
    "show_fixtures_per_test",
    "cacheshow",
)
"""Options with which pytest prints something about itself, so that there is nothing to guard."""


class Seen(NamedTuple):
    """What came of the examination: a line for the header, and why no test shall run, if so.

    `remarkable` lines are shown where pytest prints no header as well.
    """

    line: str
    stop: str = ""
    remarkable: bool = False


class NotSeen(Exception):
    """There is no examination to speak of; the message says why."""


_ANYWAY = "  pytest --no-doctor runs the tests all the same"
_DECIDE_WHAT_IS_REUSED = {"--changed", "--fresh"}
_SEEN = pytest.StashKey[Optional[Seen]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Tell pytest which options and settings there are."""
    group = parser.getgroup("doctor", "GPU stack (canary-doctor)")
    group.addoption(
        "--doctor",
        action="store_true",
        default=None,
        help="Examine this interpreter's GPU stack; stop if it is broken.",
    )
    group.addoption(
        "--no-doctor",
        action="store_false",
        dest="doctor",
        help="Do not, whatever the setting doctor says.",
    )
    group.addoption(
        "--doctor-command",
        metavar="COMMAND",
        help="How to start doctor (default: canary-doctor, else doctor, on PATH).",
    )
    group.addoption(
        "--doctor-args",
        metavar="ARGS",
        help='More options of doctor check, such as "--expect cuda".',
    )
    group.addoption(
        "--doctor-timeout",
        metavar="SECONDS",
        type=float,
        help="How long it may take (default: 600).",
    )
    parser.addini(
        "doctor",
        "Examine this interpreter's GPU stack before the tests.",
        type="bool",
        default=False,
    )
    parser.addini("doctor_command", "How to start doctor.", default="")
    parser.addini("doctor_args", "More options of doctor check.", type="args", default=[])
    parser.addini("doctor_timeout", "Seconds that the examination may take.", default=_SECONDS)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    """Examine before conftest files are imported: these are often the first to import torch."""
    _guard(early_config)
    yield


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Examine now where this plugin was named in a conftest, and so came too late for that."""
    _guard(session.config)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Add the line about the examination to pytest's header."""
    seen = config.stash.get(_SEEN, None)
    return seen.line if seen else None


def _guard(config: pytest.Config) -> None:
    if _SEEN in config.stash:
        return
    seen = config.stash[_SEEN] = _examined(config) if _wanted(config) else None
    if seen is None:
        return
    if seen.stop:
        raise pytest.UsageError(seen.stop)
    if seen.remarkable and _asked(config, "verbose") < 0:
        sys.stderr.write(seen.line + "\n")  # there will be no header to say it


def _wanted(config: pytest.Config) -> bool:
    if hasattr(config, "workerinput") or "PYTEST_XDIST_WORKER" in os.environ:
        return False
    if any(_asked(config, name) for name in _NO_RUN):
        return False
    asked = _asked(config, "doctor")
    return bool(config.getini("doctor") if asked is None else asked)


def _asked(config: pytest.Config, name: str) -> Any:
    """Return what the command line says.

    Before conftest files are imported, pytest has read it only in part.
    """
    return getattr(config.known_args_namespace, name, getattr(config.option, name, None))


def _examined(config: pytest.Config) -> Seen:
    try:
        command = [
            *_command(_asked(config, "doctor_command") or config.getini("doctor_command")),
            "check",
            "--python",
            sys.executable,
        ]
        line = _asked(config, "doctor_args")
        more = _split(line) if line else list(config.getini("doctor_args"))
        if not _DECIDE_WHAT_IS_REUSED.intersection(more):
            command.append("--changed")
        seconds = _seconds(_asked(config, "doctor_timeout") or config.getini("doctor_timeout"))
        if sys.stderr.isatty() and _asked(config, "verbose") >= 0:
            sys.stderr.write(f"doctor: examining {sys.executable}\n")
        document = _document(
            *_run([*command, *more, "--format", "json"], config.rootpath, seconds), command[0]
        )
        return _judged(document, shlex.join([*command, *more]))
    except NotSeen as error:
        return Seen("", stop=f"doctor: nothing was examined: {_plain(str(error))}\n{_ANYWAY}")


def _seconds(text: Any) -> float:
    try:
        return float(text)
    except ValueError:
        raise pytest.UsageError(f"doctor_timeout: {text} is no number of seconds") from None


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line, posix=os.name != "nt")
    except ValueError as error:
        raise pytest.UsageError(f"doctor: {line}: {error}") from None


def _command(asked: str) -> list[str]:
    """Return the beginning of the command line.

    What was asked for, which may hold spaces or arguments, or what is on PATH.
    """
    if not asked:
        for name in _COMMANDS:
            if shutil.which(name):
                return [name]
        raise NotSeen(
            "neither canary-doctor nor doctor is on PATH; install doctor in an environment of its "
            "own, or say --doctor-command"
        )
    words = [asked] if shutil.which(asked) else _split(asked)
    if not words or not shutil.which(words[0]):
        raise NotSeen(f"there is no command {asked}")
    return words


def _run(argv: list[str], folder: Path, seconds: float) -> tuple[str, str]:
    """Run doctor within bounds and return what it wrote.

    Whatever interrupts us, nothing stays behind.
    """
    argv = [shutil.which(argv[0]) or argv[0], *argv[1:]]
    try:
        child = subprocess.Popen(
            argv,
            cwd=str(folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise NotSeen(f"{argv[0]} cannot be started: {error.strerror or error}") from None
    try:
        out, told = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(child)
        raise NotSeen(f"doctor took longer than {seconds:g} s (--doctor-timeout)") from None
    except BaseException:
        _end(child)
        raise
    return out.decode("utf-8", "replace"), told.decode("utf-8", "replace")


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ask doctor to stop and clean up, and end it if it does not."""
    child.terminate()
    try:
        child.communicate(timeout=_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        if os.name == "nt":
            child.kill()
        else:
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _document(out: str, told: str, name: str) -> dict[str, Any]:
    """Return the JSON report; raises NotSeen where it is none, with what was said instead."""
    try:
        document = json.loads(out)
        if document["doctor"]["name"] == "canary-doctor" and isinstance(document["findings"], list):
            return dict(document)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise NotSeen(
        _reason(told) or f"{name} gave no report; is it another tool's? (--doctor-command)"
    )


def _reason(told: str) -> str:
    """Return the line of standard error that says why: the error, else the last line."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("Error:", "doctor:"))]
    return (errors or lines or [""])[-1]


def _judged(document: dict[str, Any], command: str) -> Seen:
    code, version = document.get("exit_code"), document["doctor"].get("version", "")
    findings = [found for found in document["findings"] if not found.get("suppressed")]
    counts = _counts(findings)
    if code == 1:
        told = [f"doctor: the stack of {sys.executable} is broken ({counts}), so no test was run"]
        worst = [found for found in findings if found.get("severity") == _worst(findings)][:_SHOWN]
        told += [line for found in worst for line in _told(found)]
        told += [f"  and {len(findings) - len(worst)} more"] if len(findings) > len(worst) else []
        told += [
            f"  the whole story: {command}",
            _ANYWAY,
        ]
        return Seen("", stop="\n".join(told))
    if code == 4:
        return Seen(f"doctor: nothing to judge in {sys.executable}", remarkable=True)
    if code != 0:
        raise NotSeen(f"doctor ended with {code}")
    names = ", ".join(_plain(found["id"]) for found in findings[:_SHOWN]) + (
        ", …" if len(findings) > _SHOWN else ""
    )
    return Seen(
        "doctor: {} ({})".format(counts or "no findings", names or f"canary-doctor {version}"),
        remarkable=bool(findings),
    )


def _counts(findings: list[dict[str, Any]]) -> str:
    severities = [found.get("severity") for found in findings]
    counts = [(severities.count(name), name) for name in _SEVERITIES]
    return ", ".join(
        "{} {}{}".format(count, name, "" if count == 1 else "s") for count, name in counts if count
    )


def _worst(findings: list[dict[str, Any]]) -> str | None:
    severities = [found.get("severity") for found in findings]
    return next((name for name in _SEVERITIES if name in severities), None)


def _told(found: dict[str, Any]) -> list[str]:
    """Return the lines about a finding: what is wrong, and the first thing to do about it."""
    lines = [
        "  {}: {}  [{}]".format(
            *(_plain(str(found.get(part, ""))) for part in ("severity", "title", "id"))
        )
    ]
    for fix in found.get("fixes", [])[:1]:
        lines.append("    {}".format(_plain(str(fix.get("title", "")))))
        lines += [f"      $ {_plain(str(line), width=0)}" for line in fix.get("commands", [])]
    return lines


def _plain(text: str, width: int = _WIDTH) -> str:
    """Return a text fit for one line of a terminal; a command keeps its length."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text).strip()
    return shown if not width or len(shown) <= width else shown[: width - 1] + "…"
