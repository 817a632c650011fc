"""A program that fails is explained, mended or told, also where a check alone finds nothing."""

from __future__ import annotations

import shutil
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from doctor.environments.environment import environment_at
from doctor.host import Host
from doctor.model.plans import ProofVerdict
from doctor.pipeline.requests import CheckRequest, ObserveRequest
from doctor.repair import fix as repair_fix
from doctor.repair import leading, other_releases, trial
from doctor.repair.commands import host_of
from doctor.repair.fix import fix
from doctor.repair.reading import packages_in, unmet
from doctor.repair.requests import FixRequest
from tests.command import Said, doctor
from tests.repair.houses import House, house, make_wheel

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="clones of virtual environments")
_READS = "import pathlib; TEXT = pathlib.Path(__file__).with_name('words.txt').read_text()\n"
_WANTS = "import wire\nif wire.VERSION < 4: raise RuntimeError('an old wire')\n"


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> House:
    """An environment in which a check finds nothing; setuptools has no pkg_resources."""
    folder = tmp_path_factory.mktemp("calm")
    made = house(folder, {"small==1.0": (), "setuptools==84.0": ()}, "small==1.0")
    old = {"pkg_resources/__init__.py": "x = 1\n"}
    for version in ("69.5.1", "81.0.0"):
        make_wheel(made.wheels, "setuptools", version, more=old)
    make_wheel(made.wheels, "reader", "1.0", code=_READS, more={"reader/words.txt": "words"})
    for version in ("3.0", "4.0"):
        make_wheel(made.wheels, "wire", version, code=f"VERSION = {version}\n")
    make_wheel(made.wheels, "graph", "1.0", requires=["wire>=4"], code=_WANTS)
    made.install("setuptools==84.0", "reader==1.0")
    made.install("--no-deps", "graph==1.0", "wire==3.0")
    return made


@contextmanager
def _aside(path: Path) -> Iterator[None]:
    """Keep a file or folder away from its package."""
    kept = path.parents[1] / "kept" if path.is_file() else path.with_name("kept")
    shutil.move(path, kept)
    try:
        yield
    finally:
        shutil.move(kept, path)


def _prove(calm: House, code: str, *, ends: int) -> tuple[dict[str, Any], Said]:
    said = doctor(
        *("fix", "--python", calm.python, "--no-canaries", "--offline", "--prove"),
        *("--format", "json", "--", "python", "-c", code),
        cwd=calm.root.parent,
        env=calm.env,
    )
    assert said.code == ends, said.out + said.err
    return said.report["plan"], said


def test_a_module_that_went_with_a_release_is_no_calm(calm: House) -> None:
    plan, _ = _prove(calm, "import pkg_resources", ends=0)
    assert plan["proof"]["verdict"] == "proved"
    assert plan["solves"] == ["python/pkg-resources-gone"]
    assert [(one["name"], one["to"]) for one in plan["changes"]] == [("setuptools", "81.0.0")]


def test_no_bytecode_stays_beside_the_sources_of_the_program(calm: House) -> None:
    module = calm.root.parent / "sources" / "own_words.py"
    module.parent.mkdir()
    module.write_text("import pkg_resources\n")
    code = f"import sys; sys.path.insert(0, {str(module.parent)!r}); import own_words"
    plan, _ = _prove(calm, code, ends=0)
    assert plan["proof"]["verdict"] == "proved"
    assert list(module.parent.iterdir()) == [module]


def test_what_is_no_error_moves_nothing_below_a_program_that_runs(calm: House) -> None:
    old = calm.packages / "reader-0.9.dist-info"
    shutil.copytree(calm.packages / "reader-1.0.dist-info", old)
    (old / "METADATA").write_text("Metadata-Version: 2.1\nName: reader\nVersion: 0.9\n")
    try:
        without, _ = _prove(calm, "import wire, graph", ends=0)
        plan, said = _prove(calm, "import small", ends=0)
    finally:
        shutil.rmtree(old)
    assert without["steps"]
    assert not plan["steps"]
    assert "exit code 0" in plan["title"]
    assert "python/doubled-metadata" in " ".join(plan["notes"]), said.out


