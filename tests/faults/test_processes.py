"""Nothing that a check starts outlives it, and doctor ends no process of others."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.host import jobs
from doctor.host import process_tree as trees
from doctor.host.scratch import Scratch
from doctor.model.outcomes import Verdict
from tests.command import alive, environment
from tests.environments import UnavailableError, interpreter, make
from tests.faults.standins import lives_on, outcome, package
from tests.namespaces import apart, run_apart
from tests.runner.shared import run_shared

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="needs /proc and a kernel that lets orphans be adopted",
)

_GET_CHILD_SUBREAPER = 37  # linux/prctl.h

_EMPTIED = 'os.execve("/bin/sleep", ["sleep", "600"], {})'
_OVERWRITTEN = """
import ctypes
begin, end = map(int, open("/proc/self/stat").read().rpartition(")")[2].split()[47:49])
ctypes.memset(begin, 0, end - begin)
assert b"CANARY_RUN" not in open("/proc/self/environ", "rb").read()
done()
time.sleep(600)
"""


def _daemon(note: Path, body: str) -> str:
    """Return a script that leaves an orphan process running `body`; `note` holds its number."""
    inner = "\n".join(
        f"        {line}"
        for line in (body if "done()" in body else f"done()\n{body}").strip().splitlines()
    )
    return f"""\
def done():
    with open({str(note) + ".part"!r}, "w") as file: file.write(str(os.getpid()))
    os.rename({str(note) + ".part"!r}, {str(note)!r})
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for held in range(3): os.dup2(os.open(os.devnull, os.O_RDWR), held)
{inner}
    os._exit(0)
while not os.path.exists({str(note)!r}): time.sleep(0.01)
"""


def _number(note: Path) -> int:
    return int(note.read_text(encoding="utf-8"))


_KINDS = {"emptied": _EMPTIED, "overwritten": _OVERWRITTEN}
_ENDS = {
    "timed out": ("act()\ntime.sleep(600)", Verdict.TIMED_OUT),
    "ended well": ("put(None, verdict='passed')", Verdict.PASSED),
    "crashed": ("act()\nos.abort()", Verdict.CRASHED),
    "killed its guard": ("act()\nos.kill(os.getppid(), 9)\ntime.sleep(600)", Verdict.CRASHED),
}


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("end", _ENDS)
def test_a_daemon_without_environment_ends_with_its_check(
    tmp_path: Path, kind: str, end: str
) -> None:
    note, (body, verdict) = tmp_path / "pid", _ENDS[end]
    assert outcome(tmp_path, _daemon(note, _KINDS[kind]) + body, timeout=3).verdict is verdict
    assert not lives_on(_number(note))


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("end", ["timed out", "ended well"])
def test_a_daemon_of_a_fork_ends_too(tmp_path: Path, kind: str, end: str) -> None:
    note, (body, verdict) = tmp_path / "pid", _ENDS[end]
    assert (
        run_shared(tmp_path, {"one": _daemon(note, _KINDS[kind]) + body}, timeout=3)["one"].verdict
        is verdict
    )
    assert not lives_on(_number(note))


def test_a_daemon_without_environment_outlives_no_killed_doctor(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    body = _daemon(note, _EMPTIED) + "os.kill(int(os.environ['OF_DOCTOR']), 9)\ntime.sleep(600)"
    program = f"""
import os
from pathlib import Path
from tests.faults.standins import outcome
os.environ["OF_DOCTOR"] = str(os.getpid())
outcome(Path({str(tmp_path)!r}), {body!r})
"""
    env = environment({"PYTHONPATH": os.pathsep.join(sys.path)})
    child = subprocess.run([sys.executable, "-c", program], env=env, check=False, timeout=60)
    assert child.returncode == -9
    assert not lives_on(_number(note))


@pytest.fixture
def bystander() -> Iterator[int]:
    """A process that is nobody's business but the test's."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as child:
        yield child.pid
        child.kill()


_JUNK = {
    "somebody else": '{{"made": {victim}}}',
    "end of somebody else": '{{"ended": {victim}, "code": 0}}',
    "init": '{{"made": 1}}',
    "null": '{{"made": null}}',
    "text": '{{"made": "x"}}',
    "huge": '{{"made": 10000000000000000000000}}',
    "negative": '{{"made": -1}}',
    "deep": "[" * 100_000,
    "bytes": "\xff\xfe\n",
}


def _writing(message: str) -> str:
    """Return code that writes a line to every descriptor of its process that takes it."""
    return (
        f"for number in range(3, 64):\n    try: os.write(number, {message.encode('latin-1')!r} "
        "+ b'\\n')\n    except OSError: continue\n"
    )


@pytest.mark.parametrize("junk", [name for name in _JUNK if name != "init"])
def test_what_a_patient_says_of_processes_is_not_believed(
    tmp_path: Path, bystander: int, junk: str
) -> None:
    before = _writing(
        _JUNK[junk].replace("{{", "{").replace("}}", "}").replace("{victim}", str(bystander))
    )
    found = run_shared(tmp_path, {"one": "put(None, verdict='passed')"}, before=before)
    assert {name: outcome.verdict for name, outcome in found.items()} == {
        "first": Verdict.PASSED,
        "one": Verdict.PASSED,
    }
    assert alive(bystander)


