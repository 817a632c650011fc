"""Explain requirements that no index answers.

| the index offers | exact | family |
| --- | --- | --- |
| other releases | Requires-Python, torch's table, +cu124 | ends of the list |
| nothing | part of Python, name of a module, index of torch | what to check |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from doctor.analyzers import offers
from doctor.analyzers.asked_names import known_package, mistaken_name
from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.early_pythons import before_wheels
from doctor.analyzers.findings import explanation
from doctor.analyzers.fitting_pythons import (
    build_for_other_python,
    index_of_older_python,
    of_other_python,
    on_mac,
    pythons_with_wheel,
    unknown_to_pip,
)
from doctor.analyzers.inventory import NAME, Inventory, distinct, is_version
from doctor.analyzers.jetpacks import not_on_pypi
from doctor.analyzers.offered_releases import newest, outside
from doctor.analyzers.uv_local_builds import (
    by_uv,
    index_of_project,
    is_uv_project,
    settings_of_uv_pip,
)
from doctor.analyzers.wheel_recipes import (
    ONLY_LINUX,
    bare_name,
    from_index,
    not_for_macos,
    other_name,
    other_python,
    see_python,
    see_tags,
)
from doctor.model.events import Event
from doctor.model.facts import value_of
from doctor.model.issues import Action, Option, Recipe


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each requirement that an index that was reached lacks."""
    if any(True for _ in case.of("connection-failed")):
        return
    inventory = Inventory(case)
    answered: set[str] = set()
    for event in distinct(case, "no-version"):
        name = bare_name(event.objects.get("requirement", ""))
        if name not in answered and (found := _unanswered(case, event, inventory)) is not None:
            answered.add(name)
            yield found


_IGNORED = re.compile(r"(\d[\w.+]{0,30}) Requires-Python ([^;]{1,60})")
_INDEXES = re.compile(
    r"Looking in indexes: (.{1,500})|--index-url[ =](\S{1,300})| -i (https?:\S{1,300})"
)
_TORCH_INDEX = re.compile(r"https://download\.pytorch\.org/whl(?:/(?:nightly/)?[\w./]{0,40})?")


_NO_SOURCE = frozenset(
    {"torch", "torchvision", "torchaudio", "torchtext", "torchcodec", "triton", "tensorflow"}
    | {"onnxruntime", "onnxruntime-gpu", "jaxlib", "tensorrt", "xgrammar", "faiss-gpu"}
)
"""Distributions that the index has only as wheels."""


