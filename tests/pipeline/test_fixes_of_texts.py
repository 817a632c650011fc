"""Which fixes a text leaves, and which comes first."""

from __future__ import annotations

import pytest

import doctor

_CPU = "AssertionError: Torch not compiled with CUDA enabled"
_HIP = "hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"
_INDEX = 'IndexKernel.cu:91: block: [9,0,0] Assertion `index < sizes[i] && "index out of bounds"`'
_ORT = (
    'LoadLibrary failed with error 126 "" when trying to load '
    '"D:\\a\\onnxruntime_providers_cuda.dll"'
)


@pytest.mark.parametrize(
    ("text", "first", "never"),
    [
        (_CPU, "Replace it", "-----"),
        (f"I am running code on cpu.\n{_CPU}", "Have the program compute", "Replace it"),
        (f"GPU: Nvidia GeForce RTX 3050\n{_HIP}", "Put a build for CUDA", "Take the code"),
        (f"Radeon RX 6700 XT\n{_HIP}", "Take the code for gfx1030", "Put a build for CUDA"),
        (_INDEX, "Check the index", "Make the labels fit"),
        (
            f"OrtCUDAProviderOptionsV2 *o;\n{_ORT}",
            "Install the CUDA toolkit",
            "Install onnxruntime",
        ),
        (
            "DLL load failed with error code -1073741795\nC:\\Python35\\tensorflow\\python\\a.py",
            "Take TensorFlow 1.5",
            "Microsoft",
        ),
        (
            (
                "OS (e.g., Linux Ubuntu 16.04): MacBook Air Apple M1, macOS 12\n"
                "TensorFlow version: 2.1\n"
                "[1] 59236 illegal hardware instruction  python train.py"
            ),
            "Make an environment with a Python for Apple silicon",
            "processor with AVX2",
        ),
        (
            (
                "bash ./NVIDIA-Linux-x86_64-570.124.04.run --no-kernel-modules\n"
                "Failed to initialize NVML: Driver/library version mismatch"
            ),
            "Install the libraries of the very version",
            "Restart the machine",
        ),
    ],
)
def test_a_text_chooses_the_fixes(text: str, first: str, never: str) -> None:
    report = doctor.diagnose(text=text)
    titles = [fix.title for fix in report.findings[0].fixes]
    assert titles[0].startswith(first), titles
    assert not any(never in title for title in titles)


def test_homebrew_runs_without_sudo() -> None:
    """Homebrew refuses to run as root."""
    report = doctor.diagnose(
        text="build/temp.macosx-14.0-arm64-cpython-312\nclang: error: unsupported option '-fopenmp'"
    )
    steps = [step for fix in report.findings[0].fixes for step in fix.steps]
    (brew,) = {step.sudo for step in steps if step.command and step.command.argv[:1] == ("brew",)}
    assert brew is False


def test_no_build_is_taken_away_before_the_other_one_is_there() -> None:
    """An installer resolves and fetches what it installs before it removes anything."""
    for fix in doctor.diagnose(text=_CPU).findings[0].fixes:
        commands = [step.command.argv for step in fix.steps if step.command]
        assert not any("uninstall" in argv for argv in commands), fix.title
