"""Odd files and huge files cost bounded memory and time, and give no wrong fact."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from doctor.catalog.loading import CatalogError, load_folder, parse_yaml
from doctor.cli import program_names as names
from doctor.host import Host
from doctor.host.reading import RECORD, UnreadableFile, read_given, read_regular, read_whole
from doctor.model.facts import Fact, State
from doctor.observe import checkouts, descriptions
from doctor.observe.binaries import elf
from doctor.observe.installed import extension_files, modules, records
from doctor.observe.probes import files, own_modules, python, requirements, torch
from tests.command import environment
from tests.hosts import put, python_at, script
from tests.sites import install, requires, seen_at, site_of

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="pipes, devices and sparse files are those of POSIX"
)

_SPARSE = 3 << 30
_MEMORY = 300 << 20


def _pipe(path: Path) -> None:
    os.mkfifo(path, 0o755)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(_SPARSE)


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _folder(path: Path) -> None:
    path.mkdir()


_ODD = {"a pipe": _pipe, "3 GB": _sparse, "a device": _endless, "a folder": _folder}
Odd = Callable[[Path], None]


@pytest.fixture(params=list(_ODD.values()), ids=list(_ODD))
def odd(request: pytest.FixtureRequest) -> Odd:
    """Return what makes, in the place of a file, something that is none, or that is too large."""

    def make(path: Path) -> None:
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        request.param(path)

    return make


def _until_unread(seen: Iterator[tuple[str, Fact]]) -> tuple[dict[str, Fact], str]:
    told: dict[str, Fact] = {}
    try:
        told |= seen
    except UnreadableFile as error:
        return told, str(error)
    return told, ""


def test_a_file_is_read_whole_or_told(tmp_path: Path, odd: Odd) -> None:
    path = put(tmp_path / "file", b"x" * 100)
    assert read_whole(path, 100) == b"x" * 100
    assert read_regular(path, 7) == b"x" * 7
    with pytest.raises(UnreadableFile, match="is larger than 99 bytes"):
        read_whole(path, 99)
    assert read_whole(tmp_path / "gone", 10) is None
    assert read_whole(tmp_path / "file" / "below", 10) is None
    odd(path)
    with pytest.raises(UnreadableFile, match=r"is larger than 1 KiB|is no regular file"):
        read_whole(path, 1024)
    assert read_regular(path, 3) in (None, b"\0\0\0")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc here")
def test_files_that_do_not_tell_their_size_are_read_to_their_end() -> None:
    assert b"VmRSS" in (read_whole("/proc/self/status", 1 << 20) or b"")
    assert len(read_regular("/proc/self/status", 10) or b"") == 10
    with pytest.raises(UnreadableFile, match="larger than 10 bytes"):
        read_whole("/proc/self/status", 10)


def test_what_a_person_hands_in_may_be_a_pipe_and_ends(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"text")
    os.close(writing)
    assert read_given(Path(f"/dev/fd/{reading}"), 10) == b"text"
    os.close(reading)
    with pytest.raises(UnreadableFile, match="larger than 3 bytes"):
        read_given(put(tmp_path / "x", b"four"), 3)
    with pytest.raises(UnreadableFile, match="a device, which has no end"):
        read_given(Path("/dev/zero"), 10)


def test_metadata_that_cannot_be_read_costs_only_what_it_asks_for(tmp_path: Path, odd: Odd) -> None:
    install(tmp_path, "vllm", "0.9", *requires("torch==1"))
    install(tmp_path, "torch", "2.9.1")
    odd(install(tmp_path, "xformers", "0.0.30", *requires("torch==2")) / "METADATA")
    started = time.process_time()
    scene = seen_at(tmp_path)
    assert {one.name: one.version for one in scene.distributions}["xformers"] == "0.0.30"
    told, why = _until_unread(requirements.probe(scene))
    assert time.process_time() - started < 2
    assert told["requires.vllm.torch.met"].value is False
    assert "METADATA is " in why or "METADATA: its headers are " in why
    assert not [name for name in told if name.startswith("requires.xformers.")]


def test_a_record_that_cannot_be_read_is_unknown_and_never_absent(tmp_path: Path, odd: Odd) -> None:
    install(tmp_path, "torch", "2.9.1", files={"torch/__init__.py": "x = 1\n"})
    odd(install(tmp_path, "vllm", "0.9", files={"vllm/__init__.py": "x = 1\n"}) / "RECORD")
    scene = seen_at(tmp_path)
    told, why = _until_unread(files.probe(scene))
    assert told["files.missing"].state is State.UNKNOWN
    assert "RECORD is " in told["files.missing"].why
    assert "RECORD is " in why
    told = dict(own_modules.probe(scene))
    assert told["modules.gone"].state is State.UNKNOWN
    assert "RECORD is " in extension_files.list_files(scene, {}).unread
    (site_of(tmp_path) / "torch/__init__.py").unlink()
    told, _ = _until_unread(files.probe(scene))
    assert [each["path"] for each in told["files.missing"].value] == [
        f"{site_of(tmp_path)}/torch/__init__.py"
    ]


def test_a_file_in_the_place_of_a_listed_one_is_neither_waited_for_nor_read_without_end(
    tmp_path: Path, odd: Odd
) -> None:
    install(tmp_path, "torch", "2.9.1", files={"torch/lib/libc10.so": b"version https://git-lfs"})
    install(tmp_path, "triton", "3.5", files={"torch/lib/libc10.so": b"other"})
    odd(site_of(tmp_path) / "torch/lib/libc10.so")
    told, _ = _until_unread(files.probe(seen_at(tmp_path)))
    assert told["files.damaged"].state is State.PRESENT


def test_a_version_file_that_cannot_be_read_is_unknown(tmp_path: Path, odd: Odd) -> None:
    for package in ("torch", "triton", "torchaudio"):
        put(site_of(tmp_path) / package / "__init__.py")
    odd(site_of(tmp_path) / "torch/version.py")
    odd(site_of(tmp_path) / "torch/utils/cpp_extension.py")
    odd(site_of(tmp_path) / "torchaudio/version.py")
    scene = seen_at(tmp_path)
    told = dict(torch.probe(scene))
    for name, file in (
        ("version", "version.py"),
        ("build", "version.py"),
        ("cxx_standard", "cpp_extension.py"),
    ):
        assert told[f"torch.{name}"].state is State.UNKNOWN
        assert f"{file} is " in told[f"torch.{name}"].why
    assert told["torchaudio.cuda_version"].state is State.UNKNOWN


def test_a_library_that_is_none_is_told(tmp_path: Path, odd: Odd) -> None:
    odd(tmp_path / "libc10.so")
    with (
        pytest.raises(elf.ElfError, match=r"not a 64-bit ELF file|is no regular file"),
        elf.opened(tmp_path / "libc10.so"),
    ):
        pass


def test_tables_of_a_library_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "sparse.so"
    path.write_bytes(b"\x7fELF\x02\x01" + bytes(100))
    with path.open("r+b") as file:
        file.truncate(2 << 30)
    with elf.opened(path) as library, pytest.raises(elf.ElfError, match="more than doctor reads"):
        library.take(64, 1 << 30)


def test_a_catalog_holds_files(tmp_path: Path, odd: Odd) -> None:
    odd(tmp_path / "issues/torch/x.yaml")
    with pytest.raises(CatalogError, match=r"x.yaml is (larger than 256 KiB|no regular file)"):
        load_folder(tmp_path)
    with pytest.raises(CatalogError):
        parse_yaml(tmp_path / "issues/torch/gone.yaml")


def test_another_doctor_on_the_path_is_not_waited_for(
    tmp_path: Path, odd: Odd, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd(tmp_path / "doctor")
    if (tmp_path / "doctor").is_file():
        (tmp_path / "doctor").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    started = time.process_time()
    assert names.shadow() in (None, str(tmp_path / "doctor"))
    assert time.process_time() - started < 1


def test_a_manifest_of_cargo_that_is_none_is_no_workspace(tmp_path: Path, odd: Odd) -> None:
    (tmp_path / ".git").mkdir()
    odd(tmp_path / "Cargo.toml")
    found = checkouts.find_workspace(tmp_path)
    assert found in (None, tmp_path)


# The kernel counts to the peak of a program what the process held that started it: here a small one
# does.
_WEIGH = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
with open(sys.argv[1], "w") as file: file.write(str(most))
sys.exit(code)
"""


