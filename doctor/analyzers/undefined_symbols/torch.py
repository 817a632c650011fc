"""Symbols of torch: for which release a file was built, and which one is here."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inventory import frames, package_of
from doctor.analyzers.machine import fact_text, table_rows
from doctor.analyzers.undefined_symbols.owners import file_name, short
from doctor.base.versions import parse
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe, Snippet
from doctor.timelines import names
from doctor.timelines.symbols import Range, built_for, exporters

_OWN_FILE = re.compile(
    r"(?:^|[/\\])(?:lib(?:torch|c10|shm|caffe2)\w{0,40}|_C\.cpython[\w-]{1,60})\.(?:so|dylib)[\w.]{0,20}$"
)
_OF_TORCH = re.compile(r"/torch/lib/|/torch/_C\.")
_ALWAYS = "THPVariableClass"
"""A name that every release of torch exports."""
_COMPANIONS = ("torchvision", "torchaudio")


def is_part_of_torch(path: str) -> bool:
    """Say whether a file is one of torch's own libraries."""
    return bool(_OWN_FILE.search(path) and _OF_TORCH.search(path))


def of_torch(case: Case, event: Event, path: str, symbols: tuple[str, ...]) -> Explanation:
    """Explain symbols of torch that the torch which was loaded does not export."""
    here = fact_text(case, "torch.release")
    file = file_name(path)
    if is_part_of_torch(path):
        return _mixed(event, file, symbols)
    found = built_for(symbols, package="torch", installed=here)
    if found is None:
        return _unknown(event, file, here, symbols)
    if _in_every_release(found):
        if not _is_before(here, found.first) if here else not _torch_ran(case, event):
            return _not_loaded(case, event, found, symbols)
        return _older_torch(case, event, found, symbols)
    if found.other_abi or here in found.other_releases or _is_in(here, symbols):
        return _other_abi(event, file, found, symbols)
    other = ""
    if found.other_releases:
        other = f", or with the {_abi(symbols)} C++ ABI for another"
    title = f"{file} was built for torch {found.text}{other}"
    if here:
        title += f", and torch {here} is here"
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            title,
            f"It asks for {short(symbols[0])}"
            + (f" and {len(symbols) - 1} more" if len(symbols) > 1 else "")
            + f", which only torch {found.text} has ({found.library}). Compiled extensions fit the "
            "torch that they were built with; either torch or the extension was replaced since.",
            recipes=_recipes(case, found, here),
            name="built-for-other-torch",
            captures={"built_for": found.text},
        ),
    )


def _unknown(event: Event, file: str, here: str, symbols: tuple[str, ...]) -> Explanation:
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{file} was built for another torch{f' than {here}' if here else ''}: "
            f"{short(symbols[0])} is missing",
            "The name is one of torch's, and no release from 1.13 on exports it as it stands "
            "there: the file was built for an older torch, for a nightly build, or with another "
            "compiler. It has to be built again for the torch that is here.",
            recipes=(_AGAIN,),
            name="built-for-other-torch",
        ),
    )


def _is_before(here: str, first: str) -> bool:
    """Say whether a release is older than the first of the data."""
    old, new = parse(here), parse(first)
    return old is not None and new is not None and old < new


def _in_every_release(found: Range) -> bool:
    """Say whether all known releases have the names: then no release explains that they lack."""
    first = exporters(_ALWAYS)
    return (
        not found.other_abi and found.is_latest and first is not None and found.first == first.first
    )


_FRAME = re.compile(r"[/\\\\]torch[/\\\\](?!__init__\.py)\w{1,60}(?:[/\\\\]\w{1,60}){0,6}\.py\b")
"""A frame inside of torch, which calls others: not that of its own import."""
_LISTED = re.compile(r"^\s{0,12}\d{1,5} {1,4}(?:import|from) torch\b")
"""A line above the one that failed, in the listing that IPython shows of a file."""
_FAILED = re.compile(r"^-{2,6}> ?\d")
_NEAR, _WIDTH = 40, 400


