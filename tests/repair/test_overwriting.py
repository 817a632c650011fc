"""Files of a package in whose place lie those of another one."""

from __future__ import annotations

import base64
import hashlib
import sys
from pathlib import Path

from doctor.environments.environment import Environment, environment_at
from doctor.host import Host
from doctor.model.facts import present, value_of
from doctor.repair.overwriting import overwriting

_LOST = """\
Traceback (most recent call last):
  File "program.py", line 5, in <module>
AttributeError: module 'wide.parts' has no attribute 'thin'
"""


def _install(site: Path, name: str, files: dict[str, str], *asks: str) -> None:
    folder = site / f"{name.replace(chr(45), chr(95))}-1.0.dist-info"
    folder.mkdir(parents=True)
    lines = [f"Name: {name}", "Version: 1.0", *(f"Requires-Dist: {one}" for one in asks)]
    (folder / "METADATA").write_text("Metadata-Version: 2.1\n" + "\n".join(lines) + "\n")
    record = []
    for path, text in files.items():
        place = site / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        record.append(f"{path},sha256={digest.decode()},{len(text)}")
    (folder / "RECORD").write_text("\n".join(record) + "\n")


def _environment(root: Path, site: Path) -> Environment:
    real = environment_at(Path(sys.executable), Host())
    return Environment(
        root=root,
        python=real.python,
        folders=(site,),
        kind="venv",
        base=real.base,
        version=real.version,
    )


def test_name_what_to_install_again_and_what_nothing_asks_for(tmp_path: Path) -> None:
    """The sizes are alike, so the hashes alone tell whose file it is."""
    site = tmp_path / "site-packages"
    _install(site, "wide-full", {"wide/__init__.py": "", "wide/core.so": "full"})
    _install(site, "wide-lite", {"wide/__init__.py": "", "wide/core.so": "lite"})
    found = overwriting(_LOST, {}, _environment(tmp_path, site))
    assert value_of(found, "program.overwritten_packages") == ["wide-full==1.0"]
    assert value_of(found, "program.overwriting_spare") == ["wide-lite"]
    assert value_of(found, "program.overwritten") == [
        "wide/core.so of wide-full==1.0 is that of wide-lite==1.0"
    ]


def test_keep_what_another_package_or_the_project_asks_for(tmp_path: Path) -> None:
    """Of two that lost their files, the one that the project asks for comes back."""
    site = tmp_path / "site-packages"
    _install(site, "wide-full", {"wide/core.so": "full"})
    _install(site, "wide-gpu", {"wide/core.so": "gpus"})
    _install(site, "wide-lite", {"wide/core.so": "lite"})
    _install(site, "user", {"user.py": "#"}, "wide-lite")
    facts = {"project.pinned": present({"wide-full": "1.0"}, "project")}
    found = overwriting(_LOST, facts, _environment(tmp_path, site))
    assert value_of(found, "program.overwritten_packages") == ["wide-full==1.0"]
    assert value_of(found, "program.overwriting_spare") == ["wide-gpu"]


def test_pass_over_what_the_program_does_not_name(tmp_path: Path) -> None:
    """Two packages that share a file are nobody's fault where another one fails."""
    site = tmp_path / "site-packages"
    _install(site, "wide-full", {"wide/core.so": "full"})
    _install(site, "wide-lite", {"wide/core.so": "lite"})
    text = _LOST.replace("wide.parts", "other")
    found = overwriting(text, {}, _environment(tmp_path, site))
    assert all(fact.value is None for fact in found.values())
