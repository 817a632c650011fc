"""Tables about builds of packages: who brings a module, and which release has wheels."""

from __future__ import annotations

BACKENDS = {
    "setuptools": "setuptools",
    "mesonpy": "meson-python",
    "hatchling": "hatchling",
    "poetry": "poetry-core",
    "flit_core": "flit-core",
    "skbuild": "scikit-build",
    "scikit_build_core": "scikit-build-core",
    "maturin": "maturin",
    "pdm": "pdm-backend",
    "py_build_cmake": "py-build-cmake",
    "whey": "whey",
    "jupyter_packaging": "jupyter-packaging",
    "cmeel": "cmeel",
    "wheel": "wheel",
    "versioneer": "versioneer",
    "setuptools_scm": "setuptools-scm",
    "setuptools_rust": "setuptools-rust",
    "pkg_resources": "setuptools<82",
    "torch": "torch",
    "cython": "cython",
    "pybind11": "pybind11",
    "ninja": "ninja",
    "cmake": "cmake",
}
"""The distribution that brings a module which builds import."""

FIRST_WHEELS = {
    ("numpy", "3.12"): "1.26",
    ("numpy", "3.13"): "2.1",
    ("scipy", "3.12"): "1.11.2",
    ("scipy", "3.13"): "1.14.1",
    ("pandas", "3.12"): "2.1.1",
    ("pandas", "3.13"): "2.2.3",
}
"""The first releases with wheels for a Python, as their indexes list them."""
