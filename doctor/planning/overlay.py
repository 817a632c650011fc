"""Lay the changes of a plan over the facts of an environment, to judge what would be there.

What follows from other facts is taken out, so that it is derived again. What only a look at the new
files could tell becomes unknown, and a fact about a package that moves is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doctor.base.requirements import InvalidRequirement, meets
from doctor.base.versions import public
from doctor.facts.derive import derive
from doctor.facts.derive.making import SOURCE
from doctor.facts.families import requirements
from doctor.fixes.effect import name_of
from doctor.model.catalog import Catalog
from doctor.model.facts import Fact, Facts, absent, present, unknown, value_of

_RELEASE = re.compile(r"\b\d{1,3}\.\d{1,3}\.\d{1,3}\b")
_CUDA_TAG = re.compile(r"cu([0-9]{2})([0-9])")
_SOURCE = "plan"
_CHOSEN_LATER = unknown("the installer chooses the release", _SOURCE)
_OF_A_RUN = (
    *("torch.imports", "torch.cudnn_version", "torch.cudnn_error", "torch.import_warnings"),
    *("torch.import_seconds", "torch.cuda_error", "torch.metadata_version"),
)
_OF_A_BUILD = (
    *("torch.git_version", "torch.arch_list", "torch.cxx_standard", "torch.glibc_min"),
    *("torch.specializes_symbolic", "torch.numpy_abi", "torch.cxx11_abi", "torch.cxx11_abi_tag"),
    *("torch.cuda_version", "torch.cuda_major", "torch.cuda_tag", "torch.minor", "torch.release"),
    *("torch.local", "torch.version"),
)
_LISTS_OF_PACKAGES = (
    *("files.missing_packages", "files.missing_apart", "files.damaged_packages"),
    *("files.overwritten_packages", "files.overwriting_packages", "cuda_packages.shared"),
    *("cuda_packages.leftover", "cuda_packages.overwritten", "cuda_packages.overwriting"),
    *("python.interrupted", "python.doubled", "modules.gone_packages"),
    *("program.gone_packages", "program.overwritten_packages", "program.misfit_packages"),
)
_LISTS_OF_FILES = ("files.missing", "files.damaged", "files.overwritten", "program.gone")
_HIDDEN = ("python.left_behind", "python.stale_metadata", "python.doubled", "python.interrupted")
_LOADER = (
    *("libs.shadowed", "libs.cudnn_older", "libs.cudnn_mixed", "libs.ld_library_path"),
    *("libs.ld_library_path_rest", "libs.undefined_symbols"),
)


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan does to an environment.

    `moved` has the release of each package that is installed, empty where the installer chooses;
    `written` are packages whose files are written again in the same release.
    """

    moved: Mapping[str, str] = msgspec.field(default_factory=dict)
    removed: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    variables: Mapping[str, str] = msgspec.field(default_factory=dict)
    unset: frozenset[str] = frozenset()
    swept: bool = False

    @property
    def key(self) -> object:
        """The same for equal changes, in whatever order they were made."""
        names = (self.removed, self.written, self.unset, self.swept)
        return (frozenset(self.moved.items()), frozenset(self.variables.items()), *names)


def laid_over(facts: Facts, changes: Changes, catalog: Catalog) -> dict[str, Fact]:
    """Return the facts of the environment after the changes, derived anew."""
    known = {name: fact for name, fact in facts.items() if not is_derived(fact)}
    known.pop("triton.fits_torch", None)  # as torch's METADATA says it, so derived all the same
    if "torch" in changes.moved or "torch" in changes.removed:
        _move_torch(known, changes, catalog)
    for name in changes.removed:
        _drop(known, name)
        known[f"package.{name}.version"] = absent(_SOURCE)
    for name, version in changes.moved.items():
        _drop(known, name)
        if name != "torch":
            known[f"package.{name}.version"] = (
                present(version, _SOURCE) if version else _CHOSEN_LATER
            )
        if name == "triton":
            known["triton.version"] = known["package.triton.version"]
    if "torch" in changes.moved:
        _load_extensions(known, changes)
    _list_packages(known, changes)
    _judge_requirements(known, changes)
    _mend_files(known, {*changes.moved, *changes.removed, *changes.written})
    _set_variables(known, changes)
    _load_libraries(known, changes)
    if changes.swept:
        known |= dict.fromkeys(_HIDDEN, absent(_SOURCE))
    return derive(known, catalog)


