"""The lists of a project: constraints, lists beside the program, wheels by path, Poetry."""

from __future__ import annotations

from pathlib import Path

from doctor.repair.lists import Lists, lists_of

_MARKERS = {"python_version": "3.11", "sys_platform": "linux"}


def _read(folder: Path, **env: str) -> Lists:
    return lists_of([folder], env, _MARKERS)


def test_constraints_count_as_the_lists_do(tmp_path: Path) -> None:
    """Those that a list includes, those in the folder, and those that a variable names."""
    (tmp_path / "requirements.txt").write_text("-c limits.txt\npandas>=2.1\nidna!!\nclick\n")
    (tmp_path / "limits.txt").write_text("pandas<2.2\nnumpy<2; python_version<'3.10'\n")
    (tmp_path / "constraints.txt").write_text("six==1.16\n")
    (tmp_path / "given.txt").write_text("httpx<0.28\n")
    given = str(tmp_path / "given.txt")
    found = _read(tmp_path, PIP_CONSTRAINT=given)
    assert [(one.name, one.specifier, one.source, one.leads) for one in found.bounds] == [
        ("six", "==1.16", "constraints.txt:1", True),
        ("pandas", "<2.2", "limits.txt:1", True),
        ("pandas", ">=2.1", "requirements.txt:2", True),
        ("click", "", "requirements.txt:4", True),
        ("httpx", "<0.28", f"{given} (in PIP_CONSTRAINT):1", True),
    ]


def test_folders_of_wheels_are_found_by_option_and_by_path(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    (tmp_path / "requirements.txt").write_text(
        "--find-links wheels\n-f https://example.org/whl\n./own/acme_core-0.4-py3-none-any.whl\n"
    )
    found = _read(tmp_path)
    own = str(tmp_path / "own")
    assert found.links == (str(wheels), "https://example.org/whl", "own")
    assert [(one.name, one.specifier) for one in found.bounds] == [("acme-core", "==0.4")]
    (tmp_path / "own").mkdir()
    (tmp_path / "own/acme_core-0.4-py3-none-any.whl").touch()
    assert _read(tmp_path).links[2] == own


def test_the_tables_of_a_project_lead_but_for_its_groups(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\ndependencies = ["numpy<2"]\n[dependency-groups]\ndev = ["ruff==0.1"]\n'
        '[tool.uv]\nconstraint-dependencies = ["idna<3"]\n'
        '[tool.poetry.dependencies]\nclick = "^8.1.3"\nsmall = "^0.2"\nfixed = "1.5"\n'
    )
    bounds = _read(tmp_path).bounds
    assert {one.name: one.specifier for one in bounds if one.leads} == {
        "numpy": "<2",
        "idna": "<3",
        "click": ">=8.1.3,<9",
        "small": ">=0.2,<0.3",
        "fixed": "==1.5",
    }
    assert [one.name for one in bounds if not one.leads] == ["ruff"]


def test_lists_below_a_folder_of_documentation_are_for_something_else(tmp_path: Path) -> None:
    """They lead where the command names that folder."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "requirements.txt").write_text("sphinx>=7,<8\n")
    (docs / "index.txt").write_text("sphinx==1\n")
    (tmp_path / "requirements.txt").write_text("flask\n")
    told = {(one.name, one.specifier, one.leads) for one in lists_of([tmp_path], {}, None).bounds}
    assert told == {("flask", "", True), ("sphinx", ">=7,<8", False)}
    (both,) = [one for one in lists_of([docs], {}, None).bounds if one.name == "sphinx"]
    assert both.leads
