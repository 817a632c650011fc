"""Links of code at fixed addresses, old condas, programs that hold Python, and own extensions."""

from __future__ import annotations

import pytest

from doctor.analyzers.case import Explanation
from tests.analyzers.explained import explained, said

_PIE = (
    "error: linking with `cc` failed: exit status: 1\n"
    "  = note: /usr/bin/ld: /home/u/target/release/build/mistralrs-core-6c9/out/libmistralcuda.a"
    "(nonzero_bitwise.o): relocation R_X86_64_32 against `.bss' can not be used when making a PIE "
    "object; recompile with -fPIE\n"
    "          collect2: error: ld returned 1 exit status"
)
_FOLDER = (
    "      /usr/bin/ld: cannot find /opt/cuda/lib64: file format not recognized\n"
    "      collect2: error: ld returned 1 exit status\n"
    "  ERROR: Failed building wheel for pycuda"
)
_ATOMIC = (
    'nvcc -O3 -gencode arch=compute_35,code="compute_35,sm_35" -c a.cu\n'
    'a.cu(185): error: identifier "atomicExch_block" is undefined'
)
_MODULE = (
    "make[1]: Leaving directory '/usr/src/linux-headers-4.4.0-62-generic'\n"
    "ERROR: The nvidia-uvm kernel module was not created.\n"
    "ERROR: Unable to build /root/NVIDIA-Linux-x86_64-384.111/kernel. If you do not need CUDA, you "
    "can try to install this driver package again with the '--no-unified-memory' option."
)
_OLD_CONDA = (
    "UnsatisfiableError: The following specifications were found to be in conflict:\n"
    "  - pytorch=1.8.0\n"
    "  - torchvision=0.9.1 -> __glibc[version='>=2.17,<3.0.a0']\n"
)
_CHAIN = (
    "UnsatisfiableError: The following specifications were found to be in conflict:\n"
    "  - mkl==2019.0=118\n"
    "  - numpy==1.15.2=py37ha559c80_0 -> mkl_fft[version='>=1.0.4'] -> "
    "mkl[version='>=2019.1,<2020.0a0']\n"
)
_NO_CHANNEL = (
    "$ conda install pytorch==2.4.0 torchvision==0.19.0 torchaudio==2.4.0 pytorch-cuda=12.4 "
    "-c pytorch\n"
    "UnsatisfiableError: The following specifications were found\n"
    "to be incompatible with the existing python installation in your environment:\n"
)
_TRIO = (
    "$ conda install pytorch3d -c pytorch3d\n"
    "UnsatisfiableError: The following specifications were found to be incompatible with each "
    "other:\n"
)
_EMBEDDED = (
    "Original error was: /usr/local/lib/python3.6/dist-packages/numpy/core/"
    "_multiarray_umath.cpython-36m-x86_64-linux-gnu.so: undefined symbol: PyExc_ImportError"
)
_OWN = (
    '  File "/home/u/DG-Font/modules/modulated_deform_conv.py", line 12, in <module>\n'
    "    import DCN\n"
    "ImportError: libcudart.so.10.2: cannot open shared object file: No such file or directory"
)
_UV = (
    "  × No solution found when resolving dependencies:\n"
    "  ╰─▶ Because there is no version of torch==2.4.0+cu124 and your project depends on "
    "torch==2.4.0+cu124, we can conclude that your project's requirements are unsatisfiable."
)


_SHFL = 'src/ball.cu(12): error: identifier "__shfl_down" is undefined'
_BAZEL = (
    "gcc: internal compiler error: Killed (program cc1plus)\n"
    "Target //tensorflow/tools/pip_package:build_pip_package failed to build"
)
_NEWER_PYTHON = (
    "ERROR: Could not find a version that satisfies the requirement torch==1.8.1+cpu "
    "(from versions: 1.11.0, 1.12.0, 2.0.0)"
)
_OLD_INDEX = (
    "Looking in indexes: https://download.pytorch.org/whl/cu117\n"
    "ERROR: Could not find a version that satisfies the requirement torch (from versions: none)"
)


