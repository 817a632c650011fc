"""`doctor run -- COMMAND`.

Nothing is changed about the command, and a failure is explained behind it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import doctor, environment, finished

_FAILING = 'echo out; echo "RuntimeError: operator torchvision::nms does not exist" >&2; exit 3'


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return finished("run", "--", *command, cwd=folder, env=environment(), stdin="typed\n")


def test_a_command_that_succeeds_is_all_there_is(tmp_path: Path) -> None:
    ran = _run(tmp_path, "sh", "-c", "cat; echo err >&2")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "typed\n", "err\n")


def test_a_failure_is_passed_on_and_explained(tmp_path: Path) -> None:
    ran = _run(tmp_path, "sh", "-c", _FAILING)
    assert (ran.returncode, ran.stdout) == (3, "out\n")
    assert ran.stderr.startswith("RuntimeError: operator torchvision::nms does not exist\n")
    assert "torchvision/" in ran.stderr


@pytest.mark.parametrize(
    ("command", "code"),
    [(("nosuch-command",), 127), (("",), 127), (("sh", "-c", "kill -9 $$"), 137), (("/",), 126)],
)
def test_codes_are_those_of_a_shell(tmp_path: Path, command: tuple[str, ...], code: int) -> None:
    assert _run(tmp_path, *command).returncode == code


def test_options_of_the_command_are_its_own(tmp_path: Path) -> None:
    assert (
        _run(tmp_path, "echo", "--help", "-v", "--format=json").stdout
        == "--help -v --format=json\n"
    )


def test_nothing_to_run_is_a_mistake(tmp_path: Path) -> None:
    assert doctor("run", cwd=tmp_path).code == 2


def test_output_comes_as_it_is_printed(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "doctor", "run", "--", "sh", "-c", "echo first; sleep 300"]
    with subprocess.Popen(
        argv, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"first\n"
        child.send_signal(signal.SIGTERM)
        assert child.wait(timeout=120) == 128 + signal.SIGTERM


def test_a_child_that_stays_behind_does_not_hold_doctor_up(tmp_path: Path) -> None:
    started = time.monotonic()
    assert _run_detached(tmp_path) == 0
    assert time.monotonic() - started < 20


def _run_detached(folder: Path) -> int:
    argv = [sys.executable, "-m", "doctor", "run", "--", "sh", "-c", "sleep 40 & exit 0"]
    return subprocess.run(
        argv,
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    ).returncode


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no pseudo-terminals here")
def test_on_a_terminal_the_command_has_one(tmp_path: Path) -> None:
    leader, follower = os.openpty()
    program = "import sys; print('tty', sys.stdout.isatty(), sys.stderr.isatty())"
    argv = [sys.executable, "-m", "doctor", "run", "--", sys.executable, "-c", program]
    child = subprocess.Popen(
        argv,
        cwd=tmp_path,
        env=environment(),
        stdout=follower,
        stderr=follower,
        stdin=subprocess.DEVNULL,
    )
    os.close(follower)
    said = b""
    try:
        while data := os.read(leader, 4096):
            said += data
    except OSError:
        pass
    assert child.wait(timeout=30) == 0
    assert said.replace(b"\r\n", b"\n").endswith(b"tty True True\n")


_RUN = (sys.executable, "-m", "doctor", "run", "--")
_SAYS = """
import os, signal, sys, time
def said(number, frame):
    print(signal.Signals(number).name, flush=True)
    if number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT): sys.exit(7)
for name in sys.argv[1:]: signal.signal(getattr(signal, name), said)
print("ready", flush=True)
while True: time.sleep(0.05)
"""


@contextlib.contextmanager
def _running(folder: Path, *command: str, **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command through doctor, in a group of its own of this session, as a shell's job is."""
    lead = "import os, sys; os.setpgid(0, 0); os.execv(sys.argv[1], sys.argv[1:])"
    argv = [sys.executable, "-c", lead, *_RUN, *command]
    given: dict[str, object] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    with subprocess.Popen(
        argv, cwd=folder, env=environment(), stdin=subprocess.DEVNULL, **given
    ) as child:  # type: ignore[call-overload]
        try:
            yield child
        finally:
            with contextlib.suppress(OSError):
                os.killpg(child.pid, signal.SIGKILL)


