"""The interpreter, its packages and what installed them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from doctor.model.facts import State
from doctor.model.vocabulary import is_known
from doctor.observe.probes import python
from doctor.observe.scene import ProbeInput
from tests.hosts import facts_of, put, values
from tests.sites import install, seen_at, seen_of, site_of


def _values(scene: ProbeInput) -> dict[str, object]:
    facts = facts_of(python.probe(scene))
    assert not [name for name in facts if not is_known(name)]
    return values(facts)


def test_without_an_interpreter_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert not list(python.probe(msgspec.structs.replace(seen_at(tmp_path), interpreter=None)))


def test_a_plain_environment(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.13.0", at=1.7e9)
    install(tmp_path, "requests", "2.0")
    put(tmp_path / "include/python3.12/Python.h")
    seen = _values(seen_at(tmp_path))
    assert seen["python.version"] == "3.12.7"
    assert seen["python.headers"] is True
    assert seen["python.has_pip"] is False
    assert seen["packages"] == {"requests": "2.0", "torch": "2.13.0"}
    assert seen["package.torch.installed_at"] == "2023-11-14T22:13:20Z"
    assert seen["package.torch.location"] == str(site_of(tmp_path))
    assert seen["package.requests.version"] == "2.0"
    assert "package.requests.location" not in seen


def test_headers_may_be_missing(tmp_path: Path) -> None:
    assert _values(seen_at(tmp_path))["python.headers"] is False


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (
            "2.8.3+cu12torch2.8cxx11abiTRUE",
            {"wheel_torch": "2.8", "wheel_cuda": "12", "wheel_abi": True},
        ),
        (
            "2.2.4+cu12torch2.5cxx11abiFALSE",
            {"wheel_torch": "2.5", "wheel_cuda": "12", "wheel_abi": False},
        ),
        ("2.8.3+cu128torch2.10", {"wheel_torch": "2.10", "wheel_cuda": "12.8"}),
        ("2.1.2+pt25cu124", {"wheel_torch": "2.5", "wheel_cuda": "12.4"}),
        ("0.6.3+pt210cu130", {"wheel_torch": "2.10", "wheel_cuda": "13.0"}),
        ("2.5.1+cu118", {"wheel_cuda": "11.8"}),
        ("2.5.1+cpu", {}),
        ("2.5.0a0+872d972e41.nv24.08", {}),
        ("2.5.1", {}),
    ],
)
def test_the_local_part_of_a_version_is_read(version: str, expected: dict[str, object]) -> None:
    told = dict(python.local_parts(version))
    assert told.pop("local", "") == version.partition("+")[2]
    assert told == expected


def test_the_origin_of_a_package_is_told_without_its_address(tmp_path: Path) -> None:
    url = "https://user:hunter2@example.org/x.git"
    origin = f'{{"url": "{url}", "vcs_info": {{"vcs": "git", "commit_id": "abc123"}}}}'
    put(install(tmp_path, "transformers", "5.0") / "direct_url.json", origin)
    put(
        install(tmp_path, "xformers", "0.1") / "direct_url.json",
        '{"url": "file:///x", "dir_info": {"editable": true}}',
    )
    put(install(tmp_path, "triton", "3.1") / "direct_url.json", "{broken")
    seen = _values(seen_at(tmp_path))
    assert seen["package.transformers.commit"] == "abc123"
    assert seen["package.xformers.editable"] is True
    assert not [
        name
        for name in seen
        if name.startswith("package.triton.") and name.endswith(("commit", "editable"))
    ]
    assert "hunter2" not in str(seen)


def test_another_copy_further_down_the_path_is_a_duplicate(tmp_path: Path) -> None:
    install(tmp_path / "a", "numpy", "2.0.0")
    install(tmp_path / "b", "numpy", "1.26.4")
    path = (str(site_of(tmp_path / "a")), str(site_of(tmp_path / "b")))
    scene = seen_at(tmp_path / "a")
    assert scene.interpreter is not None
    scene = msgspec.structs.replace(
        scene, interpreter=msgspec.structs.replace(scene.interpreter, path=path)
    )
    assert _values(scene)["package.numpy.duplicates"] == [f"1.26.4 in {path[1]}"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"venv/pyvenv.cfg": "home = /usr/bin\nuv = 0.9.1\n"}, "uv"),
        ({"venv/pyvenv.cfg": "home = /usr/bin\n"}, "pip"),
        ({"venv/pyvenv.cfg": "home = /usr/bin\n", "poetry.lock": ""}, "poetry"),
        ({"venv/pyvenv.cfg": "home = /usr/bin\nuv = 0.9.1\n", "pdm.lock": ""}, "pdm"),
        ({"venv/conda-meta/history": ""}, "conda"),
        ({"venv/conda-meta/pixi": "{}"}, "pixi"),
    ],
)
def test_what_manages_the_environment(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    install(tmp_path / "venv", "torch", "2.13.0", installer="pip")
    for path, content in files.items():
        put(tmp_path / path, content)
    seen = _values(seen_at(tmp_path / "venv", cwd=tmp_path))
    assert seen["python.installer"] == expected
    assert ("python.conda" in seen) is (expected in {"conda", "pixi"})


def test_an_environment_without_signs_has_no_known_installer(tmp_path: Path) -> None:
    assert facts_of(python.probe(seen_at(tmp_path)))["python.installer"].state is State.ABSENT


def test_where_the_environment_departed_from_its_lock(tmp_path: Path) -> None:
    told = "".join(
        f'\n[[package]]\nname = "{name}"\nversion = "{version}"\nsource = {{}}\n'
        for name, version in LOCKED
    )
    lock = put(tmp_path / "project/uv.lock", "version = 1\n" + told)
    for name, version in (
        ("torch", "2.15.0"),
        ("numpy", "2.4.0"),
        ("triton", "3.7.1+local"),
        ("sympy", "1.13"),
        ("requests", "2"),
    ):
        install(tmp_path / "project/.venv", name, version)
    assert _values(seen_at(tmp_path / "project/.venv", cwd=lock.parent))["python.lock_differs"] == {
        "torch": "2.13.0"
    }


LOCKED = [
    ("torch", "2.13.0"),
    ("numpy", "2.4.0"),
    ("triton", "3.7.1"),
    ("sympy", "1.12"),
    ("sympy", "1.14"),
    ("filelock", "3"),
]


@pytest.mark.parametrize(
    ("numpy", "place", "is_told"),
    [("2.4.0", "elsewhere", True), ("2.5.0", "elsewhere", False), ("2.5.0", "project/env", True)],
)
def test_a_lock_is_told_of_an_environment_that_mostly_keeps_to_it(
    tmp_path: Path, numpy: str, place: str, is_told: bool
) -> None:
    """One that lies in the project is its own, whatever a later command moved."""
    told = "".join(f'\n[[package]]\nname = "{one}"\nversion = "{at}"\n' for one, at in LOCKED)
    lock = put(tmp_path / "project/uv.lock", "version = 1\n" + told)
    for name, version in (("torch", "2.15.0"), ("numpy", numpy), ("triton", "3.7.1")):
        install(tmp_path / place, name, version)
    assert _values(seen_at(tmp_path / place, cwd=lock.parent)).get("project.locked") == (
        {"torch": "2.13.0", "numpy": "2.4.0", "triton": "3.7.1", "filelock": "3"}
        if is_told
        else None
    )


@pytest.mark.parametrize(
    ("manifest", "locked"),
    [
        ('[project]\ndependencies = ["numpy>=2.5,<3", "torch"]\n', None),
        ('[project]\ndependencies = ["numpy>=2", "torch"]\n', "2.4.0"),
        (
            "[project]\ndependencies = [\n'numpy<2; python_version < \"3.10\"',\n'numpy>=2']\n",
            "2.4.0",
        ),
        ('[project.optional-dependencies]\nold = ["numpy<2"]\n', "2.4.0"),
        ('[tool.poetry.dependencies]\nnumpy = "^3.0"\n', None),
    ],
)
def test_a_release_counts_as_locked_where_the_manifest_allows_it(
    tmp_path: Path, manifest: str, locked: str | None
) -> None:
    """A line of pyproject.toml that the lock does not meet was written after it."""
    told = "".join(f'\n[[package]]\nname = "{one}"\nversion = "{at}"\n' for one, at in LOCKED)
    lock = put(tmp_path / "uv.lock", "version = 1\n" + told)
    put(tmp_path / "pyproject.toml", manifest)
    for name, version in (("torch", "2.13.0"), ("triton", "3.7.1")):
        install(tmp_path / "env", name, version)
    told_locked = _values(seen_at(tmp_path / "env", cwd=lock.parent)).get("project.locked")
    assert isinstance(told_locked, dict)
    assert told_locked.get("numpy") == locked


def test_a_lock_counts_only_for_the_projects_own_environment(tmp_path: Path) -> None:
    for prefix in (tmp_path / "project/.venv", tmp_path / "elsewhere"):
        put(prefix / "pyvenv.cfg", "uv = 0.9.1\n")
    lock = put(tmp_path / "project/uv.lock")
    assert _values(seen_at(tmp_path / "project/.venv", cwd=lock.parent))["python.lock"] == str(lock)
    assert "python.lock" not in _values(seen_at(tmp_path / "elsewhere", cwd=lock.parent))


def test_an_externally_managed_python_is_one_outside_of_any_environment(tmp_path: Path) -> None:
    put(tmp_path / "lib/python3.12/EXTERNALLY-MANAGED", "[externally-managed]\n")
    scene = seen_at(tmp_path)
    assert scene.interpreter is not None
    assert _values(scene)["python.externally_managed"] is True
    inside = msgspec.structs.replace(scene.interpreter, prefix="/venv")
    assert (
        _values(msgspec.structs.replace(scene, interpreter=inside))["python.externally_managed"]
        is False
    )


def test_files_that_hide_the_stack(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    for name in (
        "torch.py",
        "random.py",
        "numpy/__init__.py",
        "triton/notes.txt",
        "train.py",
        "sys.py",
    ):
        put(folder / name)
    assert _values(seen_at(tmp_path, cwd=folder))["python.shadowed"] == [
        "numpy",
        "random.py",
        "torch.py",
    ]
    safe = facts_of(python.probe(seen_at(tmp_path, cwd=folder, env={"PYTHONSAFEPATH": "1"})))
    assert safe["python.shadowed"].state is State.ABSENT


def test_the_folder_of_the_packages_itself_hides_nothing(tmp_path: Path) -> None:
    put(site_of(tmp_path) / "torch/__init__.py")
    found = facts_of(python.probe(seen_at(tmp_path, cwd=site_of(tmp_path))))
    assert found["python.shadowed"].state is State.ABSENT


@pytest.mark.patient
def test_a_real_environment(torch_python: Path) -> None:
    seen = _values(seen_of(torch_python))
    assert seen["package.torch.version"] == "2.13.0"
    assert seen["python.installer"] == "uv"
    assert seen["python.virtual_environment"] is True
    assert seen["package.nvidia-cudnn-cu13.installer"] == "uv"
