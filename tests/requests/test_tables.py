"""What the tables say of a request, without an installer and without a network."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from doctor.base.errors import UsageError
from doctor.catalog import loading
from doctor.host import Host
from doctor.model.facts import present
from doctor.pipeline.assumptions import parse_assumptions
from doctor.planning.requests_builds import builds, violated
from doctor.planning.requests_commands import flash_wheel, platform_of, torch_specifier
from doctor.planning.requests_pairs import clashes
from doctor.planning.requests_place import Place, place_of
from doctor.planning.requests_solver import Allowed, Excluded, allowed
from doctor.repair.request_files import from_file, from_text
from doctor.repair.request_plans import plan
from tests.command import doctor
from tests.requests.asking import host_with_uv, request_of
from tests.requests.wanted import WANTED, Wanted

_HERE = {
    "host.os": "linux",
    "host.machine": "x86_64",
    "host.glibc": "2.36",
    "python.version": "3.12",
}


def _place(assumed: str = "", python: str = "3.12") -> Place:
    declared = parse_assumptions([assumed] if assumed else [], loading.load, elsewhere=True)
    facts = {name: present(value, "test") for name, value in {**_HERE, **declared}.items()}
    return place_of(facts, loading.load(), python)


# A source can be compiled, so that flash-attn is no conflict without the installer.
_IMPOSSIBLE = [one for one in WANTED if one.rules and "flash-attn" not in one.arguments]


@pytest.mark.parametrize("wanted", _IMPOSSIBLE, ids=[one.arguments for one in _IMPOSSIBLE])
def test_the_tables_name_two_rules_and_a_way_out(wanted: Wanted, tmp_path: Path) -> None:
    request = request_of(wanted.arguments, project=tmp_path, offline=True)
    found = plan(request, host=host_with_uv(tmp_path))
    assert wanted.rules is not None
    assert found.conflict is not None
    for rule, words in zip(found.conflict.rules, wanted.rules, strict=True):
        assert words in rule


@pytest.mark.parametrize(
    ("gpu", "capability"),
    [
        *(("A100", "8.0"), ("H100", "9.0"), ("H200", "9.0"), ("B200", "10.0"), ("GB200", "10.0")),
        *(("L4", "8.9"), ("L40S", "8.9"), ("T4", "7.5"), ("V100", "7.0"), ("P100", "6.0")),
        *(("RTX2080", "7.5"), ("rtx-3090", "8.6"), ("4090", "8.9"), ("RTX 5090", "12.0")),
        *(("RTX PRO 6000", "12.0"), ("RTX6000Ada", "8.9"), ("Orin", "8.7"), ("Thor", "11.0")),
        *(("sm_90", "9.0"), ("120", "12.0")),
    ],
)
def test_names_of_gpus_are_understood(gpu: str, capability: str) -> None:
    assert parse_assumptions([f"gpu={gpu}"], loading.load)["nvidia.capabilities"] == [capability]


def test_two_gpus_and_other_vendors() -> None:
    declared = parse_assumptions(["gpu=A100,gpu=H100"], loading.load)
    assert declared["nvidia.capabilities"] == ["8.0", "9.0"]
    assert parse_assumptions(["gpu=MI300X"], loading.load)["gpu.vendors"] == ["amd"]
    assert parse_assumptions(["gpu=Arc"], loading.load)["gpu.vendors"] == ["intel"]


@pytest.mark.parametrize("text", ["gpu=H1000", "gpu=", "driver=new", "os=beos", "ram=1"])
def test_an_assumption_that_makes_no_sense(text: str) -> None:
    with pytest.raises(UsageError, match="--assume"):
        parse_assumptions([text], loading.load, elsewhere=True)


def test_another_system_is_for_plans_alone() -> None:
    with pytest.raises(UsageError):
        parse_assumptions(["os=windows"], loading.load)


@pytest.mark.parametrize(
    "assumed", ["", "gpu=V100,driver=550", "gpu=H100,driver=535", "gpu=B200,driver=580"]
)
@pytest.mark.parametrize(
    "asked", ["torch", "vllm torchaudio", "flash-attn xformers", "torch<2.9 flash-attn"]
)
def test_what_is_allowed_breaks_no_rule(assumed: str, asked: str) -> None:
    place, catalog = _place(assumed), loading.load()
    found = allowed([from_text(one) for one in asked.split()], catalog, place)
    if isinstance(found, Excluded):
        assert all(found.rules)
        return
    assert isinstance(found, Allowed)
    for build in found.builds:
        assert not list(violated(build, catalog, place))
    other = [build for build in builds(catalog, place) if build not in found.builds]
    assert len(other) + len(found.builds) == len(builds(catalog, place))


def test_windows_takes_torch_for_cuda_from_its_own_index() -> None:
    found = allowed([from_text("torch")], loading.load(), _place("gpu=RTX4090,os=windows"))
    assert isinstance(found, Allowed)
    assert all(build.index for build in found.builds)


def test_releases_of_torch_as_a_specifier() -> None:
    catalog = loading.load()
    place = _place("gpu=V100,driver=550")
    found = allowed([from_text("torch")], catalog, place)
    assert isinstance(found, Allowed)
    every = [str(row["torch"]) for row in catalog.tables["torch"].rows]
    own = [build for build in found.builds if not build.index]
    assert torch_specifier(own, every).endswith("<2.11.0")
    assert torch_specifier(builds(catalog, place), every) == ""


def test_the_name_of_a_wheel_of_flash_attn() -> None:
    # The name as the release 2.8.3 has it on GitHub.
    build = next(one for one in builds(loading.load(), _place()) if one.release == "2.8.0")
    assert flash_wheel("2.8.3", build, _place()).endswith(
        "/v2.8.3/flash_attn-2.8.3+cu12torch2.8cxx11abiTRUE-cp312-cp312-linux_x86_64.whl"
    )


def test_platforms_in_uvs_words() -> None:
    assert platform_of(_place("glibc=2.17")) == "x86_64-manylinux_2_17"
    assert platform_of(_place("glibc=2.30")) == "x86_64-manylinux_2_28"
    assert platform_of(_place("os=windows")) == "x86_64-pc-windows-msvc"
    assert platform_of(_place("os=macos-15")) == "aarch64-apple-darwin"


def test_a_known_issue_keeps_a_pair_apart() -> None:
    packages = {"vllm": "0.8.5", "transformers": "5.23.0"}
    (found,) = clashes(packages, loading.load(), {"vllm"})
    assert found.limit == "transformers<5.0"
    assert not list(clashes({**packages, "transformers": "4.57.6"}, loading.load(), {"vllm"}))


def test_files_are_read_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("numpy>=2 \\\n  --hash=sha256:00\n", encoding="utf-8")
    (tmp_path / "requirements.txt").write_text(
        "# comment\n-i https://index\ntorch==2.13.0 ; python_version > '3.9'\n-r more.txt\n-e .\n",
        encoding="utf-8",
    )
    (tmp_path / "Dockerfile").write_text(
        "FROM x\nRUN pip install 'torch==2.15.0' idna\n", encoding="utf-8"
    )
    (tmp_path / "uv.lock").write_text(
        'version = 1\n[[package]]\nname = "own"\nversion = "1"\nsource = {virtual = "."}\n'
        '[[package]]\nname = "idna"\nversion = "3.6"\nsource = {registry = "x"}\n',
        encoding="utf-8",
    )
    host = Host(cwd=tmp_path, env=dict(os.environ))
    read = {
        name: [(wish.text, wish.source) for wish in from_file(tmp_path / name, host)]
        for name in ("requirements.txt", "Dockerfile", "uv.lock")
    }
    assert read["requirements.txt"] == [
        ("torch==2.13.0", "requirements.txt:3"),
        ("numpy>=2", "more.txt:1"),
    ]
    assert read["Dockerfile"] == [("torch==2.15.0", "Dockerfile:2"), ("idna", "Dockerfile:2")]
    assert read["uv.lock"] == [("idna==3.6", "uv.lock")]


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        (
            "environment.yml",
            (
                "dependencies:\n  - python=3.11\n  - ffmpeg\n  - pytorch=2.5\n"
                "  - numpy=2.1.0=py311_0\n  - pip:\n    - vllm==0.8.5\n"
            ),
            ["torch==2.5.*", "numpy==2.1.0", "vllm==0.8.5"],
        ),
        ("Pipfile", '[packages]\ntorch = "==2.5.1"\nidna = "*"\n', ["torch==2.5.1", "idna"]),
        (
            "pixi.toml",
            (
                '[dependencies]\npython = "3.11.*"\nnumpy = "2.1.*"\n'
                '[pypi-dependencies]\ntorch = "==2.5.1"\n'
            ),
            ["numpy==2.1.*", "torch==2.5.1"],
        ),
    ],
)
def test_manifests_of_other_tools_are_read(
    tmp_path: Path, name: str, text: str, read: list[str]
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    host = Host(cwd=tmp_path, env=dict(os.environ))
    assert [wish.text for wish in from_file(tmp_path / name, host)] == read


def test_a_file_that_includes_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("-r requirements.txt\nidna\n", encoding="utf-8")
    found = list(from_file(tmp_path / "requirements.txt", Host(cwd=tmp_path, env=dict(os.environ))))
    assert {wish.name for wish in found} == {"idna"}


def test_new_pins_are_judged_offline(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(
        "vllm==0.8.5\ntransformers==5.23.0\n", encoding="utf-8"
    )
    (tmp_path / "constraints.txt").write_text("idna==3.6\n", encoding="utf-8")
    said = doctor("plan", "--offline", "requirements.txt", "constraints.txt", cwd=tmp_path)
    assert said.code == 1
    assert "requirements.txt:2 asks for transformers==5.23.0" in said.out
    calm = "constraints.txt: no conflict that the tables know\n"
    assert calm in said.out
    fine = doctor("plan", "--offline", "constraints.txt", cwd=tmp_path)
    assert (fine.code, fine.out) == (0, calm)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ("torch==2.5.1 torchvision==0.19.0", "torchvision 0.19.0 needs torch 2.4.0"),
        ("torchcodec==0.2 torch==2.8.0", "torchcodec 0.2 needs torch 2.6.0"),
        ("transformers==4.57.1 torch==1.13.1", "transformers 4.57.1 needs torch 2.2.0 to"),
        ("torch==2.7.0 triton==3.0.0", "torch 2.7.0 needs triton 3.3.0"),
        ("jax==0.4.30 jaxlib==0.4.20", "jax 0.4.30 needs jaxlib 0.4.30"),
        ("torch==2.99.0 torchvision==0.20.1", "torchvision 0.20.1 needs torch 2.5.1"),
        ("transformers==4.56.1 huggingface-hub==1.0.1", "needs huggingface-hub"),
        ("xfuser==0.4.4 yunchang==0.3.0", "xfuser 0.4.4 needs yunchang >=0.6.0"),
    ],
)
def test_pins_that_a_table_keeps_apart(tmp_path: Path, arguments: str, rule: str) -> None:
    found = plan(request_of(arguments, project=tmp_path, offline=True), host=host_with_uv(tmp_path))
    assert found.conflict is not None
    assert rule in found.conflict.rules[0]


@pytest.mark.parametrize(
    "arguments",
    [
        "torch==2.5.1 torchvision==0.20.1 torchaudio==2.5.1",
        "torch==2.7.0 triton==3.3.0",
        "torchvision==0.99.0 torch==2.5.1",
        "jax==0.4.30 jaxlib==0.4.30",
        "transformers>=4.40 torch",
    ],
)
def test_pins_that_no_table_keeps_apart(tmp_path: Path, arguments: str) -> None:
    found = plan(request_of(arguments, project=tmp_path, offline=True), host=host_with_uv(tmp_path))
    assert found.conflict is None