def test_unmet_requirements_are_named_where_the_program_runs(calm: House) -> None:
    said = doctor(
        *("fix", "--python", calm.python, "--no-canaries", "--offline", "--prove"),
        *("--", "python", "-c", "import small"),
        cwd=calm.root.parent,
        env=calm.env,
    )
    assert said.code == 0, said.out + said.err
    assert "Let be, for nothing here speaks of it" in said.out
    assert "wire" in said.out


def test_a_data_file_is_written_again_that_no_frame_speaks_of(calm: House) -> None:
    code = (
        "import pathlib, small\n"
        "site = pathlib.Path(small.__file__).parents[1]\n"
        "if not (site / 'reader' / 'words.txt').exists(): raise FileNotFoundError(2, 'gone')"
    )
    with _aside(calm.packages / "reader" / "words.txt"):
        plan, _ = _prove(calm, code, ends=0)
    assert [one["name"] for one in plan["changes"]] == ["reader"]


def test_a_data_file_that_is_gone_is_written_again(calm: House) -> None:
    with _aside(calm.packages / "reader" / "words.txt"):
        plan, _ = _prove(calm, "import reader", ends=0)
    assert plan["proof"]["verdict"] == "proved"
    assert plan["solves"] == ["python/program-files-gone"]
    assert "reader==1.0" in plan["steps"][0]["argv"]


def test_what_a_program_says_in_the_copy_is_planned_for_as_well(calm: House) -> None:
    with _aside(calm.packages / "reader" / "words.txt"):
        plan, _ = _prove(calm, "import pkg_resources, reader", ends=0)
    assert plan["proof"]["verdict"] == "proved"
    assert [(one["name"], one["from"], one["to"]) for one in plan["changes"]] == [
        ("reader", "1.0", "1.0"),
        ("setuptools", "84.0", "81.0.0"),
    ]


def test_a_package_without_its_files_is_installed_again(calm: House) -> None:
    with _aside(calm.packages / "small"):
        plan, said = _prove(calm, "import small", ends=0)
    assert plan["proof"]["verdict"] == "proved"
    assert [(one["name"], one["to"]) for one in plan["changes"]] == [("small", "1.0")]
    assert "step 1 of 1: installing small" in said.err


def test_an_unmet_requirement_counts_where_the_program_passes_by(calm: House) -> None:
    plan, _ = _prove(calm, "import graph", ends=0)
    assert plan["proof"]["verdict"] == "proved"
    assert plan["solves"] == ["requires/graph"]
    assert [(one["name"], one["to"]) for one in plan["changes"]] == [("wire", "4.0")]
    assert "exit code of `python -c import graph`: 1 before" in plan["proof"]["why"]


def test_what_has_to_be_compiled_is_bounded_and_said(
    calm: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _slow_source(calm.wheels, tmp_path)
    make_wheel(calm.wheels, "wrap", "1.0", requires=["slow>=1"], code="import slow\n")
    calm.install("--no-deps", "wrap==1.0")
    for name, value in calm.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(trial, "BUILD_SECONDS", 2.0)
    observe = ObserveRequest(python=str(calm.python), project=tmp_path, canaries=False)
    request = FixRequest(
        check=CheckRequest(observe=observe),
        prove=True,
        program=(str(calm.python), "-c", "import wrap"),
        offline=True,
    )
    plan = fix(request).repair.plan
    assert plan.proof is not None
    assert plan.proof.verdict is ProofVerdict.NOT_PROVED
    assert "no wheel of slow" in plan.proof.why
    assert "after 2 s it was not done" in plan.proof.why
    assert any(one.startswith("No wheel of slow") for one in plan.notes)


def _slow_source(wheels: Path, folder: Path) -> None:
    """Write the source of a package whose build takes longer than anybody waits."""
    source = folder / "slow-1.0"
    source.mkdir()
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "slow"\nversion = "1.0"\n'
    )
    (source / "backend.py").write_text(
        "import time\ndef build_wheel(*a, **k): time.sleep(60)\ndef build_sdist(*a, **k): pass\n"
    )
    (source / "PKG-INFO").write_text("Metadata-Version: 2.2\nName: slow\nVersion: 1.0\n")
    with tarfile.open(wheels / "slow-1.0.tar.gz", "w:gz") as archive:
        archive.add(source, "slow-1.0")


