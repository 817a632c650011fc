"""What the pages and templates tell people to run is what doctor understands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from doctor.cli.templates import PLACES, filled
from tests.command import doctor
from tests.promises.sources import ROOT

_COMMAND = re.compile(r"\bdoctor\"? (check (?:[^\n'\"&|]|'[^'\n]*')*)")
_HEALTHY = ROOT / "fixtures" / "observations" / "healthy-without-gpu.json"
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
SNIPPETS = [
    (found[1], found[2])
    for found in re.finditer(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
]


def commands(text: str) -> list[list[str]]:
    """Return the arguments of each `doctor check` in a text, its folded lines put together."""
    unfolded = re.sub(r"\s*\\?\n +(?=--)", " ", text)
    return [shlex.split(found[1]) for found in _COMMAND.finditer(unfolded)]


def test_every_snippet_in_yaml_can_be_read() -> None:
    read = [yaml.safe_load(text) for kind, text in SNIPPETS if kind == "yaml"]
    assert len(read) == 5
    assert all(read)


def test_the_action_is_used_with_inputs_and_outputs_that_it_has() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    used = yaml.safe_load(SNIPPETS[1][1])
    assert set(used[0]["with"]) <= set(action["inputs"])
    assert set(re.findall(r"steps\.doctor\.outputs\.([\w-]+)", SNIPPETS[1][1])) <= set(
        action["outputs"]
    )
    table = "".join(line for line in PAGE.splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`([a-z-]+)`", table.replace("`doctor check`", ""))) == set(
        action["inputs"]
    )


@pytest.mark.parametrize(
    "text",
    [
        *(pytest.param(filled(kind), id=kind) for kind in sorted(PLACES)),
        pytest.param(PAGE, id="page"),
    ],
)
def test_every_command_is_understood(text: str, tmp_path: Path) -> None:
    for arguments in commands(text):
        reports = [
            word.partition("=")[2]
            for word in arguments
            if re.match(r"[a-z]+=.*\.\w+$", word) and not word.startswith("gpu")
        ]
        local = [word.replace("/opt/", "") for word in arguments]
        said = doctor(*local, "--from", str(_HEALTHY), cwd=tmp_path)
        assert said.code in (0, 1), f"{shlex.join(arguments)}: {said.err}"
        assert all((tmp_path / Path(path).name).is_file() for path in reports)


def test_every_template_and_most_of_the_page_gives_a_command() -> None:
    assert all(commands(filled(kind)) for kind in PLACES)
    assert len(commands(PAGE)) >= 4
