"""Reports go to whole files, pipes and devices, and through no link of a checkout."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.base.errors import WriteError
from doctor.host import writing
from tests.command import COLD, doctor, environment

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="devices, links and modes are those of POSIX"
)

_LOG = "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with a log in it."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "failed.log").write_text(_LOG, encoding="utf-8")
    return folder


def _diagnosed(project: Path, target: str | Path) -> tuple[int, str]:
    said = doctor("diagnose", "failed.log", "--report", f"json={target}", cwd=project)
    assert "triton/c-compiler-missing" in said.out
    return said.code, said.err


def _finding(text: str | bytes) -> str:
    return str(json.loads(text)["findings"][0]["id"])


def _device(path: Path) -> Path:
    """Make a device that swallows what is written to it, as /dev/null does."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        path.write_text("taken")
    except OSError as error:
        pytest.skip(f"this user, or this file system, has no devices: {error}")
    return path


def test_a_device_takes_the_report_and_stays_a_device(project: Path) -> None:
    device = _device(project / "null")
    assert _diagnosed(project, device)[0] == 1
    assert stat.S_ISCHR(device.lstat().st_mode)
    assert (
        doctor(
            "snapshot", "--no-canaries", "--python", sys.executable, "-o", device, cwd=project
        ).code
        == 0
    )
    assert stat.S_ISCHR(device.lstat().st_mode)


def test_a_named_pipe_hands_the_report_to_its_reader_and_stays(project: Path) -> None:
    pipe = project / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(
        target=lambda: read.append(pipe.read_text(encoding="utf-8")), daemon=True
    )
    reader.start()
    assert _diagnosed(project, pipe)[0] == 1
    reader.join(20)
    assert _finding(read[0]) == "triton/c-compiler-missing"
    assert stat.S_ISFIFO(pipe.lstat().st_mode)


def test_a_pipe_that_nobody_reads_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(writing, "_READER_SECONDS", 0.2)
    with pytest.raises(WriteError, match="nobody has read from it"):
        writing.write(tmp_path / "pipe", "text")


def test_a_pipe_whose_reader_takes_nothing_more_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(writing, "_READER_SECONDS", 0.2)
    held = os.open(tmp_path / "pipe", os.O_RDWR)
    try:
        with pytest.raises(WriteError, match="nobody has read from it"):
            writing.write(tmp_path / "pipe", "text" * 100_000)
    finally:
        os.close(held)


