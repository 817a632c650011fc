"""What a log alone tells to do first; genuine output of public threads, shortened."""

from __future__ import annotations

import pytest

from doctor.model.issues import Recipe
from tests.analyzers.packages import explained, told

POETRY = """
  • Installing torch (2.1.2): Failed

  RuntimeError

  Hash for torch (2.1.2) from archive torch-2.1.2-cp311-cp311-win_amd64.whl not found in known hashes (was: sha256:7ff8)
"""  # noqa: E501
RECORD = """
  _WheelFileValidationError
  ["In /home/ada/.cache/pypoetry/torch-1.11.0-cp310-cp310-manylinux1_x86_64.whl, hash / size of torch-1.11.0.dist-info/METADATA didn't match RECORD"]
"""  # noqa: E501
LOCK = """
error: Failed to parse `uv.lock`
  Caused by: TOML parse error at line 5537, column 1
missing field `version`
"""
TOOLKIT = """
15.12 RuntimeError:
15.12 The detected CUDA version (11.8) mismatches the version that was used to compile
15.12 PyTorch (12.1). Please make sure to use the same CUDA versions.
"""
DEVICE_LINK = """
[ 39%] Linking CXX executable solver
/usr/bin/ld: solver_link.o: in function `__cudaRegisterLinkedBinary_38_cuda_device_runtime':
link.stub:(.text+0xad): undefined reference to `__fatbinwrap_38_cuda_device_runtime_compute_86_cpp1_ii_8b1a5d37'
"""  # noqa: E501
NEEDED = """
/usr/bin/ld: warning: libnvidia-fatbinaryloader.so.418.67, needed by /usr/lib/x86_64-linux-gnu/libcuda.so, not found (try using -rpath or -rpath-link)
/usr/lib/x86_64-linux-gnu/libcuda.so: undefined reference to `elfLink_Finish'
"""  # noqa: E501
APPLE = """
ld: warning: ignoring file 'metal_xpc.o': found architecture 'x86_64', required architecture 'arm64'
Undefined symbols for architecture arm64:
  "_define_xpc_service_protocol", referenced from:
"""
HALF = """
[ 12%] Building NVCC (Device) object rotateKernel.cu.o
rotateKernel.cu(40): error: identifier "__hdiv" is undefined
CMake Error at rotate_generated_rotateKernel.cu.o.cmake:280 (message):
"""
TWO_TOOLKITS = """
/usr/local/cuda/include/texture_indirect_functions.h(146): error: identifier "__nv_tex_surf_handler" is undefined
"""  # noqa: E501
FERMI = "nvcc fatal   : Unsupported gpu architecture 'compute_20'"
BLAS = (
    "ImportError: /home/ada/.local/lib/python3.6/site-packages/torch/lib/libtorch_cpu.so: "
    "undefined symbol: sgesdd"
)
FINITE = (
    "ImportError: /usr/local/lib/python3.11/site-packages/chonkie/savgol.cpython-311-x86_64-linux-gnu.so: "  # noqa: E501
    "undefined symbol: __pow_finite"
)
BUILDS = """
PackagesNotFoundError: The following packages are not available from current channels:

  - brotlipy==0.7.0=py39h27cfd23_1003
  - bzip2==1.0.8=h7b6447c_0
  - ld_impl_linux-64==2.38=h1181459_1
"""
OF_PIP = """
PackagesNotFoundError: The following packages are not available from current channels:

  - torch==1.9.0+cu102
"""
TREE = """
LibMambaUnsatisfiableError: Encountered problems while solving:
  - package torchaudio-2.0.2-py310_cu117 requires pytorch-cuda 11.7.*, but none of the providers can be installed

Could not solve for environment specs
The following packages are incompatible
├─ pytorch-cuda ==12.1 ha16c6d3_5 is requested and can be installed;
├─ pytorch-mutex ==1.0 cuda is requested and can be installed;
└─ torchaudio 2.0.2  is not installable because there are no viable options
   ├─ torchaudio 2.0.2 would require
   │  └─ pytorch-mutex 1.0 cpu, which conflicts with any installable versions previously reported;
   ├─ torchaudio 2.0.2 would require
   │  └─ pytorch-cuda 11.7.* , which conflicts with any installable versions previously reported;
   └─ torchaudio 2.0.2 would require
      └─ pytorch-cuda 11.8.* , which conflicts with any installable versions previously reported.
"""  # noqa: E501
PIXI = """
$ pixi add "jaxlib=*=*cuda*" jax
Error: × failed to solve the conda requirements of 'default' 'linux-64'
╰─▶ Cannot solve the request because of: jaxlib * cuda cannot be installed because there are no viable options:
└─ jaxlib 0.4.35 would require __cuda *, for which no candidates were found.
"""  # noqa: E501
EXTRAS = """
  × No solution found when resolving dependencies:
  ╰─▶ Because mineru[pipeline-old-linux] depends on rapid-table==1.0.3 and mineru[all] depends on
      rapid-table>=1.0.5,<2.0.0, we can conclude that mineru[all] and mineru[pipeline-old-linux] are
      incompatible.
"""
MESON = """
Collecting scipy<=1.10.1 (from deepparse[app])
  Downloading scipy-1.9.3.tar.gz (42.1 MB)
Requirement already satisfied: torch in /opt/anaconda3/lib/python3.12/site-packages (from deepparse[app]) (2.4.1)
Collecting scipy<=1.10.1 (from deepparse[app])
      ../../meson.build:57:0: ERROR: Unknown compiler(s): [['gfortran'], ['flang'], ['nvfortran']]
"""  # noqa: E501
NOTFOUND = """
CMake Error: The following variables are used in this project, but they are set to NOTFOUND.
Please set them or make sure they are set and tested correctly in the CMake files:
CUDA_cublas_device_LIBRARY (ADVANCED)
    linked by target "THC" in directory /home/ada/cutorch/lib/THC
"""
WARNINGS = """
Traceback (most recent call last):
  File "/home/ada/build.py", line 31, in <module>
    np.warnings.filterwarnings('ignore')
  File "/home/ada/venv/lib/python3.12/site-packages/numpy/__init__.py", line 427, in __getattr__
AttributeError: module 'numpy' has no attribute 'warnings'. Did you mean: 'hanning'?
"""
SCIPY = """
Traceback (most recent call last):
  File "/home/ada/envs/x/lib/python3.10/site-packages/mofapy2/core/BayesNet.py", line 433, in f
    SS = s.square(s.asarray(Y)).sum()
  File "/home/ada/envs/x/lib/python3.10/site-packages/scipy/__init__.py", line 139, in __getattr__
AttributeError: Module 'scipy' has no attribute 'asarray'
"""
PYTHON_2 = """
Traceback (most recent call last):
  File "/usr/local/lib/python2.7/dist-packages/theano/scan_op.py", line 58, in <module>
    from six import iteritems, integer_types, raise_from
ImportError: cannot import name raise_from
"""
DEVICE_MAP = """
Traceback (most recent call last):
  File "/home/ada/lib/python3.8/site-packages/diffusers/pipeline_utils.py", line 517, in from_pretrained
    loaded_sub_model = load_method(cached_folder, **loading_kwargs)
  File "/home/ada/lib/python3.8/site-packages/transformers/modeling_utils.py", line 2024, in from_pretrained
    model = cls(config, *model_args, **model_kwargs)
TypeError: __init__() got an unexpected keyword argument 'device_map'
"""  # noqa: E501
INDEX = """
!pip install mmcv-full==1.3.13 -f https://download.openmmlab.com/mmcv/dist/cu102/torch1.9.0/index.html
- torch version: 1.9.0+cu111
ImportError: libcudart.so.10.2: cannot open shared object file: No such file or directory
"""
ELSEWHERE = INDEX.replace("download.openmmlab.com", "example.org")
SDIST = """
  Building wheel for sporco-cuda (setup.py) ... error
  sporco_cuda/src/utils.cu:8:10: fatal error: error_check.cuh: No such file or directory
"""
FUNCTION = "Error: invalid device function\t/home/ada/src/Cuda/pyrdown.cu:90"