def is_derived(fact: Fact) -> bool:
    """Say whether a fact follows from others."""
    return fact.source == SOURCE or fact.source.startswith("compat/")


def _move_torch(known: dict[str, Fact], changes: Changes, catalog: Catalog) -> None:
    build = value_of(known, "torch.build")
    for name in (*_OF_A_RUN, *_OF_A_BUILD):
        known.pop(name, None)
    for name in ("torch.without_metadata", "torch.interrupted", "torch.hollow"):
        if name in known:
            known[name] = absent(_SOURCE)
    for name in [one for one in known if one.startswith("cuda_packages.")]:
        del known[name]  # whose files torch then needs depends on the release
    version = changes.moved.get("torch")
    if not version:
        state = absent(_SOURCE) if version is None else _CHOSEN_LATER
        known["torch.version"] = state
        return
    known["torch.version"] = present(version, _SOURCE)
    rows = catalog.tables["torch"].rows if "torch" in catalog.tables else ()
    row: Mapping[str, Any] = next((one for one in rows if str(one["torch"]) == public(version)), {})
    if "+" in version:
        _take_build(known, version.partition("+")[2])
    elif build in (None, "cuda") and "cuda" in row:
        _take_usual_build(known, changes, row)
    if "triton" in row and "triton" not in changes.moved:
        known["package.triton.version"] = known["triton.version"] = present(
            str(row["triton"]), _SOURCE
        )


def _take_usual_build(known: dict[str, Fact], changes: Changes, row: Mapping[str, Any]) -> None:
    known["torch.build"] = present("cuda", _SOURCE)
    known["torch.cuda_version"] = present(str(row["cuda"]), _SOURCE)
    for name, of in (("nvidia-cudnn", "cudnn"), ("nvidia-nccl", "nccl")):
        package = f"{name}-cu{str(row['cuda']).partition('.')[0]}"
        if of in row and package not in changes.moved:
            known[f"package.{package}.version"] = present(str(row[of]), _SOURCE)


def _take_build(known: dict[str, Fact], tag: str) -> None:
    """Lay over what the local part of torch's version says: cu126, rocm7.1, xpu or cpu."""
    if found := _CUDA_TAG.fullmatch(tag):
        known["torch.cuda_version"] = present(f"{found[1]}.{found[2]}", _SOURCE)
    kinds = (kind for kind in ("rocm", "xpu", "cpu") if tag.startswith(kind))
    if kind := "cuda" if found else next(kinds, ""):
        known["torch.build"] = present(kind, _SOURCE)


def _set_variables(known: dict[str, Fact], changes: Changes) -> None:
    for name, value in changes.variables.items():
        known[f"env.{name}"] = present(value, _SOURCE)
    for name in changes.unset:
        known[f"env.{name}"] = absent(_SOURCE)
    if "LD_LIBRARY_PATH" in (*changes.unset, *changes.variables):
        known |= dict.fromkeys(_LOADER, absent(_SOURCE))


def _load_libraries(known: dict[str, Fact], changes: Changes) -> None:
    """Take out what was wrong with CUDA's libraries, where new ones come from the index.

    What a folder of LD_LIBRARY_PATH puts before them stays.
    """
    touched = {*changes.moved, *changes.written, *changes.removed}
    if any(name == "torch" or name.startswith("nvidia-") for name in touched) and not value_of(
        known, "libs.ld_library_path"
    ):
        for name in ("libs.cudnn_older", "libs.cudnn_mixed", "libs.undefined_symbols"):
            if name in known:
                known[name] = absent(_SOURCE)


