"""The build script of candle-flash-attn is judged by rustc, wherever the crate comes from.

Stand-ins bear its name.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.checks.trial import only_result, reasons, run_check
from tests.fingerprint import changes, fingerprint
from tests.workspaces import BROKEN, HEALTHY, application, cargo, committed, crate, git, write

SCRIPT = "canaries/candle_flash_attn_build.py"
NO_NVCC = "there is no nvcc here for the build script to start"
UNRESOLVED = '[build-dependencies]\nbindgen_cuda = "0.1"\nanyhow = "1"\n'
KERNELS = [
    "kernels/flash_fwd_hdim64_fp16_sm80.cu",
    "kernels/flash_fwd_hdim32_fp16_sm80.cu",
    "kernels/flash_fwd_hdim32_fp16_causal_sm80.cu",
]

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(tmp_path: Path, needs: Callable[[str], str]) -> Run:
    """Return a function that runs the canary, with only cargo and system tools on PATH."""
    folder = tmp_path / "run"
    folder.mkdir()
    tools = Path(needs("cargo")).parent
    needs("rustc")

    def start(workspace: Path, **settings: str) -> dict[str, Any]:
        given = {
            "CANARY_WORKSPACE": str(workspace),
            "CARGO_HOME": str(tmp_path / "cargo"),
            "PATH": f"{tools}:/usr/bin:/bin",
            **settings,
        }
        document = run_check(Path(sys.executable), SCRIPT, folder, **given)
        return {**only_result(document), "log": document["log"]}

    return start


@pytest.fixture
def lock(tmp_path: Path) -> Callable[[Path], Path]:
    """Return a function that locks a workspace, with a cargo home that holds nothing."""

    def made(workspace: Path) -> Path:
        cargo(workspace, "generate-lockfile", home=tmp_path / "cargo")
        return workspace

    return made


def by_path(folder: Path, build: str, tail: str = "") -> Path:
    """Write a workspace whose candle-flash-attn is a folder beside it."""
    crate(folder / "candle-flash-attn", "candle-flash-attn", {"build.rs": build}, tail)
    return application(
        folder / "workspace", 'candle-flash-attn = { path = "../candle-flash-attn" }'
    )


def no_nvcc_here() -> None:
    """Skip where a toolkit lies in a place that cannot be hidden."""
    if shutil.which("nvcc", path="/usr/bin:/bin:/usr/local/cuda/bin:/opt/cuda/bin"):
        pytest.skip("there is an nvcc in one of the system's own folders")


def test_a_script_that_assigns_to_what_is_immutable_fails(
    run: Run, lock: Callable[[Path], Path], tmp_path: Path
) -> None:
    result = run(lock(by_path(tmp_path, BROKEN)))
    assert result["verdict"] == "failed"
    said = reasons(result)["build-script"]
    assert said.startswith("error[E0384]: cannot assign twice to immutable variable `builder`")
    assert said.endswith("candle-flash-attn/build.rs:6)")
    assert "candle-flash-attn/build.rs:6:9" in result["log"]


def test_its_repaired_twin_passes_and_nothing_is_started(
    run: Run, lock: Callable[[Path], Path], tmp_path: Path
) -> None:
    no_nvcc_here()
    result = run(lock(by_path(tmp_path, HEALTHY)), CANARY_TIER="deep")
    assert (result["verdict"], result["reason"]) == ("passed", "")
    assert reasons(result, "skipped") == {"toolkit": NO_NVCC}


@pytest.mark.parametrize(("build", "verdict"), [(BROKEN, "failed"), (HEALTHY, "passed")])
def test_a_fork_is_judged_by_its_source(
    run: Run, lock: Callable[[Path], Path], tmp_path: Path, build: str, verdict: str
) -> None:
    fork = crate(tmp_path / "fork" / "flash", "candle-flash-attn", {"build.rs": build}).parent
    commit = committed(fork)
    git(fork, "checkout", "-q", "-b", "topic/one")
    spelt = f'candle-flash-attn = {{ git = "file://{fork}", branch = "topic/one" }}'
    workspace = lock(application(tmp_path / "workspace", spelt))
    write(fork, {"flash/build.rs": HEALTHY if build == BROKEN else BROKEN})
    committed(fork)
    assert commit in (workspace / "Cargo.lock").read_text(encoding="utf-8")
    assert run(workspace)["cases"]["build-script"]["verdict"] == verdict


def test_a_vendored_copy_is_found_through_the_workspaces_own_settings(
    run: Run, lock: Callable[[Path], Path], tmp_path: Path
) -> None:
    fork = crate(tmp_path / "fork", "candle-flash-attn", {"build.rs": BROKEN})
    committed(fork)
    workspace = lock(
        application(tmp_path / "workspace", f'candle-flash-attn = {{ git = "file://{fork}" }}')
    )
    settings = cargo(workspace, "vendor", "--locked", home=tmp_path / "cargo")
    write(workspace, {".cargo/config.toml": settings})
    result = run(workspace, CARGO_HOME=str(tmp_path / "empty"))
    assert "E0384" in reasons(result)["build-script"]
    assert result["data"]["build_script"] == str(
        workspace / "vendor" / "candle-flash-attn" / "build.rs"
    )


def test_a_patch_is_what_counts(run: Run, lock: Callable[[Path], Path], tmp_path: Path) -> None:
    fork = crate(tmp_path / "fork", "candle-flash-attn", {"build.rs": HEALTHY})
    committed(fork)
    crate(tmp_path / "mine", "candle-flash-attn", {"build.rs": BROKEN})
    patch = f'[patch."file://{fork}"]\ncandle-flash-attn = {{ path = "../mine" }}\n'
    workspace = lock(
        application(
            tmp_path / "workspace", f'candle-flash-attn = {{ git = "file://{fork}" }}', patch
        )
    )
    assert "E0384" in reasons(run(workspace))["build-script"]


def test_build_dependencies_are_the_workspaces_own(
    run: Run, lock: Callable[[Path], Path], tmp_path: Path
) -> None:
    crate(
        tmp_path / "cuda-forge",
        "cuda-forge",
        {"src/lib.rs": '#[cfg(feature = "extra")]\npub fn go() -> u8 { 7 }\n'},
        "[features]\nextra = []",
    )
    needs = (
        '[build-dependencies]\nsmith = { package = "cuda-forge", path = "../cuda-forge", '
        'features = ["extra"] }'
    )
    build = 'fn main() { let one: u8 = smith::go(); println!("{one}"); }\n'
    workspace = lock(by_path(tmp_path, build, needs))
    assert run(workspace)["cases"]["build-script"]["verdict"] == "passed"
    write(tmp_path, {"cuda-forge/src/lib.rs": "pub fn go() -> String { String::new() }\n"})
    assert "error[E0308]: mismatched types" in reasons(run(workspace))["build-script"]
    write(tmp_path, {"cuda-forge/src/lib.rs": "pub fn go() -> u8 { 7.0 }\n"})
    assert reasons(run(workspace))["build-script"].startswith(
        "a crate that it uses does not compile: error[E0308]"
    )


@pytest.mark.parametrize(
    ("build", "verdict", "said"),
    [
        (BROKEN, "failed", "error[E0384]: cannot assign twice to immutable variable `builder`"),
        (HEALTHY, "passed", ""),
        (
            HEALTHY.replace("PathBuf::from", "bindgen_cuda::of_tomorrow"),
            "skipped",
            "undecided without the crates that the build script uses",
        ),
    ],
)
def test_stubs_decide_only_what_is_the_scripts_own(
    run: Run, tmp_path: Path, build: str, verdict: str, said: str
) -> None:
    workspace = by_path(tmp_path, build, UNRESOLVED)
    write(workspace, {"Cargo.lock": "version = 3\n"})
    result = run(workspace)
    case = result["cases"]["build-script"]
    assert (case["verdict"], case["reason"].startswith(said)) == (verdict, True), case
    assert result["data"]["told"][0].startswith("the build script was checked by rustc alone")


def test_settings_of_the_workspace_do_not_lead_astray(
    run: Run, lock: Callable[[Path], Path], tmp_path: Path
) -> None:
    workspace = lock(by_path(tmp_path, HEALTHY.replace("println!", "let unused = 1; println!")))
    build = (
        '[build]\nrustc-wrapper = "/nonexistent"\ntarget-dir = "elsewhere"\n'
        'build-dir = "beyond"\nrustflags = ["-D", "warnings"]\n'
    )
    write(workspace, {".cargo/config.toml": build})
    assert run(workspace)["cases"]["build-script"]["verdict"] == "passed"
    assert {path.name for path in workspace.iterdir()} == {
        ".cargo",
        ".gitignore",
        "Cargo.lock",
        "Cargo.toml",
        "src",
    }


def test_odd_letters_in_a_path(run: Run, lock: Callable[[Path], Path], tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s "odd" = [ü] #1'
    assert "E0384" in reasons(run(lock(by_path(folder, BROKEN))))["build-script"]


def test_workspace_is_untouched(run: Run, lock: Callable[[Path], Path], tmp_path: Path) -> None:
    workspace = lock(by_path(tmp_path, BROKEN))
    before = fingerprint(workspace)
    run(workspace)
    assert changes(before, fingerprint(workspace)) == []
    assert [
        path.name
        for path in (tmp_path / "run").iterdir()
        if path.name not in ("boot.py", "result.json")
    ] == []


def test_a_crate_that_is_not_built_is_a_skip(
    run: Run, lock: Callable[[Path], Path], tmp_path: Path
) -> None:
    crate(tmp_path / "candle-flash-attn", "candle-flash-attn", {"build.rs": BROKEN})
    optional = 'candle-flash-attn = { path = "../candle-flash-attn", optional = true }'
    workspace = lock(
        application(
            tmp_path / "workspace", optional, '[features]\nflash = ["dep:candle-flash-attn"]\n'
        )
    )
    assert run(workspace)["reason"].endswith(
        "candle-flash-attn is in Cargo.lock, but no build with these features takes it in"
    )
    assert "E0384" in run(workspace, CANARY_FEATURES="flash")["reason"]


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
    result = run(tmp_path, **settings)
    assert (result["verdict"], result["reason"]) == ("skipped", f"build-script: {said}")


def nvcc(folder: Path, act: str) -> dict[str, str]:
    """Write a toolkit whose nvcc says its version, and acts otherwise."""
    version = (
        'case "$*" in --version) echo "Cuda compilation tools, release 12.4, V12.4.131"; exit '
        "0;; esac"
    )
    write(folder, {"bin/nvcc": f"#!/bin/sh\n{version}\n{act}\n"})
    (folder / "bin" / "nvcc").chmod(0o755)
    return {"CANARY_TOOLKIT": str(folder), "CANARY_TIER": "deep", "CANARY_ARCH": "sm_90"}


def test_the_cheapest_kernel_is_compiled_with_the_flags_of_the_script(
    run: Run, lock: Callable[[Path], Path], tmp_path: Path
) -> None:
    build = (
        HEALTHY + '// .arg("-std=c++17") .arg("-Icutlass/include") .arg("-D_USE_MATH_DEFINES")\n'
    )
    workspace = lock(by_path(tmp_path, build))
    home = write(tmp_path / "candle-flash-attn", dict.fromkeys(KERNELS, ""))
    result = run(workspace, **nvcc(tmp_path / "cuda", 'touch "$PWD/kernel.o"'))
    assert [case["verdict"] for case in result["cases"].values()] == ["passed"] * 3
    assert result["data"]["kernel"] == "flash_fwd_hdim32_fp16_causal_sm80.cu"
    assert (
        "--gpu-architecture=sm_90 -c --default-stream per-thread -std=c++17 "
        f"-I{home}/cutlass/include -o"
    ) in result["log"]


def test_a_kernel_that_does_not_compile_fails_in_nvccs_words(
    run: Run, lock: Callable[[Path], Path], tmp_path: Path
) -> None:
    workspace = lock(by_path(tmp_path, HEALTHY))
    write(tmp_path / "candle-flash-attn", dict.fromkeys(KERNELS, ""))
    act = 'echo "warning: no error here"; echo "flash.h(3): error: no such thing" >&2; exit 2'
    said = reasons(run(workspace, **nvcc(tmp_path / "cuda", act)))
    assert said == {
        "kernel": "flash_fwd_hdim32_fp16_causal_sm80.cu for sm_90: flash.h(3): error: no such thing"
    }


def test_cutlass_that_a_build_would_clone_is_a_skip(
    run: Run, lock: Callable[[Path], Path], tmp_path: Path
) -> None:
    build = HEALTHY + (
        '// const CUTLASS_COMMIT: &str = "7d49e6c7e2f8896c47f586706e67e1fb215529dc"; '
        ".with_cutlass(Some(CUTLASS_COMMIT))\n"
    )
    workspace = lock(by_path(tmp_path, build))
    write(tmp_path / "candle-flash-attn", dict.fromkeys(KERNELS, ""))
    toolkit = nvcc(tmp_path / "cuda", "exit 0")
    skipped = reasons(
        run(workspace, HOME=str(tmp_path), RUSTUP_HOME=rustup_home(), **toolkit), "skipped"
    )
    assert skipped == {
        "kernel": "CUTLASS 7d49e6c7 is not on this machine: the build clones it from GitHub"
    }
    write(
        tmp_path / ".cudaforge/git/checkouts/cutlass-7d49e6c7e2f8896c/include/cutlass",
        {"cutlass.h": ""},
    )
    assert (
        run(workspace, HOME=str(tmp_path), RUSTUP_HOME=rustup_home(), **toolkit)["cases"]["kernel"][
            "verdict"
        ]
        == "passed"
    )


def rustup_home() -> str:
    """Return where rustup keeps its toolchains, for a test that has another home."""
    return os.environ.get("RUSTUP_HOME") or str(Path.home() / ".rustup")


def test_an_nvcc_that_does_not_run_fails(
    run: Run, lock: Callable[[Path], Path], tmp_path: Path
) -> None:
    workspace = lock(by_path(tmp_path, HEALTHY))
    toolkit = nvcc(tmp_path / "cuda", "")
    write(
        tmp_path / "cuda",
        {
            "bin/nvcc": (
                "#!/bin/sh\necho 'libcudart.so: cannot open shared object file: No such file "
                "or directory'; exit 127\n"
            )
        },
    )
    assert "cannot open shared object file" in reasons(run(workspace, **toolkit))["toolkit"]
