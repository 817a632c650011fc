"""Specifiers and markers answer as `packaging` does."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from doctor.base.requirements import (
    InvalidRequirement,
    applies,
    meets,
    normalize_name,
    read_line,
)

_RELEASE = st.lists(st.integers(0, 3), min_size=1, max_size=4).map(
    lambda parts: ".".join(map(str, parts))
)
_SUFFIX = st.sampled_from(["", "", "", "a0", "rc1", ".dev3", ".post1", "rc1.dev2", ".post1.dev4"])
_LOCAL = st.sampled_from(["", "", "+cu121", "+git.abc"])
_ENVIRONMENT = {
    "implementation_name": "cpython",
    "implementation_version": "3.11.7",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_release": "",
    "platform_system": "Linux",
    "platform_version": "",
    "python_full_version": "3.11.7",
    "python_version": "3.11",
    "sys_platform": "linux",
}


@st.composite
def _clause(draw: st.DrawFn) -> str:
    operator = draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "~="]))
    release = draw(_RELEASE)
    if operator == "~=":
        return f"~={release}.{draw(st.integers(0, 3))}{draw(_SUFFIX)}"
    if operator in {"==", "!="}:
        return operator + release + (".*" if draw(st.booleans()) else draw(_SUFFIX) + draw(_LOCAL))
    # What `<2.0rc1` and `>2.0.post1` leave out changed between releases of packaging.
    return operator + release + (draw(_SUFFIX) if "=" in operator else "")


@settings(max_examples=200, deadline=None)
@given(_RELEASE, _SUFFIX, _LOCAL, st.lists(_clause(), max_size=3))
def test_specifiers_agree_with_packaging(
    release: str, suffix: str, local: str, clauses: list[str]
) -> None:
    version, specifier = release + suffix + local, ",".join(clauses)
    assert meets(version, specifier) is SpecifierSet(specifier).contains(version, prereleases=True)


_ATOMS = [
    'platform_system == "Linux"',
    "sys_platform != 'win32'",
    'platform_machine == "aarch64"',
    'python_version < "3.13"',
    'python_version >= "3.9"',
    'python_version ~= "3.8"',
    'python_version == "3.*"',
    'python_full_version <= "3.11.4"',
    '"linux" in sys_platform',
    '"arm" not in platform_machine',
    'extra == "all"',
]


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds("({}) {} {}".format, inner, st.sampled_from(["and", "or"]), inner)


@settings(max_examples=100, deadline=None)
@given(st.recursive(st.sampled_from(_ATOMS), _joined, max_leaves=5), st.sampled_from(["", "all"]))
def test_markers_agree_with_packaging(marker: str, extra: str) -> None:
    assert applies(marker, _ENVIRONMENT, [extra]) is any(
        Marker(marker).evaluate({**_ENVIRONMENT, "extra": one}) for one in {"", extra}
    )


@pytest.mark.parametrize(
    "text",
    [
        "filelock",
        "typing-extensions>=4.10.0",
        "networkx (>=2.5,<4)",
        "nvidia-cublas-cu12 (==12.4.5.8) ; platform_system == 'Linux'",
        "cuda-toolkit[cublas, cudart]==13.0.3; sys_platform == 'linux'",
        "nvidia-cublas == 13.1.1.3.* ; extra == 'cublas'",
        "x @ https://example.org/x-1.0-py3-none-any.whl ; extra == 'y'",
        "x[a] @ git+https://example.org/x.git@main#egg=x",
        "zope.interface!=1.0,>0",
    ],
)
def test_lines_are_split_as_packaging_splits_them(text: str) -> None:
    ours, theirs = read_line(text), Requirement(text)
    assert (ours.name, ours.extras, ours.address) == (
        theirs.name,
        frozenset(theirs.extras),
        theirs.url or "",
    )
    assert SpecifierSet(ours.specifier) == theirs.specifier
    assert bool(ours.marker) is (theirs.marker is not None)


@pytest.mark.parametrize(
    "text", ["", "-x", "torch nonsense", "torch=2", "torch>=2 <3", "torch[", "torch >=2)("]
)
def test_lines_that_make_no_sense(text: str) -> None:
    with pytest.raises(InvalidRequirement):
        read_line(text)


@pytest.mark.parametrize(
    "marker",
    ["python_version", "name == 'x'", "python_version <", "or", "(" * 999, "(" * 99_999],
)
def test_markers_that_make_no_sense(marker: str) -> None:
    with pytest.raises(InvalidRequirement):
        applies(marker, _ENVIRONMENT)


@pytest.mark.parametrize(
    ("version", "specifier"), [("main", ">=2"), ("2.0", "=>2"), ("2.0", ">=two")]
)
def test_versions_that_make_no_sense(version: str, specifier: str) -> None:
    with pytest.raises(InvalidRequirement):
        meets(version, specifier)


def test_plain_requirements_import_nothing_of_packaging_but_versions() -> None:
    program = """
import sys
from doctor.base.requirements import applies, meets, read_line
line = read_line('cuda-toolkit[cublas]>=13.0,!=13.1.*,~=13.0; (platform_system == "Linux" '
                 'or sys_platform == "win32") and python_version < "3.13"')
print(applies(line.marker, {"platform_system": "Linux", "python_version": "3.11",
                            "sys_platform": "linux"}),
      meets("13.0.3+cu1", line.specifier), line.specifier,
      [name for name in sys.modules if name.startswith("packaging.")
       and name.partition(".")[2] not in ("version", "_structures")])
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ran.stdout == "True True >=13.0,!=13.1.*,~=13.0 []\n", ran.stderr


@pytest.mark.parametrize(
    ("name", "normalized"),
    [("Flash_Attn", "flash-attn"), ("zope.interface", "zope-interface"), ("a-_.b", "a-b")],
)
def test_names_are_compared_as_installers_compare_them(name: str, normalized: str) -> None:
    assert normalize_name(name) == normalized == canonicalize_name(name)


@pytest.mark.parametrize(
    "line",
    [
        "triton" + " " * 200_000 + ")",
        "triton[" + " " * 200_000,
        "triton" + "-" * 200_000,
        "t" + "." * 200_000 + "(",
        "triton >=" + " " * 200_000 + "3 x",
        "triton @ " + "x " * 100_000,
        "triton (" + "=" * 200_000,
        "triton " + "==1," * 50_000 + ")",
    ],
    ids=range(8),
)
def test_a_line_without_end_costs_its_length(line: str) -> None:
    begun = time.process_time()
    with pytest.raises(InvalidRequirement) as told:
        read_line(line)
    assert time.process_time() - begun < 2  # with one expression for the whole line, years
    assert len(str(told.value)) < 300
