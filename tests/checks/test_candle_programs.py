"""The programs for Candle find each fault in a small stand-in of candle-core, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.checks.beside import module
from tests.checks.trial import CHECKS, only_result, reasons, run_check
from tests.fingerprint import changes, fingerprint
from tests.workspaces import application, cargo, committed, crate, write

MATMUL, ADD = "canaries/candle_noncontiguous_matmul.py", "canaries/candle_cross_device_add.py"
CORE = Path(__file__).with_name("candle_core.rs").read_text(encoding="utf-8")

CALLS_ONE_HEAD_CONTIGUOUS = (
    "self.offset == 0 && self.strides == row_major(&self.shape)",
    (
        "self.offset == 0 && (0..self.shape.len()).all(|dim| self.shape[dim] < 2 || "
        "self.strides[dim] == row_major(&self.shape)[dim])"
    ),
)
REFUSES_ITS_STRIDES = (
    "if rank > 4 {",
    (
        "let odd = |one: &Self| rank == 4 && one.strides[0] != one.strides[1] * one.shape[1]; "
        "if rank > 4 || odd(self) || odd(other) {"
    ),
)
READS_NO_STRIDES = (
    "let (left, right) = (self.read(), other.read());",
    "let (left, right) = (self.values.to_vec(), other.values.to_vec());",
)
TAKES_HANDLES_FOR_ONE = (
    "self == other\n",
    "std::mem::discriminant(self) == std::mem::discriminant(other)\n",
)

# One build has all of these, and the variable FAULTS names those that it shows.
SWITCHED = (
    (
        "pub struct Error(String);",
        'fn has(fault: &str) -> bool { std::env::var("FAULTS").is_ok_and(|all| all.contains(fault)) }\n\npub struct Error(String);',  # noqa: E501
    ),
    (
        CALLS_ONE_HEAD_CONTIGUOUS[0],
        f'(if has("one-head") {{ {CALLS_ONE_HEAD_CONTIGUOUS[1]} }} else {{ {CALLS_ONE_HEAD_CONTIGUOUS[0]} }})',  # noqa: E501
    ),
    (
        READS_NO_STRIDES[0],
        'let (left, right) = if has("no-strides") { (self.values.to_vec(), other.values.to_vec()) } else { (self.read(), other.read()) };',  # noqa: E501
    ),
    (
        REFUSES_ITS_STRIDES[0],
        """assert!(!has("panics") || rank != 3, "no batches today");
        let odd = |one: &Self| has("refuses") && rank == 4 && one.strides[0] != one.strides[1] * one.shape[1];
        if rank > 4 || odd(self) || odd(other) {
            if has("dies") { std::process::abort(); }""",  # noqa: E501
    ),
)

Run = Callable[..., dict[str, Any]]
Shown = Callable[[str], dict[str, Any]]


def faulty(*faults: tuple[str, str]) -> str:
    """Return the source of the stand-in with lines replaced."""
    text = CORE
    for old, new in faults:
        assert old in text
        text = text.replace(old, new)
    return text


def by_path(folder: Path, source: str = CORE, tail: str = "", features: str = "[]") -> Path:
    """Write and lock a workspace whose candle-core is a folder beside it."""
    crate(folder / "candle-core", "candle-core", {"src/lib.rs": source}, tail)
    entry = f'candle-core = {{ path = "../candle-core", features = {features} }}'
    workspace = application(folder / "workspace", entry)
    cargo(workspace, "generate-lockfile", home=folder / "cargo")
    return workspace


@pytest.fixture
def run(tmp_path: Path, needs: Callable[[str], str]) -> Run:
    """Return a function that runs a canary about a workspace."""
    folder = tmp_path / "run"
    folder.mkdir()
    tools = Path(needs("cargo")).parent
    needs("cc")

    def start(script: str, workspace: Path, **settings: str) -> dict[str, Any]:
        given = {
            "CANARY_WORKSPACE": str(workspace),
            "CARGO_HOME": str(tmp_path / "cargo"),
            "PATH": f"{tools}:/usr/bin:/bin",
            **settings,
        }
        return run_check(Path(sys.executable), script, folder, **given)

    return start


def test_a_right_candle_passes_and_tells_what_it_refuses(run: Run, tmp_path: Path) -> None:
    workspace = by_path(tmp_path)
    before = fingerprint(tmp_path / "workspace")
    result = only_result(run(MATMUL, workspace))
    assert (result["device"], result["verdict"], result["reason"]) == ("cpu", "passed", "")
    assert set(result["cases"]) == {
        "compile",
        "plain",
        "contiguous-copy",
        "transposed",
        "sliced",
        "batched",
        "thin",
        "broadcast",
        "rank-5",
    }
    (told,) = result["data"]["told"]
    assert told.startswith("refused with an error, which is not counted against it: rank-5 ")
    assert changes(before, fingerprint(tmp_path / "workspace")) == []
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"boot.py", "result.json"}


@pytest.fixture(scope="module")
def switched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a workspace of a candle-core with switched faults, and its build."""
    folder = tmp_path_factory.mktemp("switched")
    by_path(folder, faulty(*SWITCHED))
    (folder / "shared").mkdir()
    return folder


@pytest.fixture
def shown(run: Run, switched: Path) -> Shown:
    """Return a function that gives the result of the check of products with some of the faults."""

    def result(faults: str) -> dict[str, Any]:
        shared = str(switched / "shared")
        document = run(MATMUL, switched / "workspace", CANARY_SHARED=shared, FAULTS=faults)
        return only_result(document)

    return result


def test_the_founding_fault_is_refused_although_made_contiguous(shown: Shown) -> None:
    result = shown("one-head refuses")
    assert set(reasons(result)) == {"contiguous-copy"}
    assert (
        "F32 [1, 1, 4, 4] x [1, 4, 1, 2].transpose(1, 2).contiguous(): MatMulUnexpectedStriding"
        in result["reason"]
    )


def test_its_refusals_alone_are_told_and_not_red(shown: Shown) -> None:
    result = shown("refuses")
    assert result["verdict"] == "passed"
    assert "batched" in result["data"]["told"][0]


def test_wrong_numbers_are_red_in_every_layout_that_has_them(shown: Shown) -> None:
    said = reasons(shown("no-strides"))
    assert set(said) == {"transposed", "sliced", "batched", "thin"}
    assert "expected" in said["transposed"]


def test_a_panic_is_red(shown: Shown) -> None:
    assert "it panicked: no batches today" in reasons(shown("panics"))["plain"]


def test_a_program_that_dies_is_red_where_it_died(shown: Shown) -> None:
    result = shown("dies")
    assert reasons(result) == {"rank-5": "the program died of SIGABRT"}
    assert result["cases"]["sliced"]["verdict"] == "passed"


@pytest.mark.parametrize("script", [MATMUL, ADD])
def test_a_candle_that_does_not_compile_fails_with_rustcs_first_error(
    run: Run, tmp_path: Path, script: str
) -> None:
    document = run(script, by_path(tmp_path, CORE + "pub fn broken() -> u8 { 7.0 }\n"))
    result = only_result(document)
    assert reasons(result)["compile"].startswith("error[E0308]: mismatched types (")
    assert set(result["cases"]) == {"compile"}
    assert "expected `u8`, found floating-point number" in document["log"]


def test_a_build_script_that_lacks_something_here_is_a_skip(run: Run, tmp_path: Path) -> None:
    workspace = by_path(tmp_path)
    write(tmp_path, {"candle-core/build.rs": 'fn main() { panic!("no MKL on this machine"); }\n'})
    result = only_result(run(MATMUL, workspace))
    assert (
        result["verdict"],
        "the build script of candle-core v0.8.2: no MKL on this machine" in result["reason"],
    ) == ("skipped", True)


def test_a_workspace_for_another_platform_is_no_failure(run: Run, tmp_path: Path) -> None:
    workspace = write(
        by_path(tmp_path), {".cargo/config.toml": '[build]\ntarget = "wasm32-unknown-unknown"\n'}
    )
    result = only_result(run(ADD, workspace))
    assert result["verdict"] == "skipped", result


def test_accelerators_that_cannot_be_tried_are_skipped_with_their_reason(
    run: Run, tmp_path: Path
) -> None:
    if Path("/dev/nvidia0").exists() or sys.platform == "darwin":
        pytest.skip("there is an accelerator")
    names = "cuda = []\nmetal = []\nmkl = []\n"
    source = (
        CORE
        + '#[cfg(any(feature = "cuda", feature = "metal"))]\ncompile_error!("an accelerator");\n'
    )
    workspace = by_path(tmp_path, source, f"[features]\n{names}", '["cuda", "metal", "mkl"]')
    processor, cuda, metal = run(ADD, workspace)["results"]
    assert (processor["verdict"], processor["data"]["features"]) == ("passed", ["mkl"])
    assert (cuda["device"], cuda["verdict"]) == ("cuda:0", "skipped")
    assert (metal["device"], metal["verdict"], "was not run on Metal" in metal["reason"]) == (
        "metal",
        "skipped",
        True,
    )


def test_one_build_serves_the_checks_of_a_run(run: Run, tmp_path: Path) -> None:
    workspace, shared = by_path(tmp_path), tmp_path / "shared"
    shared.mkdir()
    first, second = (run(script, workspace, CANARY_SHARED=str(shared)) for script in (MATMUL, ADD))
    assert [only_result(document)["verdict"] for document in (first, second)] == [
        "passed",
        "passed",
    ]
    assert ("Compiling candle-core" in first["log"], "Compiling candle-core" in second["log"]) == (
        True,
        False,
    )


def from_git(
    folder: Path, home: Path, source: str = CORE, tail: str = "", features: str = "[]"
) -> Path:
    """Make a workspace whose candle-core is a commit, and build it as its owner would."""
    fork = crate(folder / "fork", "candle-core", {"src/lib.rs": source}, tail)
    committed(fork)
    workspace = application(
        folder / "workspace", f'candle-core = {{ git = "file://{fork}", features = {features} }}'
    )
    cargo(workspace, "build", home=home)
    return workspace


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, needs: Callable[[str], str]) -> Path:
    """Return a folder with a built workspace, and the home of the cargo that built it."""
    needs("cargo")
    folder = tmp_path_factory.mktemp("built")
    from_git(folder, folder / "cargo", tail="[features]\nmkl = []\n")
    return folder


