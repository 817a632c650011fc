"""Files that are gone, cut short, or not what they are called."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from doctor.facts.conditions import condition_holds
from doctor.model.facts import State
from doctor.model.issues import Condition
from doctor.model.vocabulary import is_known
from doctor.observe.installed import record_check, records
from doctor.observe.probes import files
from tests.hosts import facts_of, put, values
from tests.sites import install, seen_at, seen_of, site_of

_TORCH: dict[str, str | bytes] = {
    "torch/__init__.py": "import torch._C",
    "torch/lib/libtorch_cpu.so": b"\x7fELF" + bytes(5000),
    "torch/lib/libgomp.so.1": b"\x7fELF" + bytes(50),
    "torch/include/ATen/ATen.h": "#pragma once",
    "torch/include/a,b.cuh": "",
    "torch/bin/protoc": b"\x7fELF",
    "torch/_empty/__init__.py": "",
    "torch/py.typed": "",
    "torch/_C/__init__.pyi": "x: int",
    "torch/lib/libstatic.a": "!<arch>",
    "torch/test/test_all.py": "pass",
    "torch/share/LICENSE.txt": "text",
    "../../../bin/torchrun": "#!/x/python",
}
_REMOVED_ON_PURPOSE = (
    "py.typed",
    "_C/__init__.pyi",
    "lib/libstatic.a",
    "test/test_all.py",
    "share/LICENSE.txt",
    "_empty/__init__.py",
)


@pytest.fixture(autouse=True, params=["small", "large"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make an environment count as small or large.

    A helper process looks at a large one first.
    """
    monkeypatch.setattr(record_check, "_LARGE", 0 if request.param == "large" else 1 << 30)
    monkeypatch.setattr(record_check, "_processors", lambda: 2)
    return str(request.param)


def _values(prefix: Path) -> dict[str, object]:
    facts = facts_of(files.probe(seen_at(prefix)))
    assert not [name for name in facts if not is_known(name)]
    return values(facts)


def _torch(prefix: Path, installer: str = "uv") -> Path:
    install(prefix, "torch", "2.5.1", files=_TORCH, installer=installer)
    return site_of(prefix) / "torch"


def _listed(seen: object) -> list[dict[str, object]]:
    assert isinstance(seen, list)
    return seen


def test_an_intact_installation(tmp_path: Path) -> None:
    _torch(tmp_path)
    assert {fact.state for fact in facts_of(files.probe(seen_at(tmp_path))).values()} == {
        State.ABSENT
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("__init__.py", "module"),
        ("lib/libtorch_cpu.so", "library"),
        ("lib/libgomp.so.1", "library"),
        ("include/ATen/ATen.h", "header"),
        ("bin/protoc", "program"),
    ],
)
def test_a_file_that_matters_is_missing(tmp_path: Path, name: str, kind: str) -> None:
    path = _torch(tmp_path) / name
    size = path.stat().st_size
    path.unlink()
    seen = _values(tmp_path)
    assert seen == {
        "files.missing": [
            {
                "path": str(path),
                "kind": kind,
                "package": "torch",
                "requirement": "torch==2.5.1",
                "size": None,
                "wanted_size": size,
            }
        ],
        "files.missing_packages": ["torch==2.5.1"],
    }