def test_a_thread_that_never_stops_talking_costs_the_sharing_alone(
    tmp_path: Path, bystander: int
) -> None:
    line = f'{{"made": {bystander}}}'
    before = (
        "import threading\ndef talk():\n    while True:\n        "
        f"{_writing(line).replace(chr(10), chr(10) + ' ' * 8)}\n"
    )
    before += "threading.Thread(target=talk, daemon=True).start()\n"
    found = run_shared(tmp_path, {"one": "put(None, verdict='passed')"}, before=before, timeout=20)
    assert found["one"].verdict is Verdict.PASSED
    assert alive(bystander)


def test_a_script_does_not_hold_the_channel(tmp_path: Path) -> None:
    told = """
        held = [os.path.realpath(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
        put(None, verdict="passed", data={"held": held})
    """  # noqa: E501
    held = run_shared(tmp_path, {"one": told})["one"].data["held"]
    assert [path for path in held if "/log" in path]
    assert not [path for path in held if "socket" in path]


@pytest.mark.skipif(not apart(), reason="no namespace of processes can be made here")
def test_a_patient_that_names_init_ends_nothing(tmp_path: Path) -> None:
    try:
        make(tmp_path / "patient", ())
    except UnavailableError as error:
        pytest.skip(str(error))
    python = interpreter(tmp_path / "patient")
    package(python, "torch", "2.13.0", "import os\n" + _writing('{"made": 1}'))
    command = '"$1" -m doctor check --python "$2" --format json > report.json'
    script = f'setsid sleep 300 & {command}; echo "ended with $?"; kill -0 $! && echo stands by'
    ran = run_apart(script, sys.executable, str(python), cwd=tmp_path, env=environment())
    assert "stands by" in ran.stdout, ran
    assert ran.stdout.startswith(("ended with 0", "ended with 1\n")), ran
    assert (tmp_path / "report.json").stat().st_size > 1000


@pytest.mark.skipif(not apart(), reason="no namespace of processes can be made here")
def test_nobody_is_killed_who_must_not_be(tmp_path: Path) -> None:
    program = """
import os
from doctor.host.process_tree import kill_tree
for pid in 1, 0, -1, os.getpid(), os.getppid():
    kill_tree(pid, "no such mark")
"""
    script = '"$1" -c "$2" & wait $!; echo "ended with $?"'
    ran = run_apart(
        script,
        sys.executable,
        program,
        cwd=tmp_path,
        env=environment({"PYTHONPATH": os.pathsep.join(sys.path)}),
    )
    assert ran.stdout == "ended with 0\n", ran


def test_processes_of_the_caller_are_left_alone(tmp_path: Path, bystander: int) -> None:
    left = 'setsid sleep 600 <&- >&- 2>&- & echo "$!"'
    orphan = int(
        subprocess.run(["sh", "-c", left], capture_output=True, text=True, check=True).stdout
    )
    before = _subreaper()
    with Scratch():
        assert _subreaper() == before
        assert outcome(tmp_path, "put(None, verdict='passed')").verdict is Verdict.PASSED
    assert (_subreaper(), alive(bystander), alive(orphan)) == (before, True, True)
    os.kill(orphan, 9)


def _subreaper() -> int:
    found = ctypes.c_int(-1)
    ctypes.CDLL(None).prctl(_GET_CHILD_SUBREAPER, ctypes.byref(found), 0, 0, 0)
    return found.value


def test_where_nothing_of_ours_can_start_commands_they_start_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doctor.host.supervisor._CHILD", tmp_path / "no such program")
    assert outcome(tmp_path, "put(None, verdict='passed')").verdict is Verdict.PASSED


def test_no_interpreter_is_told_as_such(tmp_path: Path) -> None:
    found = outcome(tmp_path, "", executable=str(tmp_path / "no such python"))  # type: ignore[arg-type]
    assert (found.verdict, "does not start" in found.reason) == (Verdict.BROKEN, True)


def test_where_there_is_no_proc_psutil_finds_what_carries_a_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bystander: int
) -> None:
    pytest.importorskip("psutil")
    monkeypatch.setattr(trees, "_PROC", tmp_path / "proc")
    left = 'setsid sleep 600 <&- >&- 2>&- & echo "$!"; sleep 600 & wait'
    with subprocess.Popen(
        ["sh", "-c", left],
        stdout=subprocess.PIPE,
        env={**os.environ, trees.MARK: "a.1"},
        start_new_session=True,
    ) as shell:
        assert shell.stdout is not None
        stray = int(shell.stdout.readline())
        seen = trees.process_stat(stray)
        assert seen is not None
        assert (seen.parent, trees.mark_of(stray), sorted(trees.marked_processes("a"))[0]) == (
            shell.pid,
            "a.1",
            min(trees.marked_processes("a.1")),
        )
        assert {stray} < set(trees.descendants(shell.pid))
        trees.kill_tree(shell.pid, "a.1")
    assert (lives_on(stray), alive(bystander)) == (False, True)


def test_a_job_is_laid_out_as_windows_has_it() -> None:
    # Sizes of winnt.h, for pointers of eight bytes.
    assert (ctypes.sizeof(jobs.BasicLimits), ctypes.sizeof(jobs.ExtendedLimits)) == (64, 144)
    jobs.Job(object()).end()