def _load_extensions(known: dict[str, Fact], changes: Changes) -> None:
    """Take out the missing symbols of what was built for the torch that comes."""
    torch = changes.moved["torch"]
    for name in [one for one in known if one.endswith(".undefined_symbols")]:
        package = name.split(".")[1]
        built = str(value_of(known, f"extension.{package}.built_for") or "")
        releases = _RELEASE.findall(built) if built.startswith("torch ") else []
        asked = str(value_of(known, f"requires.{package}.torch.specifier") or "")
        fits = bool(releases) and meets_any(torch, f">={releases[0]},<={releases[-1]}")
        if fits or (asked and meets_any(torch, asked)):
            known[name] = absent(_SOURCE)


def meets_any(version: str, specifier: str) -> bool:
    """Say whether a version is known to meet a specifier."""
    return bool(version) and value_of({"met": _met(version, specifier)}, "met") is True


def _drop(known: dict[str, Fact], package: str) -> None:
    """Take out what is known of the files and the requirements of a package."""
    prefixes = (f"requires.{package}.", f"extension.{package}.", f"package.{package}.")
    for name in [one for one in known if one.startswith(prefixes)]:
        del known[name]
    if package == "torchaudio":
        known.pop("torchaudio.cuda_version", None)


def _list_packages(known: dict[str, Fact], changes: Changes) -> None:
    listed = value_of(known, "packages")
    if not isinstance(listed, dict):
        return
    after = {name: version for name, version in listed.items() if name not in changes.removed}
    after |= {name: version or after.get(name, "") for name, version in changes.moved.items()}
    known["packages"] = present(after, _SOURCE)


def _judge_requirements(known: dict[str, Fact], changes: Changes) -> None:
    """Hold each requirement that still stands against what is there afterwards."""
    for one in list(requirements(known, "specifier")):
        met = one.fact("met")
        if one.wanted in changes.removed:
            known[one.fact("installed")] = absent(_SOURCE)
            known[met] = present(False, _SOURCE)
        elif one.wanted in changes.moved:
            version = changes.moved[one.wanted]
            known[one.fact("installed")] = present(version, _SOURCE) if version else _CHOSEN_LATER
            known[met] = _met(version, one.text("specifier", known))
        if one.wanted in {*changes.moved, *changes.removed}:
            known.pop(one.fact("moved"), None)


def _met(version: str, specifier: str) -> Fact:
    if not version:
        return _CHOSEN_LATER
    try:
        return present(meets(version, specifier), _SOURCE)
    except InvalidRequirement:
        return unknown("cannot be compared", _SOURCE)


def _mend_files(known: dict[str, Fact], touched: set[str]) -> None:
    """Take what is installed anew out of the lists of packages and files with faults."""
    for name in _LISTS_OF_PACKAGES:
        kept = [one for one in _texts(known, name) if name_of(one) not in touched]
        if name in known and value_of(known, name) is not None:
            known[name] = present(kept, _SOURCE) if kept else absent(_SOURCE)
    if value_of(known, "modules.gone") and not value_of(known, "modules.gone_packages"):
        known["modules.gone"] = absent(_SOURCE)  # paths alone do not say whose they are
    for name in _LISTS_OF_FILES:
        rows = value_of(known, name)
        if isinstance(rows, list):
            kept = [
                row
                for row in rows
                if not isinstance(row, dict) or row.get("package") not in touched
            ]
            known[name] = present(kept, _SOURCE) if kept else absent(_SOURCE)


def _texts(known: Facts, name: str) -> Sequence[str]:
    value = value_of(known, name)
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def unmet(facts: Facts) -> frozenset[str]:
    """Return the names of the facts of requirements that are not met."""
    return frozenset(one.fact("met") for one in requirements(facts) if one.is_unmet(facts))