@pytest.fixture
def workspace(built: Path, tmp_path: Path) -> Path:
    """Return a copy of the built workspace, which a test may change."""
    return shutil.copytree(built / "workspace", tmp_path / "workspace", symlinks=True)


@pytest.mark.parametrize("tier", ["quick", "deep"])
def test_what_the_workspace_has_built_is_linked_and_not_built_again(
    run: Run, built: Path, workspace: Path, tier: str
) -> None:
    before = fingerprint(workspace)
    document = run(MATMUL, workspace, CANARY_TIER=tier, CARGO_HOME=str(built / "cargo"))
    result = only_result(document)
    assert (result["verdict"], "Compiling candle-core" in document["log"]) == ("passed", False)
    assert result["data"]["told"][0] == "linked with the candle-core that this workspace has built"
    assert changes(before, fingerprint(workspace)) == []


def test_a_fault_of_what_was_built_is_seen(run: Run, tmp_path: Path) -> None:
    workspace = from_git(
        tmp_path, tmp_path / "cargo", faulty(CALLS_ONE_HEAD_CONTIGUOUS, REFUSES_ITS_STRIDES)
    )
    result = only_result(run(MATMUL, workspace, CANARY_TIER="quick"))
    assert "contiguous-copy" in reasons(result)
    assert result["data"]["told"][0].startswith("linked")


