"""Import the modules of packages in an environment, away from doctor's own process."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from doctor.base.requirements import normalize_name
from doctor.environments.clone import Clone
from doctor.environments.environment import Environment
from doctor.host.reading import METADATA, read_beginning
from doctor.model.checks import Progress
from doctor.observe.installed.distributions import installed
from doctor.observe.scene import Distribution

CHILD = Path(__file__).with_name("import_child.py")
_SECONDS = 300.0
_LIMIT = 64 << 10
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BEGINNING = re.compile(r"[A-Za-z0-9][\w.-]{0,200}")
_RECORD_LIMIT = 16 << 20
FRAMEWORKS = frozenset({"torch", "jax", "tensorflow", "onnxruntime", "onnxruntime-gpu"})
_NEEDS_GPU = re.compile(
    r"libcuda\.so\.1|NVIDIA driver|CUDA[^\n]{0,60}(not available|unavailable|is required)"
    r"|no (CUDA|NVIDIA|GPU)|cudaErrorNoDevice|No CUDA GPUs|driver version is insufficient"
    r"|0 active drivers|failed to map segment|cuInit|libnvidia-ml",
    re.IGNORECASE,
)


class Import(msgspec.Struct, frozen=True, kw_only=True):
    """What came of the import of one module; `error` is the last line, `log` the traceback."""

    package: str
    module: str
    ok: bool
    error: str = ""
    log: str = ""

    @property
    def needs_gpu(self) -> bool:
        """Return whether the failure speaks of a GPU or a driver that is not here."""
        return not self.ok and _NEEDS_GPU.search(self.log) is not None


def modules_of(distribution: Distribution) -> tuple[str, ...]:
    """Return the top-level modules of a distribution, as its RECORD lists them."""
    try:
        with (distribution.folder / "RECORD").open(encoding="utf-8", errors="replace") as file:
            text = file.read(_RECORD_LIMIT)
    except OSError:
        return ()
    found: dict[str, None] = {}
    for line in text.splitlines():
        path = line.rsplit(",", 2)[0].strip('"')
        first, _, rest = path.partition("/")
        name = first if rest == "__init__.py" else ""
        if not rest and first.endswith((".py", ".so", ".pyd")):
            name = first.partition(".")[0]
        if _NAME.fullmatch(name) and not name.startswith("_"):
            found[name] = None
    return tuple(found)


def concerned(
    environment: Environment, moved: Collection[str], *, libraries: bool = False
) -> tuple[tuple[str, str], ...]:
    """Return (package, module) of what a plan may have broken.

    That is what it moved and what asks for that. Where a framework or the shared libraries of one
    may have changed (`libraries`), it is every package that builds on a framework as well.
    """
    here = installed([str(folder) for folder in environment.folders])
    wanted = {normalize_name(name) for name in moved}
    if libraries or any(name in FRAMEWORKS or name.startswith("nvidia-") for name in wanted):
        wanted |= FRAMEWORKS
    found: dict[tuple[str, str], None] = {}
    for distribution in here:
        if distribution.name in wanted or wanted & _asked_by(distribution):
            found |= {(distribution.name, name): None for name in modules_of(distribution)}
    return tuple(found)


def _asked_by(distribution: Distribution) -> set[str]:
    """Return the names of what a distribution asks for without an extra."""
    data = read_beginning(str(distribution.folder / "METADATA"), METADATA) or b""
    headers = data.replace(b"\r\n", b"\n").partition(b"\n\n")[0].decode("utf-8", "replace")
    lines = (
        line.partition(":")[2].strip()
        for line in headers.split("\n")
        if line.startswith("Requires-Dist:") and "extra" not in line
    )
    return {normalize_name(name[0]) for line in lines if (name := _BEGINNING.match(line))}


def try_imports(
    copy: Clone,
    modules: Sequence[tuple[str, str]],
    progress: Progress,
    *,
    seconds: float,
    env: Mapping[str, str] | None = None,
) -> tuple[Import, ...]:
    """Import modules in a clone, and say what came of each."""
    if not modules:
        return ()
    home = copy.scratch.folder / "imports"
    home.mkdir(exist_ok=True)
    result = home / f"{time.monotonic_ns()}.jsonl"
    names = [module for _, module in modules]
    ran = copy.run(
        [str(copy.environment.python), "-u", str(CHILD), str(result), *names],
        timeout=max(min(_SECONDS, seconds), 1.0),
        env=env,
        cwd=home,
        limit=_LIMIT,
        tick=lambda passed: progress(f"importing {', '.join(names[:3])} …", passed),
    )
    answers = _answers(result)
    ending = ran.output[-2000:]
    return tuple(_import(package, name, answers.get(name), ending) for package, name in modules)


def _answers(result: Path) -> dict[str, Mapping[str, object]]:
    found: dict[str, Mapping[str, object]] = {}
    try:
        with result.open(encoding="utf-8", errors="replace") as file:
            lines = file.read(_LIMIT << 6).splitlines()
    except OSError:
        return {}
    for line in lines:
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if isinstance(answer, dict) and isinstance(answer.get("module"), str):
            found[answer["module"]] = answer
    return found


def _import(package: str, module: str, answer: Mapping[str, object] | None, ending: str) -> Import:
    if answer is None:
        return Import(
            package=package, module=module, ok=False, error="the import did not end", log=ending
        )
    return Import(
        package=package,
        module=module,
        ok=answer.get("ok") is True,
        error=str(answer.get("error", ""))[:500],
        log=str(answer.get("log", ""))[: _LIMIT // 4],
    )


def failures(imports: Iterable[Import]) -> dict[str, Import]:
    """Return the imports that failed, by module."""
    return {one.module: one for one in imports if not one.ok}