def _unanswered(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    """Explain a requirement that no index answers."""
    text = event.objects["requirement"].strip()
    name = bare_name(text)
    if not name or not NAME.fullmatch(name):
        return None
    if "registry" in event.objects:
        return _nowhere(case, event, text, name)
    versions = _versions(case, event)
    specifier, wanted, local = _asked(text)
    unseen = settings_of_uv_pip(case, event, text) or _refused_python(
        case, event, inventory, name, specifier
    )
    if unseen is not None:
        return unseen
    if name == "torch" and wanted:
        found = of_other_python(case, event, inventory, (wanted, local), versions)
        if found is not None:
            return found
    if local:
        found = _local(case, event, name, wanted or "", local, versions)
        if found is not None:
            return found
    if versions is None and (specifier or any("from versions:" in one for one in case.log.lines)):
        return None  # a bound decides, or another line lists what there is
    if not versions:
        older = index_of_older_python(case, event, name, _index(case, event))
        return older or _nowhere(case, event, text, name)
    return _ends(case, event, inventory, (name, text, wanted), versions)


def _versions(case: Case, event: Event) -> list[Version] | None:
    """Return the releases that pip lists; None where the message has no list."""
    line = case.log.lines[event.at][:20_000]
    match = re.search(r"from versions: ([^)]{0,19000})", line)
    if match is None:
        # The second of pip's two lines, or uv's.
        return None
    return sorted(Version(one) for one in re.split(r"[,\s]+", match[1]) if is_version(one))


def _asked(text: str) -> tuple[SpecifierSet | None, str | None, str]:
    """Return the specifier, the release of `==`, and its local part."""
    try:
        requirement = Requirement(text.partition("(from ")[0].strip())
    except InvalidRequirement:
        return None, None, ""
    pins = [
        one.version.removesuffix(".*")
        for one in requirement.specifier
        if one.operator in ("==", "===", "~=")
    ]
    if len(pins) != 1 or not is_version(pins[0]):
        return requirement.specifier, None, ""
    version = Version(pins[0])
    return requirement.specifier, version.public, version.local or ""


def _refused_python(
    case: Case, event: Event, inventory: Inventory, name: str, specifier: SpecifierSet | None
) -> Explanation | None:
    """Explain releases that pip left out because they ask for another Python."""
    if specifier is None:
        return None
    for line in case.log.lines[max(event.at - 3, 0) : event.at]:
        if "require a different python version" not in line:
            continue
        fitting = [
            (match[1], match[2].strip())
            for match in _IGNORED.finditer(line[:20_000])
            if is_version(match[1]) and specifier.contains(match[1], prereleases=True)
        ]
        if not fitting:
            continue
        version, wanted = fitting[-1]
        return other_python(event, f"{name} {version}", wanted, inventory.python(), name)
    return None


def _local(
    case: Case,
    event: Event,
    name: str,
    wanted: str,
    local: str,
    versions: list[Version] | None,
) -> Explanation | None:
    """Explain a build such as +cu124: it lies on an index of its own, or nowhere."""
    cuda = offers.named_cuda(local)
    if name == "torch" and cuda:
        there = offers.cuda_of_torch(case.catalog, wanted)
        if there and cuda not in there:
            others = ", ".join(there)
            with_it = offers.torch_with_cuda(case.catalog, cuda)
            cause = f"torch {wanted} was built for CUDA {others}."
            if with_it:
                cause += f" Builds for CUDA {cuda} exist of torch {with_it[0]} to {with_it[-1]}."
            return explanation(
                event,
                f"There is no torch {wanted} for CUDA {cuda}",
                cause,
                (from_index("torch", wanted, "cu" + there[-1].replace(".", "")),),
                name="build-does-not-exist",
            )
    if not re.fullmatch(r"cu\d{2,4}|cpu|rocm[\d.]{1,8}|xpu", local):
        return None
    if name not in ("torch", "torchvision", "torchaudio"):
        return None
    if versions is not None and any(one.local for one in versions):
        return None
    if on_mac(case):
        return not_for_macos(event, name, wanted, local)
    if name == "torch" and (one := build_for_other_python(case, event, wanted, local, versions)):
        return one
    project = is_uv_project(event)
    return explanation(
        event,
        f"{name} {wanted}+{local} is not on the index that was asked",
        f"Builds with +{local} in their version lie only on PyTorch's own index."
        + (" uv sync, lock, add and run do not read [tool.uv.pip]." if project else ""),
        (index_of_project(name, local), by_uv(f"{name}=={wanted}+{local}", local))
        if project
        else (from_index(name, f"{wanted}+{local}", local),),
        name="build-on-another-index",
    )


def _nowhere(case: Case, event: Event, text: str, name: str) -> Explanation | None:
    """Explain a name for which the index offers nothing at all."""
    found = (
        mistaken_name(event, text, name)
        or other_name(event, text, name)
        or not_on_pypi(case, event, name)
    )
    if found is not None:
        return found
    index = _index(case, event)
    system = str(value_of(case.facts, "host.os") or case.context.os or "")
    if system == "windows" and name in ONLY_LINUX:
        other = ONLY_LINUX[name]
        return explanation(
            event,
            f"{name} has no wheels for Windows",
            f"{other} is a build of it for Windows."
            if other
            else "It runs on Linux, so also in WSL 2 on this machine.",
            (Recipe(title=f"Install {other}", steps=(Action(install=(other,)),)),) if other else (),
            name="no-wheel-for-system",
        )
    if index and _TORCH_INDEX.match(index) and name not in _NO_SOURCE:
        return explanation(
            event,
            f"PyTorch's index has no {name}",
            "--index-url replaces the usual index, and PyTorch's holds torch and what torch needs. "
            "Install torch from it, and the rest with a command of its own.",
            (
                Recipe(
                    title=f"Install {name} from the usual index",
                    steps=(Action(install=(text,), options=(Option.HOLD_TORCH,)),),
                ),
            )
            if _is_requirement(text)
            else (),
            name="index-without-package",
        )
    if name in _NO_SOURCE:
        return before_wheels(case, event, name, system) or explanation(
            event,
            f"{name} has no wheel for this Python, system or processor",
            f"The index answered, and offers {name} only as wheels, none of which fits. Usual "
            f"reasons: Python is newer or older than its wheels, is a 32-bit one, runs on Alpine "
            f"(musl), on a Mac with an Intel processor, or is PyPy.",
            (see_python(), see_tags()),
            name="no-wheel-at-all",
            exact=False,
        )
    if not index and on_mac(case):
        return unknown_to_pip(event, name)
    if (found := known_package(case, event, text, name)) is not None:
        return found
    return explanation(
        event,
        f"The index that was asked has nothing called {name}" + (f": {index}" if index else ""),
        "The name is misspelled, the project is on GitHub only, or it lies on another index.",
        name="name-not-on-index",
        exact=False,
    )


def _is_requirement(text: str) -> bool:
    try:
        return not Requirement(text).url
    except InvalidRequirement:
        return False


def _index(case: Case, event: Event) -> str:
    """Return the index that was asked before an event, where the log shows one."""
    for line in reversed(case.log.lines[: event.at + 1]):
        if match := _INDEXES.search(line[:2000]):
            asked = next(one for one in match.groups() if one)
            return asked.split(",")[0].strip().rstrip("/") if "," not in asked else ""
    return ""


def _ends(
    case: Case,
    event: Event,
    inventory: Inventory,
    asked: tuple[str, str, str | None],
    versions: list[Version],
) -> Explanation | None:
    """Explain a release that is not among those offered."""
    name, text, wanted = asked
    first, last = versions[0], versions[-1]
    python = inventory.python()
    here = f"Python {python}" if python else "this Python"
    if name == "torch" and wanted:
        pythons = pythons_with_wheel(case, wanted, newer=first > Version(wanted))
        if pythons and python not in pythons:
            take = offers.usual(pythons)
            return explanation(
                event,
                f"torch {wanted} has no wheels for {here}: it has them for {offers.span(pythons)}",
                f"For {here} the index offers torch {first} to {last}.",
                (
                    *((offers.new_environment(take),) if take else ()),
                    newest(name, last, here),
                ),
                name="release-not-offered",
            )
    if wanted is None or not is_version(wanted):
        return explanation(
            event,
            f"No release of {name} that is offered here fulfils {text}",
            f"The index offers {name} {first} to {last} for this Python, system and processor.",
            name="release-not-offered",
            exact=False,
        )
    return outside(case, event, (name, wanted, here), versions)