def test_a_quick_run_compiles_no_candle(run: Run, tmp_path: Path) -> None:
    result = only_result(run(MATMUL, by_path(tmp_path), CANARY_TIER="quick"))
    assert (result["verdict"], "--tier deep" in result["reason"]) == ("skipped", True)


def test_what_was_built_before_the_lock_changed_is_not_trusted(
    run: Run, built: Path, workspace: Path
) -> None:
    (workspace / "Cargo.lock").touch()
    document = run(MATMUL, workspace, CARGO_HOME=str(built / "cargo"))
    assert "Compiling candle-core" in document["log"]


def test_what_was_built_with_other_features_is_not_trusted(
    run: Run, built: Path, workspace: Path
) -> None:
    manifest = workspace / "Cargo.toml"
    manifest.write_text(
        manifest.read_text(encoding="utf-8").replace("features = []", 'features = ["mkl"]'),
        encoding="utf-8",
    )
    document = run(MATMUL, workspace, CARGO_HOME=str(built / "cargo"))
    assert "Compiling candle-core" in document["log"]


def test_what_another_rustc_built_does_not_link(run: Run, built: Path, workspace: Path) -> None:
    (library,) = (workspace / "target/debug/deps").glob("libcandle_core-*.rlib")
    library.write_bytes(b"!<arch>\n")
    document = run(MATMUL, workspace, CARGO_HOME=str(built / "cargo"))
    assert (only_result(document)["verdict"], "Compiling candle-core" in document["log"]) == (
        "passed",
        True,
    )


