"""Metal: macOS and chip on made-up Macs, and nothing elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.model.facts import State
from doctor.model.vocabulary import is_known
from doctor.observe.probes import metal
from doctor.observe.scene import ProbeInput
from tests.hosts import facts_of, made_host, values

_PLIST = """<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0"><dict>
	<key>ProductBuildVersion</key>
	<string>24G84</string>
	<key>ProductVersion</key>
	<string>15.6.1</string>
</dict></plist>
"""
_FILE = "/System/Library/CoreServices/SystemVersion.plist"


def test_elsewhere_nothing_is_run(tmp_path: Path) -> None:
    host = made_host(
        tmp_path, {_FILE: _PLIST}, dict.fromkeys(("sysctl", "sw_vers"), f"touch {tmp_path}/started")
    )
    facts = facts_of(metal.probe(ProbeInput(host=host)))
    assert {fact.state for fact in facts.values()} == {State.ABSENT}
    assert not (tmp_path / "started").exists()
    assert [name for name in facts if not is_known(name)] == []


@pytest.mark.parametrize(
    ("chip", "family"),
    [
        ("Apple M1", "apple7"),
        ("Apple M2 Pro", "apple8"),
        ("Apple M3 Max", "apple9"),
        ("Apple M4", "apple9"),
        ("Apple M5 Pro", "apple10"),
    ],
)
def test_a_mac(tmp_path: Path, chip: str, family: str) -> None:
    host = made_host(
        tmp_path,
        {_FILE: _PLIST},
        {"sysctl": f"echo '{chip}'", "sw_vers": "echo 1.0"},
        platform="darwin",
    )
    assert values(facts_of(metal.probe(ProbeInput(host=host)))) == {
        "metal.macos": "15.6.1",
        "metal.chip": chip,
        "metal.family": family,
    }


@pytest.mark.parametrize(
    ("chip", "state"),
    [
        ("Apple M12", State.UNKNOWN),
        ("Apple processor", State.UNKNOWN),
        ("Intel(R) Core(TM) i9-9880H", State.ABSENT),
    ],
)
def test_a_chip_outside_the_table(tmp_path: Path, chip: str, state: State) -> None:
    facts = facts_of(
        metal.probe(
            ProbeInput(
                host=made_host(tmp_path, tools={"sysctl": f"echo '{chip}'"}, platform="darwin")
            )
        )
    )
    assert (facts["metal.chip"].value, facts["metal.family"].state) == (chip, state)


def test_sw_vers_stands_in_for_the_file(tmp_path: Path) -> None:
    host = made_host(
        tmp_path, {_FILE: "bplist00 garbage"}, {"sw_vers": "echo 14.7"}, platform="darwin"
    )
    assert facts_of(metal.probe(ProbeInput(host=host)))["metal.macos"].value == "14.7"


@pytest.mark.parametrize("body", ["exit 1", "head -c 300 /dev/zero; exit 1"])
def test_what_is_not_told_is_unknown(tmp_path: Path, body: str) -> None:
    facts = facts_of(
        metal.probe(
            ProbeInput(
                host=made_host(tmp_path, tools={"sysctl": body, "sw_vers": body}, platform="darwin")
            )
        )
    )
    assert {fact.state for fact in facts.values()} == {State.UNKNOWN}
