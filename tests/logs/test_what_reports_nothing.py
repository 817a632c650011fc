"""Quoted sources, builds of pip's own, and programs that ended well report no failure."""

from __future__ import annotations

import io

import pytest

from doctor.logs.endings import ended_well
from doctor.logs.quotations import without_quotations
from doctor.logs.wrapped import unwrapped
from doctor.model.findings import Finding
from doctor.model.scales import Severity
from doctor.pipeline.assess import assess
from doctor.pipeline.logs import observation_from_logs, read_log
from tests.analyzers.explained import catalog

_RAISED = "RuntimeError: CUDA error: device-side assert triggered"


def judged(text: str) -> tuple[Finding, ...]:
    log = read_log("log", io.BytesIO(text.encode()), catalog())
    return assess(observation_from_logs((log,)), catalog(), command="diagnose").findings


def graver(text: str) -> list[str]:
    return [one.id for one in judged(text) if one.severity is not Severity.NOTE]


@pytest.mark.parametrize(
    "text",
    [
        f"cat > t.py <<'X'\nraise {_RAISED}\nX\nall good",
        f"$ tee tests/t.py <<EOF\n  {_RAISED}\nEOF\n$ pytest",
        f"$ cat tests/test_gpu.py\n{_RAISED}\n$ pytest -q\n1 passed in 0.1s",
        (
            "$ git grep -n 'CUDA error'\nHEAD:src/a.cu:140: throw RuntimeError: CUDA error: "
            "device-side assert triggered"
        ),
        f"warning: unused\n --> src/lib.rs:6:49\n  |\n6 | panic!({_RAISED})\n  | ^^^\n",
    ],
)
def test_a_quoted_source_is_no_failure(text: str) -> None:
    assert _RAISED.partition(": ")[2] in text
    assert graver(text) == []


@pytest.mark.parametrize(
    "text",
    [
        f"cat > t.py <<'X'\npass\nX\n{_RAISED}",
        f"cat > t.py <<'X'\n{_RAISED}",  # without its end it may be anything
        f"$ cat train.log\n{_RAISED}\n$ ls",
        f"$ cat t.py\npass\n$ python t.py\n{_RAISED}",
        f"error: bad\n --> src/lib.rs:6:49\n  |\n6 | x\n\n{_RAISED}",
    ],
)
def test_what_a_program_prints_stays(text: str) -> None:
    assert graver(text)


def test_lines_keep_their_numbers() -> None:
    lines = ["cat > t.py <<'X'", "raise", "X", "end"]
    assert without_quotations(lines) == ("cat > t.py <<'X'", "", "X", "end")


PIP = """\
  Installing build dependencies: started
  Running command installing build dependencies for numpy
  Installing collected packages: packaging
  ERROR: pip's dependency resolver does not currently take into account all the packages.
  streamlit 1.40.0 requires packaging<25,>=20, but you have packaging 25.0 which is incompatible.
  Successfully installed packaging-25.0
  Installing build dependencies: finished with status 'done'
"""


def test_the_environment_of_a_build_is_not_the_users() -> None:
    assert not judged(PIP)
    assert judged(PIP.replace("  ", ""))  # what pip says of the environment itself
    assert judged(PIP.replace("finished with status 'done'", "finished with status 'error'"))


@pytest.mark.parametrize(
    "last",
    [
        "BUILD_EXIT_CODE=0",
        "exit status 0",
        "Process finished with exit code 0",
        "web-1 exited with code 0",
        "======= 10 passed, 1 skipped in 0.25s =======",
        "test result: ok. 3 passed; 0 failed; 1 ignored",
        "    Finished `dev` profile [unoptimized + debuginfo] target(s) in 1m 01s",
        "Successfully built vllm",
    ],
)
def test_a_program_that_ended_well_failed_at_nothing(last: str) -> None:
    assert ended_well(["UserWarning: CUDA initialization: Unexpected error", last, ""])
    assert graver(f"{_RAISED}\n{last}\n") == []


@pytest.mark.parametrize(
    "lines",
    [
        ["exit status 01"],
        ["exit code: 0x80"],
        ["make: *** [all] Error 2", "exit status 0"],
        ["== 2 failed, 8 passed in 3s =="],
        ["ERROR: pip's dependency resolver", "Successfully built a"],
        ["worker-1 exited with code 1", "worker-2 exited with code 0"],
        [
            "    Finished `release` profile [optimized] target(s) in 0.71s",
            "     Running `target/release/server`",
            "Error: DriverError(CUDA_ERROR_UNSUPPORTED_PTX_VERSION)",
        ],
        ["exit status 0", "a", "b", "c"],
    ],
)
def test_a_success_before_a_failure_does_not_count(lines: list[str]) -> None:
    assert not ended_well(lines)


