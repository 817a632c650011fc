"""The picture of the README, and the recording behind it."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import msgspec
import pytest

from doctor.catalog import loading as catalog
from doctor.pipeline.assess import assess
from doctor.pipeline.snapshots import read_observation
from doctor.report.terminal import picture as terminal_picture
from doctor.site import generate
from tests.report import reports


def test_the_picture_shows_what_doctor_says() -> None:
    """It is drawn anew with `python -m doctor.site.generate`."""
    assert generate.stale() == []


def test_a_stale_picture_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--check` gives 1 and says what to do."""
    monkeypatch.setattr(generate, "picture", lambda: "<svg><text>other</text></svg>")
    assert generate.main(["--check"]) == 1
    assert "docs/terminal.svg is stale" in capsys.readouterr().err
    assert generate.main(["--what"]) == 2


def test_a_picture_is_the_same_at_every_call_and_loads_nothing() -> None:
    """It can be compared, and a page that shows it asks no other host."""
    picture = terminal_picture.render(reports.sick(), "doctor check")
    assert picture == terminal_picture.render(reports.sick(), "doctor check")
    assert "@font-face" not in picture
    assert "url(http" not in picture
    ET.fromstring(picture)


def test_the_moving_picture_shows_the_check_in_its_order() -> None:
    """Lines appear from top to bottom; without motion all of them stand there."""
    moving = generate.live()
    ET.fromstring(moving)
    times = [float(one) for one in re.findall(r'style="--at: ([\d.]+)s"', moving)]
    assert times == sorted(times)
    assert (times[0], times[-1]) == (0.0, 10.0)
    assert "prefers-reduced-motion: no-preference" in moving
    assert "url(http" not in moving
    words = terminal_picture.words(moving)
    order = [
        words.index(one) for one in ("machine", "other-torch", "inductor-compile", "recording")
    ]
    assert order == sorted(order)


def test_the_picture_breaks_long_lines_and_loses_nothing() -> None:
    """A terminal would break them, too."""
    words = re.sub(
        r"\s|&#160;", "", terminal_picture.words(terminal_picture.render(reports.sick(), "doctor"))
    )
    assert "uvpipinstall--python/home/ada/project/.venv/bin/python--no-deps" in words


def test_the_recording_is_a_sick_machine_and_names_nobody() -> None:
    """The findings of `doctor demo` have commands, and show no path of the recording machine."""
    seen = read_observation(generate.RECORDING)
    report = assess(msgspec.structs.replace(seen, recording=True), catalog.load())
    assert report.exit_code == 1
    assert all(found.fixes for found in report.findings if found.severity.value == "error")
    assert not re.search(
        r"/(root|home|work|Users)\b", generate.RECORDING.read_text(encoding="utf-8")
    )


def test_machine_formats_do_not_pay_for_the_terminal() -> None:
    """Rich costs a tenth of a second, and JSON does without."""
    code = "import sys, doctor.report.structured.json_document; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_finding_of_the_readme_has_a_command() -> None:
    finding = generate.readme().partition("<!-- finding")[2].partition("<!-- /finding")[0]
    assert "uv pip install " in finding
