"""A project's own packages come from the folders of wheels that it names, and from nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

from doctor.model.fixes import Command, Step
from doctor.model.plans import Plan
from doctor.observe.installed.distributions import installed
from doctor.repair.links import by_links, links_of, of_index
from doctor.repair.merging import named_in


def test_a_package_of_a_wheelhouse_is_never_taken_from_an_index(tmp_path: Path) -> None:
    wheels, site = tmp_path / "wheels", tmp_path / "site"
    info = site / "labutils-0.6.dist-info"
    info.mkdir(parents=True)
    wheels.mkdir()
    for name in ("acme_core-0.4-py3-none-any.whl", "labutils-0.6-py3-none-any.whl"):
        (wheels / name).touch()
    (info / "METADATA").write_text("Name: labutils\nVersion: 0.6\n")
    address = {"url": (wheels / "labutils-0.6-py3-none-any.whl").as_uri(), "archive_info": {}}
    (info / "direct_url.json").write_text(json.dumps(address))
    links = links_of([], {one.name: one for one in installed([str(site)])})
    assert links.folders == (str(wheels),)
    argv = ("uv", "pip", "install", "--python", "/e/bin/python", "acme-core==0.4", "idna==3.10")
    plan = by_links(Plan(title="", steps=(Step(command=Command(argv=argv)),)), links)
    assert [step.command.argv[5:] for step in plan.steps if step.command] == [
        ("idna==3.10",),
        ("--no-index", "--find-links", str(wheels), "acme-core==0.4"),
    ]
    assert of_index(plan) == {"idna"}
    assert named_in(plan) == {"acme-core": "==0.4", "idna": "==3.10"}
    assert by_links(plan, links) == plan
