"""What a person reads.

Whole screens held against files, and the promises that each of them keeps.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.cells import cell_len
from rich.text import Text

from doctor.model.facts import unknown
from doctor.model.findings import Place
from doctor.model.observation import Observation
from doctor.model.outcomes import Verdict
from doctor.model.scales import Severity
from doctor.report.terminal import document as terminal
from tests.report import reports

GOLDENS = Path(__file__).parents[2] / "fixtures" / "reports"

SCREENS: dict[str, tuple[str, dict[str, Any]]] = {
    "healthy-80": ("healthy", {}),
    "healthy-80-colour": ("healthy", {"colour": True}),
    "no-gpu-80": ("no-gpu", {}),
    "no-gpu-80-ascii": ("no-gpu", {"unicode": False}),
    "sick-80": ("sick", {}),
    "sick-80-colour": ("sick", {"colour": True}),
    "sick-80-ascii-quiet": ("sick", {"unicode": False, "verbosity": -1}),
    "sick-120": ("sick", {"width": 120}),
    "sick-120-verbose": ("sick", {"width": 120, "verbosity": 1}),
    "cargo-80": ("cargo", {}),
    "empty-80": ("empty", {}),
}


def render(name: str, **look: Any) -> str:
    """Render one of the reports; plain, 80 columns wide and with Unicode unless told otherwise."""
    return terminal.render(
        reports.REPORTS[name](),
        **{"verbosity": 0, "width": 80, "colour": False, "unicode": True, **look},
    )


@pytest.mark.parametrize("screen", SCREENS)
def test_screen(screen: str) -> None:
    """A screen is the one that somebody looked at.

    DOCTOR_WRITE_GOLDENS=1 writes it anew, to be looked at again.
    """
    name, look = SCREENS[screen]
    golden, text = GOLDENS / f"{screen}.txt", render(name, **look)
    if os.environ.get("DOCTOR_WRITE_GOLDENS"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_every_golden_is_a_screen() -> None:
    """No golden outlives its screen."""
    assert {path.stem for path in GOLDENS.glob("*.txt")} == set(SCREENS)


@pytest.mark.parametrize("name", ["healthy", "no-gpu"])
def test_a_machine_without_fault_fits_on_one_screen(name: str) -> None:
    """80x24, with two lines left for the prompt."""
    assert len(render(name).splitlines()) <= 22


def copied(line: str) -> bool:
    """Whether a line is one to be copied whole: a command, code, or an address."""
    return re.sub(r"^\d+\. ", "", line.lstrip()).startswith(
        ("uv ", "sudo ", "/home/", "boxes", "apt-get", "export ", "- ", "+ ", "source", "https://")
    )


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("verbosity", [-1, 0, 1])
@pytest.mark.parametrize("name", reports.REPORTS)
def test_only_what_is_copied_is_longer_than_the_screen(
    name: str, width: int, verbosity: int
) -> None:
    """Everything else is wrapped."""
    for line in render(name, width=width, verbosity=verbosity).splitlines():
        assert cell_len(line) <= width or copied(line), line


@pytest.mark.parametrize("name", reports.REPORTS)
@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_colour_adds_nothing_but_colour(name: str, verbosity: int) -> None:
    """Without colour the same words stand in the same places."""
    coloured = render(name, colour=True, verbosity=verbosity)
    plain = render(name, verbosity=verbosity)
    assert [Text.from_ansi(line).plain.rstrip() for line in coloured.split("\n")] == plain.split(
        "\n"
    )
    assert "\x1b[" in coloured
    assert "\x1b" not in plain


@pytest.mark.parametrize("name", reports.REPORTS)
@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_ascii_is_ascii(name: str, verbosity: int) -> None:
    """A terminal that knows no Unicode is shown none."""
    assert render(name, unicode=False, verbosity=verbosity).isascii()


def test_the_environment_of_doctor_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown depends on the arguments alone."""
    before = render("sick", colour=True)
    for name, value in {
        "NO_COLOR": "1",
        "COLUMNS": "30",
        "TERM": "dumb",
        "FORCE_COLOR": "1",
    }.items():
        monkeypatch.setenv(name, value)
    assert render("sick", colour=True) == before


def test_a_command_is_on_a_line_of_its_own() -> None:
    """It can be copied as it is, however long it is."""
    lines = [line.strip() for line in render("sick", width=40).splitlines()]
    assert (
        "uv pip install --python /home/ada/project/.venv/bin/python --no-deps 'toyvision==0.22.*'"
        in lines
    )


def test_windows_is_given_its_own_commands() -> None:
    """The commands are for the target's shell."""
    report = reports.report(reports.wrong_torch(), facts=reports.facts(host__os="windows"))
    text = terminal.render(report, verbosity=1, width=120, colour=False, unicode=True)
    assert "$env:TOY = 'a b'" in text