def _weighed(
    *arguments: str, cwd: Path, env: dict[str, str] | None = None
) -> tuple[int, bytes, int, float]:
    """Run doctor.

    Return its exit code, what it printed, the bytes of memory that it or a child of it took at
    most, and the seconds.
    """
    started = time.monotonic()
    out, peak = cwd / "out", cwd / "peak"
    argv = [sys.executable, "-c", _WEIGH, str(peak), sys.executable, "-m", "doctor", *arguments]
    with out.open("wb") as file:
        ran = subprocess.run(
            argv, cwd=cwd, env=environment(env), stdout=file, stderr=subprocess.STDOUT, check=False
        )
    scale = 1 if sys.platform == "darwin" else 1024
    return (
        ran.returncode,
        out.read_bytes(),
        int(peak.read_text()) * scale,
        time.monotonic() - started,
    )


def _interpreter_of(prefix: Path) -> Path:
    """Write a program that describes itself as the interpreter of a made-up environment."""
    described = msgspec.to_builtins(python_at(prefix))
    return script(
        prefix / "bin/python",
        f"cat <<'EOF'\n{descriptions.BEGIN}{described!r}{descriptions.END}\nEOF",
    )


def test_an_environment_of_odd_files_is_examined_in_little_memory_and_time(
    tmp_path: Path, odd: Odd
) -> None:
    prefix = tmp_path / "env"
    for name in ("torch", "triton", "vllm", "numpy"):
        folder = install(prefix, name, "2.0", files={f"{name}/__init__.py": "x = 1\n"})
        for file in ("METADATA", "RECORD", "INSTALLER", "direct_url.json"):
            odd(folder / file)
    for file in (
        "torch/version.py",
        "torch/lib/libc10.so",
        "torch/utils/cpp_extension.py",
        "triton/__init__.py",
    ):
        if file != "triton/__init__.py":
            odd(site_of(prefix) / file)
    project = tmp_path / "project"
    put(project / ".git" / "HEAD")
    for file in (
        "requirements.txt",
        "uv.lock",
        "pyproject.toml",
        "Cargo.toml",
        "Cargo.lock",
        "rust-toolchain",
        "Dockerfile",
    ):
        odd(project / file)
    odd(project / "bin" / "doctor")
    env = {"PATH": f"{project / 'bin'}:{os.environ['PATH']}"}
    arguments = (
        "check",
        "--no-canaries",
        "--format",
        "json",
        "--python",
        str(_interpreter_of(prefix)),
    )
    code, out, memory, seconds = _weighed(*arguments, cwd=project, env=env)
    assert code in (0, 4), out[-2000:]
    report: dict[str, Any] = json.loads(out[out.index(b"{") :])
    assert memory < _MEMORY, f"{memory >> 20} MiB"
    assert seconds < 30
    assert report["facts"]["torch.version"]["state"] == "unknown"
    assert not [
        each
        for each in report["probe_failures"]
        if "no answer" in each["why"] or "Error" in each["why"]
    ]


