"""Symbols of torch: for which release a file was built, and which one is here."""

from __future__ import annotations

import re
from typing import Any

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.machine import fact_text, table_rows
from doctor.analyzers.undefined_symbols.owners import file_name, short
from doctor.base.versions import parse
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe, Snippet
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
        return _not_loaded(event, file, symbols)
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


def _in_every_release(found: Range) -> bool:
    """Say whether all known releases have the names: then no release explains that they lack."""
    first = exporters(_ALWAYS)
    return (
        not found.other_abi and found.is_latest and first is not None and found.first == first.first
    )


def _not_loaded(event: Event, file: str, symbols: tuple[str, ...]) -> Explanation:
    module = file.rpartition("/")[2].partition(".")[0]
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("torch/extension-built-for-other-torch",),
        detection=detection(
            event,
            f"{file} was loaded before torch: {short(symbols[0])} is there in every torch",
            "Each release of torch has the name, so the extension was not built for another one. "
            "torch's libraries were not loaded yet: an extension finds them only after `import "
            "torch`, or it was not linked with torch's libraries (CppExtension and CUDAExtension "
            "do that).",
            recipes=(
                Recipe(
                    title="Import torch before the extension",
                    snippet=Snippet(
                        where="the place that imports the extension",
                        before=f"import {module}",
                        after=f"import torch\nimport {module}",
                    ),
                ),
            ),
            name="torch-not-loaded",
        ),
    )


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
