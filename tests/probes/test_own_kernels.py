"""Triton kernels in the project's own files, read only for a torch that compiles them wrongly."""

from __future__ import annotations

from pathlib import Path

from doctor.host import Host
from doctor.model.facts import Fact, State
from doctor.observe.probes.own_kernels import probe
from doctor.observe.scene import Distribution, ProbeInput

KERNEL = "import triton\n\n\n@triton.jit\ndef copy(x):\n    pass\n"


def seen(project: Path, torch: str = "2.5.1+cpu") -> Fact | None:
    torch_here = Distribution(name="torch", version=torch, folder=project)
    scene = ProbeInput(host=Host(), distributions=(torch_here,), project=project)
    return dict(probe(scene)).get("project.triton_kernels")


def test_a_kernel_of_the_project_is_found_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "copy.py").write_text(KERNEL)
    found = seen(tmp_path)
    assert found is not None
    assert found.value == ["ops/copy.py:4"]


def test_kernels_of_installed_packages_are_not_the_project_s(tmp_path: Path) -> None:
    for folder in ("env/lib", "lib/site-packages/fla", ".cache"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "kernel.py").write_text(KERNEL)
    (tmp_path / "env" / "pyvenv.cfg").write_text("home = /usr\n")
    (tmp_path / "main.py").write_text("import triton  # no kernel, but jit is a word in it\n")
    found = seen(tmp_path)
    assert found is not None
    assert found.state is State.ABSENT


def test_a_file_that_is_too_large_leaves_it_open(tmp_path: Path) -> None:
    (tmp_path / "large.py").write_bytes(b"#" * (3 << 20))
    found = seen(tmp_path)
    assert found is not None
    assert found.state is State.UNKNOWN


def test_a_torch_without_the_fault_costs_no_search(tmp_path: Path) -> None:
    (tmp_path / "copy.py").write_text(KERNEL)
    assert seen(tmp_path, "2.6.0+cu124") is None
