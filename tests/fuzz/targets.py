"""What doctor reads and did not write, each as a function of bytes."""

from __future__ import annotations

import contextlib
import io
import json
import socket
import tempfile
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, cast

import msgspec
import yaml

from doctor.analyzers import explanations
from doctor.analyzers.case import Case
from doctor.api import judged_file
from doctor.base import literals, patterns
from doctor.base import requirements as specifiers
from doctor.base.errors import DoctorError
from doctor.base.text import neutralize_commands, sanitize
from doctor.catalog import loading
from doctor.catalog import loading as catalogs
from doctor.cli.app import app
from doctor.events.owner import failure_lines, owning_event
from doctor.events.reading import events_of
from doctor.events.statuses import ending
from doctor.events.surroundings import context_of, surrounding_facts
from doctor.host import CompletedCommand, Host, Termination
from doctor.host.fork_server import ForkServer
from doctor.host.supervisor import Supervisor
from doctor.judge.baseline import read_baseline
from doctor.judge.comparison import compare
from doctor.judge.suppressions import Suppressions, suppress
from doctor.logs import reading
from doctor.logs.environment import environment_facts
from doctor.logs.log import log_facts
from doctor.logs.questions import question
from doctor.logs.skeleton import skeleton
from doctor.model.catalog import Catalog
from doctor.model.facts import present
from doctor.model.findings import Finding
from doctor.model.observation import Log, Observation
from doctor.model.outcomes import Outcome, Verdict
from doctor.model.scales import Confidence, Severity
from doctor.observe import descriptions
from doctor.observe.binaries import symbols
from doctor.observe.binaries.elf import Elf, ElfError
from doctor.observe.binaries.fatbins import architectures
from doctor.observe.cargo.lock import read_lock
from doctor.observe.cargo.toolchain import find_toolchain
from doctor.observe.installed import modules
from doctor.observe.installed.distributions import extras_of, installed, record_of, requirements
from doctor.observe.installed.records import rows
from doctor.observe.manifests import kind_of
from doctor.observe.probes import (
    amd,
    intel,
    limits,
    machine,
    own_modules,
    pci,
    python,
    remains,
    resources,
)
from doctor.observe.runner.verdicts import judged
from doctor.observe.scene import Interpreter, ProbeInput
from doctor.pipeline.assess import assess
from doctor.pipeline.logs import observation_from_logs, read_log
from doctor.pipeline.policy import Policy
from doctor.pipeline.snapshots import read_observation
from doctor.redact.report import without_any_secrets
from doctor.redact.secrets import without_secrets
from doctor.report.structured import json_document as json_reporter
from doctor.report.terminal import document as terminal
from doctor.timelines.demangling import demangled
from doctor.timelines.symbol_data import Data as SymbolData
from doctor.timelines.symbols import exporters, owner_of

Target = Callable[[bytes], None]

_FOUND = tuple(
    Finding(
        id=name,
        target="interpreter",
        title="t",
        severity=severity,
        confidence=Confidence.LOW,
        message="",
    )
    for name, severity in (
        ("torchvision/other-torch", Severity.ERROR),
        ("torch/legacy-gpu-dropped", Severity.NOTE),
    )
)
_OF_OTHERS = Observation(
    facts={
        name: present(value, "")
        for name, value in {
            "torch.version": "2.0.1",
            "torch.release": "2.0.1",
            "torch.build": "cuda",
            "python.version": "3.11.7",
            "python.executable": "/venv/bin/python",
            "package.flash-linear-attention.version": "0.6.0",
        }.items()
    },
    logs=(Log(source="log", lines=("sum is off by 3",)),),
)
"""What a catalog of somebody's own is tried on."""

_MANIFESTS = (
    "pyproject.toml",
    "requirements.txt",
    "constraints.txt",
    "environment.yml",
    "Dockerfile",
    "Pipfile",
    "pixi.toml",
    "Cargo.toml",
    "uv.lock",
)
_READERS = tuple(kind for name in _MANIFESTS if (kind := kind_of("", name)) is not None)
_MACHINE = (
    "/proc/cpuinfo",
    "/proc/modules",
    "/proc/version",
    "/proc/sys/kernel/osrelease",
    "/etc/os-release",
    "/proc/mounts",
    "/proc/1/cgroup",
    "/proc/driver/nvidia/version",
    "/proc/driver/nvidia/params",
    "/proc/devices",
    "/proc/self/status",
    "/sys/bus/pci/devices/0000:01:00.0/vendor",
    "/sys/bus/pci/devices/0000:01:00.0/class",
    "/sys/bus/pci/devices/0000:01:00.0/device",
    "/sys/class/kfd/kfd/topology/nodes/1/properties",
    "/sys/module/nvidia/version",
    "/sys/module/amdgpu/version",
    "/sys/class/drm/card0/device/uevent",
    "/etc/nv_tegra_release",
    "/proc/device-tree/model",
)
_ABOUT_PYTHON = (limits, own_modules, python, remains)
_PROBES = (amd, intel, machine, pci, resources)