def test_a_pipe_whose_reader_leaves_early_is_named(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def read_a_little() -> None:
        with pipe.open("rb", buffering=0) as stream:
            stream.read(10)

    reader = threading.Thread(target=read_a_little, daemon=True)
    reader.start()
    with pytest.raises(WriteError, match=r"pipe cannot be written: Broken pipe"):
        writing.write(pipe, "text" * 100_000)
    reader.join(20)


def test_a_process_substitution_gets_the_report(project: Path) -> None:
    script = (
        f"{sys.executable} -m doctor diagnose failed.log --report json=>(cat >got) >/dev/null; "
        f"wait; sleep 0.5; cat got"
    )
    ran = subprocess.run(
        ["bash", "-c", script],
        cwd=project,
        env=environment(),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert _finding(ran.stdout) == "triton/c-compiler-missing", ran.stderr


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_a_descriptor_is_written_to_where_it_stands(project: Path, name: str) -> None:
    if not Path(name).exists():
        pytest.skip(f"no {name} here")
    before = os.lstat("/dev/stdout")
    out = project / "out"
    with out.open("wb") as file:
        argv = [
            sys.executable,
            "-m",
            "doctor",
            "diagnose",
            "failed.log",
            "--report",
            f"json={name}",
        ]
        ran = subprocess.run(
            argv,
            cwd=project,
            env=environment(),
            stdout=file,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert (ran.returncode, ran.stderr) == (1, b"")
    text, brace, document = out.read_text(encoding="utf-8").partition("\n{")
    assert "triton/c-compiler-missing" in text
    assert _finding(brace + document) == "triton/c-compiler-missing"
    assert os.lstat("/dev/stdout").st_ino == before.st_ino


def test_a_folder_and_a_socket_take_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    (tmp_path / "folder").mkdir()
    with pytest.raises(WriteError, match="folder cannot be written: it is a folder"):
        writing.write(tmp_path / "folder", "text")
    with socket.socket(socket.AF_UNIX) as made:
        monkeypatch.chdir(tmp_path)  # its name has to be short
        made.bind("s")
        with pytest.raises(WriteError, match="neither a file nor a pipe"):
            writing.write(tmp_path / "s", "text")


def test_a_report_that_is_a_link_is_not_written_through(project: Path) -> None:
    victim = project.parent / "victim"
    victim.write_text("mine", encoding="utf-8")
    (project / "doctor.json").symlink_to(victim)
    code, said = _diagnosed(project, "doctor.json")
    assert (code, victim.read_text(encoding="utf-8")) == (3, "mine")
    assert (
        f"it is a link, and a checkout may bring links; to mean that file, name it {victim}" in said
    )
    assert (project / "doctor.json").is_symlink()


def test_names_that_could_be_foreseen_are_not_used(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = project.parent / "victim"
    victim.write_text("mine", encoding="utf-8")
    (project / f".doctor.json.{os.getpid()}").symlink_to(victim)
    writing.write(project / "doctor.json", "report")
    assert victim.read_text(encoding="utf-8") == "mine"
    assert (project / "doctor.json").read_text(encoding="utf-8") == "report"
    # Should a name be met by chance after all, what lies there is neither followed nor touched.
    monkeypatch.setattr(os, "urandom", lambda _count: b"known")
    (project / f".doctor-{b'known'.hex()}").symlink_to(victim)
    with pytest.raises((WriteError, FileExistsError)):
        writing.write(project / "doctor.json", "another")
    assert victim.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    "target", ["reports/doctor.json", "./reports/doctor.json", "inner/../reports/doctor.json"]
)
def test_a_folder_that_leads_out_of_the_current_one_is_not_followed(
    project: Path, target: str
) -> None:
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "doctor.json").write_text("mine", encoding="utf-8")
    (project / "reports").symlink_to(elsewhere)
    (project / "inner").mkdir()
    code, said = _diagnosed(project, target)
    assert (code, (elsewhere / "doctor.json").read_text(encoding="utf-8")) == (3, "mine")
    assert f"name it {elsewhere / 'doctor.json'}" in said
    assert _diagnosed(project, elsewhere / "doctor.json")[0] == 1
    assert _finding((elsewhere / "doctor.json").read_bytes()) == "triton/c-compiler-missing"


def test_links_within_the_folder_and_paths_upwards_are_followed(project: Path) -> None:
    (project / "real").mkdir()
    (project / "build").symlink_to("real")
    assert _diagnosed(project, "build/doctor.json")[0] == 1
    assert (project / "real/doctor.json").is_file()
    assert _diagnosed(project, "../up.json")[0] == 1
    assert (project.parent / "up.json").is_file()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_report_keeps_the_mode_of_the_one_before(project: Path, mode: int) -> None:
    report = project / "doctor.json"
    report.write_text("old", encoding="utf-8")
    report.chmod(mode)
    _diagnosed(project, report)
    assert _finding(report.read_bytes()) == "triton/c-compiler-missing"
    assert stat.S_IMODE(report.stat().st_mode) == mode


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away"
)
def test_a_report_keeps_the_owner_of_the_one_before(project: Path) -> None:
    report = project / "doctor.json"
    report.write_text("old", encoding="utf-8")
    os.chown(report, 4711, 4712)
    _diagnosed(project, report)
    assert (report.stat().st_uid, report.stat().st_gid) == (4711, 4712)


def test_a_new_report_has_the_mode_of_the_umask_and_a_snapshot_is_its_owners(project: Path) -> None:
    before = os.umask(0o027)
    try:
        doctor("diagnose", "failed.log", "--report", "json=doctor.json", cwd=project, command=COLD)
        assert (
            doctor(
                "snapshot",
                "--no-canaries",
                "--python",
                sys.executable,
                "-o",
                "seen.json",
                cwd=project,
                command=COLD,
            ).code
            == 0
        )
    finally:
        os.umask(before)
    assert stat.S_IMODE((project / "doctor.json").stat().st_mode) == 0o640
    assert stat.S_IMODE((project / "seen.json").stat().st_mode) == 0o600


def _limited() -> None:
    """Let this process make files of 2,000 bytes at most, which is what a full disk is to it."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


def _on_a_full_disk(
    project: Path, *arguments: str, **more: str
) -> subprocess.CompletedProcess[bytes]:
    argv = [sys.executable, "-m", "doctor", "diagnose", "failed.log", *arguments]
    env = environment(more)
    return subprocess.run(
        argv,
        cwd=project,
        env=env,
        capture_output=True,
        check=False,
        timeout=60,
        preexec_fn=_limited,
    )


def test_where_the_disk_is_full_the_report_before_stays_and_nothing_is_left(project: Path) -> None:
    (project / "doctor.json").write_text("old", encoding="utf-8")
    ran = _on_a_full_disk(project, "--report", "json=doctor.json")
    assert ran.returncode == 3
    assert os.strerror(errno.EFBIG).encode() in ran.stderr
    assert (project / "doctor.json").read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in project.iterdir()) == ["doctor.json", "failed.log"]


def test_where_the_disk_is_full_no_half_of_a_summary_stays(project: Path) -> None:
    summary = project / "summary.md"
    summary.write_text("x" * 1900, encoding="utf-8")
    ran = _on_a_full_disk(project, "--report", "github", GITHUB_STEP_SUMMARY=str(summary))
    assert ran.returncode == 3
    assert summary.read_text(encoding="utf-8") == "x" * 1900


@pytest.mark.parametrize("raised", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("write", [writing.write, writing.create])
def test_an_interrupt_leaves_nothing_behind(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write: Callable[[Path, str], None],
    raised: type[BaseException],
) -> None:
    def interrupted(_descriptor: int, _data: object) -> int:
        raise raised

    monkeypatch.setattr(os, "write", interrupted)
    with pytest.raises((raised, WriteError)):
        write(tmp_path / "doctor.json", "text")
    assert list(tmp_path.iterdir()) == []


def test_a_summary_grows_and_a_pipe_may_stand_for_it(tmp_path: Path) -> None:
    writing.append(tmp_path / "summary", "one\n")
    writing.append(tmp_path / "summary", "two\n")
    assert (tmp_path / "summary").read_text(encoding="utf-8") == "one\ntwo\n"
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(
        target=lambda: read.append((tmp_path / "pipe").read_text(encoding="utf-8")), daemon=True
    )
    reader.start()
    writing.append(tmp_path / "pipe", "three\n")
    reader.join(20)
    assert read == ["three\n"]


def test_a_name_that_is_no_unicode_is_written_with_escapes(tmp_path: Path) -> None:
    writing.write(tmp_path / "report", "caf\udce9\n")
    assert (tmp_path / "report").read_text(encoding="utf-8") == "caf\\udce9\n"


def test_init_writes_nothing_through_a_linked_folder(project: Path) -> None:
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    (project / ".github").mkdir()
    (project / ".github" / "workflows").symlink_to(elsewhere)
    said = doctor("init", "github", cwd=project)
    assert (said.code, list(elsewhere.iterdir())) == (3, [])
    assert "a link in it leads elsewhere" in said.err


def test_a_known_issue_is_begun_where_a_device_or_nothing_is(project: Path) -> None:
    device = _device(project / "null")
    (project / "failed.log").write_text(
        "some.tool: error: the flux of 2.5.1 is not compensated\n", encoding="utf-8"
    )
    assert doctor("new-issue", "failed.log", "-o", device, cwd=project).code == 0
    assert stat.S_ISCHR(device.lstat().st_mode)
    (project / "link.yaml").symlink_to(project.parent / "gone")
    assert doctor("new-issue", "failed.log", "-o", "link.yaml", cwd=project).code == 2
    assert not (project.parent / "gone").exists()
    said = doctor("new-issue", "failed.log", "-o", "-", cwd=project)
    assert said.out.startswith("title: ")
    assert not (project / "-").exists()


def test_a_dash_is_standard_output(project: Path) -> None:
    said = doctor(
        "diagnose", "failed.log", "--report", "json=-", "--report", "text=a.txt", cwd=project
    )
    assert (said.code, _finding(said.out)) == (1, "triton/c-compiler-missing")
    assert "triton/c-compiler-missing" in (project / "a.txt").read_text(encoding="utf-8")
    assert not (project / "-").exists()
    said = doctor("diagnose", "failed.log", "--report", "json=-", "--format", "html", cwd=project)
    assert (said.code, said.out) == (2, "")
    assert "--report json=-: standard output is already that of --format html" in said.err


def test_what_is_said_beside_the_report_is_not_put_into_it(project: Path) -> None:
    command = f"{sys.executable} -m doctor init gitlab -o ci.yml 2>&-"
    ran = subprocess.run(
        ["sh", "-c", command],
        cwd=project,
        env=environment(),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout) == (0, b"")