def _torch_ran(case: Case, event: Event) -> bool:
    """Say whether the traceback above an event shows that torch was imported before."""
    listed = False
    for line in case.log.lines[max(event.at - _NEAR, 0) : event.at]:
        text = line[:_WIDTH]
        if _FRAME.search(text) or (listed and _FAILED.match(text)):
            return True
        listed = bool(_LISTED.match(text)) or (listed and bool(text.strip()))
    return False


def _older_torch(case: Case, event: Event, found: Range, symbols: tuple[str, ...]) -> Explanation:
    here = fact_text(case, "torch.release")
    file = file_name(event.objects.get("file", ""))
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{file} was built for another torch than {here or 'the one that was loaded'}",
            f"It asks for {short(symbols[0])}, which torch has from {found.first} on at the "
            "latest. The torch that was loaded does not have it: it is older, or an own build. "
            "Compiled extensions fit the torch that they were built with.",
            recipes=(
                _again(case, event),
                Recipe(
                    title=f"Move to torch {found.first} or later, and build the extension for it",
                    use_if=(f"torch is older than {found.first}, and nothing else needs it",),
                    steps=(
                        Action(
                            install=(f"torch>={found.first}",),
                            companions=_COMPANIONS,
                            options=(Option.UPGRADE,),
                        ),
                    ),
                ),
            ),
            name="built-for-other-torch",
            captures={"built_for": found.text},
        ),
    )


def _not_loaded(case: Case, event: Event, found: Range, symbols: tuple[str, ...]) -> Explanation:
    file = file_name(event.objects.get("file", ""))
    module = file.rpartition("/")[2].partition(".")[0]
    here = fact_text(case, "torch.release")
    first = Recipe(
        title="Import torch before the extension",
        snippet=Snippet(
            where="the place that imports the extension",
            before=f"import {module}",
            after=f"import torch\nimport {module}",
        ),
    )
    again = _again(case, event)
    older = replace(again, use_if=(f"torch is older than {found.first}, or was imported before",))
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("torch/extension-built-for-other-torch",) if here else (),
        detection=detection(
            event,
            f"{file} was loaded before torch: {short(symbols[0])} is there in each torch from "
            f"{found.first} on",
            "The extension does not need a certain release from there on. "
            "torch's libraries were not loaded yet: an extension finds them only after `import "
            "torch`, or it was not linked with torch's libraries (CppExtension and CUDAExtension "
            f"do that). A torch before {found.first} can lack the name.",
            recipes=(first,) if here else (first, older),
            name="torch-not-loaded",
        ),
    )


def _again(case: Case, event: Event) -> Recipe:
    """Return the recipe that installs the package of a file again, by its name where it is known.

    A file beside the packages has no folder that names one: the package that imports it does.
    """
    file = event.objects.get("file", "")
    for path in (file, *frames(case, event)):
        package = package_of(path)
        distribution = names.distribution_of(package) if package else None
        if distribution and distribution != "torch":
            return replace(
                _AGAIN,
                title=f"Install {distribution} again, built for the torch that is here",
                steps=(replace(_AGAIN.steps[0], install=(distribution,)),),
                ask={},
            )
    return _AGAIN


def _is_in(here: str, symbols: tuple[str, ...]) -> bool:
    """Say whether the wheels of a release have names with a string: then this is another build."""
    found = exporters(symbols[0]) if here else None
    return found is not None and here in found.releases and bool(found.other_releases)


def _abi(symbols: tuple[str, ...]) -> str:
    """Return which of GCC's two C++ ABIs names are written in."""
    return "new" if "cxx11" in "".join(symbols) else "old"


