"""Imports only go down; what is dear, impure or foreign stays in the one place that it was given."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.toml import parsed
from tests.promises.sources import ROOT, imports, modules, name_of

FLOORS: tuple[set[str], ...] = (
    {"doctor", "errors", "bundled", "globs", "literals", "near", "text", "toml", "values", "versions"},
    {"refusals", "scrub"},
    {"manifests", "patterns", "share", "specifiers", "templates", "watching"},
    {"model"},
    {"host", "holes", "scripts"},
    {"catalog", "conditions", "contract", "devices", "elf", "schemas"},
    {"fatbins", "symbols"},
    {"derive", "expecting", "gating", "match", "fixes", "distributions", "linking", "modules", "checkouts", "cargo", "pasted", "asking"},
    {"compare", "targets", "probes", "runner", "lint", "reporters"},
    {"cached"},
    {"probing", "checking", "pages"},
    {"observe"},
    {"examine"},
    {"baseline"},
    {"cli", "api", "generate"},
    {"__main__"},
)
"""From the ground up; neighbours on a floor do not know each other. `contract` is doctor.probes.contract."""

ONLY_IN: dict[str, tuple[str, ...]] = {
    "ahocorasick_rs": ("doctor.literals", "doctor.pasted.reading", "doctor.scrub.secrets"),
    "re2": ("doctor.patterns",),
    "pynvml": ("doctor.host.nvml_child",),
    "rich": ("doctor.cli", "doctor.reporters.terminal"),
    # Between processes of doctor's own.
    "socket": ("doctor.host.guard", "doctor.host.nursery", "doctor.host.warden", "doctor.host.warden_child"),
    "subprocess": ("doctor.host.passing", "doctor.host.process", "doctor.host.warden", "doctor.host.guard", "doctor.fixes.shell"),
    "tomllib": ("doctor.toml",),
    "tomli": ("doctor.toml",),
    "typer": ("doctor.cli",),
    "yaml": ("doctor.catalog",),
    **dict.fromkeys(("http", "ssl", "urllib.request", "multiprocessing"), ()),
}
"""What is imported in these modules (and those below them) only."""

_SHOWN = ("doctor.api", "doctor.errors", "doctor.model.report")
"""What `import doctor` names for a type checker, and imports only once it is asked for."""

_PURE = {
    *("compare", "conditions", "derive", "devices", "expecting", "fixes", "gating", "globs", "holes", "literals"),
    *("manifests", "match", "model", "near", "pages", "pasted", "patterns", "reporters", "schemas", "specifiers", "versions"),
}
_IMPURE = {"os", "pathlib", "platform", "random", "shutil", "socket", "subprocess", "tempfile", "threading", "time"}
_MODULES = modules("doctor")


def _unit(module: str) -> str:
    parts = module.split(".")
    return "doctor" if len(parts) == 1 else "contract" if parts[1:3] == ["probes", "contract"] else parts[1]


def _floor(unit: str) -> int:
    found = [number for number, units in enumerate(FLOORS) if unit in units]
    assert found, f"doctor.{unit} has no floor: name it in FLOORS, above all that it imports"
    return found[0]


def _ours(path: Path) -> Iterator[tuple[int, str]]:
    found = ((line, name) for line, name in imports(path) if name.split(".")[0] == "doctor")
    return (each for each in found if name_of(path) != "doctor" or each[1] not in _SHOWN)


def test_imports_only_go_down() -> None:
    assert not [wrong for path in _MODULES for wrong in _upwards(path)]


def _upwards(path: Path) -> list[str]:
    unit = _unit(name_of(path))
    package = "probes" if unit == "contract" else unit
    # `import doctor.probes.contract` also runs doctor/probes/__init__.py, which is empty; a package may look at its own parts.
    others = {(line, _unit(name)) for line, name in _ours(path) if _unit(name) not in (unit, package)}
    return [
        f"{path.relative_to(ROOT)}:{line} imports {other}"
        for line, other in sorted(others)
        if _floor(other) >= _floor(unit) and not (other == "probes" and _only_contract(path, line))
    ]


@pytest.mark.parametrize("module", ONLY_IN["socket"])
def test_sockets_lead_to_processes_of_doctor_alone(module: str) -> None:
    text = (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    assert not re.search(r"\b(connect|connect_ex|create_connection|create_server|bind|accept|AF_INET6?|getaddrinfo)\b", text)
    assert set(re.findall(r"\bsocket\.socket\((\w*=?)", text)) <= {"fileno="}


def _only_contract(path: Path, line: int) -> bool:
    return all(name in ("doctor.probes", "doctor.probes.contract") for where, name in _ours(path) if where == line)


def test_what_has_one_place_stays_there() -> None:
    assert not [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in _MODULES
        for line, name in imports(path)
        for guarded, places in ONLY_IN.items()
        if (name == guarded or name.startswith(guarded + ".")) and not any(_within(name_of(path), place) for place in places)
    ]


def _within(module: str, place: str) -> bool:
    return module == place or module.startswith((place + ".", place + "_"))


def test_what_judges_and_what_renders_looks_at_nothing_else() -> None:
    pure = [path for path in _MODULES if _unit(name_of(path)) in _PURE]
    assert pure
    assert not [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in pure
        for line, name in imports(path)
        if name.split(".")[0] in _IMPURE - _allowed(path)
    ]


def _allowed(path: Path) -> set[str]:
    # Quoting for the Windows console is a function of the module subprocess; a check says in which file it stands.
    return {"doctor.fixes.shell": {"subprocess"}, "doctor.model.checks": {"pathlib"}}.get(name_of(path), set())


def test_every_import_of_others_is_declared() -> None:
    project = parsed((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.match(r"[\w-]+", line)[0].lower() for line in project["dependencies"]}  # type: ignore[index]
    modules_of = {"ahocorasick-rs": "ahocorasick_rs", "google-re2": "re2", "nvidia-ml-py": "pynvml", "pyyaml": "yaml"}
    known = {modules_of.get(name, name) for name in declared}
    used = {name.split(".")[0] for path in _MODULES for _, name in imports(path)} - {"doctor", "tomllib"} - set(sys.stdlib_module_names)
    beside = {"guard", "removal", "trees"}  # of doctor/host/warden_child.py, which runs outside the package
    assert (used - known - beside, known - used - {"psutil", "pynvml", "tomli"}) == (set(), set())


def test_no_floor_names_what_is_gone() -> None:
    units = {_unit(name_of(path)) for path in _MODULES}
    assert {unit for floor in FLOORS for unit in floor} - {"generate"} <= units
