"""Recipes where pixi and conda ask the machine: for a driver of CUDA, or for a kind of ARM machine.

pixi compares [system-requirements] with the machine at the installation, not while it solves
(https://pixi.sh/latest/workspace/system_requirements/). On aarch64 the package arm-variant selects
builds for servers or for Jetson Orin; only CUDA 12.9 has both
(https://conda-forge.org/docs/how-to/advanced/cuda/tegra/).
"""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import code
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe, Snippet

_INSTALLS = re.compile(r"Cannot install environment|available virtual packages on your machine")
_OVERRIDE = re.compile(r"CONDA_OVERRIDE_CUDA=(\d{1,2}(?:\.\d{1,2})?)")
_COMMAND = re.compile(r"\bpixi install((?: {1,4}[\w./=-]{1,80}){1,12})")
_KEPT = ("--locked", "--frozen")
_WITH_VALUE = ("-e", "--environment", "--manifest-path")
_SAFE = re.compile(r"[\w.][\w./-]{0,79}")


def of_cuda(case: Case, recipes: tuple[Recipe, ...]) -> tuple[Recipe, ...]:
    """Return the recipes for __cuda, which the machine lacks: those of pixi come first."""
    lines = [line[:400] for line in case.log.lines[:4000]]
    if not any("pixi" in line for line in lines):
        return recipes
    if any(_INSTALLS.search(line) for line in lines):
        return (_override(lines), _own_environment(lines))
    return (_FOR_PIXI, *recipes)


def _override(lines: list[str]) -> Recipe:
    """Return the command of the log again, with the CUDA release that the machine cannot show."""
    stated = next((one[1] for line in lines if (one := _OVERRIDE.search(line))), "")
    return Recipe(
        title="Install it without a driver, and name the CUDA release of the requirement",
        note="The variable stands in for the driver of this machine; programs that compute on a "
        "GPU still need one. In CI it belongs under env of the workflow.",
        steps=(
            Action(
                run=("pixi", "install", *_options(lines)),
                env={"CONDA_OVERRIDE_CUDA": stated or "<release>"},
            ),
        ),
        ask={} if stated else {"release": "the CUDA of the system-requirements, such as 12.0"},
    )


def _options(lines: list[str]) -> tuple[str, ...]:
    """Return the options of the log's own command that choose a lock file or an environment."""
    found = next((one[1] for line in lines if (one := _COMMAND.search(line))), "")
    words = found.split()
    kept: list[str] = []
    for at, word in enumerate(words):
        if word in _KEPT:
            kept.append(word)
        elif word in _WITH_VALUE and at + 1 < len(words) and _SAFE.fullmatch(words[at + 1]):
            kept += [word, words[at + 1]]
    return tuple(kept)


def _own_environment(lines: list[str]) -> Recipe:
    """Return the manifest that asks for CUDA in an environment of its own."""
    prefix = "tool.pixi." if any("pyproject.toml" in line for line in lines) else ""
    return code(
        "Ask for CUDA in an environment of its own, so that the default one needs no driver",
        "pyproject.toml" if prefix else "pixi.toml",
        f'[{prefix}feature.cuda.system-requirements]\ncuda = "12"\n\n'
        f'[{prefix}environments]\ncuda = ["cuda"]',
        before=f'[{prefix}system-requirements]\ncuda = "12"',
        use_if=("machines without a GPU install it as well",),
        note="What needs CUDA moves to the dependencies of that feature. Then pixi lock, and on a "
        "machine with a GPU pixi install -e cuda.",
    )


_FOR_PIXI = Recipe(
    title="Tell pixi that the machine that runs it has CUDA",
    snippet=Snippet(
        where="pixi.toml (in pyproject.toml: [tool.pixi.system-requirements])",
        after='[system-requirements]\ncuda = "12"',
    ),
    note="pixi solves for the machines that the project names, not for this one. Then run pixi "
    "install again.",
)
_VARIANT = re.compile(r"arm-variant\b.{0,20}\b(sbsa|tegra)\b")


def arm_variant(case: Case, event: Event, requirement: str) -> Explanation | None:
    """Explain builds for the one kind of ARM machine in an environment for the other."""
    found = _VARIANT.match(requirement)
    if found is None:
        return None
    pixi = any("pixi" in line for line in case.log.lines[:4000])
    kinds = {"sbsa": "ARM servers", "tegra": "Jetson Orin"}
    return explanation(
        event,
        f"This build is for {kinds[found[1]]} (arm-variant {found[1]}), and the solver may not "
        "choose it here",
        "conda-forge builds CUDA packages for aarch64 twice: sbsa for ARM servers, tegra for "
        "Jetson Orin with JetPack 6. The tegra builds are of CUDA 12.9 only; from CUDA 13 on there "
        "is sbsa alone, for JetPack 7 too. Another requirement, or a system requirement for "
        "another CUDA, excludes the variant that is left.",
        (
            _variant("tegra", "12", "12.9.*", "it is a Jetson Orin with JetPack 6", pixi=pixi),
            _variant("sbsa", "13", "13.*", "it is an ARM server, or has JetPack 7", pixi=pixi),
        ),
        name="conda-arm-variant",
        contradicts=("torch/conda-*", "*/conda-unsatisfiable"),
    )


def _variant(kind: str, cuda: str, release: str, condition: str, *, pixi: bool) -> Recipe:
    title = f"Ask for the {kind} builds, of CUDA {release.removesuffix('.*')}"
    shown = (r"(?i)jetson|orin|tegra|l4t|jetpack",) if kind == "tegra" else ()
    if pixi:
        return Recipe(
            title=title,
            use_if=(condition,),
            shown=shown,
            snippet=Snippet(
                where="pixi.toml (in pyproject.toml each table begins with tool.pixi)",
                after=f'[system-requirements]\ncuda = "{cuda}"\n\n[dependencies]\n'
                f'arm-variant = "* {kind}"\ncuda-version = "{release}"',
            ),
            note="Merge it with the tables that are there, and run pixi install again.",
        )
    return Recipe(
        title=title,
        use_if=(condition,),
        shown=shown,
        steps=(
            Action(
                run=(
                    *("conda", "install", "-p", "{python.conda|<environment>}"),
                    *("-c", "conda-forge", f"arm-variant=*={kind}", f"cuda-version={release}"),
                    "<package>",
                )
            ),
        ),
        ask={
            "environment": "the folder of the environment",
            "package": "the package that was asked for",
        },
    )
