"""The command for this interpreter and this installer."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.fixes.installer import index_of_build, install, system, uninstall
from doctor.model.facts import Facts, present
from doctor.model.issues import Option

PY = "/venv/bin/python"


def facts(**values: Any) -> Facts:
    return {
        name.replace("__", "."): present(value, "t")
        for name, value in {"python__executable": PY, **values}.items()
    }


UV = facts(python__uv="/bin/uv", python__installer="uv", python__has_pip=False)
PIP = facts(python__installer="pip", python__has_pip=True)
PIP_BESIDE_UV = facts(python__uv="/bin/uv", python__installer="pip", python__has_pip=True)
OWN = {**UV, "python.uv": present("/doctor/bin/uv", "DOCTOR_UV")}
NEITHER = facts(python__installer="uv", python__has_pip=False)


@pytest.mark.parametrize(
    ("known", "options", "expected"),
    [
        (UV, (Option.NO_DEPS,), [["uv", "pip", "install", "--python", PY, "--no-deps", "a==1"]]),
        (
            UV,
            (Option.REINSTALL,),
            [["uv", "pip", "install", "--python", PY, "--reinstall-package", "a", "a==1"]],
        ),
        (
            UV,
            (Option.UPGRADE,),
            [["uv", "pip", "install", "--python", PY, "--upgrade-package", "a", "a==1"]],
        ),
        (
            PIP,
            (
                Option.NO_DEPS,
                Option.NO_CACHE,
            ),
            [[PY, "-m", "pip", "install", "--no-deps", "--no-cache-dir", "a==1"]],
        ),
        (
            PIP,
            (Option.REINSTALL,),
            [[PY, "-m", "pip", "install", "--force-reinstall", "a==1"]],
        ),
        (OWN, (), [["/doctor/bin/uv", "pip", "install", "--python", PY, "a==1"]]),
        (PIP_BESIDE_UV, (), [[PY, "-m", "pip", "install", "a==1"]]),
        (NEITHER, (), [[PY, "-m", "ensurepip", "--upgrade"], [PY, "-m", "pip", "install", "a==1"]]),
    ],
)
def test_each_installer_is_spoken_to_in_its_own_words(
    known: Facts, options: tuple[Option, ...], expected: list[list[str]]
) -> None:
    assert [list(command.argv) for command in install(["a==1"], options, None, known)] == expected


def test_torch_is_held_in_the_same_command() -> None:
    known = {**UV, "torch.release": present("2.13.0", "t")}
    assert install(
        ["xfuser"],
        (
            Option.UPGRADE,
            Option.HOLD_TORCH,
        ),
        None,
        known,
    )[0].argv[-4:] == (
        "--upgrade-package",
        "xfuser",
        "xfuser",
        "torch==2.13.0",
    )
    assert install(["torch"], (Option.HOLD_TORCH,), None, known)[0].argv[-1] == "torch"
    assert install(["xfuser"], (Option.HOLD_TORCH,), None, UV)[0].argv[-1] == "xfuser"


def test_an_index_is_named_once() -> None:
    (command,) = install(["torch"], (), "https://download.pytorch.org/whl/cu126", PIP)
    assert command.argv[-3:] == ("--index-url", "https://download.pytorch.org/whl/cu126", "torch")


def test_uninstall_asks_nothing() -> None:
    assert uninstall(["a"], PIP)[0].argv == (PY, "-m", "pip", "uninstall", "-y", "a")
    assert uninstall(["a"], UV)[0].argv == ("uv", "pip", "uninstall", "--python", PY, "a")


def test_the_package_manager_of_this_machine_is_used_or_none() -> None:
    wanted: dict[str, tuple[str, ...]] = {"apt": ("g++",), "dnf": ("gcc-c++",)}
    assert system(wanted, facts(host__package_manager="dnf")) is not None
    found = system(wanted, facts(host__package_manager="apt"))
    assert found is not None
    assert found.argv == ("apt-get", "install", "-y", "g++")
    assert system(wanted, facts(host__package_manager="pacman")) is None
    assert system(wanted, facts(host__package_manager=None)) is None


def test_where_nobody_looked_for_the_package_manager_the_likely_one_is_written() -> None:
    found = system({"dnf": ("gcc-c++",), "apt": ("g++",)}, {})
    assert found is not None
    assert found.argv[0] == "apt-get"


@pytest.mark.parametrize("known", [UV, PIP])
def test_pages_of_wheels_and_settings_of_a_build_go_to_either_installer(known: Facts) -> None:
    (command,) = install(
        ["a==1", "b"],
        (Option.NO_BINARY,),
        None,
        known,
        find_links="https://data.example/wheels",
        build={"cmake.define.USE_CUDA": "ON"},
    )
    assert command.argv[-10:] == (
        *("--find-links", "https://data.example/wheels", "-C", "cmake.define.USE_CUDA=ON"),
        *("--no-binary", "a", "--no-binary", "b", "a==1", "b"),
    )


def test_a_log_of_windows_asks_for_no_package_manager_of_linux() -> None:
    packages: dict[str, tuple[str, ...]] = {"apt": ("g++",), "dnf": ("gcc-c++",)}
    assert system(packages, {"host.os": present("windows", "log")}) is None
    found = system({**packages, "brew": ("gcc",)}, {"host.os": present("macos", "log")})
    assert found is not None
    assert found.argv == ("brew", "install", "gcc")


@pytest.mark.parametrize(
    ("capability", "name"),
    [("12.0", "nvidia-driver-580-open"), ("9.0", "nvidia-driver-580"), (None, "nvidia-driver-580")],
)
def test_the_driver_for_a_blackwell_gpu_is_the_one_with_the_open_module(
    capability: str | None, name: str
) -> None:
    known = facts(host__package_manager="apt", nvidia__capability_max=capability)
    found = system({"apt": ("nvidia-driver-580",)}, known)
    assert found is not None
    assert found.argv[-1] == name


@pytest.mark.parametrize(
    ("version", "wanted", "end"),
    [
        ("2.8.0+xpu", ("torch", "torchvision"), "/xpu"),
        ("2.8.0+rocm6.4", ("torch>=2.9",), "/rocm6.4"),
        ("2.8.0+cu128", ("torch",), None),
        ("2.8.0+xpu", ("torch", "xformers"), None),
        ("2.8.0+rocm7.0.0.lw.git64359f59", ("torch",), None),
    ],
)
def test_torch_for_other_gpus_comes_from_the_index_that_has_it(
    version: str, wanted: tuple[str, ...], end: str | None
) -> None:
    found = index_of_build(wanted, facts(torch__version=version))
    assert found == (end and f"https://download.pytorch.org/whl{end}")


def test_beside_an_nvidia_gpu_another_build_of_torch_is_not_kept() -> None:
    known = facts(torch__version="2.8.0+rocm6.4", nvidia__gpu_present=True)
    assert index_of_build(("torch",), known) is None


@pytest.mark.parametrize(
    ("requirement", "options", "held"),
    [
        ("onnxruntime-gpu[cuda,cudnn]==1.26.0", (), True),
        ("nvidia-cudnn-cu12==9.*", (), True),
        ("jax[cuda12]", (), True),
        ("nvidia-nccl-cu12>=2.26.2", (Option.NO_DEPS,), False),
        ("onnxruntime-gpu==1.18.1", (), False),
        ("nvidia-ml-py", (), False),
    ],
)
def test_torch_is_held_beside_libraries_of_cuda(
    requirement: str, options: tuple[Option, ...], *, held: bool
) -> None:
    known = {**PIP, "torch.release": present("2.1.2", "t")}
    (command,) = install([requirement], options, None, known)
    assert ("torch==2.1.2" in command.argv) is held
