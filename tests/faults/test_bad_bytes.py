"""One bad byte, number or name in an answer costs that one answer, never the run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.host.removal import remove_tree
from doctor.model.outcomes import Verdict
from tests.command import check, doctor
from tests.faults.standins import bare, outcome, package, program

_RESULTS = {
    "no UTF-8": (
        b'{"contract": 1, "results": [{"verdict": "passed", "device": "cpu", "reason": "\xff"}]}'
    ),
    "a number without end": (
        b'{"contract": 1, "results": [{"verdict": "passed", "data": {"x": %s}}]}'
    )
    % (b"9" * 5000),
    "half a surrogate": b'{"contract": 1, "results": [{"verdict": "passed", "reason": "\\ud800"}]}',
}


@pytest.mark.parametrize("what", _RESULTS)
def test_a_result_with_an_odd_byte_costs_one_check(tmp_path: Path, what: str) -> None:
    (tmp_path / "result").write_bytes(_RESULTS[what])
    found = outcome(
        tmp_path,
        f"import shutil\nshutil.copy({str(tmp_path / 'result')!r}, os.environ['CANARY_RESULT'])",
    )
    assert found.verdict is Verdict.BROKEN
    assert found.reason.startswith("the script's result cannot be read")


_TORCHES = {
    "a device with NUL": {
        "torch.devices": ["cpu", "cuda:0"],
        "torch.cuda_available": True,
        "torch.cuda_devices": [{"index": "0\0"}],
    },
    "a device without a number": {
        "torch.devices": ["cpu"],
        "torch.cuda_available": True,
        "torch.cuda_devices": [{"name": "x"}],
    },
    "devices that are none": {
        "torch.devices": 3,
        "torch.cuda_available": True,
        "torch.cuda_devices": 3,
    },
    "a number for a name": {
        "torch.devices": [7],
        "torch.cuda_available": True,
        "torch.cuda_devices": [7],
    },
}
_SAYS = """
import json, os
results = [dict(verdict="passed", device="cpu"), dict(verdict="passed", device="cuda:x")]
told = dict(contract=1, results=results, facts=dict({facts}, **{"torch.import_seconds": 1}))
with open(os.environ["CANARY_RESULT"], "w") as file: json.dump(told, file)
os._exit(0)
"""


@pytest.mark.parametrize("what", _TORCHES)
def test_an_odd_device_costs_its_own_checks(tmp_path: Path, what: str) -> None:
    python = bare(tmp_path / "patient")
    package(python, "torch", "2.13.0", _SAYS.replace("{facts}", repr(_TORCHES[what])))
    said = check("--python", python, "--only", "torch-runtime", cwd=tmp_path)
    assert said.code in (0, 1), said.err
    assert said.report["facts"]["torch.version"]["value"] == "2.13.0"
    assert [one["verdict"] for one in said.outcomes("torch-runtime")].count("passed") >= 1


_DESCRIPTIONS = {
    "no key": "{[]: 1}",
    "a version without end": repr({"executable": "/x", "version": "3." + "9" * 5000}),
    "a number without end": "9" * 5000,
    "a version that is a number": "{'executable': '/x', 'version': 3" + "9" * 4200 + "}",
    "NUL": repr({"executable": "/x\0y", "version": "3.11.1", "path": ["/a\0b"]}),
    "half a surrogate": repr({"executable": "/x\ud800", "version": "3.11.1"}),
    "nested": "[" * 500,
}


@pytest.mark.parametrize("what", _DESCRIPTIONS)
def test_an_interpreter_that_says_nonsense_of_itself_is_named(tmp_path: Path, what: str) -> None:
    (tmp_path / "told").write_text(
        f"<<doctor-target:{_DESCRIPTIONS[what]}:doctor-target>>\n", encoding="ascii"
    )
    fake = program(tmp_path / "bin" / "python", f"cat '{tmp_path}/told'")
    said = doctor("check", "--no-canaries", "--python", fake, cwd=tmp_path)
    assert said.code == 3
    assert f"doctor: {fake} " in said.err
    assert "fault of doctor" not in said.err
    assert len(said.err) < 2000


_INPUTS = {
    "no UTF-8 in a string": b'{"facts": {"torch.version": {"state": '
    b'"present", "value": "\xff", "source": "x"}}, '
    b'"findings": [{"id": "\xff"}]}',
    "a number without end": (
        b'{"facts": {"torch.version": {"state": "present", "value": %s, "source": "x"}}, '
        b'"findings": %s}'
    )
    % (b"9" * 5000, b"9" * 5000),
}


@pytest.mark.parametrize("what", _INPUTS)
@pytest.mark.parametrize("how", ["--from", "--env", "diff", "--baseline"])
def test_a_file_with_an_odd_byte_is_named(tmp_path: Path, what: str, how: str) -> None:
    odd, log, good = tmp_path / "odd.json", tmp_path / "log", tmp_path / "good.json"
    odd.write_bytes(_INPUTS[what])
    log.write_text("RuntimeError: CUDA error: out of memory\n", encoding="utf-8")
    good.write_text('{"doctor_version": "1"}', encoding="utf-8")
    arguments = {
        "--from": ("check", "--from", odd),
        "--env": ("diagnose", log, "--env", odd),
        "diff": ("diff", good, odd),
        "--baseline": ("check", "--from", good, "--baseline", odd),
    }[how]
    said = doctor(*arguments, cwd=tmp_path)
    assert (said.code, said.out) == (3, "")
    assert "odd.json" in said.err
    assert "fault of doctor" not in said.err


_DEPTH = 1200
"""Deeper than Python's stack."""


