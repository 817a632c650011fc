"""What a checkout may decide is little.

None of its programs is started before somebody asks for that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.host import Host
from doctor.observe.checkouts import is_tracked
from doctor.observe.targets import choose_interpreter
from tests.command import Said, doctor
from tests.environments import UnavailableError, make
from tests.faults.standins import program
from tests.hosts import put

pytestmark = pytest.mark.skipif(
    os.name == "nt" or not shutil.which("git"), reason="needs git and shell scripts"
)

_TOOLS = (
    *(
        "python",
        "python3",
        "python3.12",
        "pip",
        "uv",
        "conda",
        "nvcc",
        "nvidia-smi",
        "gcc",
        "g++",
        "cc",
        "c++",
        "clang",
        "ninja",
        "ld",
    ),
    *(
        "cargo",
        "rustc",
        "rustup",
        "rustdoc",
        "git",
        "ptxas",
        "ldconfig",
        "sh",
        "apt-get",
        "dpkg",
        "ldd",
        "evil.sh",
        "doctor",
        "env",
    ),
)
_COMMANDS: dict[str, tuple[str, ...]] = {
    "check": ("check", "--no-canaries"),
    "check of a name": ("check", "--no-canaries", "--python", "python3"),
    "diagnose": ("diagnose", "build.log"),
    "list": ("list",),
    "explain": ("explain", "torch/no-kernel-image"),
    "diff": ("diff", "old.json", "old.json"),
    "config": ("config",),
    "new-issue": ("new-issue", "build.log"),
    "lint": ("lint", "matrices"),
    "run": ("run", "--", "true"),
    "run that fails": ("run", "--", "false"),
    "snapshot": ("snapshot", "--no-canaries"),
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout every program of which leaves a mark."""
    checkout = tmp_path_factory.mktemp("work") / "checkout"
    leaves = f'echo "$0 $*" >> {checkout.parent}/marks'
    folders = (
        ".",
        "bin",
        ".venv/bin",
        "venv/bin",
        ".pixi/envs/default/bin",
        "tc/bin",
        "python3/bin",
        "node_modules/.bin",
        ".cargo/bin",
    )
    for folder in folders:
        for tool in _TOOLS:
            if not (checkout / folder / tool).is_dir() and not (
                folder == "." and tool == "python3"
            ):
                program(checkout / folder / tool, leaves)
    for folder in (".venv", "venv"):
        put(checkout / folder / "pyvenv.cfg", f"home = {checkout}/bin\nversion = 3.12.1\n")
    evil = f"open({str(checkout.parent / 'marks')!r}, 'a').write(__file__ + chr(10))"
    for module in (
        "sitecustomize",
        "usercustomize",
        "torch",
        "json",
        "msgspec",
        "typer",
        "setup",
        "conftest",
        "noxfile",
    ):
        put(checkout / f"{module}.py", evil)
    put(
        checkout / "Cargo.toml",
        '[package]\nname = "evil"\nversion = "0.1.0"\n[dependencies]\ncandle-core = "0.9.1"\n',
    )
    put(
        checkout / "Cargo.lock",
        'version = 4\n[[package]]\nname = "candle-core"\nversion = "0.9.1"\n',
    )
    put(checkout / "build.rs", "fn main() { panic!() }")
    put(checkout / "src/lib.rs", "")
    wrapped = "".join(
        f'{name} = "{checkout}/evil.sh"\n'
        for name in ("rustc", "rustc-wrapper", "rustc-workspace-wrapper", "rustdoc")
    )
    put(
        checkout / ".cargo/config.toml",
        f"[build]\n{wrapped}[alias]\nmetadata = ['run']\n[env]\nPATH = '{checkout}/bin'\n",
    )
    put(checkout / "matrices/issues/torch/evil.yaml", "title: no issue\n")
    put(
        checkout / "build.log",
        "RuntimeError: CUDA error: no kernel image is available for execution on the device\n",
    )
    doctor(
        "snapshot",
        "--no-canaries",
        "--python",
        sys.executable,
        "-o",
        checkout / "old.json",
        cwd=checkout.parent,
    )
    _git(checkout, "init", "-q")
    _git(checkout, "add", "-f", ".")
    _git(
        checkout,
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@example.org",
        "commit",
        "-qm",
        "all of it",
    )
    (checkout.parent / "marks").unlink(missing_ok=True)
    return checkout


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def _ran(checkout: Path, *arguments: str, rust: str = "", **env: str) -> Said:
    """Run the installed command, and check that nothing of the checkout ran."""
    tools = checkout.parent / "tools"
    for tool in ("rustup", "cargo", "rustc"):
        program(tools / tool, "exit 1")
    command = (str(Path(sys.executable).with_name("doctor")),)
    env = {
        "RUSTUP_HOME": str(checkout.parent / "rustup"),
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        **env,
    }
    marks = checkout.parent / "marks"
    marks.unlink(missing_ok=True)
    said = doctor(*arguments, cwd=checkout, env=env, command=command)
    assert not marks.exists(), marks.read_text(encoding="utf-8")
    return said


