"""Explain a torch-sys whose C++ does not compile: another libtorch, or another compiler.

torch-sys is generated for one release of libtorch (https://github.com/LaurentMazare/tch-rs,
CHANGELOG.md), and its generated C++ names functions that another release has in another form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import WINDOWS, command
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_TORCH_OF = {
    "0.4": "1.8.1",
    "0.5": "1.9.0",
    "0.6": "1.10.0",
    "0.7": "1.11.0",
    "0.8": "1.12.0",
    "0.9": "1.13.0",
    "0.10": "1.13.0",
    "0.11": "2.0.0",
    "0.12": "2.0.0",
    "0.13": "2.0.0",
    "0.14": "2.1.0",
    "0.15": "2.2.0",
    "0.16": "2.3.0",
    "0.17": "2.4.0",
    "0.18": "2.5.0",
    "0.19": "2.6.0",
    "0.20": "2.7.0",
}
"""The libtorch of each release of tch and torch-sys."""
_CRATE = re.compile(r"\b(?:torch-sys|tch)(?: is | v|`? v|[ =\":]{1,4})v?(0\.\d{1,2})\.\d")
_LIBTORCH = re.compile(r"torch[/ (]{1,2}v?([12]\.\d{1,2}\.\d)\b|version v?([12]\.\d{1,2}\.\d)\b")
_GENERATED = ("libtch/torch_api", "libtch\\torch_api")
_MOST = 4000
_MSVC = Recipe(
    title="Take Rust for Microsoft's compiler",
    use_if=(WINDOWS,),
    steps=(Action(run=("rustup", "default", "stable-x86_64-pc-windows-msvc")),),
    note="The Build Tools of Visual Studio with C++ have to be installed.",
)
_OWN = Recipe(
    title="Let the crate fetch its own libtorch",
    use_if=("nothing shares tensors with Python",),
    steps=(
        Action(run=("cargo", "add", "tch", "--features", "download-libtorch")),
        Action(run=("env", "-u", "LIBTORCH", "-u", "LIBTORCH_USE_PYTORCH", "cargo", "build")),
    ),
    note="The feature exists since tch 0.13; before that the crate fetches it by itself.",
)


def explain(case: Case) -> Iterator[Explanation]:
    """Yield why the C++ of torch-sys does not compile."""
    for event in case.of("compile-error", "torch-sys-by-mingw", "torch-sys-other-libtorch"):
        if event.kind == "torch-sys-by-mingw":
            yield explanation(
                event,
                "torch-sys is compiled by g++ for Windows, and libtorch is built by MSVC",
                "The libtorch that PyTorch publishes for Windows is built by Microsoft's compiler. "
                "Its C++ libraries fit no other one, so Rust's target has to be the one for MSVC.",
                (_MSVC,),
                name="torch-sys-by-other-compiler",
            )
            return
        file = event.objects.get("file", "")
        there = (event.objects.get("wanted", ""), event.objects.get("here", ""))
        is_other = all(there) and not _same(*there)
        if is_other or any(part in file for part in _GENERATED):
            yield _other_libtorch(case, event)
            return


def _other_libtorch(case: Case, event: Event) -> Explanation:
    body = "\n".join(line[:600] for line in case.log.lines[:_MOST])
    crate = found[1] if (found := _CRATE.search(body)) else ""
    here = event.objects.get("here") or _libtorch_of(case)
    wanted = event.objects.get("wanted") or _TORCH_OF.get(crate, "")
    if wanted and here and _same(wanted, here):
        wanted = ""
    title = "torch-sys" + (f" {crate}" if crate else "")
    title += f" is made for libtorch {wanted}" if wanted else " is made for another libtorch"
    title += f", and {here} is here" if here else " than the one that is here" * (not wanted)
    fits = [name for name, torch in _TORCH_OF.items() if _same(torch, here)] if here else []
    recipes: list[Recipe] = []
    if fits:
        recipes.append(
            command(
                f"Take the tch that is made for libtorch {here}",
                *("cargo", "add", f"tch@{fits[-1]}"),
                note="A crate that uses tch itself, such as rust-bert or burn-tch, has to allow "
                "that release.",
            )
        )
    if wanted:
        recipes.append(
            Recipe(
                title=f"Build against torch {wanted}",
                use_if=("no other program needs the torch that is here",),
                steps=(
                    Action(install=(f"torch=={wanted}",)),
                    Action(
                        run=("cargo", "build"),
                        env={"LIBTORCH_USE_PYTORCH": "1"},
                    ),
                ),
                note=f"Or name the folder of libtorch {wanted} in LIBTORCH.",
            )
        )
    return explanation(
        event,
        title,
        "torch-sys is generated for one release of libtorch. With another one the functions of its "
        "C++ have other arguments, or are gone, and the compiler stops in torch_api_generated.cpp.",
        (*recipes, _OWN),
        name="torch-sys-other-libtorch",
        contradicts=("tch/libtorch-other-release",),
    )


def _libtorch_of(case: Case) -> str:
    """Return the release of libtorch that a line of the log names; empty where none does."""
    for line in case.log.lines[:_MOST]:
        text = line[:1200].lower()
        if ("libtorch" in text or "pytorch" in text) and (found := _LIBTORCH.search(text)):
            return found[1] or found[2]
    return ""


def _same(torch: str, here: str) -> bool:
    return torch.split(".")[:2] == here.split(".")[:2]
