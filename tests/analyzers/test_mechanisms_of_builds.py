"""Pins, import names, host compilers and links that a log alone explains; genuine, shortened."""

from __future__ import annotations

import pytest

from doctor.timelines.names import distribution_of
from tests.analyzers.packages import explained, told

CLASSIC = """
UnsatisfiableError: The following specifications were found to be in conflict:
  - cudatoolkit==8.0=3
  - pytorch==0.4.0=py35_cuda9.0.176_cudnn7.1.2_1 -> cudatoolkit=9
Use "conda info <package>" to see the dependencies for each package.
"""
CONFLICTS = """
UnsatisfiableError: The following specifications were found to be incompatible with each other:

Package cudatoolkit conflicts for:
pytorch=1.3.1 -> cudatoolkit[version='>=10.1,<10.2']
cudatoolkit=10.0
"""
TREE = """
LibMambaUnsatisfiableError: Encountered problems while solving:
  - nothing provides cudatoolkit >=11.1,<11.2 needed by pytorch-1.10.0-py3.6_cuda11.1_cudnn8.0.5_0

Could not solve for environment specs
├─ cudatoolkit 11.3**  is requested and can be installed;
├─ pytorch 1.10**  is installable with the potential options
│  └─ pytorch [1.10.0|1.10.1|1.10.2], which can be installed;
└─ torchvision 0.10.0**  is not installable because there are no viable options
   ├─ torchvision 0.10.0 would require
   │  └─ pytorch 1.9.0  but there are no viable options
"""
OWN_PART = """
Traceback (most recent call last):
  File "/home/ada/miniconda3/lib/python3.9/site-packages/transformers/utils/import_utils.py", line 1793, in _get_module
    return importlib.import_module("." + module_name, self.__name__)
  File "/home/ada/miniconda3/lib/python3.9/importlib/__init__.py", line 127, in import_module
    return _bootstrap._gcd_import(name[level:], package, level)
  File "/home/ada/miniconda3/lib/python3.9/site-packages/transformers/generation/utils.py", line 27, in <module>
    from ..deepspeed import is_deepspeed_zero3_enabled
ModuleNotFoundError: No module named 'transformers.deepspeed'
"""  # noqa: E501
LAPACK = """
/usr/bin/ld: /home/ada/pytorch/build/lib/libtorch_cuda.so: undefined reference to `slaed2_'
collect2: error: ld returned 1 exit status
"""
LETTER = """
ptxas /tmp/tmpxft_00001af0_00000000-6_sm90_q64n32.ptx, line 10531; error   : Instruction 'tensormap.replace' not supported on .target 'sm_120'
"""  # noqa: E501
CLANG = """
nvcc fatal   : The version ('7.0') of the host compiler ('clang') is not supported
"""
NO_GCC = """
      ERROR: No supported gcc/g++ host compiler found.
             Use 'nvcc -ccbin <compiler>' to specify a host compiler.
"""
MSVC = r"""
command: ['C:\\Program', 'Files\\NVIDIA', 'Toolkit\\CUDA\\v12.1\\bin\\nvcc.EXE', '--ptx', 'preprocess.cu']
Microsoft (R) C/C++ Optimizing Compiler Version 19.40.33811 for x64
nvcc fatal   : Host compiler targets unsupported OS.
"""  # noqa: E501
ROCM = """
pip install torch torchvision --index-url https://download.pytorch.org/whl/rocm6.2
OSError: libtorch_cuda.so: cannot open shared object file: No such file or directory
"""
NO_CXX = (
    "ImportError: /opt/x/lib/python3.9/site-packages/parakeet_ext.cpython-39-x86_64-linux-gnu.so: "
    "undefined symbol: _ZTVN10__cxxabiv117__class_type_infoE"
)
PYTHON_2 = "ImportError: /home/ada/core/so/math_tools.so: undefined symbol: _Py_ZeroStruct"


@pytest.mark.parametrize(
    ("analyzer", "log", "name", "title"),
    [
        ("conda_solver", CLASSIC, "conda-conflict", "pytorch 0.4.0 needs cudatoolkit 9"),
        (
            "conda_solver",
            CONFLICTS,
            "conda-conflict",
            "pytorch 1.3.1 needs cudatoolkit >=10.1,<10.2",
        ),
        ("conda_solver", TREE, "conda-conflict", "torchvision 0.10.0 needs pytorch 1.9.0"),
        (
            "python_modules",
            OWN_PART,
            "package-inconsistent",
            "transformers lacks transformers.deepspeed",
        ),
        ("undefined_symbols", LAPACK, "library-not-linked", "BLAS or LAPACK"),
        ("compilers", LETTER, "architecture-without-letter", "sm_90a"),
        ("compilers", CLANG, "host-compiler-too-new", "does not take clang 7.0"),
        ("compilers", NO_GCC, "host-compiler-missing", "no gcc"),
        ("compilers", MSVC, "host-compiler-too-new", "CUDA 12.4 is the first"),
        ("libraries", ROCM, "build-for-another-vendor", "rocm6.2"),
        ("undefined_symbols", NO_CXX, "cxx-library-not-linked", "C++ standard library"),
        ("undefined_symbols", PYTHON_2, "built-for-other-python", "another Python"),
    ],
)
def test_the_mechanism_is_named_with_a_step(analyzer: str, log: str, name: str, title: str) -> None:
    found = told(analyzer, log).detection
    assert found.id == f"failure/{name}"
    assert title in found.title
    assert found.recipes


def test_pins_that_agree_are_no_conflict() -> None:
    assert not explained("conda_solver", CLASSIC.replace("cudatoolkit==8.0", "cudatoolkit==9.0"))


@pytest.mark.parametrize(
    ("module", "distribution"),
    [("omegaconf", "omegaconf"), ("skvideo.io", "sk-video"), ("pywt", "pywavelets")],
)
def test_import_names_lead_to_their_distribution(module: str, distribution: str) -> None:
    assert distribution_of(module) == distribution