POWERSHELL = [
    "Installing collected packages: tensorflow",
    ".\\.venv\\Scripts\\python.",
    "exe : ERROR: Could not ",
    "install packages due ",
    "to an OSError: [Errno ",
    "2] No such file or ",
    "directory: 'C:\\a'",
    "At line:1 char:1",
    "+ .\\.venv\\Scripts\\pytho",
    "    + CategoryInfo     ",
    "    + FullyQualifiedEr ",
    "",
    "HINT: This error might ",
    "have occurred since ",
    "this system does not ",
    "have Windows Long Path ",
    "support enabled.",
]


def test_lines_that_a_narrow_powershell_wrapped_are_joined() -> None:
    joined = unwrapped(POWERSHELL)
    assert len(joined) == len(POWERSHELL)
    assert joined[1].endswith("to an OSError: [Errno 2] No such file or directory: 'C:\\a'")
    assert joined[12].endswith("does not have Windows Long Path support enabled.")
    assert graver("\n".join(POWERSHELL)) == ["torch/install-path-too-long"]
    wide = ["x" * 100, "At line:1 char:1", "+ " + "y" * 90, "    + CategoryInfo"]
    assert unwrapped(wide) == tuple(wide)


SOURCE = """\
def start(platform):
    try:
        backend = load(platform)
    except Exception as err:
        message = f"Unable to initialize backend '{platform}': {err}"
        if quiet:
            logger.info(message)
        else:
            message += " (set JAX_PLATFORMS=cpu to skip this backend.)"
            raise RuntimeError(message)
    if backend is None:
        raise RuntimeError(f"Could not initialize backend '{platform}'")
    print("CUDA error: out of memory")
    return backend
"""
DIFFERENCE = """\
diff --git a/loader.py b/loader.py
@@ -1,3 +1,3 @@
 def run(batch):
-    log.error("CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 23.69 GiB total)")
+    # RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`
     return batch
"""


@pytest.mark.parametrize(
    "text",
    [
        SOURCE,
        DIFFERENCE,
        '$ git commit -am "Fix it (exit code 137)"\n[main f5111e5] Fix it (exit code 137)',
        "$ git log --oneline\n1f2e3d4 Avoid RuntimeError: CUDA error: out of memory\n$ ls",
        "Note: switching to 'v2'.\n\nHEAD is now at 9c0ffee Mend the CUDA error of step 9",
        "9c0ffee (tag: v2) Mend the CUDA error of step 9\n1f2e3d4 Mend the CUDA error of step 8",
        (
            "=== RUN TestSave\nERROR attempt 1/5 failed: NCCL watchdog: collective "
            "operation timeout; "
            "retrying in 1ms\n--- PASS: TestSave (0.00s)\nPASS\nok  \texample.com/a\t0.011s"
        ),
        (
            "The TensorFlow library wasn't compiled to use AVX instructions, but "
            "these are available "
            "on your machine and could speed up CPU computations."
        ),
        (
            "If you get `CUDA error: invalid device function` errors, the above might be the cause "
            "and the solution is to make sure only one ['libcudart.so'] is in the paths"
        ),
        (
            "An error occurred while trying to fetch /cache/unet: Error no file named "
            "diffusion_pytorch_model.safetensors found in directory /cache/unet.\n"
            "Defaulting to unsafe serialization."
        ),
        (
            "ERROR: pip's dependency resolver does not currently take into account all the "
            "packages that are installed.\n"
            "lida 0.0.10 requires kaleido, which is not installed."
        ),
    ],
)
def test_sources_messages_of_git_and_tries_are_no_failure(text: str) -> None:
    assert graver(text) == []


@pytest.mark.parametrize(
    "text",
    [
        f"{SOURCE}\nTraceback (most recent call last):\n{_RAISED}",
        f"{DIFFERENCE}\n{_RAISED}",
        f"$ git log --oneline\n1f2e3d4 Avoid it\n$ python train.py\n{_RAISED}",
        f"HEAD is now at 9c0ffee Mend step 9\n{_RAISED}",
        "1234567 CUDA error: invalid device function",
        (
            "The TensorFlow library was compiled to use AVX instructions, but "
            "these aren't available "
            "on your machine."
        ),
    ],
)
def test_what_stands_beside_a_source_stays(text: str) -> None:
    assert graver(text)


def test_a_word_echoed_after_a_success_says_how_it_ended() -> None:
    failed = ["Traceback (most recent call last):", "TimeoutError: timed out"]
    assert ended_well(["$ python up.py && echo UPLOAD_OK", *failed, "UPLOAD_OK"])
    assert not ended_well(["$ python up.py && echo UPLOAD_OK", *failed])
    assert not ended_well(["$ python up.py; echo UPLOAD_OK", *failed, "UPLOAD_OK"])