@cache
def _folder() -> Path:
    """Return a folder of this process, in memory where that is possible."""
    memory = Path("/dev/shm")
    return Path(
        _kept(
            tempfile.TemporaryDirectory(
                prefix="doctor-fuzz-", dir=memory if memory.is_dir() else None
            )
        )
    )


_held: list[tempfile.TemporaryDirectory[str]] = []


def _kept(folder: tempfile.TemporaryDirectory[str]) -> str:
    _held.append(folder)
    return folder.name


@cache
def _known() -> Catalog:
    return catalogs.load()


def _file(name: str, data: bytes) -> Path:
    path = _folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _interpreter() -> Interpreter:
    site = str(_folder() / "site-packages")
    return Interpreter(
        executable="/venv/bin/python",
        version="3.12.7",
        implementation="cpython",
        tag="cp312",
        bits=64,
        free_threaded=False,
        prefix="/venv",
        base_prefix="/venv",
        path=(site,),
        site_packages=(site,),
        include="/venv/include",
        platform="linux",
        machine="x86_64",
        stdlib="/usr/lib/python3.12",
    )


def elf(data: bytes) -> None:
    """Read everything that an ELF file can be asked for, each by itself."""
    with contextlib.suppress(ElfError):
        file = Elf(data)
        for ask in _QUESTIONS_TO_ELF:
            with contextlib.suppress(ElfError):
                ask(file)


def _definitions(file: Elf) -> None:
    table = symbols.Exports(file)
    for name in (b"puts", b"f", b""):
        table.has(name)


_QUESTIONS_TO_ELF: tuple[Callable[[Elf], object], ...] = (
    lambda file: (
        file.cut_off,
        file.soname,
        file.needed,
        file.rpath,
        file.runpath,
        file.symbol_count,
    ),
    Elf.needed_versions,
    Elf.version_owners,
    Elf.defined_versions,
    lambda file: sum(1 for _ in file.symbols()),
    lambda file: file.section(".rodata"),
    lambda file: list(symbols.required_symbols(file)),
    _definitions,
    architectures,
)


def requirement(data: bytes) -> None:
    """Read a line of METADATA, ask whether it applies, and whether a version meets it."""
    with contextlib.suppress(specifiers.InvalidRequirement):
        line = specifiers.read_line(_text(data))
        specifiers.meets("2.4.1+cu121", line.specifier)
        specifiers.applies(
            line.marker, {"python_version": "3.12", "sys_platform": "linux"}, {"cuda"}
        )


def marker(data: bytes) -> None:
    """Ask whether a marker holds."""
    with contextlib.suppress(specifiers.InvalidRequirement):
        specifiers.applies(
            _text(data),
            {"python_version": "3.12", "python_full_version": "3.12.7", "sys_platform": "linux"},
        )


def clauses(data: bytes) -> None:
    """Ask whether a version meets a specifier, one before and one after a blank."""
    version, _, specifier = _text(data).partition(" ")
    with contextlib.suppress(specifiers.InvalidRequirement):
        specifiers.meets(version, specifier)


def manifests(data: bytes) -> None:
    """Look for what a project asks for in a manifest; the first byte says of which kind."""
    for pin in _READERS[(data or b"\0")[0] % len(_READERS)].read(_text(data[1:])):
        assert pin.line > 0


def lock(data: bytes) -> None:
    """Read a Cargo.lock, and where its packages come from."""
    found = read_lock(Host(env={}, cwd=_folder()), _file("Cargo.lock", data))
    for each in (package for packages in found.packages.values() for package in packages):
        assert all(
            isinstance(told, str | None) for told in (each.origin, each.url, each.rev, each.commit)
        )


