"""A C or C++ library that is too old: what is needed, who has it, which copy was loaded."""

from __future__ import annotations

from doctor.analyzers import explanations
from doctor.analyzers.c_library import explain
from doctor.analyzers.case import Precision
from tests.analyzers.logs import all_texts, case_of

PACKAGES = "/venv/lib/python3.8/site-packages"
CONDA = "/home/ada/anaconda3/envs/sfm"


def test_glibc_is_named_with_its_first_systems() -> None:
    text = (
        "ImportError: /lib64/libc.so.6: version `GLIBC_2.32' not found (required by "
        f"{PACKAGES}/vllm/_C.abi3.so)"
    )
    (found,) = explain(case_of(text, {"host.glibc": "2.31", "host.distribution": "Ubuntu 20.04"}))
    assert found.precision is Precision.EXACT
    assert found.detection.title == "_C.abi3.so needs glibc 2.32: Ubuntu 20.04 has 2.31"
    assert "Ubuntu 22.04" in found.detection.message


def test_the_newest_version_counts() -> None:
    lines = (f"/lib64/libc.so.6: version `GLIBC_2.{minor}' not found" for minor in (29, 34, 32))
    (found,) = explain(case_of("\n".join(lines)))
    assert "2.34" in found.detection.title


def test_a_system_before_every_wheel() -> None:
    text = f"/lib64/libc.so.6: version `GLIBC_2.14' not found (required by {PACKAGES}/x.so)"
    (found,) = explain(case_of(text))
    assert "manylinux2014 needs 2.17" in found.detection.message


def test_no_channel_mends_what_conda_reads_of_the_system() -> None:
    text = (
        "LibMambaUnsatisfiableError: Encountered problems while solving:\n"
        "  - nothing provides __glibc >=2.28,<3.0.a0 needed by cusparselt-0.7.1.0-hcd2ec93_1"
    )
    (found,) = explanations(case_of(text))
    assert "cusparselt-0.7.1.0-hcd2ec93_1 needs glibc 2.28" in found.detection.title
    assert "no channel changes it" in found.detection.message
    assert "torch/conda-*" in found.contradicts


def test_condas_own_libstdcxx_is_updated_where_it_lies() -> None:
    text = (
        f"ImportError: {CONDA}/lib/python3.8/../libstdc++.so.6: version `GLIBCXX_3.4.29' not found "
        "(required by /home/ada/sfm/_sfm.cpython-38-x86_64-linux-gnu.so)"
    )
    (found,) = explain(case_of(text))
    command = found.detection.recipes[0].steps[0].run
    assert command[:4] == ("conda", "install", "--prefix", CONDA)
    assert "libstdcxx-ng>=11" in command
    assert "gcc 11.1.0" in found.detection.title
    assert "changes nothing" in found.detection.message


def test_conda_is_not_offered_outside_of_it() -> None:
    text = (
        "ImportError: /lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.32' not found "
        f"(required by {PACKAGES}/x.so)"
    )
    (found,) = explain(case_of(text))
    assert "conda environment" not in all_texts(found)


def test_a_list_of_versions_is_no_failure() -> None:
    assert not list(explain(case_of("GLIBCXX_3.4.31\nGLIBCXX_3.4.32\nGLIBC_2.39")))
