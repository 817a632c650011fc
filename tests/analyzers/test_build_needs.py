"""Builds of which a log shows only that they failed; genuine lines of pip and setuptools."""

from __future__ import annotations

import pytest

from doctor.analyzers.case import Precision
from tests.analyzers.packages import explained, hostile, installs, told

PINNED = """
Collecting scikit-learn==0.20.4 (from -r requirements.txt (line 12))
  Downloading scikit-learn-0.20.4.tar.gz (11.7 MB)
  Preparing metadata (pyproject.toml): finished with status 'error'
error: subprocess-exited-with-error
× Preparing metadata (pyproject.toml) did not run successfully.
"""


def test_a_pin_that_is_older_than_python() -> None:
    found = told("build_needs", "Python 3.11.4\n" + PINNED)
    assert found.detection.title == (
        "scikit-learn 0.20.4 has no wheel for Python 3.11: it has them for Python 3.4 to 3.7"
    )
    newer, older = found.detection.recipes
    assert newer.steps[0].install == ("scikit-learn>=1.1.3",)
    assert "scikit-learn==0.20.4" in older.steps[1].run


def test_the_same_pin_where_python_is_not_shown() -> None:
    found = told("build_needs", PINNED)
    assert found.detection.title == (
        "scikit-learn 0.20.4 has no wheel for this Python and system, and its build failed"
    )
    assert "Python 3.4 to 3.7" in found.detection.message


def test_a_release_that_has_a_wheel_here() -> None:
    text = PINNED.replace("0.20.4", "1.5.2")
    found = told("build_needs", "Python 3.11.4\n" + text)
    assert found.detection.title == (
        "scikit-learn 1.5.2 has wheels for Python 3.11, and the installer took none of them"
    )
    assert installs(found)[0] == ("pip",)


def test_a_python_without_the_release() -> None:
    text = (
        '  File "C:\\Program Files\\Python313\\Lib\\site-packages\\pip\\cli.py", line 1\n'
        "ERROR: Failed building wheel for sentencepiece"
    )
    found = told("build_needs", text)
    assert found.detection.recipes[0].steps[0].install == ("sentencepiece>=0.2.1",)


@pytest.mark.parametrize(
    ("text", "title", "package"),
    [
        (
            "ERROR: Failed building wheel for dlib",
            "dlib is compiled here, and its build needs CMake and a C++ compiler",
            "dlib",
        ),
        (
            (
                "ERROR: Could not build wheels for pyaudio, which is required to install "
                "pyproject.toml-based projects"
            ),
            "pyaudio is compiled here, and its build needs PortAudio with its headers",
            "pyaudio",
        ),
        (
            (
                "ERROR: Failed to build installable wheels for some pyproject.toml based projects "
                "(mpi4py)"
            ),
            "mpi4py is compiled here, and its build needs MPI with its compiler mpicc",
            "mpi4py",
        ),
        (
            "ERROR: Failed building wheel for webrtcvad",
            "webrtcvad is compiled here, and its build needs a C compiler",
            "webrtcvad-wheels",
        ),
    ],
)
def test_what_a_build_needs(text: str, title: str, package: str) -> None:
    found = told("build_needs", text)
    assert found.detection.title == title
    assert (package,) in installs(found) or any(package in one for one in installs(found))


def test_on_windows_no_package_manager_of_linux_is_named() -> None:
    text = (
        '  File "C:\\Users\\ada\\venv\\Lib\\site-packages\\pip\\x.py", line 1\n'
        "ERROR: Failed building wheel for insightface"
    )
    found = told("build_needs", text)
    assert not any(step.system for one in found.detection.recipes for step in one.steps)
    assert any("winget" in step.run for one in found.detection.recipes for step in one.steps)


def test_a_cloned_extension() -> None:
    text = """
449.4 Collecting git+https://github.com/rahul-goel/fused-ssim@1272e21a (from -r r.txt (line 23))
452.4   Installing build dependencies: finished with status 'done'
453.3   Getting requirements to build wheel: finished with status 'error'
453.4   error: subprocess-exited-with-error
"""
    found = told("build_needs", text)
    assert found.detection.title == (
        "fused-ssim compiles CUDA code against the installed torch, and its build failed"
    )


OLD_BUILD = """
Collecting {name}=={release}
  Downloading {name}-{release}.tar.gz (5.2 MB)
  Getting requirements to build wheel: finished with status 'error'
  error: subprocess-exited-with-error
      Traceback (most recent call last):
        File "/tmp/pip-build-env-6rbc1517/overlay/lib/python3.11/site-packages/setuptools/build_meta.py", line 317, in run_setup
          exec(code, locals())
{error}
      [end of output]
  note: This error originates from a subprocess, and is likely not a problem with pip.
ERROR: Failed to build '{name}' when getting requirements to build wheel
"""  # noqa: E501
SOURCES = """\
        File "<string>", line 201, in get_source_files
      AttributeError: 'build_ext' object has no attribute 'cython_sources'"""
