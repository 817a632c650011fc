"""The edits of a project's pins, judged by the tools that read them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.base.toml import parse_toml
from doctor.catalog import loading
from doctor.host import Host
from doctor.model.facts import Fact, present
from doctor.model.plans import Change, Plan
from doctor.observe.manifests import kind_of
from doctor.observe.manifests.pins import Syntax
from doctor.observe.probes import manifests
from doctor.observe.scene import ProbeInput
from doctor.planning.edits.files import Replacement, edited
from doctor.planning.edits.versions import admits
from doctor.planning.pins import ProjectEdits, edits_for, unified_diff
from doctor.repair.patches import patch_text, project_edits, reader
from tests.hosts import put

_GIT = ("git", "-c", "core.autocrlf=false", "-c", "core.safecrlf=false")


def _plan(*changes: str) -> Plan:
    """Return a plan of changes, `torch 2.5.1 2.13.0`; `-` is an absent release."""
    moves = [[None if part == "-" else part for part in line.split()] for line in changes]
    return Plan(
        title="Move",
        changes=tuple(
            Change(name=str(name), before=before, after=after) for name, before, after in moves
        ),
    )


_TORCH = ("torch 2.5.1 2.13.0", "torchvision 0.20.1 0.28.0", "numpy 1.26.4 2.2.0")


def _edits(files: Mapping[str, str], *changes: str, **more: Any) -> ProjectEdits:
    facts = {name.replace("__", "."): present(value, "test") for name, value in more.items()}
    facts["project.manifests"] = present([*files], "test")
    return edits_for(_plan(*changes), facts, files.get, tables=loading.load().tables)


def _after(name: str, text: str, *changes: str) -> str:
    """Return the text of one manifest after its edit."""
    edits = _edits({name: text}, *(changes or _TORCH))
    return edits.files[0].after_text if edits.files else text


def _commands(edits: ProjectEdits) -> list[str]:
    return [" ".join(step.command.argv) for step in edits.commands if step.command]


def _instead(edits: ProjectEdits) -> list[str]:
    return [" ".join(step.command.argv) for step in edits.instead if step.command]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("requirements.txt", "torch==2.5.1", "torch==2.13.0"),
        ("requirements.txt", "Torch[opt] == 2.5.1 # why\n", "Torch[opt] == 2.13.0 # why\n"),
        (
            "requirements.txt",
            "numpy >=1.24, <2 ; python_version < '3.13'\n",
            "numpy >=1.24, <3 ; python_version < '3.13'\n",
        ),
        (
            "requirements.txt",
            "--index-url https://download.pytorch.org/whl/cu121\ntorch==2.5.1+cu121\n",
            "--index-url https://download.pytorch.org/whl/cu130\ntorch==2.13.0\n",
        ),
        (
            "requirements.txt",
            "--index-url https://download.pytorch.org/whl/cu126\ntorch==2.5.1\n",
            "--index-url https://download.pytorch.org/whl/cu126\ntorch==2.13.0\n",
        ),
        ("constraints.txt", "\ufefftorch<2.6\r\nother\r\n", "\ufefftorch<2.14\r\nother\r\n"),
        (
            "pyproject.toml",
            '[project]\ndependencies = [\n\t"torch~=2.5.1", # <2.6\n]\n',
            '[project]\ndependencies = [\n\t"torch~=2.13.0", # <2.6\n]\n',
        ),
        (
            "pyproject.toml",
            "[dependency-groups]\ngpu = ['torchvision==0.20.*', {include-group = \"a\"}]\na = []\n",
            "[dependency-groups]\ngpu = ['torchvision==0.28.*', {include-group = \"a\"}]\na = []\n",
        ),
        (
            "pyproject.toml",
            '[project.optional-dependencies]\n"é" = ["torch ==2.5.1 ; extra == \'x\'"]\n',
            '[project.optional-dependencies]\n"é" = ["torch ==2.13.0 ; extra == \'x\'"]\n',
        ),
        (
            "pyproject.toml",
            (
                '[tool.poetry.dependencies]\ntorch = {version = "~2.5.1", source = "pt"}\n'
                '[[tool.poetry.source]]\nname = "pt"\nurl = "https://download.pytorch.org/whl/cu124"\n'
            ),
            (
                '[tool.poetry.dependencies]\ntorch = {version = "~2.13.0", source = "pt"}\n'
                '[[tool.poetry.source]]\nname = "pt"\nurl = "https://download.pytorch.org/whl/cu130"\n'
            ),
        ),
        (
            "pyproject.toml",
            (
                '[project]\nname = "my-cu121"\ndependencies = ["torch"]\n'
                '[[tool.uv.index]]\nname = "pt-cu121"\nurl = "https://download.pytorch.org/whl/cu121"\n'
                'explicit = true\n[tool.uv.sources]\ntorch = {index = "pt-cu121"}\n'
            ),
            (
                '[project]\nname = "my-cu121"\ndependencies = ["torch"]\n'
                '[[tool.uv.index]]\nname = "pt-cu130"\nurl = "https://download.pytorch.org/whl/cu130"\n'
                'explicit = true\n[tool.uv.sources]\ntorch = {index = "pt-cu130"}\n'
            ),
        ),
        (
            "environment.yml",
            "dependencies:\n  - pytorch=2.5.1=cuda*\n  - pip:\n    - torchvision==0.20.1\n",
            "dependencies:\n  - pytorch=2.13.0\n  - pip:\n    - torchvision==0.28.0\n",
        ),
        (
            "pixi.toml",
            '[dependencies]\npytorch = "2.5.*"\n[pypi-dependencies]\nnumpy = "<2"\n',
            '[dependencies]\npytorch = "2.13.*"\n[pypi-dependencies]\nnumpy = "<3"\n',
        ),
        ("Pipfile", '[packages]\ntorch = "==2.5.1"\n', '[packages]\ntorch = "==2.13.0"\n'),
        (
            "setup.cfg",
            (
                "[options]\ninstall_requires =\n    torch==2.5.1\n[options.extras_require]\n"
                "a = numpy<2; torchvision\n[metadata]\nname =\n    torch==2.5.1\n"
            ),
            (
                "[options]\ninstall_requires =\n    torch==2.13.0\n[options.extras_require]\n"
                "a = numpy<3; torchvision\n[metadata]\nname =\n    torch==2.5.1\n"
            ),
        ),
        (
            "Dockerfile",
            (
                "ARG TV=0.20.1\nFROM pytorch/pytorch:2.5.1-cuda12.4-cudnn9-devel AS a\n"
                "RUN pip install \"torchvision==${TV}\" 'numpy<2'\n"
            ),
            (
                "ARG TV=0.28.0\nFROM pytorch/pytorch:2.13.0-cuda13.0-cudnn9-devel AS a\n"
                "RUN pip install \"torchvision==${TV}\" 'numpy<3'\n"
            ),
        ),
    ],
)
def test_an_edit_changes_the_version_alone(name: str, before: str, after: str) -> None:
    assert _after(name, before) == after
    assert _after(name, after) == after


@pytest.mark.parametrize(
    ("name", "text", "note"),
    [
        ("requirements.txt", "torch @ https://example.org/torch.whl\n", "comes from an address"),
        ("requirements.txt", "torch!=2.13.0\n", "excludes torch 2.13.0"),
        (
            "requirements.txt",
            "torch==2.5.1 --hash=sha256:00\n",
            "the tool that wrote it and is not edited by hand",
        ),
        (
            "environment.yml",
            "dependencies:\n  - pytorch::pytorch=2.5.1\n  - pytorch-cuda=12.1\n",
            "the channel pytorch ends with torch 2.5.1",
        ),
        ("Dockerfile", "FROM pytorch/pytorch:2.5.1-custom\n", "no image of torch 2.13.0"),
        ("Dockerfile", "RUN pip install numpy<2\n", "put quotes around"),
        ("pyproject.toml", 'x = \n[project]\ndependencies = ["torch==2.5.1"]\n', "no TOML"),
    ],
)
def test_what_no_edit_can_do_is_said(name: str, text: str, note: str) -> None:
    edits = _edits({name: text}, *_TORCH)
    assert not edits.files
    assert note in " ".join(edits.notes)


def test_a_page_without_the_release_keeps_the_pins_as_they_are() -> None:
    text = "-f https://download.pytorch.org/whl/cu121\ntorch==2.5.1\nnumpy<2\n"
    edits = _edits({"requirements.txt": text}, "torch 2.5.1 9.9.9+cu999", "numpy 1.26.4 2.2.0")
    assert [file.after_text for file in edits.files] != [text]
    assert (
        "torch==2.5.1" not in edits.files[0].after_text
    )  # nothing is known of 9.9.9: no objection
    known = _edits({"requirements.txt": text}, "torch 2.5.1 2.13.0+cu118", "numpy 1.26.4 2.2.0")
    assert known.files[0].after_text == text.replace("<2", "<3")
    assert "has no such torch" in known.notes[0]


def test_a_step_back_is_written_down_where_no_lock_keeps_it() -> None:
    back = "numpy 2.2.0 1.26.4"
    assert _after("requirements.txt", "numpy>=1.24\n", back) == "numpy>=1.24,<=1.26.4\n"
    assert _after("requirements.txt", "numpy\n", back) == "numpy==1.26.4\n"
    text = '[project]\ndependencies = ["numpy>=1.24"]\n'
    locked = _edits({"pyproject.toml": text, "uv.lock": '[[package]]\nname = "numpy"\n'}, back)
    assert not locked.files
    assert _commands(locked) == ["uv lock --upgrade-package numpy==1.26.4"]


def test_a_package_that_the_plan_removes_leaves_its_line() -> None:
    gone = "numpy 1.26.4 -"
    assert _after("requirements.txt", "a\nnumpy<2  # x\nb", gone) == "a\nb"
    assert (
        _after("pyproject.toml", '[project]\ndependencies = [\n  "a",\n  "numpy<2",\n]\n', gone)
        == '[project]\ndependencies = [\n  "a",\n]\n'
    )
    assert _after("Pipfile", '[packages]\nnumpy = "*"\na = "*"\n', gone) == '[packages]\na = "*"\n'
    kept = '[project]\ndependencies = ["a", "numpy<2"]\n'
    assert _after("pyproject.toml", kept, gone) == kept


def test_crates_and_packages_of_one_name_are_kept_apart() -> None:
    files = {
        "Cargo.toml": '[dependencies]\ntokenizers = "0.20"\n',
        "requirements.txt": "tokenizers<0.21\n",
    }
    facts = {"crate__tokenizers__version": "0.20.4", "package__tokenizers__version": "0.19.1"}
    python = _edits(files, "tokenizers 0.19.1 0.22.0", **facts)
    assert [file.path for file in python.files] == ["requirements.txt"]
    rust = _edits(files, "tokenizers 0.20.4 0.21.0", **facts)
    assert [file.path for file in rust.files] == ["Cargo.toml"]
    assert _commands(rust) == ["cargo update -p tokenizers --precise 0.21.0"]


def test_the_tool_that_owns_a_list_writes_it_again() -> None:
    made = (
        "# This file was autogenerated by uv via the following command:\n"
        "#    uv pip compile requirements.in -o requirements.txt --generate-hashes\n"
        "numpy==1.26.4 \\\n    --hash=sha256:00\n"
    )
    edits = _edits({"requirements.in": "numpy<2\n", "requirements.txt": made}, *_TORCH)
    assert [(file.path, file.after_text) for file in edits.files] == [
        ("requirements.in", "numpy<3\n")
    ]
    assert _commands(edits)[0] == (
        "uv pip compile --generate-hashes --upgrade-package numpy==2.2.0 "
        "--output-file requirements.txt requirements.in"
    )
    assert edits.locks == ("requirements.txt",)
    other = made.replace("--generate-hashes", "--index-url https://evil.example; rm -rf ~")
    assert not any(
        "evil" in line for line in _commands(_edits({"requirements.txt": other}, *_TORCH))
    )


def test_owners_are_named_with_their_groups() -> None:
    text = (
        '[project]\ndependencies = ["torch==2.5.1"]\n[dependency-groups]\ndev = ["numpy<2"]\n'
        '[project.optional-dependencies]\nvision = ["torchvision==0.20.1"]\n'
    )
    edits = _edits({"pyproject.toml": text, "uv.lock": ""}, *_TORCH, "six - 1.16.0")
    assert _instead(edits) == [
        "uv add torch==2.13.0 six==1.16.0",
        "uv add --group dev numpy==2.2.0",
        "uv add --optional vision torchvision==0.28.0",
    ]
    assert "uv add --no-sync six==1.16.0" in _commands(edits)
    poetry = _edits({"pyproject.toml": text, "poetry.lock": ""}, "torch 2.5.1 2.13.0")
    assert _commands(poetry) == ["poetry update torch"]
    assert _instead(poetry) == ["poetry add torch==2.13.0"]
    pixi = _edits(
        {"pixi.toml": '[feature.gpu.dependencies]\npytorch = "2.5.*"\n'}, "torch 2.5.1 2.13.0"
    )
    assert _instead(pixi) == ["pixi add --feature gpu pytorch==2.13.0"]
    conda = _edits(
        {"environment.yml": "dependencies:\n- numpy=1.26\n"}, *_TORCH, python__conda="/opt/env"
    )
    assert _commands(conda) == ["conda env update --prefix /opt/env --file environment.yml"]


def _git(folder: Path, *words: str, given: str = "") -> None:
    done = subprocess.run(
        [*_GIT, *words], cwd=folder, input=given.encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


_ODD = {
    "requirements.txt": "torch==2.5.1\r\nx\r\n\ty\r\nnumpy<2",
    "pyproject.toml": '\ufeff[project]\nname = "naïve"\ndependencies = ["torch==2.5.1"]',
    "environment.yml": "dependencies:\n" + "  - a\n" * 40 + "  - numpy<2\n" + "  - b\n" * 9,
    "docker/Dockerfile": "FROM x\x0cy\u2028z\nRUN pip install torch==2.5.1\n",
    "my é app/requirements.txt": "numpy==1.26.4\n",
    "Cargo.toml": "[dependencies]\n",
}


@pytest.mark.skipif(shutil.which("git") is None, reason="git is missing")
@pytest.mark.parametrize("tool", ["git", "patch"])
def test_git_and_patch_apply_the_diff(tmp_path: Path, tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is missing")
    for name, text in _ODD.items():
        put(tmp_path / name, "")
        (tmp_path / name).write_bytes(text.encode())
    edits = _edits(_ODD, *_TORCH)
    assert len(edits.files) == 5
    diff = unified_diff(edits.files)
    if tool == "git":
        _git(tmp_path, "init", "-q", ".")
        _git(tmp_path, "apply", "--check", "-", given=diff)
        _git(tmp_path, "apply", "-", given=diff)
    else:
        done = subprocess.run(
            ["patch", "-p1", "--binary", "--force"],
            cwd=tmp_path,
            input=diff.encode(),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout.decode()
    for file in edits.files:
        assert (tmp_path / file.path).read_bytes() == file.after_text.encode()


@st.composite
def _texts(draw: st.DrawFn) -> tuple[str, list[Replacement]]:
    """Return a text of odd lines, and replacements within it that do not overlap."""
    text = draw(st.text("ab \t\r\n\u2028é", max_size=60))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)))
    pairs = zip(cuts[::2], cuts[1::2], strict=False)
    words = st.text("xy\n", max_size=3)
    return text, [Replacement(start, end, draw(words)) for start, end in pairs]


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is missing")
@settings(max_examples=60)
@given(_texts())
def test_patch_makes_the_text_after_of_the_text_before(
    tmp_path_factory: pytest.TempPathFactory, made: tuple[str, list[Replacement]]
) -> None:
    text, replacements = made
    edit = edited("a b.txt", text, replacements)
    if edit is None or not text or not edit.after_text:
        return
    folder = tmp_path_factory.mktemp("patch")
    (folder / "a b.txt").write_bytes(text.encode())
    done = subprocess.run(
        ["patch", "-p1", "--binary", "--force", "--fuzz=0"],
        cwd=folder,
        input=unified_diff([edit]).encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()
    assert (folder / "a b.txt").read_bytes() == edit.after_text.encode()


_VERSIONS = st.sampled_from(
    ("", "==1.26.4", ">=1.24,<2", "~=1.26.0", " <= 1.26 ", "==1.*", "!=1.5")
)
_LINES = st.tuples(
    st.sampled_from(("numpy", "NumPy", "numpy[x]", "other", "# numpy", "-r numpy")),
    _VERSIONS,
    st.sampled_from(("", " ; python_version > '3'", "  # why", "\r", "\t", " --hash")),
).map("".join)


@given(st.lists(_LINES, max_size=6), st.sampled_from(("", "\n")))
def test_the_rest_of_a_list_stays_byte_for_byte(lines: list[str], end: str) -> None:
    text = "\n".join(lines) + end
    _holds("requirements.txt", text)


@given(
    st.lists(st.tuples(st.sampled_from(("numpy", "other")), _VERSIONS), max_size=4),
    st.sampled_from(('"', "'")),
    st.sampled_from((", ", ",\n  ", ", # x\n\t")),
)
def test_the_rest_of_a_table_stays_byte_for_byte(
    pins: list[tuple[str, str]], quote: str, between: str
) -> None:
    items = between.join(f"{quote}{name}{version}{quote}" for name, version in pins)
    text = f'[project]\nname = "é"\ndependencies = [{items}]\n[tool.x]\nnumpy = "<2"\n'
    after = _holds("pyproject.toml", text)
    assert parse_toml(after)["tool"] == {"x": {"numpy": "<2"}}


def _holds(name: str, text: str) -> str:
    """Check what every edit keeps: the rest, a second edit, and the release that is wanted."""
    after = _after(name, text, "numpy 1.26.4 2.2.0")
    kind = kind_of("", name)
    assert kind
    old, new = (list(kind.read(each)) for each in (text, after))
    assert [pin.name for pin in old] == [pin.name for pin in new]
    assert _without(text, old) == _without(after, new)
    assert _after(name, after, "numpy 1.26.4 2.2.0") == after
    for pin in new:
        if pin.name.lower() == "numpy" and pin.span:
            version = after[pin.span.start : pin.span.end]
            assert admits(Syntax.PYTHON, version, "2.2.0") is not False
    return after


def _without(text: str, pins: list[Any]) -> str:
    """Return a text without the versions of its pins."""
    spans = [(pin.span.start, pin.span.end) for pin in pins if pin.span]
    return "".join(
        letter
        for place, letter in enumerate(text)
        if not any(start <= place < end for start, end in spans)
    )


@pytest.mark.parametrize(
    "path",
    [
        "../requirements.txt",
        "/etc/requirements.txt",
        "a\nb/requirements.txt",
        "C:x/requirements.txt",
        "",
    ],
)
def test_a_path_out_of_the_project_is_never_read(path: str) -> None:
    def read(name: str) -> str:
        raise AssertionError(name)

    facts = {"project.manifests": present([path], "test")}
    assert edits_for(_plan(*_TORCH), facts, read) == ProjectEdits()


def test_what_lies_elsewhere_is_no_file_of_the_project(tmp_path: Path) -> None:
    put(tmp_path / "secret.txt", "torch==2.5.1\n")
    put(tmp_path / "project" / "requirements.txt", "torch==2.5.1\n")
    put(tmp_path / "project" / "latin.txt", "")
    (tmp_path / "project" / "latin.txt").write_bytes(b"torch==2.5.1 # \xe9\n")
    (tmp_path / "project" / "link.txt").symlink_to(tmp_path / "secret.txt")
    read = reader(tmp_path / "project")
    assert read("requirements.txt") == "torch==2.5.1\n"
    assert [read(name) for name in ("link.txt", "../secret.txt", "latin.txt", "none", "")] == [
        None
    ] * 5


@pytest.mark.parametrize(
    "text",
    [
        "[project]\ndependencies = " + "[" * 100_000,
        "a." * 100_000 + " = 1\n",
        '[project]\ndependencies = ["torch==2.5.1"]\n' * 20_000,
        "torch==2.5.1\n" * 100_000,
    ],
)
@pytest.mark.parametrize("name", ["pyproject.toml", "requirements.txt"])
def test_a_hostile_file_takes_no_long_time(name: str, text: str) -> None:
    edits = _edits({name: text}, *_TORCH)
    unified_diff(edits.files)


def _facts(project: Path) -> dict[str, Fact]:
    scene = ProbeInput(host=Host(env={}, cwd=project), project=project)
    return dict(manifests.probe(scene))


def test_the_patch_of_a_real_folder(tmp_path: Path) -> None:
    put(tmp_path / ".git" / "HEAD")
    put(tmp_path / "train" / "requirements.txt", "torch==2.5.1\n")
    facts = _facts(tmp_path / "train")
    plan = _plan("torch 2.5.1 2.13.0")
    assert patch_text(plan, facts, tmp_path / "train", {}) == (
        "--- a/train/requirements.txt\n+++ b/train/requirements.txt\n"
        "@@ -1,1 +1,1 @@\n-torch==2.5.1\n+torch==2.13.0\n"
    )
    edits = project_edits(plan, facts, tmp_path / "train", {})
    assert [step.command.cwd for step in edits.commands if step.command] == [
        str(tmp_path / "train")
    ]
