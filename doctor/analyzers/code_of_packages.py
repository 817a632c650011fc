"""Say whose code failed, where a small package stops in its own code and nothing else explains it.

The calls of a package are written for the releases of its time. Where Python itself refuses what
the package's own line does (an attribute, an argument), its newest release is the first thing to
try, and the releases of its time the second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.utils import canonicalize_name

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inside_packages import NEVER
from doctor.analyzers.inventory import (
    NAME,
    Inventory,
    distinct,
    frames,
    is_library,
    owners_of,
    package_of,
)
from doctor.analyzers.python_names import is_passing
from doctor.analyzers.recipes import newest
from doctor.logs.package_names import KNOWN
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Confidence, Severity
from doctor.timelines import names

_KINDS = ("exception", "object-attribute-missing")
_REFUSED = re.compile(
    r"\bAttributeError: (?!'?(?:NoneType|str|int|float|bool|list|dict|tuple|bytes|function)\b)"
    r"|\bTypeError: (?:[\w.<>]{1,120}\(\) (?:missing \d|takes \d|takes from|got an unexpected"
    r"|got multiple)|'\w{1,60}' object is not (?:callable|subscriptable)|unhashable type"
    r"|Can't instantiate abstract class|metaclass conflict|__init__\(\) )"
    r"|\bNameError: name '|\bUnboundLocalError: "
)
"""What Python says of code that does not fit the code that it calls; data gives other words."""
_BUILTIN = re.compile(
    r"AttributeError: '(?:NoneType|str|int|float|bool|list|dict|tuple|bytes|function|set)' object"
)
_PASSES_ON = frozenset(
    {"torch", "numpy", "pandas", "polars", "xarray", "pydantic", "pydantic_core", "omegaconf"}
)
"""Packages whose objects are asked for an attribute by others: the asking line is one further."""
_GROWN_NAMES = """
sklearn scipy matplotlib transformers diffusers peft trl accelerate datasets tokenizers keras
tensorflow jax jaxlib flax torchvision torchaudio torchmetrics pytorch_lightning lightning
huggingface_hub gradio gradio_client ray dask click typer uvicorn starlette fastapi uvloop anyio
asyncio pip setuptools wheel _pytest pluggy IPython ipykernel tqdm requests urllib3 httpx
aiohttp flask werkzeug django streamlit joblib loky fire hydra absl traitlets tornado
distributed pkg_resources importlib_metadata six cv2 PIL h5py yaml jinja2 sqlalchemy
"""
_GROWN = frozenset(_GROWN_NAMES.split())
"""Packages that a program calls itself, so that their refusal is mostly about the program."""


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the package whose own line was refused."""
    inventory = Inventory(case)
    for event in distinct(case, *_KINDS, most=2):
        if is_passing(event) or not _REFUSED.search(event.text) or _BUILTIN.search(event.text):
            continue
        if package := _asking(case, event):
            yield _explanation(event, package, inventory)


def _asking(case: Case, event: Event) -> str:
    """Return the package whose line failed; empty where it is a program's, or a grown package's."""
    both = owners_of(case, event)[:2]
    if len(both) > 1 and all(both) and not NEVER & set(both):
        return ""  # inside_packages names both
    for path in frames(case, event):
        name = package_of(path)
        if name in _PASSES_ON or (name is None and is_library(path)):
            continue
        return name if name and name not in _GROWN and NAME.fullmatch(name) else ""
    return ""


def _explanation(event: Event, package: str, inventory: Inventory) -> Explanation:
    known = names.distribution_of(package) or (
        package if {package, canonicalize_name(package)} & KNOWN else ""
    )
    if not known and inventory.release(package):
        known = package
    here = inventory.release(known or package)
    release = f" {here}" if here else ""
    return Explanation(
        event=event,
        precision=Precision.GUESS,
        detection=detection(
            event,
            f"{package}{release} stops in its own code: {event.text.strip()[:140]}",
            f"Python refuses what a line of {package} itself does, so this {package} was not "
            "written for the releases that are here. A newer one mostly is; else one of the "
            "packages that it calls is too new for it.",
            recipes=(_upgrade(known, package), _of_its_time(package)),
            name="package-fails",
            severity=Severity.NOTE,
            confidence=Confidence.LOW,
        ),
    )


def _upgrade(known: str, package: str) -> Recipe:
    if known:
        return newest(known, title=f"Take the newest {known}")
    return Recipe(
        title=f"Take the newest release of {package}",
        steps=(Action(install=("<package>",), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
        ask={"package": f"the name in `pip list` of what brings {package}"},
    )


def _of_its_time(package: str) -> Recipe:
    """Return how to go back with what a package calls, which a reader has to name."""
    return Recipe(
        title=f"Go back with the package that the line of {package} calls",
        use_if=(f"the newest {package} fails alike",),
        steps=(Action(install=("<callee><<release>",), options=(Option.HOLD_TORCH,)),),
        ask={
            "callee": "the package whose object the failing line uses",
            "release": f"its first major release after the newest {package}",
        },
    )
