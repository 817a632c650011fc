"""What a log names decides: its gcc, its JetPack, its index, its system, the crate that fails."""

from __future__ import annotations

import io

import pytest

from doctor.model.findings import Finding
from doctor.pipeline.assess import assess
from doctor.pipeline.logs import observation_from_logs, read_log
from tests.analyzers.explained import catalog

_SMI = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that "
    "the latest NVIDIA driver is installed and running."
)
_DRIVER_LIST = "Cannot install torch==2.0.0, torchvision==0.15.2, torchvision==0.16.0,\n"


def first(text: str) -> Finding:
    log = read_log("log", io.BytesIO(text.encode()), catalog())
    return assess(observation_from_logs((log,)), catalog(), command="diagnose").findings[0]


def shown(text: str) -> str:
    """Return the title of the first finding and what its two fixes on the screen hold."""
    found = first(text)
    return "\n".join([found.title, *(str(fix) for fix in found.fixes[:2])])


@pytest.mark.parametrize(
    ("text", "id_", "wanted"),
    [
        (  # the release of gcc that links
            (
                "/usr/bin/ld: cannot find -lstdc++: No such file or directory\n"
                "gcc (Ubuntu 12.3.0-1ubuntu1~22.04) 12.3.0\nUbuntu 22.04\n"
            ),
            "failure/library-not-linked",
            ("g++-12", "libstdc++-12-dev"),
        ),
        (  # a library that the crate's own build makes
            (
                "nvcc: release 12.2, V12.2.91\n$ cargo build --features cuda\n"
                "LINK : fatal error LNK1181: cannot open input file 'mistralcuda.lib'\n"
                "error: could not compile `mistralrs-server` (bin) due to 1 previous error\n"
            ),
            "failure/library-not-linked",
            ("build script of mistralrs-server", "12.4"),
        ),
        (  # the names of another language
            (
                "onnxruntime.lib(a.obj) : error LNK2001: Nicht aufgel\u00f6stes Symbol "
                "__std_find_trivial_8\n"
            ),
            "failure/built-for-newer-msvc",
            ("winget", "load-dynamic"),
        ),
        (
            (
                "  \u00d7 No solution found when resolving dependencies:\n"
                "  \u2570\u2500\u25b6 Because torch==2.3.1 has no wheels are available "
                "with a matching "
                "Python implementation and you require torch==2.3.1, we can conclude that the "
                "requirements are unsatisfiable.\n"
                "$ uv pip install torch==2.3.1 --index-url https://download.pytorch.org/whl/cpu\n"
            ),
            "failure/local-build-not-matched",
            ("torch==2.3.1+cpu", "Update uv"),
        ),
        (
            (
                f"ERROR: {_DRIVER_LIST}   torchvision==0.17.0 and torchvision==0.18.0 "
                f"because these "
                "package versions have conflicting\n   dependencies.\n"
            ),
            "failure/resolver-conflict",
            ("torchvision==0.15.1",),
        ),
        (
            (
                "/var/lib/dkms/amdgpu/3.10-27/build/amd/amdgpu/amdgpu_bios.c:200:9: "
                "error: implicit "
                "declaration of function \u2018pci_platform_rom\u2019\nUbuntu 20.04\n"
            ),
            "failure/amd-module-build",
            ("pci_platform_rom", "rock-dkms", "uname"),
        ),
        (
            (
                "ERROR: torch-1.6.0-cp36-cp36m-linux_aarch64.whl is not a supported wheel on this "
                "platform.\nJetPack 5.1.1\n"
            ),
            "failure/wheel-refused",
            ("has Python 3.8", "cp38"),
        ),
        (
            (
                "Could not find a version that satisfies the requirement jaxlib (from versions: )\n"
                "Python 3.6.8 |Anaconda, Inc.| (default) [MSC v.1916 64 bit (AMD64)] on win32\n"
            ),
            "failure/no-wheel-at-all",
            ("Python 3.6 on Windows", "3.12"),
        ),
        (
            (
                "  --- stderr\n  Error: "
                "https://download.pytorch.org/libtorch/cu117/libtorch-cxx11-abi-"
                "shared-with-deps-2.1.0%2Bcu117.zip: status code 403\n"
            ),
            "failure/build-does-not-exist",
            ("TORCH_CUDA_VERSION", "cu121"),
        ),
        (
            (
                "ImportError: /home/a/anaconda2/lib/python2.7/site-packages/h/c/uv.so: undefined "
                "symbol: _ZTINSt8ios_base7failureB5cxx11E\n"
            ),
            "failure/cxx-library-too-old",
            ("libstdcxx-ng", "gxx_linux-64"),
        ),
        (
            (
                "`Killed\n# --error 0x89 --\nthread '<unnamed>' panicked at bindgen_cuda-0.1.5/src/"
                "lib.rs:262:21:\nnvcc error while executing compiling: nvcc -c a.cu\n"
            ),
            "failure/ended-by-sigkill",
            ("RAYON_NUM_THREADS",),
        ),
        (f"#### Ubuntu app WSL:\n{_SMI}", "wsl/driver-not-reached", ("/usr/lib/wsl/lib",)),
        (
            f"WSL 1, Microsoft Windows [Version 10.0.17763.292]\n{_SMI}",
            "wsl/driver-not-reached",
            ("--set-version",),
        ),
        (
            "JetPack 4.5: it says illegal instruction in python shell core dumped\n",
            "failure/ended-by-sigill",
            ("OPENBLAS_CORETYPE",),
        ),
        (  # typed in a shell, whose own frames say nothing
            (
                ">>> import bottleneck\n\nA module that was compiled using NumPy 1.x "
                "cannot be run in\n"
                "NumPy 2.0.0 as it may crash.\n\nTraceback (most recent call last):  File "
                '"/a/lib/python3.12/site-packages/IPython/__init__.py", line 1, in f\n    g()\n'
            ),
            "numpy/numpy-2-beside-older-modules",
            ("bottleneck",),
        ),
    ],
)
def test_the_finding_and_its_fixes_say_what_the_log_names(
    text: str, id_: str, wanted: tuple[str, ...]
) -> None:
    assert first(text).id == id_
    assert [one for one in wanted if one not in shown(text)] == []


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        # A newer uv speaks the truth about another Python.
        (
            (
                "uv 0.9.2\n\u00d7 No solution found when resolving dependencies: "
                "Because torch==2.3.1 "
                "has no wheels with a matching Python ABI tag\nhttps://download.pytorch.org/whl/cpu"
            ),
            "failure/local-build-not-matched",
        ),
        # 0.15.1 was tried, so that something else excludes it.
        (
            (
                "Cannot install torch==2.0.0, torchvision==0.15.1 and torchvision==0.15.2 because "
                "these package versions have conflicting dependencies."
            ),
            "0.15.1 goes with",
        ),
        # What somebody ran is no advice.
        ("Error: it breaks\nOn Windows, with --debug --fast, installation fails", "own-advice"),
    ],
)
def test_what_the_log_does_not_say_is_not_said(text: str, refused: str) -> None:
    log = read_log("log", io.BytesIO(text.encode()), catalog())
    findings = assess(observation_from_logs((log,)), catalog(), command="diagnose").findings
    assert all(refused not in f"{one.id} {one.title}" for one in findings)


def test_the_log_is_the_evidence_and_not_its_title() -> None:
    text = (
        "ModuleNotFoundError: No module named 'pkg_resources'\n\n$ x\n"
        "Traceback (most recent call last):\n"
        '  File "/v/lib/python3.14/site-packages/piprepo/a.py", line 1, in <module>\n'
        "    import pkg_resources\nModuleNotFoundError: No module named 'pkg_resources'\n"
    )
    found = first(text)
    assert found.id == "python/pkg-resources-gone"
    assert found.evidence[0].line == 7