def test_a_build_of_a_folder_is_never_taken_over(run: Run, tmp_path: Path) -> None:
    workspace = by_path(tmp_path)
    cargo(workspace, "build", home=tmp_path / "cargo")
    document = run(MATMUL, workspace)
    assert "Compiling candle-core" in document["log"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"PATH": "/nonexistent"}, "there is no cargo on PATH"),
        ({"CANARY_WORKSPACE": "/nonexistent"}, "there is no Cargo.toml in /nonexistent"),
    ],
)
def test_what_cannot_begin_is_a_skip(
    run: Run, tmp_path: Path, settings: dict[str, str], said: str
) -> None:
    for script in MATMUL, ADD:
        result = only_result(run(script, tmp_path, **settings))
        assert (result["device"], result["verdict"], result["reason"]) == ("cpu", "skipped", said)


def test_a_workspace_that_was_never_fetched_is_a_skip(run: Run, tmp_path: Path) -> None:
    workspace = application(tmp_path / "workspace", 'candle-core = "=0.9.1"')
    write(workspace, {"Cargo.lock": "version = 3\n"})
    result = only_result(run(MATMUL, workspace))
    assert (
        result["verdict"],
        "cargo does not resolve this workspace offline" in result["reason"],
    ) == ("skipped", True)


@pytest.mark.parametrize(
    ("faults", "verdict"), [([], "passed"), ([TAKES_HANDLES_FOR_ONE], "failed")]
)
def test_an_operand_on_another_handle_is_never_lost_in_silence(
    tmp_path: Path, needs: Callable[[str], str], faults: list[tuple[str, str]], verdict: str
) -> None:
    outcomes, rustc = module("candle.outcomes"), needs("rustc")
    write(tmp_path, {"candle_core.rs": faulty(*faults)})
    program = CHECKS / "candle" / "programs" / "add.rs"
    for made in (
        ["--crate-type", "rlib", "candle_core.rs"],
        [str(program), "--extern", "candle_core=libcandle_core.rlib"],
    ):
        subprocess.run(
            [rustc, "--edition", "2021", *made], cwd=tmp_path, check=True, capture_output=True
        )
    said = subprocess.run(
        [tmp_path / "add", "metal", "7"], capture_output=True, text=True, check=True
    ).stdout
    heard = outcomes.parse_output(said)
    ends = {
        name: outcomes.together(heard.cases[name], "metal")
        for name in ("two-handles", "cpu-and-device")
    }
    assert outcomes.alone(heard.cases["one-handle"], "metal") is None
    assert (ends["two-handles"] or ("passed", ""))[0] == verdict
    assert ends["cpu-and-device"] is None
