"""Reading distributions and their requirements from made-up site-packages folders."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.host import UnreadableFile
from doctor.observe.installed.distributions import (
    duplicates,
    installed,
    marker_environment,
    requirements,
)
from doctor.observe.installed.gpu_stack import in_stack
from doctor.observe.scene import Distribution, Interpreter


def _interpreter(
    version: str = "3.11.7", platform: str = "linux", machine: str = "x86_64"
) -> Interpreter:
    return Interpreter(
        executable="/v/bin/python",
        version=version,
        implementation="cpython",
        tag="cp311",
        bits=64,
        free_threaded=False,
        prefix="/v",
        base_prefix="/usr",
        path=(),
        site_packages=(),
        include="/usr/include/python3.11",
        platform=platform,
        machine=machine,
        stdlib="/usr/lib/python3.11",
    )


def _put(site: Path, name: str, version: str, *lines: str, installer: str = "uv") -> Path:
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    head = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}", *lines]
    (folder / "METADATA").write_text(
        "\n".join(head) + "\n\nRequires-Dist: not-a-header\n", encoding="utf-8"
    )
    (folder / "RECORD").touch()
    if installer:
        (folder / "INSTALLER").write_text(f"{installer}\n", encoding="utf-8")
    return folder


def _by_name(*sites: Path) -> dict[str, Distribution]:
    return {one.name: one for one in installed([str(site) for site in sites])}


def test_a_dist_info_folder_is_read(tmp_path: Path) -> None:
    folder = _put(tmp_path, "Flash_Attn", "2.8.3+cu12torch2.8cxx11abiTRUE", installer="pip")
    (folder / "direct_url.json").write_text('{"url": "https://x/y.whl"}', encoding="utf-8")
    os.utime(folder, (1e9, 1e9))
    assert installed(
        [str(tmp_path), str(tmp_path), str(tmp_path / "none"), str(folder / "METADATA")]
    ) == (
        Distribution(
            name="flash-attn",
            version="2.8.3+cu12torch2.8cxx11abiTRUE",
            folder=folder,
            installer="pip",
            installed_at=1e9,
            direct_url='{"url": "https://x/y.whl"}',
        ),
    )


def test_a_folder_that_this_user_may_not_enter_is_known_by_its_name() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # pytest's own folder is for root alone
        site = Path(name)
        site.chmod(0o755)
        closed = _put(site, "six", "1.17.0")
        _put(site, "numpy", "2.1.0")
        closed.chmod(0)
        is_root = os.geteuid() == 0
        try:
            if is_root:
                os.seteuid(_NOBODY)
            found = _by_name(site)
        finally:
            if is_root:
                os.seteuid(0)
            closed.chmod(0o755)
    assert {one: found[one].version for one in found} == {"numpy": "2.1.0", "six": "1.17.0"}


_NOBODY = 65534


def test_the_first_on_the_path_wins_and_the_others_are_duplicates(tmp_path: Path) -> None:
    first, second = tmp_path / "user", tmp_path / "site"
    _put(first, "numpy", "2.1.0")
    _put(second, "numpy", "1.26.4")
    _put(second, "torch", "2.5.1")
    path = [str(first), str(second)]
    found = installed(path)
    assert {one.name: one.version for one in found} == {"numpy": "2.1.0", "torch": "2.5.1"}
    assert duplicates(path, found) == {"numpy": (f"1.26.4 in {second}",)}


def test_two_versions_in_one_folder_are_duplicates_too(tmp_path: Path) -> None:
    _put(tmp_path, "torch", "2.5.1")
    _put(tmp_path, "torch", "2.13.0")
    found = installed([str(tmp_path)])
    assert len(found) == 1
    assert len(duplicates([str(tmp_path)], found)["torch"]) == 1


def test_remains_and_damaged_folders(tmp_path: Path) -> None:
    _put(tmp_path, "~orch", "2.5.1")
    (tmp_path / "ghost-1.0.dist-info").mkdir()
    (_put(tmp_path, "torch", "2.5.1") / "METADATA").write_bytes(b"")
    (_put(tmp_path, "triton", "3.1.0") / "METADATA").write_bytes(b"\xff\xfe\x00" * 50)
    (_put(tmp_path, "numpy", "2.0.0") / "METADATA").unlink()
    found = {name: one.version for name, one in _by_name(tmp_path).items()}
    assert found == {"torch": "2.5.1", "triton": "3.1.0", "numpy": "2.0.0"}


def test_the_older_layouts_are_read(tmp_path: Path) -> None:
    (tmp_path / "apex-0.1-py3.11.egg-info").write_text(
        "Metadata-Version: 1.0\nName: apex\nVersion: 0.1\n", encoding="utf-8"
    )
    (tmp_path / "fla_core.egg-info").mkdir()
    (tmp_path / "fla_core.egg-info/PKG-INFO").write_text(
        "Name: fla_core\nVersion: 0.4\n", encoding="utf-8"
    )
    assert {name: one.version for name, one in _by_name(tmp_path).items()} == {
        "apex": "0.1",
        "fla-core": "0.4",
    }


def test_conda_is_recognised_where_no_installer_is_named(tmp_path: Path) -> None:
    site = tmp_path / "lib/python3.11/site-packages"
    _put(site, "numpy", "2.0.0", installer="")
    _put(site, "torch", "2.5.1", installer="")
    _put(site, "triton", "3.1.0", installer="pip")
    (tmp_path / "conda-meta").mkdir()
    for name in ("numpy-2.0.0-py311h_0", "triton-3.1.0-0"):
        (tmp_path / "conda-meta" / f"{name}.json").touch()
    assert {name: one.installer for name, one in _by_name(site).items()} == {
        "numpy": "conda",
        "torch": "",
        "triton": "pip",
    }


@pytest.mark.parametrize(
    "name", ["torch", "nvidia-cudnn-cu13", "triton-windows", "flash-attn", "cuda-toolkit", "jaxlib"]
)
def test_members_of_the_stack(name: str) -> None:
    assert in_stack(name)


@pytest.mark.parametrize("name", ["requests", "torchlight-of-doom", "cuda", "my-torch"])
def test_strangers_to_the_stack(name: str) -> None:
    assert not in_stack(name)


@pytest.mark.parametrize("file", ["METADATA", "PKG-INFO"])
def test_a_long_description_hides_no_requirement(tmp_path: Path, file: str) -> None:
    folder = _put(tmp_path, "torch", "2.5.1", "Requires-Dist: triton==3.1.0")
    with (folder / "METADATA").open("a", encoding="utf-8") as metadata:
        metadata.write("Words about torch.\n" * 80_000)
    assert (folder / "METADATA").stat().st_size > 1 << 20
    (folder / "METADATA").rename(folder / file)
    (torch,) = installed([str(tmp_path)])
    assert [one.name for one in requirements(torch, _interpreter())] == ["triton"]


def test_headers_without_end_are_not_read(tmp_path: Path) -> None:
    _put(tmp_path, "torch", "2.5.1", *["Requires-Dist: triton==3.1.0"] * 40_000)
    (torch,) = installed([str(tmp_path)])
    with pytest.raises(UnreadableFile, match="headers are larger than 1 MiB"):
        requirements(torch, _interpreter())


def _rename(folder: Path) -> None:
    folder.rename(folder.with_name("torch-2.13.0.dist-info"))


def _name_twice(folder: Path) -> None:
    (folder / "METADATA").write_text("Name: torch\nVersion: 2.13.0\nVersion: 2.12.0\n")


def _install_another(folder: Path) -> None:
    _put(folder.parent, "torch", "2.13.0")


@pytest.mark.parametrize("contradict", [_rename, _name_twice, _install_another])
def test_metadata_of_two_versions_names_none_to_install(
    tmp_path: Path, contradict: Callable[[Path], None]
) -> None:
    folder = _put(tmp_path, "torch", "2.12.0")
    assert [one.requirement for one in installed([str(tmp_path)])] == ["torch==2.12.0"]
    contradict(folder)
    assert [one.requirement for one in installed([str(tmp_path)])] == ["torch"]


@pytest.mark.parametrize(
    ("folder", "version"),
    [("torch-2.5.dist-info", "2.5.0"), ("torch-2.5.1_1.dist-info", "2.5.1.post1")],
)
def test_two_spellings_are_one_version(tmp_path: Path, folder: str, version: str) -> None:
    _put(tmp_path, "torch", version, "", "Version: 1 is described here").rename(tmp_path / folder)
    assert [one.requirement for one in installed([str(tmp_path)])] == [f"torch=={version}"]


def test_requirements_are_those_of_the_target(tmp_path: Path) -> None:
    _put(
        tmp_path,
        "torch",
        "2.5.1",
        "Requires-Dist: filelock",
        'Requires-Dist: triton (==3.1.0) ; platform_system == "Linux" and platform_machine == '
        '"x86_64"',
        'Requires-Dist: sympy (==1.12.1) ; python_version == "3.8"',
        'Requires-Dist: sympy (==1.13.1) ; python_version >= "3.9"',
        "Requires-Dist: torch nonsense here",
        'Requires-Dist: cuda-toolkit[cublas,cudart]==13.0.3; sys_platform == "linux"',
        "Requires-Dist: torchvision @ https://example.org/v.whl",
        "Requires-Dist: numpy>=2; extra == 'numpy'",
    )
    torch = _by_name(tmp_path)["torch"]

    def asked(*extras: str, **changed: str) -> dict[str, str]:
        return {
            one.name: one.specifier for one in requirements(torch, _interpreter(**changed), extras)
        }

    linux = {
        "filelock": "",
        "triton": "==3.1.0",
        "sympy": "==1.13.1",
        "cuda-toolkit": "==13.0.3",
        "torchvision": "",
    }
    assert asked() == linux
    assert asked("numpy") == {**linux, "numpy": ">=2"}
    assert asked(version="3.8.18", platform="darwin", machine="arm64") == {
        "filelock": "",
        "sympy": "==1.12.1",
        "torchvision": "",
    }
    found = {one.name: one for one in requirements(torch, _interpreter())}
    assert found["cuda-toolkit"].extras == {"cublas", "cudart"}
    assert found["torchvision"].address == "https://example.org/v.whl"


@pytest.mark.parametrize(
    ("platform", "expected"),
    [("linux", ("posix", "Linux")), ("darwin", ("posix", "Darwin")), ("win32", ("nt", "Windows"))],
)
def test_markers_follow_the_target(platform: str, expected: tuple[str, str]) -> None:
    environment = marker_environment(_interpreter("3.9.18", platform))
    assert (environment["os_name"], environment["platform_system"]) == expected
    assert environment["python_version"] == "3.9"
    assert environment["platform_python_implementation"] == "CPython"


@pytest.mark.parametrize("name", ["torch\x00numpy", "torch\x1b[2J", "../torch", ""])
def test_a_name_that_is_none_is_that_of_the_folder(tmp_path: Path, name: str) -> None:
    folder = _put(tmp_path, "torch", "2.13.0")
    (folder / "METADATA").write_text(f"Name: {name}\nVersion: 2.13.0\n", encoding="utf-8")
    assert [(one.name, one.version) for one in installed([str(tmp_path)])] == [("torch", "2.13.0")]