@pytest.mark.parametrize(
    ("text", "id_", "words", "fix"),
    [
        (_SHFL, "warp-function-gone", "__shfl_down is gone", "__shfl_down_sync(0xffffffff, "),
        (
            _SHFL.replace("__shfl_down", "__any_sync"),
            "toolkit-before-cuda-9",
            "older than CUDA 9",
            "CUDA_HOME",
        ),
        (_BAZEL, "compiler-out-of-memory", "cc1plus", "--jobs=2"),
        (_NEWER_PYTHON, "release-not-offered", "Python 3.6 to 3.9", "torch==1.8.1+cpu"),
        (_OLD_INDEX, "release-not-offered", "torch 1.13.0 to 2.0.1", "torch==2.0.1"),
        (_PIE, "not-position-independent", "libmistralcuda.a", "NVCC_APPEND_FLAGS"),
        (_FOLDER, "folder-linked", "/opt/cuda/lib64", "-L/opt/cuda/lib64"),
        (_ATOMIC, "architecture-too-old-for-code", "sm_60", "atomicExch("),
        (_MODULE, "kernel-module-build", "4.4.0-62-generic", "nvidia-installer.log"),
        (_OLD_CONDA, "conda-too-old", "__glibc", "conda>=23.10"),
        (_CHAIN, "conda-conflict", "numpy 1.15.2 needs mkl", "mkl=2019.1"),
        (_NO_CHANNEL, "conda-request", "channel nvidia", "whl/cu124"),
        (_TRIO, "conda-request", "PyTorch3D", "pytorch=2.4.1"),
        (_EMBEDDED, "embedded-python-not-shared", "holds Python", "libpython3.6m.so.1.0"),
        (_OWN, "library-not-found", "libcudart.so.10.2", "build_ext"),
        (_UV, "build-on-another-index", "2.4.0+cu124", "[[tool.uv.index]]"),
    ],
)
def test_names_the_cause_and_what_cures_it(text: str, id_: str, words: str, fix: str) -> None:
    """The finding names the objects of the log, and a fix its own file, option or release."""
    found = _first(text, id_)
    assert words in found.detection.title
    assert fix in repr(found.detection.recipes)


def test_does_not_leave_out_what_cuda_needs() -> None:
    """--no-unified-memory is what the installer offers, and it ends CUDA on the machine."""
    assert "no-unified-memory" not in repr(_first(_MODULE, "kernel-module-build").detection.recipes)


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        # A build that this Python could have, from another index.
        (_NEWER_PYTHON.replace("1.11.0", "1.7.0"), "release-not-offered"),
        # The newest index has wheels for all Pythons of now.
        (_OLD_INDEX.replace("/whl/cu117", "/whl/cpu"), "release-not-offered"),
        # A library that is named with its folder is no folder.
        ("/usr/bin/ld: cannot find /opt/cuda/lib64/libcudart.so: No such file", "folder-linked"),
        # compute_70 has the function, so its name is unknown for another reason.
        (_ATOMIC.replace("35", "70"), "architecture-too-old-for-code"),
        # Only some releases of Python have the name.
        (_EMBEDDED.replace("PyExc_ImportError", "_PyUnicode_Ready"), "embedded-python-not-shared"),
        # An installed package is not compiled by the program's setup.py.
        (_OLD_CONDA.replace("__glibc", "libgcc"), "conda-too-old"),
        (_NO_CHANNEL.replace("-c pytorch", "-c pytorch -c nvidia"), "channel-missing"),
    ],
)
def test_leaves_others_alone(text: str, id_: str) -> None:
    """What looks alike and has another reason gets another answer."""
    assert id_ not in [name for name, _ in said(text)]


def test_an_installed_package_is_not_compiled_by_the_program() -> None:
    """The last frame lies in site-packages."""
    text = _OWN.replace("/home/u/DG-Font", "/usr/lib/python3.8/site-packages/x")
    assert "build_ext" not in repr(_first(text, "library-not-found").detection.recipes)


def _first(text: str, id_: str) -> Explanation:
    return next(one for one in explained(text, os="linux") if one.detection.id.endswith(id_))