def _line(child: subprocess.Popen[bytes]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().decode().strip()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_an_order_to_doctor_alone_reaches_the_command(tmp_path: Path, name: str) -> None:
    with _running(tmp_path, sys.executable, "-c", _SAYS, name) as child:
        assert _line(child) == "ready"
        os.kill(child.pid, getattr(signal, name))
        assert _line(child) == name
        assert child.wait(timeout=20) == 7
        assert child.stderr is not None
        assert child.stderr.read() == b""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGALRM"])
def test_a_command_that_a_signal_ends_ends_with_its_number(tmp_path: Path, name: str) -> None:
    number = getattr(signal, name)
    with _running(
        tmp_path,
        sys.executable,
        "-c",
        (
            f"import signal, time; signal.signal({int(number)}, signal.SIG_DFL); print(); "
            "time.sleep(60)"
        ),
    ) as child:
        _line(child)
        os.kill(child.pid, number)
        assert child.wait(timeout=20) == 128 + number


def test_signals_that_end_nothing_are_handed_on(tmp_path: Path) -> None:
    names = ("SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT")
    with _running(tmp_path, sys.executable, "-c", _SAYS, *names) as child:
        assert _line(child) == "ready"
        for name in names:
            os.kill(child.pid, getattr(signal, name))
            assert _line(child) == name
        assert child.poll() is None


def _state(pid: int, wanted: str) -> str:
    """Return the state of a process, once it is the one that is waited for, or after a while."""
    deadline, state = time.monotonic() + 15, ""
    while state != wanted and time.monotonic() < deadline:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        time.sleep(0.02)
    return state


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_doctor_stops_and_goes_on_with_its_command(tmp_path: Path) -> None:
    with _running(
        tmp_path, sys.executable, "-c", f"import os\nprint(os.getpid(), flush=True)\n{_SAYS}"
    ) as child:
        pid = int(_line(child))
        assert _line(child) == "ready"
        os.kill(child.pid, signal.SIGTSTP)
        assert (_state(pid, "T"), _state(child.pid, "T")) == ("T", "T")
        os.killpg(child.pid, signal.SIGCONT)
        assert (_state(pid, "S"), _state(child.pid, "S")) == ("S", "S")


def test_a_reader_that_has_enough_ends_the_command(tmp_path: Path) -> None:
    command = " ".join(f"'{part}'" for part in _RUN)
    shell = f"{command} yes | head -n 1; echo ${{PIPESTATUS[0]}}"
    ran = subprocess.run(
        ["bash", "-c", shell],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == (f"y\n{128 + signal.SIGPIPE}\n", "")


def test_with_a_stream_closed_nothing_goes_to_the_other(tmp_path: Path) -> None:
    command = " ".join(f"'{part}'" for part in _RUN)
    shell = (
        f"{command} sh -c 'echo out; exit 3' 2>&-; echo $?; {command} sh -c 'echo err >&2; "
        "echo lost; exit 4' 2>&1 >&- | head -n 1"
    )
    ran = subprocess.run(
        ["bash", "-c", shell],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.stdout == "out\n3\nerr\n"


def test_descriptors_of_the_caller_reach_the_command(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    argv = [*_RUN, "python3", "-c", f"import os; os.write({writing}, b'here')"]
    assert (
        subprocess.run(
            argv, cwd=tmp_path, env=environment(), pass_fds=[writing], timeout=60, check=False
        ).returncode
        == 0
    )
    os.close(writing)
    with os.fdopen(reading) as told:
        assert told.read() == "here"


@contextlib.contextmanager
def _on_terminal(folder: Path, *command: str) -> Iterator[tuple[int, int]]:
    """Run a command through doctor on a terminal of 80 by 24, which is its own.

    Give the number of doctor and the terminal's other end.
    """
    pid, leader = pty.fork()
    if pid == 0:
        try:
            os.chdir(folder)
            os.execve(sys.executable, [*_RUN, *command], environment({"TERM": "xterm"}))
        finally:
            os._exit(126)
    try:
        fcntl.ioctl(leader, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        yield pid, leader
    finally:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        os.close(leader)


def _until(leader: int, text: str) -> str:
    said = ""
    while text not in said:
        said += os.read(leader, 4096).decode()
    return said


_SIZES = """
import os, signal, time
signal.signal(signal.SIGWINCH, lambda *_: print("size", *os.get_terminal_size(1), flush=True))
print("ready", flush=True)
while True: time.sleep(0.05)
"""


def test_the_size_of_the_terminal_is_followed(tmp_path: Path) -> None:
    with _on_terminal(tmp_path, sys.executable, "-c", _SIZES) as (_, leader):
        _until(leader, "ready")
        fcntl.ioctl(leader, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 132, 0, 0))
        _until(leader, "size 132 50")


def test_an_interrupt_on_the_terminal_comes_once(tmp_path: Path) -> None:
    counts = _SAYS.replace("sys.exit(7)", "0") + "\n"
    with _on_terminal(tmp_path, sys.executable, "-c", counts, "SIGINT") as (pid, leader):
        _until(leader, "ready")
        os.write(leader, b"\x03")
        said = _until(leader, "SIGINT")
        time.sleep(0.5)
        os.kill(pid, signal.SIGUSR1)
        with contextlib.suppress(OSError):
            while data := os.read(leader, 4096):
                said += data.decode()
        assert said.count("SIGINT") == 1
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 128 + signal.SIGUSR1
