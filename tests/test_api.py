"""The Python API: the same reports as the command line's, from any thread, with nothing printed."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import jsonschema
import msgspec
import pytest

import doctor
from doctor.host.process import CompletedCommand
from doctor.report.structured import json_document as documents
from tests import command, environments, toy
from tests.promises.sources import ROOT

_LOG = "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.\n"
_BLOCKS = re.findall(
    r"(?s)```python\n(.*?)```", (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
)


@pytest.fixture
def sick(tmp_path: Path) -> Path:
    """A snapshot of an interpreter whose torchvision was made for another torch."""
    facts = {
        "torch.version": "2.13.0",
        "requires.torchvision.torch.met": False,
        "requires.torchvision.torch.specifier": "==2.4.1",
    }
    path = tmp_path / "sick.json"
    path.write_bytes(
        msgspec.json.encode(toy.seen({**facts, "requires.torchvision.torch.installed": "2.13.0"}))
    )
    return path


def test_it_judges_what_the_command_judges(sick: Path, tmp_path: Path) -> None:
    report = doctor.check(from_=sick)
    said = command.check("--from", sick, cwd=tmp_path)
    assert [found.id for found in report.findings] == [
        found["id"] for found in said.report["findings"]
    ]
    assert report.findings[0].id == "torchvision/other-torch"
    assert (report.exit_code, json.loads(doctor.to_json(report))) == (said.code, said.report)


def test_arguments_mean_what_the_options_mean(sick: Path) -> None:
    assert doctor.check(from_=sick, skip="torchvision/*").findings == ()
    assert [found.id for found in doctor.check(from_=sick, only=["candle/*"]).findings] == [
        "requires/torchvision"
    ]
    assert doctor.check(from_=sick, expect="cuda").findings[0].id == "expect/cuda"
    log = doctor.check(from_=sick, log=io.BytesIO(_LOG.encode()))
    assert "triton/c-compiler-missing" in [found.id for found in log.findings]


def test_nothing_is_printed(sick: Path, capfd: pytest.CaptureFixture[str]) -> None:
    doctor.check(from_=sick)
    doctor.diagnose(text=_LOG)
    assert capfd.readouterr() == ("", "")


def test_a_log_is_a_path_a_file_or_a_text(tmp_path: Path) -> None:
    path = tmp_path / "build.log"
    path.write_text(_LOG, encoding="utf-8")
    with path.open("rb") as file:
        reports = [
            doctor.diagnose(path),
            doctor.diagnose(str(path)),
            doctor.diagnose(file),
            doctor.diagnose(text=_LOG),
        ]
    assert {report.findings[0].id for report in reports} == {"triton/c-compiler-missing"}
    assert doctor.diagnose(text="all is well").exit_code == 4


def test_secrets_are_blanked() -> None:
    report = doctor.diagnose(text=_LOG + "HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123456789\n")
    assert "hf_abcdefghij" not in repr(report)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"only": "torch/no-kernel-imag"}, "did you mean torch/no-kernel-image?"),
        ({"fail_on": "warnings"}, "did you mean warning?"),
        ({"tier": "slow"}, "choose from quick, deep"),
        ({"timeout": 0}, "above 0"),
        ({"expect": "cdua"}, "did you mean cuda?"),
        ({"baseline": "/no/such/report"}, "No such file"),
        ({"project": "/no/such/folder"}, "no such folder"),
        ({"from_": "/no/such/file"}, "No such file"),
        ({"log": "/no/such/log"}, "No such file"),
        ({"log": io.StringIO("text")}, "open it for reading bytes"),
    ],
)
def test_a_mistake_is_a_usage_error(wrong: dict[str, object], why: str) -> None:
    with pytest.raises(doctor.UsageError, match=re.escape(why)):
        doctor.check(**wrong)  # type: ignore[arg-type]


def test_an_interpreter_that_does_not_start_is_no_usage_error() -> None:
    with pytest.raises(doctor.DoctorError) as raised:
        doctor.check(python="/no/such/python")
    assert not isinstance(raised.value, doctor.UsageError)


def test_it_runs_checks_from_any_thread_and_again(bare_python: Path, tmp_path: Path) -> None:
    reports: list[doctor.Report] = []

    def look() -> None:
        reports.append(doctor.check(python=bare_python, project=tmp_path, only="flash-attn-build"))

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [[outcome.id for outcome in report.observation.outcomes] for report in reports] == [
        ["torch-runtime", "flash-attn-build"]
    ] * 2


def test_progress_is_told(torch_python: Path, tmp_path: Path) -> None:
    told: list[tuple[str, float]] = []
    doctor.check(
        python=torch_python,
        project=tmp_path,
        only="torch-runtime",
        progress=lambda *said: told.append(said),
    )
    assert any("torch-runtime" in what and seconds > 0 for what, seconds in told)


def test_a_baseline_suppresses_what_it_knows(sick: Path, tmp_path: Path) -> None:
    first = doctor.check(from_=sick)
    (tmp_path / "green.json").write_text(doctor.to_json(first), encoding="utf-8")
    again = doctor.check(from_=sick, baseline=tmp_path / "green.json")
    assert (first.exit_code, again.exit_code) == (1, 0)
    assert [found.suppressed.by for found in again.findings if found.suppressed] == ["baseline"]


def test_an_interrupt_is_passed_on(bare_python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_arguments: object, **_named: object) -> CompletedCommand:
        raise KeyboardInterrupt

    monkeypatch.setattr("doctor.observe.runner.start.run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        doctor.check(python=bare_python, only="flash-attn-build")


def test_the_report_fits_its_schema(sick: Path) -> None:
    jsonschema.validate(
        json.loads(doctor.to_json(doctor.check(from_=sick))), json.loads(documents.schema())
    )


def test_the_package_alone_is_cheap_to_import() -> None:
    told = (
        "import sys, doctor; print([name for name in sys.modules if "
        "name.startswith(('doctor', 'msgspec', 'typer'))])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", told], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "['doctor']"


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="chekc"):
        doctor.chekc  # noqa: B018 - the access is what is tested


@pytest.mark.parametrize("block", _BLOCKS)
def test_the_examples_of_the_documentation_run(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "docs/api.md", "exec"), {})


@pytest.mark.patient
def test_it_is_there_and_typed_in_an_installed_wheel(
    installed_doctor: Path, tmp_path: Path
) -> None:
    python = installed_doctor.with_name("python")
    told = f"import doctor; print(doctor.diagnose(text={_LOG!r}).findings[0].id)"
    ran = subprocess.run(
        [python, "-I", "-c", told], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ran.stdout.strip(), ran.stderr) == ("triton/c-compiler-missing", "")
    assert (environments.site_packages(python) / "doctor" / "py.typed").is_file()


def test_a_device_without_end_is_refused() -> None:
    with pytest.raises(doctor.UsageError, match="a device, which has no end"):
        doctor.diagnose("/dev/zero")