def test_a_long_text_ends_with_a_whole_word() -> None:
    assert trial.whole_words("error: one two three", 12) == "error: one …"
    assert trial.whole_words("error: one", 12) == "error: one"


def test_a_failure_that_nothing_explains_is_told_in_its_own_words(calm: House) -> None:
    plan, _ = _prove(calm, "raise SystemExit('the moon is too far')", ends=1)
    assert plan["proof"]["verdict"] == "not_proved"
    assert "exit code 1: the moon is too far" in plan["proof"]["why"]
    assert plan["steps"] == []
    assert "Nothing to do" not in plan["title"]


def test_calm_says_that_the_program_ran(calm: House) -> None:
    plan, _ = _prove(calm, "import small", ends=0)
    assert plan["title"] == "Nothing to do: your program ran in a copy, exit code 0"
    assert plan["proof"] is None
    assert plan["notes"] == []


def test_calm_names_the_folders_that_the_copy_did_not_use(
    calm: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache that cannot be written stops the program here, and not in the copy."""
    monkeypatch.setitem(calm.env, "TRITON_CACHE_DIR", "/proc/none")
    plan, _ = _prove(calm, "import small", ends=0)
    assert "TRITON_CACHE_DIR=/proc/none" in " ".join(plan["notes"])


def test_the_packages_of_a_traceback_are_those_whose_files_it_names(calm: House) -> None:
    text = f'  File "{calm.packages}/reader/__init__.py", line 1, in <module>\n'
    environment = environment_at(Path(calm.python), Host(env=calm.env))
    assert [one.name for one in packages_in(text, environment)] == ["reader"]
    assert packages_in("small is the word for it", environment) == ()


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (
            "The package `onnx` requires `protobuf>=4.25.1`, but `3.20.3` is installed",
            ("onnx", "protobuf", ">=4.25.1", "3.20.3"),
        ),
        (
            "The package `a` requires `B_c>=1,<2`, but it's not installed",
            ("a", "b-c", ">=1,<2", ""),
        ),
        (
            "onnx 1.17.0 has requirement protobuf>=3.20.2,<5, but you have protobuf 3.1.0.",
            ("onnx", "protobuf", ">=3.20.2,<5", "3.1.0"),
        ),
        ("onnx 1.17.0 requires numpy, which is not installed.", ("onnx", "numpy", "", "")),
    ],
)
def test_what_uv_and_pip_say_of_requirements_is_read(text: str, want: tuple[str, ...]) -> None:
    (one,) = unmet((text, "Checked 3 packages in 1ms"))
    assert (one.package, one.wanted, one.specifier, one.here) == want


def test_a_folder_of_a_cache_that_a_plan_sets_is_not_made_for_a_proof() -> None:
    """It would be left behind, and a proof would see what another one built there."""
    clone = Host(env={"TORCH_EXTENSIONS_DIR": "/clone/extensions"})
    found = host_of(clone, {"TORCH_EXTENSIONS_DIR": "/home/me/anew", "MAX_JOBS": "1"})
    assert found.env == {"TORCH_EXTENSIONS_DIR": "/clone/extensions", "MAX_JOBS": "1"}


def test_a_fault_of_doctor_skips_a_part_of_the_search_and_is_told(
    calm: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError("nobody ran this before")

    for name, value in calm.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(leading, "by_switches", fails)
    monkeypatch.setattr(other_releases, "suspects", fails)
    monkeypatch.setattr(repair_fix, "nearest", fails)
    observe = ObserveRequest(python=str(calm.python), project=tmp_path, canaries=False)
    request = FixRequest(
        check=CheckRequest(observe=observe),
        prove=True,
        program=(str(calm.python), "-c", "import graph"),
        offline=True,
    )
    repair = fix(request).repair
    assert repair.plan.proof is not None
    assert repair.plan.proof.verdict is ProofVerdict.PROVED
    told = [one for one in repair.remarks if "ZeroDivisionError: nobody ran this before" in one]
    assert told
    assert all(one.startswith("Skipped, since doctor itself failed in it: ") for one in told)