def toolchain(data: bytes) -> None:
    """Find the toolchain that a workspace and rustup's settings choose.

    A NUL stands between the files.
    """
    parts = [*data.split(b"\0"), b"", b""]
    home = _folder() / "rust"
    for name, content in zip(
        ("work/rust-toolchain.toml", "work/rust-toolchain", "home/settings.toml"),
        parts,
        strict=False,
    ):
        _file(f"rust/{name}", content)
    for tool in ("rustc", "cargo", "rustup"):
        _file(f"rust/bin/{tool}", b"").chmod(0o755)
    find_toolchain(
        Host(
            env={"PATH": str(home / "bin"), "RUSTUP_HOME": str(home / "home"), "HOME": str(home)},
            cwd=home,
        ),
        home / "work",
    )


def metadata(data: bytes) -> None:
    """Read the METADATA and the RECORD of a distribution, a NUL between them."""
    described, _, record = data.partition(b"\0")
    for name, content in ("METADATA", described), ("RECORD", record):
        _file(f"site-packages/torch-2.13.0.dist-info/{name}", content)
    interpreter = _interpreter()
    for each in installed(interpreter.path):
        requirements(each, interpreter, extras_of(each))
        for _ in rows(record_of(each)):
            pass


def constants(data: bytes) -> None:
    """Read the constants of a Python file of the patient."""
    modules.constants(Host(env={}, cwd=_folder()), _file("version.py", data))


def description(data: bytes) -> None:
    """Read what an interpreter says of itself, and look for its modules and limits by that."""
    told = descriptions.parse_description(descriptions.BEGIN + _text(data) + descriptions.END)
    if told is not None:
        with contextlib.suppress(DoctorError):
            found = descriptions.interpreter_of(told, "/venv/bin/python")
            root = _folder() / "nothing"
            machine = Host(root=root, env={"PATH": "/nowhere"}, cwd=_folder(), platform="linux")
            for probe in _ABOUT_PYTHON:
                for _ in probe.probe(ProbeInput(host=machine, interpreter=found)):
                    pass


def environment(data: bytes) -> None:
    """Read the text of collect_env."""
    environment_facts(_text(data).split("\n"))


def log(data: bytes) -> None:
    """Read a log, tell who complains in it, and begin a known issue of it, which has to be YAML."""
    read = reading.read(io.BytesIO(data), "log", ())
    log_facts(read)
    line = owning_event(events_of(read))
    question(line, read.lines)
    if line is not None:
        assert isinstance(yaml.safe_load(skeleton(read.lines, line, date(2026, 1, 1))), dict)


def events(data: bytes) -> None:
    """Find the events, the owner and the context of a log, each within its lines."""
    read = reading.read(io.BytesIO(data), "log", ())
    found = events_of(read)
    owner = owning_event(found)
    assert owner is None or owner.at in failure_lines(found, owner)
    for event in found:
        assert 0 <= event.at < len(read.lines)
        assert event.first <= event.last < len(read.lines)
    ending(found)
    context = context_of(read)
    assert len(context.commands) <= 30
    case = Case(read, found, context, surrounding_facts(read), loading.load())
    for explanation in explanations(case, strict=True):
        assert explanation.detection.title


