"""What a build or a program printed is judged alike wherever it ran.

These lines were recorded, or are what a Mac would print.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.checks.beside import module

builds, crates, outcomes, workspaces = (
    module(f"candle.{name}") for name in ("builds", "crate", "outcomes", "workspace")
)

MISMATCH = (
    "device mismatch in add, lhs: Metal { gpu_id: 4294969932 }, rhs: Metal { gpu_id: 4294969932 }"
)
LOST = "value 0 of 4 is 2, expected 2 + 41: one operand is lost"
NVCC = """\
error: failed to run custom build command for `cudarc v0.16.6`

Caused by:
  process didn't exit successfully: `/tmp/target/debug/build/cudarc-1/build-script-build` (exit status: 101)
  --- stderr

  thread 'main' (7) panicked at /home/me/.cargo/registry/src/index/cudarc-0.16.6/build.rs:128:13:
  Unsupported cuda toolkit version: `13.0`. Please raise a github issue.
"""  # noqa: E501
FORGE = """\
error: failed to run custom build command for `candle-kernels v0.11.0`

Caused by:
  process didn't exit successfully: `/tmp/build-script-build` (exit status: 1)
  --- stderr
  Error: NvccNotFound("No nvcc found in PATH or standard locations")
"""


def added(how: str, detail: str = "", case: str = "two-handles") -> dict[str, Any]:
    """Return the line that the program for additions prints."""
    return {"case": case, "how": how, "detail": detail}


def multiplied(**numbers: Any) -> dict[str, Any]:
    """Return the line that the program for products prints."""
    plain = {
        "case": "sliced",
        "type": "F32",
        "right": 9,
        "refused": 0,
        "wrong": 0,
        "first_refused": "",
        "first_wrong": "",
    }
    return {**plain, **numbers}


@pytest.mark.parametrize(
    ("line", "end"),
    [
        (added("right"), None),
        (added("error", MISMATCH), None),
        (added("wrong", LOST), ("failed", LOST)),
        (
            added("error", "Metal error Compute function not found"),
            ("skipped", "undecided, for another error came first: Metal error"),
        ),
    ],
    ids=["right", "guarded", "lost", "another error"],
)
def test_two_handles_are_right_or_say_so(line: dict[str, Any], end: tuple[str, str] | None) -> None:
    judged = outcomes.together([line], "metal")
    assert (judged and judged[0]) == (end and end[0])
    assert not end or judged[1].startswith(end[1])


def test_a_device_that_does_not_add_at_all_fails_by_itself() -> None:
    said = (
        'DriverError(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with '
        'an unsupported toolchain.")'
    )
    assert outcomes.alone([added("error", said)], "cuda:0") == ("failed", said)
    assert outcomes.alone([added("right")], "cuda:0") is None


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("the candle crate has not been built with metal support", "skipped"),
        ('DriverError(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected")', "skipped"),
        ('DriverError(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal")', "failed"),
    ],
)
def test_a_device_that_does_not_open(said: str, verdict: str) -> None:
    assert outcomes.unopened(said) == (verdict, f"the device does not open: {said}")


def test_wrong_is_a_failure_and_refused_only_where_no_release_refuses() -> None:
    refused, wrong = (
        multiplied(refused=2, first_refused="F32: non-contiguous rhs"),
        multiplied(wrong=1, first_wrong="value 3 is 0"),
    )
    assert outcomes.refusable([refused], "cpu") is None
    assert outcomes.exact([refused], "cpu") == (
        "failed",
        "2 of 11 refused: F32: non-contiguous rhs",
    )
    assert outcomes.refusable([refused, wrong], "cpu") == ("failed", "1 of 21 wrong: value 3 is 0")
    assert outcomes.exact([multiplied()], "cpu") is None


def test_a_fault_of_all_releases_is_told_and_not_counted_on_the_processor_alone() -> None:
    lines = [multiplied(case="broadcast", wrong=1, first_wrong="value 8 is 0, expected 5")]
    heard = outcomes.parse_output("\n".join(map(json.dumps, lines)))
    end = outcomes.spread(lines, "cpu")
    assert (end[0], "huggingface/candle#3744" in end[1]) == ("skipped", True)
    assert outcomes.refusals(heard, {"broadcast": end})[0].startswith(
        "a view made by broadcast_as() gave wrong products, 1 of 10"
    )
    assert outcomes.spread(lines, "cuda:0")[0] == "failed"
    assert outcomes.spread([multiplied(case="broadcast")], "cpu") is None


def test_a_program_that_dies_names_what_it_was_doing() -> None:
    heard = outcomes.parse_output(
        '{"begin":"plain","type":"F32"}\n{"case":"plain"}\n{"begin":"thin","type":"F32"}\n'
        '{"case":"th'
    )
    assert (heard.begun, list(heard.cases)) == ("thin", ["plain"])
    assert outcomes.death(heard, -11) == ("failed", "the program died of SIGSEGV")
    assert outcomes.death(heard, 0) is None
    assert outcomes.death(outcomes.parse_output('{"error":"out of memory"}'), 0) == (
        "failed",
        "out of memory",
    )


def message(text: str, code: str = "", kind: str = "lib") -> str:
    """Return a message of rustc as cargo passes it on."""
    inner: dict[str, Any] = {
        "level": "error",
        "message": text,
        "code": {"code": code} if code else None,
        "spans": [],
        "rendered": f"error: {text}\n",
    }
    return json.dumps(
        {
            "reason": "compiler-message",
            "package_id": "x",
            "target": {"kind": [kind], "name": "x"},
            "message": inner,
        }
    )


@pytest.mark.parametrize(
    ("out", "err", "verdict", "said"),
    [
        (
            message("the trait bound `bf16: SampleBorrow` is not satisfied", "E0277"),
            "",
            "failed",
            "error[E0277]: the trait bound",
        ),
        (
            message("linker `cc` not found"),
            "",
            "skipped",
            "no linker to build with: linker `cc` not found",
        ),
        (
            message("can't find crate for `core`", "E0463"),
            "",
            "skipped",
            "this toolchain lacks the standard library",
        ),
        (
            "",
            "error: failed to write x: No space left on device (os error 28)",
            "skipped",
            "no room on the disk for the build",
        ),
        ("", "rustc (signal: 9, SIGKILL: kill)", "skipped", "too little memory for the build"),
        (
            "",
            "error: rustc 1.80.0 is not supported by the following packages:",
            "failed",
            "error: rustc 1.80.0 is not supported",
        ),
        (
            "",
            "error: no matching package named `gemm` found",
            "skipped",
            "error: no matching package named `gemm` found",
        ),
        (
            "",
            NVCC,
            "skipped",
            (
                "the build script of cudarc v0.16.6: Unsupported cuda toolkit version: "
                "`13.0`. Please raise a github issue."
            ),
        ),
        (
            "",
            FORGE,
            "skipped",
            (
                'the build script of candle-kernels v0.11.0: Error: NvccNotFound("No nvcc '
                "found in PATH"
            ),
        ),
    ],
)
def test_only_what_speaks_of_the_source_fails(out: str, err: str, verdict: str, said: str) -> None:
    fault = builds.fault(out, err, accelerated=False)
    assert (fault.verdict, fault.reason[: len(said)]) == (verdict, said)


def test_a_build_script_fails_where_its_accelerators_tools_are_there() -> None:
    assert builds.fault("", NVCC, accelerated=True).verdict == "failed"


@pytest.mark.parametrize("letters", ["plain", 'a "quoted" \\ one', "two\nlines", "naïve \x7f"])
def test_toml_reads_what_was_meant(letters: str) -> None:
    tomllib = pytest.importorskip("tomllib")
    package = {
        "name": "candle-core",
        "version": "0.9.1",
        "source": None,
        "manifest_path": f"/x/{letters}/Cargo.toml",
    }
    entry = workspaces.dependency(package, ["mkl"], default=False)
    assert tomllib.loads(f"it = {entry}")["it"] == {
        "package": "candle-core",
        "default-features": False,
        "features": ["mkl"],
        "path": f"/x/{letters}",
    }


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("registry+https://github.com/rust-lang/crates.io-index", {"version": "=0.9.1"}),
        (
            "registry+https://example.org/index",
            {"version": "=0.9.1", "registry-index": "https://example.org/index"},
        ),
        (
            "sparse+https://example.org/index/",
            {"version": "=0.9.1", "registry-index": "sparse+https://example.org/index/"},
        ),
        (
            "git+https://example.org/candle?rev=66f0a4ee#66f0a4eeea02",
            {"git": "https://example.org/candle", "rev": "66f0a4ee"},
        ),
        (
            "git+https://example.org/candle?branch=a%2Fb#66f0a4eeea02",
            {"git": "https://example.org/candle", "branch": "a/b"},
        ),
        ("git+https://example.org/candle#66f0a4eeea02", {"git": "https://example.org/candle"}),
    ],
)
def test_a_dependency_means_the_very_package(source: str, wanted: dict[str, str]) -> None:
    tomllib = pytest.importorskip("tomllib")
    package = {
        "name": "candle-core",
        "version": "0.9.1",
        "source": source,
        "manifest_path": "/x/Cargo.toml",
    }
    entry = tomllib.loads(f"it = {workspaces.dependency(package, [], default=True)}")["it"]
    assert entry == {"package": "candle-core", "default-features": True, "features": [], **wanted}


def test_another_half_than_the_workspaces_is_seen() -> None:
    def resolved(half: str, other: str) -> Any:
        registry = "registry+https://github.com/rust-lang/crates.io-index"
        packages = [
            {
                "id": f"{name}@{version}",
                "name": name,
                "version": version,
                "source": registry,
                "manifest_path": "",
                "targets": [],
            }
            for name, version in (("half", half), ("anyhow", other))
        ]
        nodes = [{"id": each["id"], "deps": [], "features": []} for each in packages]
        told = {
            "workspace_root": "/x",
            "target_directory": "/x/target",
            "workspace_members": [],
            "packages": packages,
        }
        return workspaces.Workspace(
            {**told, "resolve": {"nodes": nodes}}, "x86_64-unknown-linux-gnu"
        )

    assert workspaces.differing(resolved("2.7.1", "1.0.0"), resolved("2.4.1", "1.0.1")) == [
        "half 2.7.1"
    ]
    assert workspaces.differing(resolved("2.4.1", "1.0.0"), resolved("2.4.1", "1.0.1")) == []
