"""Settings for the patient's Python reach the patient, and not doctor."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.command import Said, doctor
from tests.faults.standins import bare, on_path, program
from tests.promises.sources import ROOT

_SCRIPT = (
    "import sys\nfrom canary_doctor import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
)
"""What an installer writes for an entry point."""
_FOREIGN = (
    "msgspec",
    "packaging",
    "typer",
    "click",
    "rich",
    "yaml",
    "ahocorasick_rs",
    "typing_extensions",
    "typing",
    "doctor",
)


@pytest.fixture
def command(tmp_path: Path) -> tuple[str, str]:
    """Return the command as an installer makes it."""
    script = tmp_path / "bin" / "doctor"
    script.parent.mkdir()
    script.write_text(_SCRIPT, encoding="utf-8")
    return sys.executable, str(script)


def _snapshot(folder: Path) -> Path:
    path = folder / "snapshot.json"
    path.write_text(
        '{"facts": {"torch.version": {"state": "present", "value": "2.13.0", "source": "x"}}}',
        encoding="utf-8",
    )
    return path


def _judged(tmp_path: Path, command: tuple[str, ...], env: dict[str, str]) -> Said:
    said = doctor(
        "check",
        "--from",
        _snapshot(tmp_path),
        "--format",
        "json",
        cwd=tmp_path,
        env=env,
        command=command,
    )
    assert said.code == 0, said.err
    assert said.report["facts"]["torch.version"]["value"] == "2.13.0"
    return said


def test_packages_that_were_built_for_another_python_do_no_harm(
    tmp_path: Path, command: tuple[str, str]
) -> None:
    for name in _FOREIGN:
        (tmp_path / "theirs" / name).mkdir(parents=True)
        (tmp_path / "theirs" / name / "__init__.py").write_text(
            "raise RuntimeError('built for another Python')", encoding="utf-8"
        )
    env = {"PYTHONPATH": str(tmp_path / "theirs")}
    _judged(tmp_path, command, env)
    (tmp_path / "theirs" / "doctor").rename(
        tmp_path / "another"
    )  # `python -m doctor` would be that one
    (tmp_path / "theirs" / "typing").rename(
        tmp_path / "yet another"
    )  # and runpy itself imports this one
    _judged(tmp_path, (sys.executable, "-m", "doctor"), env)


def test_a_sitecustomize_of_the_patient_does_no_harm(
    tmp_path: Path, command: tuple[str, str]
) -> None:
    (tmp_path / "theirs").mkdir()
    breaks = (
        "import sys, subprocess\nsys.modules['msgspec'] = None\nsubprocess.Popen = "
        "None\nsys.argv[1:] = ['nosuch']\n"
    )
    (tmp_path / "theirs" / "sitecustomize.py").write_text(breaks, encoding="utf-8")
    _judged(tmp_path, command, {"PYTHONPATH": str(tmp_path / "theirs")})


def test_a_sitecustomize_of_the_target_changes_no_path(
    tmp_path: Path, command: tuple[str, str]
) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "sitecustomize.py").write_text(
        "import os\nos.environ['PATH'] = '/nowhere'\nos.environ['DOCTOR_FAIL_ON'] = 'nosuch'\n",
        encoding="utf-8",
    )
    tool = program(
        tmp_path / "cuda" / "bin" / "nvcc", "echo 'Cuda compilation tools, release 12.4, V12.4.1'"
    )
    env = {**on_path(tool.parent), "PYTHONPATH": str(tmp_path / "theirs")}
    said = doctor(
        "snapshot", "--no-canaries", "--python", sys.executable, "-o", "-",
        cwd=tmp_path, env=env, command=command,
    )  # fmt: skip
    assert said.code == 0, said.err
    assert str(tool.parents[1]) in said.out


_VARIABLES = {
    "PYTHONWARNINGS": "error",
    "PYTHONOPTIMIZE": "2",
    "PYTHONINSPECT": "1",
    "PYTHONSTARTUP": "/nowhere",
    "PYTHONSAFEPATH": "1",
    "PYTHONDEVMODE": "1",
    "PYTHONNOUSERSITE": "1",
    "PYTHONPLATLIBDIR": "lib",
    "PYTHONPATH": os.pathsep.join(["", ".", "/nowhere", "\udcff"]),
}


@pytest.mark.parametrize("name", _VARIABLES)
def test_a_variable_for_python_does_no_harm(
    tmp_path: Path, command: tuple[str, str], name: str
) -> None:
    said = doctor("check", "--help", cwd=tmp_path, env={name: _VARIABLES[name]}, command=command)
    assert said.code == 0
    assert "Examine an environment and a Cargo workspace" in said.out
    assert "Warning" not in said.err


def test_what_is_set_for_the_patient_reaches_it(tmp_path: Path, command: tuple[str, str]) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "msgspec.py").write_text(
        "raise RuntimeError('built for another Python')", encoding="utf-8"
    )
    env = {
        "PYTHONPATH": f"{theirs}{os.pathsep}/nowhere",
        "PYTHONWARNINGS": "error",
        "PYTHONOPTIMIZE": "1",
    }
    patient = bare(tmp_path / "patient")
    said = doctor(
        "check",
        "--format",
        "json",
        "--no-canaries",
        "--python",
        patient,
        cwd=tmp_path,
        env=env,
        command=command,
    )
    assert said.code == 4, said.err
    assert said.report["facts"]["env.PYTHONPATH"]["value"] == env["PYTHONPATH"]


@pytest.mark.skipif(sys.platform != "linux", reason="LD_LIBRARY_PATH is read by its loader")
def test_a_runtime_on_the_library_path_does_no_harm(
    tmp_path: Path, command: tuple[str, str]
) -> None:
    """RE2 would be linked to it: a log is searched with RE2."""
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    for name in ("libstdc++.so.6", "libgcc_s.so.1"):
        (theirs / name).write_bytes(b"\x7fELF")
    log = tmp_path / "build.log"
    log.write_text("RuntimeError: operator torchvision::nms does not exist\n", encoding="utf-8")
    env = {"LD_LIBRARY_PATH": str(theirs)}
    said = doctor("diagnose", str(log), "--format", "json", cwd=tmp_path, env=env, command=command)
    assert said.code == 1, said.err
    assert said.report["findings"]


def test_a_start_that_fails_is_no_finding(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    (broken / "msgspec").mkdir(parents=True)
    (broken / "msgspec" / "__init__.py").write_text(
        "raise ImportError('built for another Python')", encoding="utf-8"
    )
    start = f"import sys; sys.path.insert(0, {str(broken)!r}); from doctor.cli import main; main()"
    said = doctor(cwd=tmp_path, command=(sys.executable, "-c", start))
    assert (said.code, said.out) == (3, "")
    assert "doctor: cannot start: ImportError: built for another Python" in said.err


_NO_FILES = """
import sys
class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise OSError(24, "Too many open files", "x.py")
sys.meta_path.insert(0, Refusing())
import canary_doctor
sys.argv = ["doctor", "check", "--python", "/nowhere/python"]
canary_doctor.main()
"""


@pytest.mark.parametrize("name", ["doctor.cli", "ahocorasick_rs"])
def test_where_no_more_files_may_be_opened_it_says_so(tmp_path: Path, name: str) -> None:
    """The first file that is read cannot be, or the last: the rules for secrets."""
    start = _NO_FILES.format(name=name)
    said = doctor(cwd=ROOT, command=(sys.executable, "-c", start))
    assert (said.code, said.out) == (3, "")
    assert "doctor: this machine does not let doctor" in said.err
    assert "Too many open files" in said.err


def test_an_interrupt_while_it_starts_leaves_no_trace(tmp_path: Path) -> None:
    early = tmp_path / "early"
    (early / "msgspec").mkdir(parents=True)
    (early / "msgspec" / "__init__.py").write_text(
        "import os, signal; os.kill(os.getpid(), signal.SIGINT)", encoding="utf-8"
    )
    start = f"import sys; sys.path.insert(0, {str(early)!r}); from doctor.cli import main; main()"
    said = doctor(cwd=tmp_path, command=(sys.executable, "-c", start))
    assert (said.code, said.out, said.err.strip()) == (130, "", "doctor: interrupted")


def test_a_module_in_the_current_folder_is_not_imported(tmp_path: Path) -> None:
    for name in ("msgspec", "typer", "json", "platform"):
        (tmp_path / f"{name}.py").write_text(
            "raise RuntimeError('the project is not to be imported')", encoding="utf-8"
        )
    _judged(tmp_path, (sys.executable, "-m", "doctor"), {})


@pytest.mark.parametrize("more", [{}, {"PYTHONPATH": ""}], ids=["unset", "empty"])
def test_the_command_starts_in_its_own_checkout(
    command: tuple[str, str], more: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty PYTHONPATH does not name the current folder, which an editable install needs."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    # An editable install holds a copy of this file, apart from the checkout.
    shutil.copy(ROOT / "canary_doctor.py", Path(command[1]).parent)
    started = doctor("--version", cwd=ROOT, env=more, command=command)
    assert (started.code, started.err) == (0, "")


def test_a_program_that_imports_doctor_keeps_its_path(tmp_path: Path) -> None:
    start = (
        "import sys; before = list(sys.path); import doctor, doctor.cli; doctor.check; "
        "print(sys.path == before)"
    )
    said = doctor(
        cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, command=(sys.executable, "-c", start)
    )
    assert said.out.strip() == "True"


@pytest.mark.skipif(os.name != "posix", reason="a folder that is in use stays")
def test_a_program_is_told_as_well(tmp_path: Path) -> None:
    start = (
        "import os, doctor; os.mkdir('x'); os.chdir('x'); os.rmdir(os.getcwd())\ntry: "
        "doctor.check(no_canaries=True)"
    )
    start += "\nexcept doctor.DoctorError as error: print(error)"
    said = doctor(cwd=tmp_path, command=(sys.executable, "-c", start))
    assert said.out.startswith(
        "this machine does not let doctor work: the current folder is gone"
    ), said.err