def test_another_process_looks_where_there_is_much_to_look_at(
    tmp_path: Path, size: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _torch(tmp_path)
    looked: list[str] = []

    def listened(text: str) -> Iterator[tuple[str, int | None, str]]:
        looked.append(text)
        return records.rows(text)

    monkeypatch.setattr(files, "rows", listened)
    _values(tmp_path)
    assert bool(looked) is (size == "small")


@pytest.mark.parametrize("name", ["/nowhere/python", ""])
def test_where_no_other_process_starts_this_one_looks(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (_torch(tmp_path) / "__init__.py").unlink()
    monkeypatch.setattr(sys, "executable", name)
    assert _values(tmp_path)["files.missing_packages"] == ["torch==2.5.1"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_record_that_is_no_file_is_not_vouched_for(tmp_path: Path) -> None:
    record = next(_torch(tmp_path).parent.glob("*.dist-info")) / "RECORD"
    assert records.is_intact(str(record))
    record.unlink()
    assert not records.is_intact(str(record))
    os.mkfifo(record)
    assert not records.is_intact(str(record))


def test_what_people_remove_on_purpose_does_not_alarm(tmp_path: Path) -> None:
    folder = _torch(tmp_path)
    for name in _REMOVED_ON_PURPOSE:
        (folder / name).unlink()
    (site_of(tmp_path) / "../../../bin/torchrun").resolve().write_text(
        "#!/a/longer/python", encoding="utf-8"
    )
    assert _values(tmp_path) == {}


def test_a_quoted_path_is_read(tmp_path: Path) -> None:
    folder = _torch(tmp_path)
    record = site_of(tmp_path) / "torch-2.5.1.dist-info/RECORD"
    record.write_text('"torch/include/a,b.cuh",sha256=x,7\n', encoding="utf-8")
    assert _listed(_values(tmp_path)["files.damaged"])[0]["path"] == str(folder / "include/a,b.cuh")


def test_a_condition_can_ask_for_an_ending(tmp_path: Path) -> None:
    (_torch(tmp_path) / "lib/libgomp.so.1").unlink()
    fact = facts_of(files.probe(seen_at(tmp_path)))["files.missing"]
    library, module = (
        Condition(fact="files.missing", matches=ending) for ending in (r"\.so[.\d]*$", r"\.py$")
    )
    assert condition_holds(library, {"files.missing": fact}).truth is True
    assert condition_holds(module, {"files.missing": fact}).truth is False


@pytest.mark.parametrize("content", [b"", b"\x7fELF" + bytes(4000)])
def test_a_library_of_another_size_is_damaged(tmp_path: Path, content: bytes) -> None:
    path = put(_torch(tmp_path) / "lib/libtorch_cpu.so", content)
    seen = _values(tmp_path)
    (told,) = _listed(seen["files.damaged"])
    assert (told["path"], told["size"], told["wanted_size"]) == (str(path), len(content), 5004)
    assert seen["files.damaged_packages"] == ["torch==2.5.1"]
    assert "files.lfs_pointers" not in seen


def test_a_git_lfs_pointer_is_told_from_other_damage(tmp_path: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 5004\n"
    path = put(_torch(tmp_path) / "lib/libtorch_cpu.so", pointer)
    assert _values(tmp_path)["files.lfs_pointers"] == [str(path)]


def test_conda_changes_sizes_and_that_is_no_damage(tmp_path: Path) -> None:
    folder = _torch(tmp_path, installer="conda")
    put(folder / "lib/libtorch_cpu.so", b"\x7fELF" + bytes(6000))
    assert _values(tmp_path) == {}
    put(folder / "lib/libtorch_cpu.so", b"")
    assert _values(tmp_path)["files.damaged_packages"] == ["torch==2.5.1"]


@pytest.mark.parametrize(
    "record",
    [
        "",
        "garbage",
        ",,",
        "torch/x.py",
        "torch/x.py,,",
        "torch/\0.py,sha256=x,5",
        '"torch/x.py',
        "\n\n,\n",
        "x.py,x,1e9",
    ],
)
def test_a_garbled_record_harms_nobody(tmp_path: Path, record: str) -> None:
    _torch(tmp_path)
    put(site_of(tmp_path) / "torch-2.5.1.dist-info/RECORD", record)
    assert set(_values(tmp_path)) <= {"files.missing", "files.missing_packages"}


def test_packages_outside_of_the_stack_are_not_looked_at(tmp_path: Path) -> None:
    install(tmp_path, "requests", "2.0", files={"requests/api.py": "x"})
    (site_of(tmp_path) / "requests/api.py").unlink()
    assert _values(tmp_path) == {}


def test_a_long_list_is_cut(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.5.1", files={f"torch/m{number}.py": "x" for number in range(80)})
    for path in (site_of(tmp_path) / "torch").iterdir():
        path.unlink()
    assert len(_listed(_values(tmp_path)["files.missing"])) == 50


@pytest.mark.patient
def test_a_real_environment_is_intact(torch_python: Path) -> None:
    assert values(facts_of(files.probe(seen_of(torch_python)))) == {}


@pytest.mark.patient
def test_a_real_library_cut_short(clone: Callable[..., Path]) -> None:
    python = clone("torch")
    library = next(python.parents[1].glob("lib/python*/site-packages/torch/lib/libc10.so"))
    whole = library.read_bytes()
    library.unlink()  # a hard link into the installer's cache: never written into
    library.write_bytes(whole[: len(whole) // 2])
    seen = values(facts_of(files.probe(seen_of(python))))
    assert seen["files.damaged_packages"] == ["torch==2.13.0"]


def test_a_look_that_began_early_counts_for_the_same_packages(tmp_path: Path, size: str) -> None:
    _torch(tmp_path)
    host = seen_at(tmp_path).host
    early = record_check.look_early(host, tmp_path / "bin/python")
    assert (early is not None) == (size == "large")
    if early is None:
        return
    assert [Path(path).parent.name for path in early.paths] == ["torch-2.5.1.dist-info"]
    assert early.intact() == frozenset(early.paths)
    (site_of(tmp_path) / "torch/__init__.py").unlink()
    late = record_check.look_early(host, tmp_path / "bin/python")
    assert late is not None
    assert not late.intact()
    seen = msgspec.structs.replace(seen_at(tmp_path), early=late)
    assert values(facts_of(files.probe(seen)))["files.missing_packages"] == ["torch==2.5.1"]


def test_no_look_begins_early_in_an_environment_of_conda(tmp_path: Path) -> None:
    _torch(tmp_path)
    (tmp_path / "conda-meta").mkdir()
    assert record_check.look_early(seen_at(tmp_path).host, tmp_path / "bin/python") is None


def test_a_look_at_other_packages_does_not_count(tmp_path: Path, size: str) -> None:
    _torch(tmp_path / "one")
    _torch(tmp_path / "two")
    (site_of(tmp_path / "two") / "torch/__init__.py").unlink()
    early = record_check.look_early(seen_at(tmp_path / "one").host, tmp_path / "one/bin/python")
    seen = msgspec.structs.replace(seen_at(tmp_path / "two"), early=early)
    assert values(facts_of(files.probe(seen)))["files.missing_packages"] == ["torch==2.5.1"]
    assert size in ("small", "large")