def test_what_must_be_known_before_a_fix_is_said() -> None:
    """Root, a restart, a change of the user's own files, a workaround and a risk are named."""
    text = " ".join(render("sick", verbosity=1).split())
    for words in (
        "needs sudo",
        "reboot afterwards",
        "risky",
        "changes your source",
        "workaround",
    ):
        assert words in text


def test_a_recording_says_so_first_and_last() -> None:
    """Nobody takes it for the own machine, not even in the quiet form."""
    lines = render("sick").splitlines()
    assert "RECORDING" in lines[0]
    assert "recording" in lines[-1]
    assert "recording" in render("sick", verbosity=-1).splitlines()[-1]


def test_an_interrupted_run_says_so_first_and_last() -> None:
    """What is missing is not taken for healthy."""
    lines = render("cargo").splitlines()
    assert "INTERRUPTED" in lines[0]
    assert "interrupted" in lines[-1]


def test_nothing_checked_is_not_called_healthy() -> None:
    """Without findings and without checks the screen says that nothing ran."""
    text = terminal.render(reports.report(), verbosity=0, width=80, colour=False, unicode=True)
    assert "no check ran" in text
    assert "the checks passed" not in text


def test_nothing_to_judge_names_the_way_on() -> None:
    """Exit code 4 is explained."""
    text = render("empty")
    assert "Nothing to judge" in text
    assert "--python" in text
    assert "doctor demo" in text


def test_an_unrecognised_log_is_nothing_to_judge() -> None:
    """`diagnose` speaks of the log and not of an interpreter."""
    report = reports.report(exit_code=4, command="diagnose", facts={}, targets=())
    text = terminal.render(report, verbosity=0, width=80, colour=False, unicode=True)
    assert "recognises nothing in this log" in text


def test_old_knowledge_is_called_old() -> None:
    """The age counts from the newest source to the day of the examination."""
    report = reports.report(taken="2027-11-21T09:30:00+00:00")
    assert "months old" in terminal.render(
        report, verbosity=0, width=80, colour=False, unicode=True
    )


def test_many_devices_share_a_line() -> None:
    """Eight GPUs on which a check passed are one line."""
    outcomes = [
        reports.outcome("toy-add", device=device)
        for device in ("cpu", *(f"cuda:{n}" for n in range(8)))
    ]
    text = terminal.render(
        reports.report(outcomes=tuple(outcomes)), verbosity=0, width=80, colour=False, unicode=True
    )
    assert "cpu, cuda:0-7" in text
    assert text.count("toy-add") == 1


def test_what_is_unknown_says_why() -> None:
    """A fact that could not be told is not shown as absent."""
    report = reports.report(
        facts=reports.facts(
            nvidia__gpus=None, nvidia__driver_version=unknown("NVML gave no answer within 5 s")
        )
    )
    assert "NVIDIA driver not known: NVML gave no answer within 5 s" in terminal.render(
        report, verbosity=0, width=120, colour=False, unicode=True
    )


def test_a_gpu_without_a_driver_is_said() -> None:
    """It is neither no GPU nor no fault."""
    report = reports.report(
        facts=reports.facts(
            nvidia__gpus=None, nvidia__driver_version=None, nvidia__gpu_present=True
        )
    )
    assert "an NVIDIA GPU, but no driver answers" in terminal.render(
        report, verbosity=0, width=120, colour=False, unicode=True
    )


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_has_words(verdict: Verdict) -> None:
    """Colour is never the only carrier of meaning, and neither is a mark."""
    report = reports.report(outcomes=(reports.outcome("toy-add", verdict.value, reason="because"),))
    line = next(
        line
        for line in terminal.render(
            report, verbosity=1, width=120, colour=False, unicode=False
        ).splitlines()
        if "toy-add" in line
    )
    words = {"timed_out": "timed out", "passed": "ok"}
    assert words.get(verdict.value, verdict.value) in line


@pytest.mark.parametrize("severity", Severity)
def test_every_severity_has_its_word(severity: Severity) -> None:
    """The word stands beside the mark."""
    text = terminal.render(
        reports.report(reports.lesser(severity, "toy/one")),
        verbosity=-1,
        width=80,
        colour=False,
        unicode=True,
    )
    assert f"{severity.value} " in text


def test_an_observation_alone_can_be_shown() -> None:
    """No fact is needed."""
    empty = msgspec.structs.replace(reports.report(), observation=Observation())
    assert terminal.render(empty, verbosity=1, width=80, colour=False, unicode=True)


