"""Requirements that exclude each other.

Genuine output of pip, uv and cargo, and of conda in public threads.
"""

from __future__ import annotations

import pytest

from doctor.model.scales import Severity
from tests.analyzers.packages import explained, hostile, installs, told

PIP = """
ERROR: Cannot install numpy==1.26.4 and opencv-python==4.12.0.88 because these package versions have conflicting dependencies.

The conflict is caused by:
    The user requested numpy==1.26.4
    opencv-python 4.12.0.88 depends on numpy<2.3.0 and >=2; python_version >= "3.9"

To fix this you could try to:
1. loosen the range of package versions you've specified
"""  # noqa: E501
UV = """
error: No solution found when resolving dependencies
  cause: Because opencv-python==4.12.0.88 depends on numpy>=2,<2.3.0 and you require numpy==1.26.4, we can conclude that your requirements and opencv-python==4.12.0.88 are incompatible.
         And because you require opencv-python==4.12.0.88, we can conclude that your requirements are unsatisfiable.
"""  # noqa: E501
UV_PROJECT = """
error: No solution found when resolving dependencies for split (markers: python_full_version >= '3.9')
  cause: Because opencv-python==4.12.0.88 depends on numpy{python_full_version >= '3.9'}>=2,<2.3.0 and demo[x] depends on opencv-python==4.12.0.88, we can conclude that demo[x] depends on numpy>=2,<2.3.0.
         And because your project depends on numpy==1.26.4 and your project requires demo[x], we can conclude that your project's requirements are unsatisfiable.
"""  # noqa: E501
LINKS = """
error: failed to select a version for `b`.
    ... required by package `c v0.1.0 (/home/ada/cg/c)`
versions that meet the requirements `*` are: 0.1.0

package `b` links to the native library `foo`, but it conflicts with a previous package which links to `foo` as well:
package `a v0.1.0 (/home/ada/cg/a)`
    ... which satisfies path dependency `a` of package `c v0.1.0 (/home/ada/cg/c)`
"""  # noqa: E501
FEATURE = """
error: failed to select a version for `a`.
    ... required by package `c v0.1.0 (/home/ada/cg/c)`
versions that meet the requirements `*` are: 0.1.0

package `c` depends on `a` with feature `cuda` but `a` does not have that feature.
"""
RELEASE = """
error: failed to select a version for the requirement `a = "^0.2"`
candidate versions found which didn't match: 0.1.0
location searched: crates.io index
required by package `c v0.1.0 (/home/ada/cg/c)`
"""
GLIBC = """
LibMambaUnsatisfiableError: Encountered problems while solving:
  - nothing provides __glibc >=2.28,<3.0.a0 needed by c-ares-1.33.0-ha66036c_0
"""
PYTHON = """
LibMambaUnsatisfiableError: Encountered problems while solving:
  - package pytorch-1.5.0-cpu_py37hd91cbb3_0 requires python >=3.7,<3.8.0a0, but none of the providers can be installed

Could not solve for environment specs
"""  # noqa: E501


@pytest.mark.parametrize("text", [PIP, UV])
def test_a_pin_and_a_requirement(text: str) -> None:
    """Both rules are named, and each fix lets one of them go."""
    found = told("resolvers", text)
    assert found.detection.title == (
        "opencv-python 4.12.0.88 wants numpy<2.3.0,>=2, and you ask for numpy==1.26.4: no numpy is "
        "both"
    )
    assert installs(found) == [
        ("numpy<2.3.0,>=2", "opencv-python==4.12.0.88"),
        ("numpy==1.26.4", "opencv-python"),
    ]


@pytest.mark.parametrize(
    ("text", "title", "installed"),
    [
        (
            (
                "  cause: Because torch==2.5.1 depends on triton{python_full_version < '3.13' and "
                "platform_machine == 'x86_64' and sys_platform == 'linux'}==3.1.0 and you require "
                "torch==2.5.1, we can conclude that you require triton==3.1.0.\n"
                "         And because you require triton==2.1.0, we can conclude that your "
                "requirements are unsatisfiable.\n"
            ),
            "torch 2.5.1 wants triton==3.1.0, and you ask for triton==2.1.0: no triton is both",
            ("triton==3.1.0", "torch==2.5.1"),
        ),
        (
            (
                "  cause: Because tensorflow==2.18.0 depends on one of:\n"
                "             protobuf>=3.20.3,<4.21.0\n"
                "             protobuf>4.21.5,<6.0.0.dev0\n"
                "         and you require protobuf==3.20, we can conclude that your requirements "
                "and tensorflow==2.18.0 are incompatible.\n"
                "         And because you require tensorflow==2.18, we can conclude that your "
                "requirements are unsatisfiable.\n"
            ),
            (
                "tensorflow 2.18.0 wants protobuf<6.0.0.dev0,>=3.20.3, and you ask for "
                "protobuf==3.20: no protobuf is both"
            ),
            ("protobuf<6.0.0.dev0,>=3.20.3", "tensorflow==2.18.0"),
        ),
    ],
    ids=["a long marker", "one of several ranges"],
)
def test_uv_writes_a_rule_in_many_words(text: str, title: str, installed: tuple[str, ...]) -> None:
    """The output of uv 0.13."""
    found = told("resolvers", "error: No solution found when resolving dependencies\n" + text)
    assert found.detection.title == title
    assert installs(found)[0] == installed


def test_a_release_that_one_of_several_ranges_takes_is_no_conflict() -> None:
    text = (
        "error: No solution found when resolving dependencies\n"
        "  cause: Because a==1.0 depends on one of:\n             b>=1,<2\n             b>=3,<4\n"
        "         and you require b==3.5, we can conclude that nothing is known.\n"
    )
    assert not any("no b is both" in one.detection.title for one in explained("resolvers", text))