@pytest.fixture
def nested(tmp_path: Path) -> Iterator[Path]:
    """Return an empty folder that goes in any case.

    Pytest itself could not remove what is made in it.
    """
    folder = tmp_path / "nested"
    folder.mkdir()
    yield folder
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def _nest(folder: Path) -> None:
    """Make folders in each other, one of them closed, with a link out of them."""
    outside = folder.parent / "outside"
    (outside / "kept").mkdir(parents=True)
    script = (
        f"import os\nfor _ in range({_DEPTH}):\n    os.mkdir('deeper'); "
        f"os.chdir('deeper')\nos.symlink({str(outside)!r}, 'link')\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=folder, check=True)
    (folder / "deeper").chmod(0)


@pytest.mark.skipif(os.name != "posix", reason="where paths are short, so are nests")
def test_a_folder_of_any_depth_is_put_away(nested: Path, tmp_path: Path) -> None:
    _nest(nested)
    assert remove_tree(nested)
    assert not nested.exists()
    assert (tmp_path / "outside" / "kept").is_dir()


@pytest.mark.skipif(os.name != "posix", reason="where paths are short, so are nests")
def test_a_check_that_nests_folders_leaves_none(
    nested: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(nested))
    body = (
        f"for _ in range({_DEPTH}): os.mkdir('deeper'); os.chdir('deeper')\nput(None, "
        "verdict='passed')"
    )
    assert outcome(tmp_path, body).verdict is Verdict.PASSED
    assert list(nested.iterdir()) == []


def test_a_result_is_text_again_in_the_report(tmp_path: Path) -> None:
    """A name that holds control characters is shown without them, and the report stays JSON."""
    python = bare(tmp_path / "patient")
    package(python, "torch", "2.13.0", "raise ImportError('a\\x00b\\x1b[31m')")
    said = check("--python", python, "--only", "torch-runtime", cwd=tmp_path)
    assert said.code == 1
    assert "\\u0000" not in said.out
    assert json.loads(said.out)["exit_code"] == 1


@pytest.mark.skipif(sys.platform != "linux", reason="a name that is no Unicode")
@pytest.mark.parametrize("command", ["check", "snapshot", "fix"])
def test_a_distribution_whose_name_is_no_text_is_none(tmp_path: Path, command: str) -> None:
    python = bare(tmp_path / "patient")
    package(python, "torch", "2.13.0", "")
    site = next((python.parents[1] / "lib").glob("python*/site-packages"))
    odd = os.fsencode(site) + b"/\xff\xfe-1.dist-info"
    os.mkdir(odd)  # noqa: PTH102 - a name of bytes
    for name, data in (
        (b"METADATA", b"Name: \xff\xfe\nVersion: 1\n"),
        (b"RECORD", b"\xff\x00,,\n"),
    ):
        with open(odd + b"/" + name, "wb") as file:  # noqa: PTH123
            file.write(data)
    more = {"snapshot": ("--no-canaries", "-o", "-"), "check": ("--no-canaries",), "fix": ()}
    said = doctor(command, "--python", python, *more[command], cwd=tmp_path)
    assert said.code in (0, 1)
    assert "fault of doctor" not in said.err
