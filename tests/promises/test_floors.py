"""Imports only go down.

What is dear, impure or foreign stays in the one place that it was given.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.base.toml import parse_toml
from tests.promises.sources import ROOT, imports, modules, name_of

FLOORS = (
    *(
        "base",
        "model",
        "redact",
        "host",
        "catalog",
        "facts",
        "timelines",
        "events",
        "logs",
        "observe",
        "analyzers",
        "judge",
        "fixes",
        "environments",
        "planning",
        "pipeline",
        "repair",
        "fleet",
        "report",
        "lint",
        "site",
    ),
    *("api", "cli", "__main__"),
)
"""The packages of doctor from the ground up: each imports only those before it."""

ONLY_IN: dict[str, tuple[str, ...]] = {
    "ahocorasick_rs": (
        "doctor.base.literals",
        "doctor.events.reading",
        "doctor.events.surroundings",
        "doctor.logs.reading",
        "doctor.redact.secrets",
    ),
    **dict.fromkeys(("pypi_simple", "requests"), ("doctor.timelines.build",)),
    "re2": ("doctor.base.patterns",),
    "resolvelib": ("doctor.planning.resolver", "doctor.planning.requests_solver"),
    **dict.fromkeys(("anyio", "mcp", "mcp_types"), ("doctor.cli.mcp_tools",)),
    "pynvml": ("doctor.host.nvml_child",),
    "rich": ("doctor.cli", "doctor.report.terminal"),
    # Between processes of doctor's own.
    "socket": (
        "doctor.host.guard",
        "doctor.host.fork_server",
        "doctor.host.supervisor",
        "doctor.host.supervisor_child",
    ),
    "subprocess": (
        "doctor.fleet.archive_main",  # runs on a node, without the package
        "doctor.fleet.engines.drivers.on_ray",  # likewise
        "doctor.host.passthrough",
        "doctor.host.process",
        "doctor.host.supervisor",
        "doctor.host.guard",
        "doctor.fixes.shell",
        "doctor.repair.import_child",  # runs in the target
        "doctor.timelines.build.standard_library",
    ),
    "tomllib": ("doctor.base.toml",),
    "tomli": ("doctor.base.toml",),
    "typer": ("doctor.cli",),
    "yaml": ("doctor.catalog.loading", "doctor.fleet.engines.manifests"),
    **dict.fromkeys(("http", "ssl", "urllib.request", "multiprocessing"), ()),
}
"""What is imported in these modules (and those below them) only."""

_SHOWN = ("doctor.api", "doctor.base.errors", "doctor.model.report")
"""What `import doctor` names for a type checker, and imports only once it is asked for."""

_PURE = (
    "analyzers",
    "base",
    "catalog.schemas",
    "events",
    "facts",
    "fixes",
    "judge",
    "logs",
    "model",
    "observe.manifests",
    "report",
    "site",
)
_LOOK_THEMSELVES = (
    "base.bundled",
    "base.refusals",
    "base.time_limit",
    "judge.baseline",
    "site.generate",
)
"""Among the pure ones.

What finds the files of doctor itself, asks this process for its limits, or reads what somebody
named.
"""
_IMPURE = {
    "os",
    "pathlib",
    "platform",
    "random",
    "shutil",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
    "time",
}
_MODULES = modules("doctor")


def _unit(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "doctor"


def _floor(unit: str) -> int:
    if unit == "doctor":
        return -1
    assert unit in FLOORS, (
        f"doctor.{unit} has no floor: name it in FLOORS, above all that it imports"
    )
    return FLOORS.index(unit)


def _ours(path: Path) -> Iterator[tuple[int, str]]:
    found = ((line, name) for line, name in imports(path) if name.split(".")[0] == "doctor")
    return (each for each in found if name_of(path) != "doctor" or each[1] not in _SHOWN)


def test_imports_only_go_down() -> None:
    assert not [wrong for path in _MODULES for wrong in _upwards(path)]


def _upwards(path: Path) -> list[str]:
    unit = _unit(name_of(path))
    others = {(line, _unit(name)) for line, name in _ours(path) if _unit(name) != unit}
    return [
        f"{path.relative_to(ROOT)}:{line} imports {other}"
        for line, other in sorted(others)
        if _floor(other) >= _floor(unit)
    ]


def test_nothing_lies_loose_beside_the_packages() -> None:
    assert {path.name for path in (ROOT / "doctor").glob("*.py")} == {
        "__init__.py",
        "__main__.py",
        "api.py",
    }


@pytest.mark.parametrize("module", ONLY_IN["socket"])
def test_sockets_lead_to_processes_of_doctor_alone(module: str) -> None:
    text = (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    assert not re.search(
        r"\b(connect|connect_ex|create_connection|create_server|bind|accept|AF_INET6?|getaddrinfo)\b",
        text,
    )
    assert set(re.findall(r"\bsocket\.socket\((\w*=?)", text)) <= {"fileno="}


def test_what_has_one_place_stays_there() -> None:
    assert not [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in _MODULES
        for line, name in imports(path)
        for guarded, places in ONLY_IN.items()
        if (name == guarded or name.startswith(guarded + "."))
        and not any(_within(name_of(path), place) for place in places)
    ]


def _within(module: str, place: str) -> bool:
    return module == place or module.startswith(place + ".")


def test_what_judges_and_what_renders_looks_at_nothing_else() -> None:
    pure = [
        path for path in _MODULES if any(_within(name_of(path), f"doctor.{room}") for room in _PURE)
    ]
    pure = [
        path
        for path in pure
        if not any(_within(name_of(path), f"doctor.{room}") for room in _LOOK_THEMSELVES)
    ]
    assert pure
    assert not [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in pure
        for line, name in imports(path)
        if name.split(".")[0] in _IMPURE - _allowed(path)
    ]


def _allowed(path: Path) -> set[str]:
    # Quoting for the Windows console is a function of the module subprocess; a check says in which
    # file it stands.
    return {"doctor.fixes.shell": {"subprocess"}, "doctor.model.checks": {"pathlib"}}.get(
        name_of(path), set()
    )


def test_every_import_of_others_is_declared() -> None:
    project = parse_toml((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.match(r"[\w-]+", line)[0].lower() for line in project["dependencies"]}  # type: ignore[index]
    modules_of = {
        "ahocorasick-rs": "ahocorasick_rs",
        "google-re2": "re2",
        "nvidia-ml-py": "pynvml",
        "pyyaml": "yaml",
    }
    known = {modules_of.get(name, name) for name in declared}
    used = (
        {name.split(".")[0] for path in _MODULES for _, name in imports(path)}
        - {"doctor", "tomllib"}
        - set(sys.stdlib_module_names)
    )
    beside = {
        "guard",
        "process_tree",
        "removal",
    }  # of doctor/host/supervisor_child.py, which runs outside the package
    beside |= {"jsonschema", "ruamel"}  # development dependencies of doctor lint and doctor fmt
    beside |= {"ClusterShell"}  # the extra `fleet`
    beside |= {"kubernetes", "urllib3"}  # the extra `fleet-k8s`
    beside |= {"ray"}  # of the Python of a cluster, which runs a driver
    beside |= {"elftools", "pypi_simple", "remotezip", "requests"}  # the extra `timelines`
    beside |= {"anyio", "mcp", "mcp_types"}  # the extra `mcp`
    assert (used - known - beside, known - used - {"psutil", "pynvml", "tomli"}) == (set(), set())


def test_no_floor_names_what_is_gone() -> None:
    assert set(FLOORS) == {_unit(name_of(path)) for path in _MODULES} - {"doctor"}