def test_a_project_is_no_package_to_install() -> None:
    """The name of a project may belong to anybody on the index."""
    found = told("resolvers", UV_PROJECT)
    assert "your project wants numpy==1.26.4" in found.detection.title
    assert not any(installs(found))
    assert found.detection.recipes[0].snippet is not None


def test_rules_that_go_together_are_no_conflict() -> None:
    found = told("resolvers", PIP.replace("numpy<2.3.0 and >=2", "numpy<2.3.0 and >=1"))
    assert found.detection.title.startswith("No choice of releases lets these be installed")
    assert not found.detection.recipes


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (LINKS, "Two crates link the native library foo: b and a v0.1.0"),
        (FEATURE, "The crate a has no feature cuda"),
        (RELEASE, 'c v0.1.0 asks for a = "^0.2", and there are only 0.1.0'),
    ],
)
def test_cargo(text: str, title: str) -> None:
    assert told("cargo_resolver", text).detection.title == title


def test_the_leaf_that_no_choice_can_mend() -> None:
    found = told("conda_solver", GLIBC)
    assert found.detection.title == (
        "c-ares-1.33.0-ha66036c_0 needs glibc 2.28, and the system is older"
    )
    assert not any(installs(found))
    assert "torch/conda-*" in found.contradicts


def test_a_build_of_conda_for_another_python() -> None:
    found = told("conda_solver", PYTHON)
    assert found.detection.title == (
        "pytorch-1.5.0-cpu_py37hd91cbb3_0 is for Python >=3.7,<3.8.0a0, and another Python is "
        "asked "
        "for or installed"
    )


_NO_DRIVER = (
    "$ pixi install --frozen -e gpu\n"
    "Error:   × Cannot install environment 'gpu'\n"
    "    ╰─▶ Virtual package '__cuda' does not match any of the available virtual packages on "
    "your machine: [__glibc=2.35=0, __unix=0=0]\n"
)


def test_pixi_at_the_installation_is_told_the_release_not_the_requirement() -> None:
    """The requirement is in the manifest already: it is what refuses the machine."""
    named, asked = (
        told("conda_solver", _NO_DRIVER + more).detection.recipes[0]
        for more in ("    help: set `CONDA_OVERRIDE_CUDA=11.8`\n", "")
    )
    assert named.steps[0].run == ("pixi", "install", "--frozen", "-e", "gpu")
    assert named.steps[0].env == {"CONDA_OVERRIDE_CUDA": "11.8"}
    assert asked.steps[0].env == {"CONDA_OVERRIDE_CUDA": "<release>"}


@pytest.mark.parametrize(
    ("tool", "wants"), [("pixi add faiss-gpu", "snippet"), ("conda install faiss-gpu", "command")]
)
def test_builds_of_conda_for_the_other_kind_of_arm(tool: str, wants: str) -> None:
    """conda-forge has both variants of CUDA 12.9, and sbsa alone from 13 on."""
    text = f"$ {tool}\n      └─ arm-variant * sbsa, for which no candidates were found.\n"
    found = told("conda_solver", text)
    assert "for ARM servers (arm-variant sbsa)" in found.detection.title
    jetson, server = found.detection.recipes
    if wants == "snippet":
        assert 'arm-variant = "* tegra"' in (jetson.snippet.after if jetson.snippet else "")
        assert 'cuda-version = "13.*"' in (server.snippet.after if server.snippet else "")
    else:
        assert "arm-variant=*=tegra" in jetson.steps[0].run
        assert "cuda-version=13.*" in server.steps[0].run


def test_packages_that_no_channel_has() -> None:
    text = "ResolvePackageNotFound:\n  - pytorch=0.3\n  - torchvision\n"
    assert told("conda_solver", text).detection.title == (
        "No channel that was asked has pytorch=0.3, torchvision"
    )


def test_what_pip_says_after_an_installation_is_a_note() -> None:
    text = (
        "transformers 4.40.0 requires tokenizers<0.20,>=0.19, but you have tokenizers 0.21.0 which "
        "is incompatible."
    )
    found = told("resolvers", text)
    assert found.detection.severity is Severity.NOTE
    assert found.detection.title == (
        "transformers 4.40.0 wants tokenizers<0.20,>=0.19, and tokenizers 0.21.0 is installed"
    )


def test_torch_is_never_moved_alone() -> None:
    text = "xformers 0.0.23 has requirement torch==2.1.1, but you have torch 2.2.0."
    for found in explained("resolvers", text):
        assert not any(name.startswith("torch=") for one in installs(found) for name in one)


def test_hostile_texts() -> None:
    hostile(
        "resolvers",
        (
            (
                "Cannot install a because these package versions have conflicting dependencies\n"
                "    The user requested "
            ),
            (
                "No solution found when resolving dependencies\n"
                "Because a depends on b>=1 and you require b"
            ),
            "a 1.0 requires b<1, but you have b ",
        ),
    )
    hostile("conda_solver", ("nothing provides __glibc ", "PackagesNotFoundError\n  - "))
    hostile("cargo_resolver", ("error: failed to select a version for `",))


NOT_OFFERED = """
    torch 2.9.0+rocm7.10.0a20251020 depends on
filelock
    torch 2.9.0+rocm7.10.0a20251019 depends on
filelock

Additionally, some packages in these conflicts have no
matching distributions available for your environment:
    filelock

To fix this you could try to:
1. loosen the range of package versions you've
specified

ERROR: Cannot install torch because these package versions have conflicting dependencies.
"""


def test_a_package_that_the_index_lacks_is_no_conflict() -> None:
    found = told("resolvers", NOT_OFFERED)
    assert found.detection.title == "The index that pip asked has no filelock for this Python"
    assert installs(found) == [("filelock",)]