def long_log(data: bytes) -> None:
    """Read a log of more than a mebibyte that repeats the same bytes between other lines."""
    piece = data[:2000] + b"\n" + b"filling\n" * 200
    read: Log = reading.read(
        io.BytesIO(piece * ((1 << 20) // len(piece) + 2)), "log", ("Error", "CUDA")
    )
    assert sum(map(len, read.lines)) < 32 << 20


def diagnosis(data: bytes) -> None:
    """Judge a log with the whole catalog, and write the report."""
    read = read_log("log", io.BytesIO(data), _known())
    _report(assess(observation_from_logs((read,)), _known(), command="diagnose"))


def snapshot(data: bytes) -> None:
    """Judge a snapshot with the whole catalog, and write the report."""
    with contextlib.suppress(DoctorError):
        _report(assess(read_observation(_file("snapshot.json", data)), _known()))


def _report(report: Any) -> None:
    shared = without_any_secrets(report)
    assert json.loads(json_reporter.render(shared))["exit_code"] == report.exit_code
    terminal.render(shared, verbosity=1, width=80, colour=True, unicode=True)


def difference(data: bytes) -> None:
    """Compare two reports or snapshots, a NUL between them."""
    one, _, two = data.partition(b"\0")
    with contextlib.suppress(DoctorError):
        before, after = (
            judged_file(_file(name, content), _known(), Policy())
            for name, content in (("one.json", one), ("two.json", two))
        )
        compare(before, after, Severity.ERROR)


def baseline(data: bytes) -> None:
    """Read the findings of an earlier report, and count which of two findings are new."""
    with contextlib.suppress(DoctorError):
        known = read_baseline(_file("baseline.json", data))
        ended = suppress(_FOUND, Suppressions(baseline=known), open_ids=())
        assert len(ended.decisions) == len(_FOUND)
        assert len(ended.fixed) <= len(known)


def catalog(data: bytes) -> None:
    """Read a known issue or a table of somebody's own, and judge an environment by it alone."""
    for kind, folder in (("issues/torch/own", "own-issues"), ("compat/own", "own-tables")):
        _file(f"{folder}/{kind}.yaml", data)
        with contextlib.suppress(catalogs.CatalogError):
            own = catalogs._of_others(_folder() / folder)
            _report(assess(_OF_OTHERS, own, command="diagnose"))


def configuration(data: bytes) -> None:
    """Read the settings of a project."""
    import click
    import typer

    folder = _file("project/pyproject.toml", data).parent
    (folder / ".git").mkdir(exist_ok=True)
    with (
        contextlib.suppress(DoctorError, click.ClickException, click.exceptions.Exit),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        typer.main.get_command(app)(["config", "--project", str(folder)], standalone_mode=False)


def result(data: bytes) -> None:
    """Read the file that a check leaves behind."""
    base = Outcome(id="check", target="interpreter", verdict=Verdict.BROKEN)
    path = _file("result.json", data)
    for ran in (
        CompletedCommand(ended=Termination.ITSELF, code=0),
        CompletedCommand(ended=Termination.TIMEOUT),
    ):
        msgspec.json.encode(judged(base, ran, path, 10.0).outcomes)


def news(data: bytes) -> None:
    """Listen to a fork server that says anything; an empty line stands between two messages."""
    listening = ForkServer("mark", cast("Supervisor", None))
    try:
        listening._theirs.setblocking(False)
        with contextlib.suppress(OSError):
            for message in data.split(b"\n\n"):
                listening._theirs.send(message or b"\n")
        listening._theirs.shutdown(socket.SHUT_RDWR)
        listening._listen()
        assert not listening.has_forked
    finally:
        listening.close()


def host(data: bytes) -> None:
    """Look at a machine whose kernel says anything; a NUL stands between its files."""
    root = _folder() / "machine"
    for path, content in zip(_MACHINE, [*data.split(b"\0"), *[b""] * len(_MACHINE)], strict=False):
        _file(f"machine{path}", content)
    scene = ProbeInput(host=Host(root=root, env={"PATH": "/nowhere"}, cwd=root, platform="linux"))
    for probe in _PROBES:
        for _ in probe.probe(scene):
            pass


def pattern(data: bytes) -> None:
    """Compile a pattern of somebody's catalog and search a text with it, a line feed between them.

    `required_literals` must not lose a match.
    """
    asked, _, text = _text(data).partition("\n")
    patterns.compile_pattern.cache_clear()  # a catalog has some thousands, this target millions
    with contextlib.suppress(patterns.PatternError):
        search = patterns.compile_pattern(asked)
        wanted = () if patterns.pattern_error(asked) else literals.required_literals(asked)
        assert search.search(text) is None or not wanted or any(one in text for one in wanted), (
            asked,
            text,
            wanted,
        )


def secrets(data: bytes) -> None:
    """Blank what may be a secret, and break what may be a command."""
    text = _text(data)
    without_secrets(text)
    neutralize_commands(sanitize(text))


def mangled(data: bytes) -> None:
    """Read a mangled C++ name, and look it up."""
    name = "_Z" + _text(data)
    text = demangled(name)
    assert text is None or len(text) < 1 << 16
    exporters(name)
    owner_of(name)


def symbol_file(data: bytes) -> None:
    """Look names up in a file of exported symbols."""
    with contextlib.suppress(ValueError):
        file = SymbolData(data)
        for name in ("f", "_ZN3c105ErrorC2ENS_14SourceLocationESs"):
            assert all(entry.package < len(file.packages) for entry in file.entries(name))


TARGETS: dict[str, Target] = {
    each.__name__.replace("_", "-"): each
    for each in (
        elf,
        requirement,
        marker,
        clauses,
        manifests,
        lock,
        toolchain,
        metadata,
        constants,
        description,
        environment,
        log,
        events,
        long_log,
        diagnosis,
        snapshot,
        difference,
        baseline,
        catalog,
        configuration,
        result,
        news,
        host,
        pattern,
        secrets,
        mangled,
        symbol_file,
    )
}
CORPUS = Path(__file__).parent / "corpus"


def corpus(name: str) -> Iterator[Path]:
    """Yield the files that a target begins with."""
    yield from sorted((CORPUS / name).iterdir())