def _words(recipe: Recipe) -> str:
    """Return all that a recipe shows, as one text."""
    parts = [recipe.title, recipe.note]
    if recipe.snippet is not None:
        parts += [recipe.snippet.before, recipe.snippet.after]
    for step in recipe.steps:
        parts += [*step.run, *step.install, step.index or "", *step.env, *step.env.values()]
        parts += [name for names in step.system.values() for name in names]
    return " ".join(parts)


@pytest.mark.parametrize(
    ("analyzer", "text", "title", "first"),
    [
        ("archives", POETRY, "The file of torch 2.1.2 is not the one", "poetry cache clear --all"),
        ("archives", RECORD, "torch-1.11.0.dist-info/METADATA", "poetry self update"),
        ("archives", LOCK, "uv cannot read uv.lock", "uv self update"),
        ("toolkits", TOOLKIT, "CUDA 11.8, and torch is built for CUDA 12.1", "cuda-12.1"),
        ("undefined_symbols", DEVICE_LINK, "cudadevrt", "CUDA_SEPARABLE_COMPILATION"),
        ("undefined_symbols", NEEDED, "libcuda.so needs libnvidia-fatbinaryloader.so", "find"),
        ("undefined_symbols", BLAS, "needs a BLAS with LAPACK", "liblapack3"),
        ("undefined_symbols", FINITE, "before glibc 2.31", "<package>"),
        ("links", APPLE, "is built for x86_64, and the link makes arm64", "-arch arm64"),
        ("compilers", HALF, "needs compute capability 5.3", "CMAKE_CUDA_ARCHITECTURES"),
        ("compilers", TWO_TOOLKITS, "another CUDA release than the headers", "/usr/local/cuda"),
        ("compilers", FERMI, "sm_20, which ended with CUDA 8.0", "compute_20"),
        ("compilers", SDIST, "error_check.cuh is not found", "git+<repository>"),
        ("conda_solver", BUILDS, "brotlipy==0.7.0", "environment-plain.yml"),
        ("conda_solver", OF_PIP, "pip's spelling", "torch==1.9.0+cu102"),
        ("conda_solver", TREE, "pytorch-cuda 11.7.* and 11.8.* only", "pytorch-cuda=11.8"),
        ("conda_solver", PIXI, "which jaxlib needs", "[system-requirements]"),
        ("resolvers", EXTRAS, "no rapid-table is both", "uv pip install -e .[all]"),
        ("meson", MESON, "This release of scipy has no wheel", "Python 3.11"),
        ("cmake", NOTFOUND, "This CMake is older than CUDA 10", "cmake>=3.18,<4"),
        ("python_names", WARNINGS, "it is Python's own module", "import warnings"),
        ("python_names", SCIPY, "it is numpy's", "mofapy2"),
        ("python_names", PYTHON_2, "six has no raise_from", "six"),
        ("python_parameters", DEVICE_MAP, "with device_map", "transformers diffusers"),
        ("libraries", INDEX, "libcudart.so.10.2", "/dist/cu111/torch1.9.0/"),
        ("numbered_errors", FUNCTION, "invalid device function", "CMAKE_CUDA_ARCHITECTURES"),
    ],
)
def test_the_first_step(analyzer: str, text: str, title: str, first: str) -> None:
    found = told(analyzer, text).detection
    assert title in found.title
    assert first in _words(found.recipes[0])


def test_a_command_names_no_unknown_address_of_a_log() -> None:
    assert all(
        "example.org" not in _words(recipe)
        for recipe in told("libraries", ELSEWHERE).detection.recipes
    )


@pytest.mark.parametrize(
    ("analyzer", "text"),
    [
        ("archives", "error: failed to parse lock file at: /home/ada/Cargo.lock"),
        ("toolkits", "The detected CUDA version (11.8) is fine"),
        ("meson", "meson.build:57:0: WARNING: Unknown compiler"),
        ("cmake", "-- All variables of the project are set"),
    ],
)
def test_other_words_are_left_alone(analyzer: str, text: str) -> None:
    assert not explained(analyzer, text)
