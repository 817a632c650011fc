"""What tests share: real environments to examine, and one report of each."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import NoReturn

import msgspec
import pytest
from hypothesis import HealthCheck, settings

from tests import environments
from tests.command import Said, check
from tests.fingerprint import changes, fingerprint
from tests.toolkit import assemble

# Programs are started hundreds of times here: where bytecode is not kept, each would compile all of
# doctor again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell without job control starts what runs behind it (`pytest &`, nohup) without Ctrl-C, and so
# would start every program of a test: https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_12
for _name in ("SIGINT", "SIGHUP", "SIGQUIT"):
    _signal = getattr(signal, _name, None)
    if _signal is not None and signal.getsignal(_signal) is signal.SIG_IGN:
        by_python = _signal is signal.SIGINT
        signal.signal(_signal, signal.default_int_handler if by_python else signal.SIG_DFL)

# A random example that fails in somebody else's change blocks that change: the suite draws the same
# examples each time. `pytest --hypothesis-profile=explore` draws others. The clock is no judge on a
# machine with other work.
settings.register_profile(
    "suite", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("suite")

_PATIENTS = {
    "bare_python",
    "torch_python",
    "nvcc_python",
    "torch251_python",
    "torch260_python",
    "toolkit",
    "clone",
    "healthy",
}

Clone = Callable[..., Path]


class Healthy(msgspec.Struct, frozen=True, kw_only=True):
    """What doctor says about torch 2.13.0, and the paths that it touched in each watched folder."""

    said: Said
    touched: dict[str, list[str]]


def pytest_xdist_auto_num_workers() -> int:
    """Return the cores plus two: many tests wait for something to hang or end."""
    return (os.cpu_count() or 1) + 2


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, which then leaves what was collected alone.

    Every worker collects thousands of tests that live as long as it does.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


# A worker takes a file at a time: one that takes a minute and comes last leaves the others idle.
_LONGEST_FIRST = (
    "checks/test_inductor_faults.py",
    "rig/test_healthy_gpus.py",
    "rig/test_faulty_gpus.py",
    "checks/test_candle_releases.py",
    "fleet/test_engines_slurm.py",
    "patients/test_releases.py",
    "rig/test_driver.py",
    "fleet/test_network.py",
    "gallery/test_gallery.py",
    "patients/test_healthy.py",
    "patients/test_clones.py",
    "patients/test_fix.py",
    "patients/test_torch.py",
    "rig/test_canaries.py",
    "patients/test_ring_attention.py",
    "rig/test_one_faulty_gpu.py",
    "patients/test_flash_attn.py",
    "patients/test_advice.py",
    "checks/test_flash_attn_unit.py",
    "promises/test_wheel.py",
)


def _turn(item: pytest.Item) -> int:
    name = "/".join(item.path.parts[-2:])
    return _LONGEST_FIRST.index(name) if name in _LONGEST_FIRST else len(_LONGEST_FIRST)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that examines a real environment, and put the longest files first."""
    items.sort(key=_turn)
    for item in items:
        if _PATIENTS & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.patient)


def missing(what: str) -> NoReturn:
    """Skip for want of something that is no part of Python.

    Fail where the run promised to bring it.
    """
    if os.environ.get("DOCTOR_REQUIRE_PATIENTS"):
        pytest.fail(f"{what} (DOCTOR_REQUIRE_PATIENTS is set)")
    pytest.skip(what)


def _patient(name: str) -> Path:
    try:
        return environments.patient(name)
    except environments.UnavailableError as error:
        missing(str(error))


@pytest.fixture(scope="session")
def needs() -> Callable[[str], str]:
    """Return a function that finds a command, and skips or fails (see `missing`) without it."""

    def need(command: str) -> str:
        return shutil.which(command) or missing(f"{command} is not on PATH")

    return need


@pytest.fixture(scope="session")
def bare_python() -> Path:
    """Return the interpreter of an environment that holds nothing."""
    return _patient("bare")


@pytest.fixture(scope="session")
def torch_python() -> Path:
    """Return the interpreter of an environment with torch 2.13.0."""
    return _patient("torch")


@pytest.fixture(scope="session")
def nvcc_python() -> Path:
    """Return the interpreter of an environment with torch 2.13.0 and nvcc from pip."""
    return _patient("nvcc")


@pytest.fixture(scope="session")
def torch260_python() -> Path:
    """Return the interpreter of an environment with torch 2.6.0."""
    return _patient("torch260")


@pytest.fixture(scope="session")
def torch251_python() -> Path:
    """Return the interpreter of an environment with torch 2.5.1."""
    return _patient("torch251")


@pytest.fixture(scope="session")
def healthy(torch_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Healthy:
    """Return what doctor says about `torch_python`, all quick canaries included."""
    folders, env = furnish(tmp_path_factory.mktemp("healthy"), torch_python)
    before = {name: fingerprint(folder) for name, folder in folders.items()}
    tried = {**env, "TORCHINDUCTOR_VEC_ISA_OK": None}
    said = check("--python", torch_python, cwd=folders["project"], env=tried)
    touched = {name: changes(before[name], fingerprint(folder)) for name, folder in folders.items()}
    left = [path.name for path in Path(env["TMPDIR"]).iterdir()]
    return Healthy(said=said, touched={**touched, "temporary": left})


def furnish(folder: Path, python: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """Make a home folder and a project.

    Return them and the patient's folder, and the settings that make doctor live there.
    """
    home, project, temporary = folder / "home", folder / "project", folder / "temporary"
    for made in (home / ".cache", home / ".config", project, temporary):
        made.mkdir(parents=True)
    (project / "pyproject.toml").write_text(
        '[project]\nname = "mine"\nversion = "1"\n', encoding="utf-8"
    )
    (project / "train.py").write_text("import torch\n", encoding="utf-8")
    folders = {"home": home, "project": project, "patient": python.parents[1]}
    return folders, {"HOME": str(home), "TMPDIR": str(temporary)}


@pytest.fixture(scope="session")
def toolkit(nvcc_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a CUDA toolkit that compiles and links, assembled from `nvcc_python`."""
    return assemble(nvcc_python, tmp_path_factory.mktemp("toolkit") / "cuda")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return doctor's own wheel, freshly built."""
    return environments.build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def installed_doctor(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the command `doctor` of an environment that holds the wheel."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    try:
        environments.make(folder, (str(wheel),))
    except environments.UnavailableError as error:
        missing(str(error))
    return environments.interpreter(folder).with_name("doctor")


@pytest.fixture
def clone() -> Iterator[Clone]:
    """Return a function that makes an environment that a test may break."""
    made: list[Path] = []

    def make(name: str, *more: str) -> Path:
        try:
            made.append(environments.variant(name, *more))
        except environments.UnavailableError as error:
            missing(str(error))
        return made[-1]

    yield make
    for python in made:
        environments.remove(python)
