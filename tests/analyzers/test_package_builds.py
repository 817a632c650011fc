"""Builds that fail before the compiler; genuine output of pip, uv and setuptools."""

from __future__ import annotations

import pytest

from tests.analyzers.packages import explained, hostile, installs, told

UV = """
error: Failed to build `torch-scatter==2.1.2`
  cause: The build backend returned an error
  cause: Call to `setuptools.build_meta:__legacy__.get_requires_for_build_wheel` failed (exit status: 1)

         [stderr]
         Traceback (most recent call last):
           File "/home/ada/.cache/uv/builds-v0/.tmpDI1UvL/lib/python3.12/site-packages/setuptools/build_meta.py", line 317, in run_setup
             exec(code, locals())  # noqa: S102 # exec is intentional here
           File "<string>", line 8, in <module>
         ModuleNotFoundError: No module named '{}'

hint: This error likely indicates that `torch-scatter@2.1.2` depends on `{}`, but doesn't declare it as a build dependency.
"""  # noqa: E501
PIP = """
Collecting scikit-learn==1.0.2
  Downloading scikit-learn-1.0.2.tar.gz (6.7 MB)
  Getting requirements to build wheel: started
  File "/tmp/pip-build-env-7kpws757/overlay/lib/python3.13/site-packages/setuptools/__init__.py", line 10, in <module>
    import distutils.core
ModuleNotFoundError: No module named 'distutils'
"""  # noqa: E501


def test_a_module_that_the_build_lacks() -> None:
    found = told("package_builds", UV.format("skbuild", "skbuild"))
    assert found.detection.title == (
        "The build of torch-scatter imports skbuild, which its build environment lacks"
    )
    assert installs(found) == [
        ("scikit-build", "setuptools", "wheel", "packaging", "ninja", "torch-scatter")
    ]


def test_torch_is_not_installed_anew_for_a_build() -> None:
    """The torch of the environment is the one to build for."""
    found = told("package_builds", UV.format("torch", "torch"))
    assert installs(found) == [("setuptools", "wheel", "packaging", "ninja", "torch-scatter")]


def test_sources_that_are_older_than_python() -> None:
    found = told("package_builds", PIP)
    assert found.detection.title == (
        "The sources of scikit-learn are older than Python 3.13: distutils is gone since "
        "Python 3.12"
    )
    assert installs(found)[0] == ("scikit-learn",)


def test_the_same_module_outside_a_build() -> None:
    assert not explained("package_builds", "ModuleNotFoundError: No module named 'distutils'")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "error in PyYAML setup command: use_2to3 is invalid.",
            "PyYAML is too old for today's setuptools: use_2to3 is gone since setuptools 58",
        ),
        (
            "pip._vendor.pyproject_hooks._impl.BackendUnavailable: Cannot import 'mesonpy'",
            "The build of the package needs meson-python, which is not installed",
        ),
        (
            "src/x.c:12:10: fatal error: longintrepr.h: No such file or directory",
            "The sources of the package are older than this Python: they use longintrepr.h",
        ),
        (
            (
                "ERROR: Directory './submodules/diff' is not installable. Neither 'setup.py' nor "
                "'pyproject.toml' found."
            ),
            (
                "./submodules/diff is no Python project: it is not there, or holds no setup.py "
                "and no "
                "pyproject.toml"
            ),
        ),
        (
            (
                "ERROR: ./submodules/simple-knn is not a valid editable requirement. It should "
                "either be "
                "a path to a local project or a VCS URL (beginning with bzr+http)."
            ),
            (
                "./submodules/simple-knn is no Python project: it is not there, or holds no "
                "setup.py and "
                "no pyproject.toml"
            ),
        ),
        (
            (
                "The virtual environment was not created successfully because ensurepip is "
                "not\navailable."
            ),
            "This Python cannot make environments: its package python3-venv is not installed",
        ),
        (
            "Python 3.8.18\nTypeError: 'type' object is not subscriptable",
            "The program is written for Python 3.9 or later, and Python 3.8 runs it",
        ),
    ],
)
def test_what_stops_a_build(text: str, title: str) -> None:
    assert told("package_builds", text).detection.title == title


def test_hostile_texts() -> None:
    hostile(
        "package_builds",
        (
            (
                "Getting requirements to build wheel\nCollecting $(reboot)\n"
                "ModuleNotFoundError: No module named '"
            ),
            "BackendUnavailable: Cannot import '",
            "ERROR: Directory './submodules/",
            "error in $(reboot) setup command: use_2to3 is invalid.",
        ),
    )


OF_PIP = """
Exception:
Traceback (most recent call last):
  File "/opt/env/lib/python3.5/site-packages/pip/_internal/wheel.py", line 848, in build
    assert building_is_possible
AssertionError
"""


def test_a_fault_in_pip_is_no_fault_of_the_package() -> None:
    found = told("installers_own", OF_PIP)
    assert found.detection.title.startswith("pip itself failed (AssertionError in wheel.py)")
    assert installs(found)[0] == ("pip",)
    of_backend = OF_PIP.replace("pip/_internal/wheel.py", "pip/_vendor/pep517/_in_process.py")
    assert not explained("installers_own", of_backend)