def test_links_are_only_for_terminals_that_know_them() -> None:
    """An address becomes a link where that is asked for."""
    assert "\x1b]8;" in render("sick", colour=True, links=True, verbosity=1)
    assert "\x1b]8;" not in render("sick", colour=True, verbosity=1)


def with_told(*told: Any) -> str:
    """Render checks that tell something beside their verdict, each on a device of its own."""
    outcomes = tuple(
        reports.outcome("toy-compile", device=f"cuda:{number}", data={"told": each})
        for number, each in enumerate(told)
    )
    text = terminal.render(
        reports.report(outcomes=outcomes), verbosity=0, width=80, colour=False, unicode=True
    )
    return text[text.index("toy-compile") :]


def test_what_a_check_tells_stands_beside_it_or_below() -> None:
    """Once, where all devices tell the same; else with the device."""
    assert (
        with_told(["first 12.3 s, again 0.1 s"])
        .splitlines()[0]
        .endswith("first 12.3 s, again 0.1 s")
    )
    assert with_told(["first", "and again"]).splitlines()[1:3] == ["     first", "     and again"]
    assert with_told(["the same"], ["the same"]).count("the same") == 1
    text = with_told(["first 12.3 s"], ["first 2.1 s", "and more"], [])
    assert [line.strip() for line in text.splitlines()[1:4]] == [
        "cuda:0: first 12.3 s",
        "cuda:1: first 2.1 s",
        "cuda:1: and more",
    ]


@pytest.mark.parametrize(
    "told",
    [None, "text", 7, {"a": 1}, [], [["nested"]], ["\x1b[31mred\x07", "x" * 9999], ["line"] * 500],
)
def test_what_a_check_tells_may_be_anything(told: Any) -> None:
    """It comes from a program of somebody else's environment."""
    text = with_told(told, ["sane"])
    assert "\x1b" not in text
    assert len(text.splitlines()) < 30
    assert "cuda:1: sane" in text


def test_checks_that_are_skipped_for_one_reason_share_a_line() -> None:
    outcomes = tuple(
        reports.outcome(f"toy-{number}", "skipped", device=None, reason="torch is not installed")
        for number in range(4)
    )
    brief, wordy = (
        terminal.render(
            reports.report(outcomes=outcomes),
            verbosity=level,
            width=100,
            colour=False,
            unicode=True,
        )
        for level in (0, 1)
    )
    assert "and 3 more checks: torch is not installed" in brief
    assert [name for name in ("toy-0", "toy-1", "toy-2", "toy-3") if name in brief] == ["toy-0"]
    assert all(f"toy-{number}" in wordy for number in range(4))


def test_many_checks_still_fit_on_a_screen() -> None:
    """Those that passed and those that had nothing to look at share lines.

    With -v each has its own.
    """
    passed = [reports.outcome(f"toy-{number}") for number in range(9)]
    skipped = reports.outcome("toy-cuda", "skipped", device="cuda", reason="no driver")
    red = reports.outcome("toy-red", "failed", reason="2 + 2 is 5")
    outcomes = (*passed, skipped, red)
    brief, wordy = (
        terminal.render(
            reports.report(outcomes=outcomes), verbosity=level, width=80, colour=False, unicode=True
        )
        for level in (0, 1)
    )
    assert sum("toy-" in line for line in brief.splitlines()) == 3
    for words in ("toy-0, toy-1", "cpu, 11.2 s", "2 + 2 is 5", "skipped: toy-cuda on cuda"):
        assert words in brief
    assert sum(line.lstrip(" ✓–✗").startswith("toy-") for line in wordy.splitlines()) == 11
    assert "no driver" in wordy


def test_a_finding_says_which_line_of_the_project_it_is_about() -> None:
    found = reports.wrong_torch(place=Place(path="requirements.txt", line=3))
    text = terminal.render(reports.report(found), verbosity=0, width=80, colour=False, unicode=True)
    assert "  -->      requirements.txt:3" in text.splitlines()


def test_what_the_tables_do_not_reach_is_a_line_for_each_package() -> None:
    ends = {"of": "torch", "here": "2.16.0", "ends": "2.15.0", "read": "2026-11-21"}
    later = {
        "compat__torch__beyond": ends,
        "compat__torch-python__beyond": ends,
        "compat__triton__beyond": None,
    }
    text = terminal.render(
        reports.report(facts=reports.facts(**later)),
        verbosity=0,
        width=80,
        colour=False,
        unicode=True,
    )
    text = " ".join(text.split())
    assert (
        "the tables torch and torch-python end at torch 2.15.0 (read on 2026-11-21); "
        "nothing is known of 2.16.0"
    ) in text
    assert text.count("nothing is known of") == 1
