"""Programs and data beside site-packages that name a place which is gone."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import cast

import msgspec

from doctor.environments.environment import environment_at
from doctor.host import Host
from doctor.model.facts import present
from doctor.observe.installed.distributions import installed
from doctor.repair.beside import beside, own_steps
from doctor.repair.ending import Ending
from doctor.repair.examination import Bench
from doctor.repair.failures import failure_of
from doctor.repair.requests import Original

_KERNEL = "share/jupyter/kernels/python3/kernel.json"


def test_a_program_and_a_kernel_of_a_place_that_is_gone(tmp_path: Path) -> None:
    prefix, site = tmp_path / "env", tmp_path / "env/lib/site-packages"
    files = {
        "bin/lab": "#!/gone/env/bin/python\nimport lab\n",
        "bin/far": '#!/bin/sh\n\'\'\'exec\' "/gone/a b/python" "$0" "$@"\n',
        "bin/well": f"#!{sys.executable}\n",
        _KERNEL: json.dumps({"argv": ["/gone/bin/python", "-m", "kernel"]}),
    }
    for name, file in (
        ("lab", "bin/lab"),
        ("far", "bin/far"),
        ("kern", _KERNEL),
        ("w", "bin/well"),
    ):
        info = site / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
        (info / "RECORD").write_text(f"{name}.py,,\n../../{file},sha256=x,1\n")
        (prefix / file).parent.mkdir(parents=True, exist_ok=True)
        (prefix / file).write_text(files[file])
    real = environment_at(Path(sys.executable), Host())
    around = msgspec.structs.replace(
        real, root=prefix, folders=(site,), python=prefix / "bin/python"
    )
    here = {one.name: one for one in installed([str(site)])}

    def found(text: str) -> list[str]:
        return [one.package.name for one in beside(failure_of(text), here, around)]

    assert found(f"[Errno 2] No such file or directory: '{prefix}/bin/lab'") == ["lab"]
    assert found("./run.sh: 3: far: not found") == ["far"]
    assert found("./run.sh: 3: well: not found") == []
    assert found("FileNotFoundError: No such file: '/gone/bin/python'") == ["kern"]
    assert found("lab: permission denied: '/gone/bin/python'") == []


def test_an_editable_package_comes_from_where_it_lies(tmp_path: Path) -> None:
    info, place = tmp_path / "site/lab-1.0.dist-info", tmp_path / "work/lab"
    for folder in (info, place):
        folder.mkdir(parents=True)
    (info / "METADATA").write_text("Name: lab\nVersion: 1.0\n")
    address = {"url": (tmp_path / "old").as_uri(), "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(address))
    (place / "pyproject.toml").write_text('[project]\nname = "lab"\n')
    (one,) = installed([str(tmp_path / "site")])
    facts = {"python.executable": present("/e/bin/python", "sys")}

    def last() -> list[str]:
        steps = own_steps(one, facts, [tmp_path / "work"])
        return [step.command.argv[-1] for step in steps if step.command]

    assert last() == [str(place)]
    (tmp_path / "old").mkdir()
    assert last() == [str(tmp_path / "old")]


def test_a_program_that_cannot_be_started_says_so() -> None:
    ended = Ending(code=None, text="[Errno 2] No such file", started=False)
    assert ended.words == "does not start"
    assert (
        Ending(code=0, command="x").words_beside(ended)
        == "exit code of `x`: none before, 0 afterwards"
    )


def test_other_failures_that_a_try_brought_are_told() -> None:
    bench = Bench(cast("Original", None), lambda _what, _seconds: None)
    bench.in_vain |= {
        "with a 1.0": "ImportError: x",
        "with b 1.0": "ImportError: x",
        "with c 1.0": "ValueError: y",
    }
    told, other = bench.words_in_vain("it fails: ValueError: y")
    assert told == "The program also fails with each of these: a 1.0; b 1.0; c 1.0."
    assert other == "It fails otherwise with a 1.0: ImportError: x"
