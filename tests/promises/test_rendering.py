"""A report reads well, whatever it is about: no open placeholder, nothing twice, no vain fix."""

from __future__ import annotations

import msgspec
import pytest

from doctor.catalog.loading import load
from doctor.model.catalog import Catalog
from doctor.model.facts import present
from doctor.model.findings import Evidence, EvidenceKind
from doctor.model.fixes import Command, Fix, Step
from tests import rendering

_LOG = "nvcc fatal   : Unsupported gpu architecture 'compute_120'"


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load()


def _sources(catalog: Catalog) -> list[rendering.Source]:
    return [*rendering.examples(catalog), *rendering.fixtures()]


def test_a_sample_of_examples_and_fixtures_reads_well(catalog: Catalog) -> None:
    """Judge a few; `python -m tests.rendering` judges all."""
    sample = _sources(catalog)[::100]
    assert len(sample) > 15
    for name, source in sample:
        assert not [*rendering.faults(rendering.judged(source, catalog), catalog)], name


@pytest.mark.dear
def test_every_example_and_fixture_reads_well(catalog: Catalog) -> None:
    for name, source in _sources(catalog):
        assert not [*rendering.faults(rendering.judged(source, catalog), catalog)], name


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"title": "{torch.version} is broken"}, "is not filled"),
        ({"message": "It is made for CUDA ?."}, "question mark"),
        ({"title": "No module named ''"}, "where a value is missing"),
        ({"evidence": ("a line", "A  line")}, "stands there twice"),
        ({"argv": ("pip", "install", "torch=={log.wanted}")}, "is not filled in"),
        ({"argv": ("docker", "run", "<image>")}, "<image> is not explained"),
        ({"argv": ("apt-get", "install", "x")}, "windows has no apt-get"),
    ],
)
def test_each_fault_is_found(catalog: Catalog, change: dict[str, object], fault: str) -> None:
    report = rendering.judged(_LOG, catalog)
    observation = msgspec.structs.replace(
        report.observation,
        facts={**report.observation.facts, "host.os": present("windows", "a test")},
    )
    finding = msgspec.structs.replace(report.findings[0], fixes=())
    if "argv" in change:
        step = Step(command=Command(argv=change["argv"]))  # type: ignore[arg-type]
        fix = Fix(kind="configure", title="Do it", steps=(step,))
        changed = msgspec.structs.replace(finding, fixes=(fix,))
    elif "evidence" in change:
        texts: tuple[str, ...] = change["evidence"]  # type: ignore[assignment]
        lines = tuple(Evidence(kind=EvidenceKind.LOG, text=one, source="log") for one in texts)
        changed = msgspec.structs.replace(finding, evidence=lines)
    else:
        changed = msgspec.structs.replace(finding, **change)
    worse = msgspec.structs.replace(report, observation=observation, findings=(changed,))
    assert any(fault in one for one in rendering.faults(worse, catalog))


def test_a_log_of_windows_gets_no_command_of_linux(catalog: Catalog) -> None:
    log = 'File "C:\\venv\\lib\\site-packages\\x.py"\nRuntimeError: Could not load libtorchcodec. '
    report = rendering.judged(f"{log}Likely causes", catalog)
    (found,) = [one for one in report.findings if one.id == "torchcodec/libraries-not-loaded"]
    words = {word for fix in found.fixes for command in fix.commands for word in command.argv}
    assert found.fixes
    assert not words & {"apt-get", "dnf", "sudo"}


def test_fixes_for_two_package_managers_say_for_which(catalog: Catalog) -> None:
    text = 'docker: could not select device driver "" with capabilities: [[gpu]].'
    report = rendering.judged(text, catalog)
    (found,) = [one for one in report.findings if one.id == "container/nvidia-toolkit-missing"]
    by_program = {
        command.argv[0]: " ".join(fix.use_if)
        for fix in found.fixes[:2]
        for command in fix.commands
        if "install" in command.argv
    }
    assert {"apt-get", "dnf"} == {*by_program}
    assert "apt" in by_program["apt-get"]
    assert "dnf" in by_program["dnf"]