def _other_abi(event: Event, file: str, found: Range, symbols: tuple[str, ...]) -> Explanation:
    abi = _abi(symbols)
    other = "old" if abi == "new" else "new"
    releases = found.other_releases or found.releases
    span = releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{file} was compiled with the {abi} C++ ABI, and torch here has the {other} one",
            f"{short(symbols[0])} exists in torch {span} under the other C++ ABI: "
            "std::string has two names since GCC 5. torch's wheels from PyPI use the old one up to "
            "2.6 and the new one from 2.7 on; conda-forge's, NVIDIA's containers and many own "
            "builds use the new one throughout.",
            recipes=(
                Recipe(
                    title="Install the package in the wheel for the C++ ABI of this torch",
                    use_if=("its wheels name the ABI, as in cxx11abiFALSE and cxx11abiTRUE",),
                    note="This prints which one torch has.",
                    steps=(
                        Action(
                            run=(
                                *("{python.executable}", "-c"),
                                "import torch; print(torch.compiled_with_cxx11_abi())",
                            )
                        ),
                    ),
                    lasting=False,
                ),
                _AGAIN,
            ),
            name="built-for-other-torch",
        ),
    )


def _mixed(event: Event, file: str, symbols: tuple[str, ...]) -> Explanation:
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("torch/extension-built-for-other-torch",),
        detection=detection(
            event,
            f"torch's own {file} lacks {short(symbols[0])}: libraries of two torch releases are "
            "mixed",
            "The file belongs to torch itself, and so does the name. An installation was broken "
            "off or left files of an older release, or LD_LIBRARY_PATH leads to the libraries of "
            "another torch (libtorch).",
            recipes=(
                Recipe(
                    title="Start without LD_LIBRARY_PATH",
                    use_if=("LD_LIBRARY_PATH names a folder with libtorch in it",),
                    steps=(Action(env={"LD_LIBRARY_PATH": ""}),),
                ),
                Recipe(
                    title="Install the same torch again",
                    steps=(
                        Action(
                            install=("torch=={torch.release|<release>}",),
                            options=(Option.REINSTALL, Option.NO_DEPS),
                        ),
                    ),
                    ask={"release": "the release that was installed last"},
                    note="Where conda installed one of them, run conda remove pytorch as well.",
                ),
            ),
            name="torch-files-mixed",
        ),
    )


_AGAIN = Recipe(
    title="Install the package of this file again, built for the torch that is here",
    note="A package that publishes wheels for each torch release needs the matching one.",
    steps=(
        Action(
            install=("<package>",),
            options=(
                *(Option.REINSTALL, Option.NO_DEPS, Option.NO_CACHE),
                Option.NO_BUILD_ISOLATION,
            ),
        ),
    ),
    ask={"package": "the package of the file, with its release: name==release"},
)


def _recipes(case: Case, found: Range, here: str) -> tuple[Recipe, ...]:
    back = _back_to(case, found)
    if found.is_latest and not here:
        return (_AGAIN,)  # nobody knows whether the torch that is here is older
    older = parse(here) if here else None
    newest = parse(found.last)
    # An extension that is ahead of torch wants a newer torch; one that is behind wants a build.
    ahead = bool(older and newest and older < newest)
    return tuple(one for one in ((back, _AGAIN) if ahead else (_AGAIN, back)) if one is not None)


def _back_to(case: Case, found: Range) -> Recipe | None:
    """Return the recipe that installs the newest torch of a range, with its companions."""
    wanted = found.first if found.is_latest else found.last
    companions = tuple(
        f"{name}=={release}" for name in _COMPANIONS if (release := _companion(case, name, wanted))
    )
    return Recipe(
        title=f"Install torch {wanted}, for which the file was built",
        use_if=("nothing else needs the torch that is here",),
        note="On a machine with CUDA take the index of the CUDA release that torch has now.",
        steps=(Action(install=(f"torch=={wanted}",), companions=companions),),
    )


def _companion(case: Case, name: str, torch: str) -> str:
    rows: list[dict[str, Any]] = [
        row for row in table_rows(case.catalog, name) if row.get("torch") == torch
    ]
    return str(rows[-1].get(name, "")) if rows else ""
