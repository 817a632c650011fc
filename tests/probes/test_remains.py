"""A stopped installer leaves renamed folders, half a package, or old metadata behind."""

from __future__ import annotations

from pathlib import Path

from doctor.model.facts import State
from doctor.model.vocabulary import is_known
from doctor.observe.installed.distributions import installed
from doctor.observe.probes import remains
from tests.hosts import facts_of, put, values
from tests.sites import install, seen_at, site_of

TORCH = {
    "torch/__init__.py": "",
    "torch/version.py": "__version__ = '2.13.0'",
    "torch/lib/libtorch_cpu.so": "2.13",
}


def seen(prefix: Path) -> dict[str, object]:
    """Return what the probe finds."""
    facts = facts_of(remains.probe(seen_at(prefix)))
    assert not [name for name in facts if not is_known(name)]
    return values(facts)


def renamed(prefix: Path, name: str, version: str) -> list[str]:
    """Rename a package as pip does before it removes it."""
    site = site_of(prefix)
    own = [
        path
        for path in sorted(site.glob(f"{name}*"))
        if path.name == name or path.name.startswith(f"{name}-{version}")
    ]
    return [str(path.rename(site / f"~{path.name[1:]}")) for path in own]


def test_an_environment_that_is_in_order(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.13.0", files=TORCH)
    facts = facts_of(remains.probe(seen_at(tmp_path)))
    assert {fact.state for fact in facts.values()} == {State.ABSENT}


def test_pip_was_stopped_while_it_exchanged_torch(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.5.1", files=TORCH)
    left = renamed(tmp_path, "torch", "2.5.1")
    put(site_of(tmp_path) / "torch/version.py", "__version__ = '2.13.0'")
    without = str(site_of(tmp_path) / "torch")
    hollow = {"torch.hollow": "__init__.py", "torch.hollow_release": "2.13.0"}
    assert seen(tmp_path) == {
        "python.left_behind": left,
        "torch.interrupted": "2.5.1",
        "torch.without_metadata": without,
        **hollow,
    }


def test_another_package_was_stopped(tmp_path: Path) -> None:
    install(tmp_path, "numpy", "2.3.0", files={"numpy/__init__.py": ""})
    left = renamed(tmp_path, "numpy", "2.3.0")
    assert seen(tmp_path) == {"python.left_behind": left, "python.interrupted": ["numpy==2.3.0"]}


def test_what_was_replaced_since_only_left_folders(tmp_path: Path) -> None:
    install(tmp_path, "numpy", "2.3.0", files={"numpy/__init__.py": ""})
    left = renamed(tmp_path, "numpy", "2.3.0")
    install(tmp_path, "numpy", "2.4.0", files={"numpy/__init__.py": ""})
    assert seen(tmp_path) == {"python.left_behind": left}


def test_a_torch_that_no_installer_knows(tmp_path: Path) -> None:
    put(site_of(tmp_path) / "torch/lib/libtorch_cpu.so", "half")
    assert seen(tmp_path) == {
        "torch.without_metadata": str(site_of(tmp_path) / "torch"),
        "torch.hollow": "__init__.py",
    }


def test_a_whole_torch_that_no_installer_knows(tmp_path: Path) -> None:
    for name in ("__init__.py", "version.py", "_C.cpython-311-x86_64-linux-gnu.so"):
        put(site_of(tmp_path) / "torch" / name, "__version__ = '2.13.0'")
    assert seen(tmp_path) == {"torch.without_metadata": str(site_of(tmp_path) / "torch")}


def test_what_an_uninstalled_torch_leaves_is_none(tmp_path: Path) -> None:
    put(site_of(tmp_path) / "torch/lib/libmine.so", "of somebody's own")
    assert seen(tmp_path) == {}


def test_of_two_dist_info_folders_the_one_that_fits_the_files_is_real(tmp_path: Path) -> None:
    for version in ("2.12.0", "2.13.0", "2.14.0"):
        put(
            install(
                tmp_path,
                "torch",
                version,
                files={
                    **TORCH,
                    "torch/lib/libtorch_cpu.so": f"a torch {version * int(version[3])}",
                },
            )
            / "x"
        )
    install(
        tmp_path,
        "torch",
        "2.13.0",
        files={**TORCH, "torch/lib/libtorch_cpu.so": "of the middle one"},
    )
    found = {one.name: one.version for one in installed((str(site_of(tmp_path)),))}
    assert found == {"torch": "2.13.0"}
    stale = [
        str(site_of(tmp_path) / f"torch-{version}.dist-info") for version in ("2.12.0", "2.14.0")
    ]
    assert seen(tmp_path) == {
        "python.stale_metadata": stale,
        "python.doubled": ["torch==2.12.0", "torch==2.14.0"],
    }


def test_a_folder_without_a_record_is_the_stale_one(tmp_path: Path) -> None:
    (install(tmp_path, "torch", "2.12.0") / "RECORD").unlink()
    install(tmp_path, "torch", "2.13.0", files=TORCH)
    assert seen(tmp_path)["python.doubled"] == ["torch==2.12.0"]


def test_no_folder_is_called_stale_where_no_record_proves_the_other(tmp_path: Path) -> None:
    for version in ("2.12.0", "2.13.0"):
        (install(tmp_path, "torch", version, files=TORCH) / "RECORD").write_text(
            "torch/__init__.py,,\n", encoding="utf-8"
        )
    assert "python.stale_metadata" not in seen(tmp_path)