DISTUTILS = """\
        File "/tmp/pip-install-wk78y8dw/cupy_35d48817105d4054a54f061af3bfbafd/build.py", line 5, in <module>
          from distutils import msvccompiler
      ImportError: cannot import name 'msvccompiler' from 'distutils' (/tmp/pip-build-env-r7bsxfxm/overlay/lib/python3.11/site-packages/setuptools/_distutils/__init__.py)"""  # noqa: E501
LDAP = """\
      Modules/common.h:15:10: fatal error: lber.h: No such file or directory
      error: command '/usr/bin/gcc' failed with exit code 1"""


def test_whatever_an_old_release_reports_it_has_no_wheel_for_this_python() -> None:
    text = OLD_BUILD.format(name="pyyaml", release="5.4.1", error=SOURCES)
    found = told("build_needs", text)
    assert found.detection.title == (
        "pyyaml 5.4.1 has no wheel for Python 3.11: it has them for Python 3.6 to 3.9"
    )
    assert installs(found)[0] == ("pyyaml>=6.0",)


def test_the_requirement_of_a_build_is_not_what_was_asked_for() -> None:
    text = OLD_BUILD.format(name="thinc", release="7.4.1", error=DISTUTILS)
    text = (
        "Collecting spacy==2.3.0\n"
        + text
        + ("ERROR: Failed to build 'spacy' when installing build dependencies for spacy\n")
    )
    assert told("build_needs", text).detection.title.startswith("spacy 2.3.0 has no wheel")


def test_a_build_script_of_a_package_without_wheels() -> None:
    text = OLD_BUILD.format(name="cupy", release="9.6.0", error=DISTUTILS)
    found = told("old_build_scripts", text)
    assert found.detection.title == (
        "The build script of cupy 9.6.0 is older than the setuptools that the build fetches"
    )
    assert installs(found)[0] == ("cupy-cuda12x",)
    assert not explained("old_build_scripts", text.replace("pip-build-env-", "site-"))


def test_a_header_of_a_package_that_is_always_compiled() -> None:
    text = OLD_BUILD.format(name="python-ldap", release="3.4.4", error=LDAP)
    assert "needs the headers of OpenLDAP" in told("build_needs", text).detection.title


def test_a_word_behind_building_is_no_package() -> None:
    text = (
        "  Building wheel for lxml (setup.py): started\n      Building lxml version 4.2.0.\n"
        "      Building without Cython.\n      etree.c:274:12: fatal error: longintrepr.h: No such "
        "file or directory\n"
    )
    assert "lxml" in told("package_builds", text).detection.title


def test_a_build_environment_has_no_pip() -> None:
    text = OLD_BUILD.format(
        name="a", release="1.0", error="      /v/bin/python: No module named pip"
    )
    assert not explained("environments", text)


def test_a_compiler_that_stopped() -> None:
    found = told("build_needs", "error: command '/usr/bin/gcc' failed with exit code 1")
    assert found.detection.title == (
        "gcc stopped while a package was compiled, and its message is not in the log"
    )


@pytest.mark.parametrize(
    "text",
    [
        # An old pip falls back to setup.py install, which may succeed.
        "  Failed building wheel for some_thing\nSuccessfully installed six-1.0 some-thing-2.0",
        "error: command '/usr/local/cuda/bin/nvcc' failed with exit code 1",
        # The reason stands in the log: it is explained elsewhere.
        (
            "x.c:1:10: fatal error: Python.h: No such file or directory\n"
            "error: command 'gcc' failed with exit status 1\n"
            "ERROR: Failed building wheel for dlib"
        ),
    ],
)
def test_nothing_is_said(text: str) -> None:
    assert not explained("build_needs", text)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "ERROR: Failed building wheel for a-package-of-somebody",
            "a-package-of-somebody has no wheel for this Python and system, and its build failed",
        ),
        (
            (
                "× Getting requirements to build wheel did not run successfully.\n"
                "  cwd: /private/var/T/pip-install-res6efl_/metatensor-torch_"
                "3c9c0f14f1644fdcb24b7237a4466fb6"
            ),
            "The build script of metatensor-torch failed before anything was compiled",
        ),
    ],
)
def test_a_package_of_which_nothing_is_known(text: str, title: str) -> None:
    found = told("build_needs", text)
    assert found.detection.title == title
    assert found.precision is Precision.GUESS


def test_hostile_logs() -> None:
    hostile(
        "build_needs",
        (
            "ERROR: Failed building wheel for ",
            "ERROR: Failed building wheel for dlib",
            "error: command 'gcc' failed with exit status 1",
            "Collecting git+https://x/y/",
        ),
    )