@pytest.mark.parametrize("name", _COMMANDS)
def test_no_program_of_a_checkout_is_started(hostile: Path, name: str) -> None:
    assert _ran(hostile, *_COMMANDS[name]).code in (0, 1, 2, 4)


@pytest.mark.parametrize("entries", [".", "", "bin", ".venv/bin"])
@pytest.mark.parametrize("name", ["check", "run that fails"])
def test_a_path_that_means_the_current_folder_leads_nowhere(
    hostile: Path, name: str, entries: str
) -> None:
    _ran(
        hostile,
        *_COMMANDS[name],
        PATH=os.pathsep.join((entries, str(hostile.parent / "tools"), os.environ["PATH"])),
    )


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("rust-toolchain", "{checkout}/tc\n"),
        ("rust-toolchain", '[toolchain]\nchannel = "{checkout}/tc"\n'),
        ("rust-toolchain.toml", '[toolchain]\npath = "{checkout}/tc"\n'),
        ("rust-toolchain.toml", '[toolchain]\npath = "tc"\n'),
        ("rust-toolchain.toml", '[toolchain]\nchannel = "../../checkout/tc"\n'),
    ],
)
def test_no_toolchain_that_a_file_names_by_its_folder_is_started(
    hostile: Path, file: str, text: str
) -> None:
    put(hostile / file, text.format(checkout=hostile))
    try:
        said = _ran(hostile, "check", "--no-canaries", "--format", "json", "-v")
    finally:
        (hostile / file).unlink()
    assert "RUSTUP_TOOLCHAIN" in said.out or "is not installed" in said.out


@pytest.mark.parametrize(
    "setting",
    ['python = "./evil.sh"', 'python = ".venv"', 'python = "evil.sh"', 'flash-attn = "."'],
)
@pytest.mark.parametrize("name", ["check", "config", "run that fails"])
def test_a_setting_of_the_project_names_no_program(hostile: Path, setting: str, name: str) -> None:
    put(hostile / "pyproject.toml", f"[tool.doctor]\n{setting}\n")
    try:
        said = _ran(hostile, *_COMMANDS[name])
    finally:
        (hostile / "pyproject.toml").unlink()
    if name != "run that fails":
        assert said.code == 2
        assert "pyproject.toml:2" in said.err


def test_the_environment_of_a_checkout_is_examined_where_it_is_asked_for(hostile: Path) -> None:
    chosen = choose_interpreter(
        Host(env={"PATH": os.environ["PATH"]}, cwd=hostile), None, hostile, own=hostile.parent
    )
    assert ".venv came with the repository" in chosen.chosen_by
    marks = hostile.parent / "marks"
    doctor("check", "--no-canaries", "--python", ".venv", cwd=hostile)
    assert marks.exists()
    marks.unlink()


def test_an_environment_that_somebody_made_in_a_checkout_is_taken(tmp_path: Path) -> None:
    put(tmp_path / "README", "")
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "add", ".")
    try:
        make(tmp_path / ".venv", ())
    except UnavailableError as error:
        pytest.skip(str(error))
    said = doctor("check", "--no-canaries", "--format", "json", cwd=tmp_path)
    assert said.report["targets"][0]["chosen_by"] == ".venv"


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_what_git_tracks_is_read_from_its_index(tmp_path: Path, version: str) -> None:
    for name in (".venv/bin/python", ".venue", "a/.venv/x", "venv-notes/x", "later"):
        put(tmp_path / name, "x")
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "add", "-f", ".venv", ".venue", "a", "venv-notes")
    _git(tmp_path, "add", "-N", "later")
    _git(tmp_path, "update-index", "--index-version", version)
    found = {
        name: is_tracked(tmp_path / name)
        for name in (
            ".venv",
            ".venue",
            ".ven",
            "venv",
            "a",
            "a/.venv",
            "venv-notes",
            "later",
            "none",
        )
    }
    assert found == dict.fromkeys(found, True) | {".ven": False, "venv": False, "none": False}
    put(tmp_path / "module/x", "x")
    assert not is_tracked(tmp_path / "module")
    (tmp_path / ".git/index").write_bytes((tmp_path / ".git/index").read_bytes()[:90])
    assert is_tracked(tmp_path / "none") is False


def test_a_worktree_has_an_index_elsewhere(tmp_path: Path) -> None:
    put(tmp_path / "one/.venv/x", "x")
    _git(tmp_path / "one", "init", "-q")
    _git(tmp_path / "one", "add", ".")
    _git(
        tmp_path / "one",
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@example.org",
        "commit",
        "-qm",
        "one",
    )
    _git(tmp_path / "one", "worktree", "add", "-q", "../two")
    assert (is_tracked(tmp_path / "two/.venv"), is_tracked(tmp_path / "two/none")) == (True, False)