@pytest.mark.parametrize(
    "text",
    [
        "import " + "a." * 30_000 + "a",
        "x = " + "1+" * 200_000 + "1",
        "x = " + "(" * 60_000,
        "import a" + ".\\\na" * 20_000,
    ],
    ids=["a name", "a sum", "brackets", "a name of many lines"],
)
def test_a_version_file_that_would_break_a_parser_costs_nothing(tmp_path: Path, text: str) -> None:
    path = put(tmp_path / "version.py", "__version__ = '2.9.1'\n" + text + "\n")
    program = (
        "import sys\nfrom pathlib import Path\nfrom doctor.host import Host, UnreadableFile\n"
        "from doctor.observe.installed.modules import constants\n"
        "try: print(constants(Host(), Path(sys.argv[1])))\n"
        "except UnreadableFile as error: print(error)\n"
    )
    argv = [
        sys.executable,
        "-c",
        _WEIGH,
        str(tmp_path / "peak"),
        sys.executable,
        "-c",
        program,
        str(path),
    ]
    told = subprocess.run(
        argv, capture_output=True, text=True, check=False, timeout=60
    ).stdout.strip()
    assert told == "{'__version__': '2.9.1'}" or "is larger than 64 KiB" in told
    assert int((tmp_path / "peak").read_text()) < 100 << 10


def _parsed(text: str) -> dict[str, Any]:
    """Return the constants as Python's own parser sees them."""
    found: dict[str, Any] = {}
    for node in ast.parse(text).body:
        named = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        value = getattr(node, "value", None)
        if isinstance(value, ast.Constant) and (
            value.value is None or isinstance(value.value, str | int | float)
        ):
            found.update({each.id: value.value for each in named if isinstance(each, ast.Name)})
    return found


