"""What a plan should leave as it is."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from doctor.environments.environment import Environment, environment_at
from doctor.environments.inventory import own_check
from doctor.host import Host
from doctor.model.facts import present
from doctor.model.fixes import Command, Step
from doctor.model.plans import Change, Plan
from doctor.repair.limits import departures, stale_metadata, within_limits


def _house(root: Path, dependencies: str) -> Environment:
    """Make an editable install whose metadata ask for small<2, and a small of release 3."""
    site, project = root / "site-packages", root / "project"
    for name, version, lines in (("lab", "0.9", "Requires-Dist: small<2\n"), ("small", "3.0", "")):
        folder = site / f"{name}-{version}.dist-info"
        folder.mkdir(parents=True)
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{lines}"
        (folder / "METADATA").write_text(text)
    told = {"url": project.as_uri(), "dir_info": {"editable": True}}
    (site / "lab-0.9.dist-info" / "direct_url.json").write_text(json.dumps(told))
    project.mkdir()
    text = f'[project]\nname = "lab"\nversion = "0.9"\ndependencies = [{dependencies}]\n'
    (project / "pyproject.toml").write_text(text)
    real = environment_at(Path(sys.executable), Host())
    return Environment(
        root=root,
        python=real.python,
        folders=(site,),
        kind="venv",
        base=real.base,
        version=real.version,
    )


def test_an_editable_install_asks_for_what_its_project_says_today(tmp_path: Path) -> None:
    """Stale metadata are told with the command that renews them, and are no complaint."""
    house = _house(tmp_path, '"small>=2"')
    assert own_check(house, Host()) == ()
    (told,) = stale_metadata(house, {"python.executable": present("/env/bin/python", "")})
    assert told.startswith("lab is an editable install")
    assert told.endswith(f"-m pip install --no-deps -e {tmp_path / 'project'}")


def test_metadata_of_today_are_not_told(tmp_path: Path) -> None:
    """The spelling of a requirement makes no difference; its complaint stays."""
    house = _house(tmp_path, '"small < 2"')
    assert [*stale_metadata(house, {})] == []
    assert "small" in own_check(house, Host())[0]


def _plan(*words: str, changes: tuple[Change, ...] = ()) -> Plan:
    argv = ("uv", "pip", "install", "--python", "/env/bin/python", *words)
    return Plan(title=words[0], steps=(Step(command=Command(argv=argv)),), changes=changes)


def test_no_index_is_asked_for_an_editable_install(tmp_path: Path) -> None:
    """Where it has a source of its own, somebody else may have that name in an index."""
    plans = (_plan("lab>=1"), _plan("small==1.0"))
    assert within_limits(plans, {}, _house(tmp_path, "")) == [plans[1]]


def test_a_plan_that_keeps_the_pins_comes_first(tmp_path: Path) -> None:
    """The other one says what it breaks; a package that is absent has its pin as well."""
    facts = {
        "project.pinned": present({"flask": "2.2.2"}, ""),
        "project.asked": present({"responses": "0.18.0"}, ""),
        "project.ranges": present({"numpy": "<2"}, ""),
    }
    new = Change(name="flask", before="2.2.2", after="3.1.0")
    kept = Change(name="numpy", before="1.26.0", after="1.26.4")
    over = Change(name="numpy", before="1.26.0", after="2.1.0")
    come = Change(name="responses", before=None, after="0.25.0")
    assert departures(_plan("x", changes=(kept,)), facts) == ()
    broken = _plan("x", changes=(new, over, come))
    assert departures(broken, facts) == ("flask==2.2.2", "numpy<2", "responses==0.18.0")
    plans = within_limits((broken, _plan("y", changes=(kept,))), facts, _house(tmp_path, ""))
    assert [one.title for one in plans] == ["y", "x"]
    assert "flask==2.2.2, numpy<2" in plans[1].notes[0]