_VERSION_FILES = {
    "torch": "from typing import Optional\n\n__all__ = ['__version__', 'debug']\n"
    "__version__ = '2.13.0+cu130'\ndebug = False\n"
    "cuda: Optional[str] = '13.0'\ngit_version = 'cf30153'\nhip: Optional[str] = None\n",
    "setuptools_scm": "# file generated\nTYPE_CHECKING = False\nif TYPE_CHECKING:\n    x = 1\n"
    'version: str\n__version__ = version = "1.2"\n'
    "__version_tuple__ = version_tuple = (1, 2)\n__commit_id__ = commit_id = None  # none\n",
    "a docstring": '"""Says\n__version__ = "0"\n"""\n__version__ = "1"\ndef f(a=1):\n'
    '    """x"""\n    b = 2\n__version__ += "x"\n'
    "y = 1.5\nz = -3\n",
    "comparisons": 'a = 1 == 1\nb = "x" "y"\nc = "a" if a else "b"\nd = "#"  # "\nclass C: e = 1\n'
    "f: dict[str, int] = {}\n",
}


@pytest.mark.parametrize("name", _VERSION_FILES)
def test_constants_are_those_that_python_sees(tmp_path: Path, name: str) -> None:
    wanted = _parsed(_VERSION_FILES[name])
    path = put(
        tmp_path / "version.py",
        _VERSION_FILES[name].replace("\n", "\r\n") if name == "torch" else _VERSION_FILES[name],
    )
    found = dict(modules.constants(Host(), path) or {})
    wanted.pop("b", None)  # a text in two parts is put together by the parser alone
    wanted.pop("z", None)  # to the parser that is an operation
    assert {key: found.get(key) for key in wanted} == wanted
    assert set(found) - set(wanted) <= {"z"}


@pytest.mark.parametrize(
    "line",
    [
        "triton~=3",
        "triton==" + "9" * 5000,
        "triton; " + "not " * 700 + "python_version > '3'",
        "triton; python_version" + ".a" * 900 + " > '3'",
        "triton; " + "(" * 199 + "python_version > '3'" + ")" * 199,
        "triton>=3; python_version ~= '3'",
        "triton; extra" + " and extra" * 150,
    ],
)
def test_a_requirement_that_makes_no_sense_costs_its_own_line(tmp_path: Path, line: str) -> None:
    install(tmp_path, "torch", "2.9.1", *requires("numpy==1", line))
    install(tmp_path, "numpy", "2.0")
    install(tmp_path, "triton", "3.5")
    told = dict(requirements.probe(seen_at(tmp_path)))
    assert told["requires.torch.numpy.met"].value is False
    met = told.get("requires.torch.triton.met")
    assert met is None or met.state is State.UNKNOWN or met.value is True


def test_a_version_without_an_end_costs_its_own_distribution(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.9.1", *requires("numpy==1", "triton==3"))
    install(tmp_path, "numpy", "2.0")
    folder = install(tmp_path, "triton", "3.5")
    put(folder / "METADATA", "Name: triton\nVersion: " + "9" * 3900 + "\n")
    told = dict(requirements.probe(seen_at(tmp_path)))
    assert told["requires.torch.numpy.met"].value is False
    assert told["requires.torch.triton.met"].state is State.UNKNOWN


@pytest.mark.parametrize(
    "line",
    [
        "torch/x.py,sha256=x," + "9" * 5000,
        '"' + "x" * 140_000 + '.py",,1',
        "torch/\0x.py,,1",
        "a" * 9000 + ".py,,1",
        "x/" * 3000 + "y.py,,1",
        '",",","',
    ],
)
def test_a_line_of_record_that_makes_no_sense_costs_itself(tmp_path: Path, line: str) -> None:
    folder = install(
        tmp_path, "torch", "2.9.1", files={"torch/__init__.py": "x = 1\n", "torch/x.py": "y = 2\n"}
    )
    put(folder / "RECORD", line + "\n" + (folder / "RECORD").read_text())
    put(site_of(tmp_path) / "torch-2.8.0.dist-info" / "METADATA", "Name: torch\nVersion: 2.8.0\n")
    put(site_of(tmp_path) / "torch-2.8.0.dist-info" / "RECORD", line + "\n")
    (site_of(tmp_path) / "torch/__init__.py").unlink()
    scene = seen_at(tmp_path)
    assert [one.version for one in scene.distributions] == ["2.9.1"]
    told, why = _until_unread(files.probe(scene))
    assert ([each["path"] for each in told["files.missing"].value], why) == (
        [f"{site_of(tmp_path)}/torch/__init__.py"],
        "",
    )


def test_an_address_of_a_distribution_that_nests_without_end_says_nothing(tmp_path: Path) -> None:
    folder = install(tmp_path, "torch", "2.9.1")
    put(folder / "direct_url.json", "[" * 4000)
    told = dict(python.probe(seen_at(tmp_path)))
    assert told["package.torch.version"].value == "2.9.1"
    assert "package.torch.commit" not in told


def test_the_script_that_looks_at_records_keeps_to_the_same_bound() -> None:
    assert records._LARGEST == RECORD
