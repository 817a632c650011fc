"""Explain a module that Python does not find.

| module | exact | family |
| --- | --- | --- |
| `a.b` | `a` is in the timeline: since or until which release | another package has the name `a` |
| of Python | since or until which Python; left out when Python was built | – |
| `a`, which the log shows as installed | installed for another interpreter | – |
| `a` | – | the distribution that brings it; a compiled part; the program's own |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from packaging.utils import canonicalize_name

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.compiled_parts import COMPILED, compiled_part, explain_mixed
from doctor.analyzers.inside_packages import explain_addon
from doctor.analyzers.inventory import (
    NAME,
    Caller,
    Inventory,
    caller_of,
    distinct,
)
from doctor.analyzers.machine import since_command
from doctor.analyzers.name_findings import (
    explain_hidden,
    explain_inconsistent,
    explain_release,
    explain_standard,
)
from doctor.analyzers.own_environments import of_applications
from doctor.analyzers.own_modules import unknown_module
from doctor.analyzers.python_names import frames_inside, is_passing
from doctor.analyzers.releases import TORCH, fit
from doctor.analyzers.setup_scripts import torch_of_setup
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Confidence
from doctor.timelines import names
from doctor.timelines.standard_library import standard_module

_BUILDS = re.compile(
    r"pip-build-env-|builds-v0|Getting requirements to build|get_requires_for_build"
    r"|Preparing metadata|build_meta\.py|Failed to (?:download and )?build:? `|PEP517"
    r"|pip-req-build|pip-install-"
)
"""What shows that a package is being built; its build requirements are another matter."""
_PARTS_OF_PYTHON = {
    "_ctypes": ("libffi-dev", "libffi-devel"),
    "_lzma": ("liblzma-dev", "xz-devel"),
    "_bz2": ("libbz2-dev", "bzip2-devel"),
    "_sqlite3": ("libsqlite3-dev", "sqlite-devel"),
    "_ssl": ("libssl-dev", "openssl-devel"),
    "_curses": ("libncurses-dev", "ncurses-devel"),
    "readline": ("libreadline-dev", "readline-devel"),
}
"""Modules that are left out where Python was built without a library, and its packages."""
_SYSTEM_PARTS = {
    **dict.fromkeys(("tkinter", "_tkinter"), ("python3-tk", "python3-tkinter")),
    "ensurepip": ("python3-venv", "python3-pip"),
    "lib2to3": ("python3-lib2to3", "python3-libs"),
}
_ELSEWHERE = {
    "clip": ("OpenAI's CLIP", "git+https://github.com/openai/CLIP.git"),
    "segment_anything": (
        "Segment Anything",
        "git+https://github.com/facebookresearch/segment-anything.git",
    ),
    "sam2": ("SAM 2", "git+https://github.com/facebookresearch/sam2.git"),
    "detectron2": ("detectron2", "git+https://github.com/facebookresearch/detectron2.git"),
    "tinycudann": (
        "tiny-cuda-nn",
        "git+https://github.com/NVlabs/tiny-cuda-nn/#subdirectory=bindings/torch",
    ),
    "pytorch3d": ("PyTorch3D", "git+https://github.com/facebookresearch/pytorch3d.git"),
    "nvdiffrast": ("nvdiffrast", "git+https://github.com/NVlabs/nvdiffrast.git"),
    "apex": ("NVIDIA's Apex", "git+https://github.com/NVIDIA/apex.git"),
}
"""Modules whose name on the package index belongs to somebody else, or to nobody."""
_COMPILED_ELSEWHERE = _ELSEWHERE.keys() - {"clip", "segment_anything", "sam2"}
_NO_WHEEL = frozenset({"flash_attn", "mamba_ssm", "causal_conv1d", "xformers", "apex", "vllm"})
_SAME_PLACE = re.compile(r" in (\S{1,300}?[/\\](?:site|dist)-packages)\b")


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each module that is not found."""
    inventory = Inventory(case)
    applications = {one.event.at: one for one in of_applications(case)}
    for event in distinct(case, "module-not-found"):
        if of_application := applications.get(event.at):
            yield of_application
        elif not is_passing(event) and (found := _explained(case, event, inventory)) is not None:
            yield found


def _explained(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    module = event.objects["module"]
    package = module.partition(".")[0]
    caller = caller_of(case, event, "")
    if parent := event.objects.get("parent"):
        return _no_package(event, parent)
    if package in _PARTS_OF_PYTHON or package in _SYSTEM_PARTS:
        return _left_out(event, package)
    if any(_BUILDS.search(line) for line in since_command(case, event, 60)):
        return None
    if package != "distutils" and (since := standard_module(module)):
        return explain_standard(event, inventory, since, f"the module {module}", caller)
    if package == "torch" and module == "torch":
        return _installed_elsewhere(case, event, "torch") or torch_of_setup(case, event)
    if "." in module:
        return _inner(case, event, inventory, module, caller)
    name = names.distribution_of(package)
    elsewhere = _installed_elsewhere(case, event, name or package)
    return elsewhere or _absent(case, event, package, name, caller)


def _no_package(event: Event, parent: str) -> Explanation | None:
    """Explain a module that Python looks for in a file."""
    package = parent.partition(".")[0]
    if "." in parent and names.distribution_of(package):
        return explain_mixed(event, parent, names.distribution_of(package) or package)
    if not names.distribution_of(package) and not standard_module(package):
        return None
    return explain_hidden(event, f"{parent.replace('.', '/')}.py", package)


def _left_out(event: Event, package: str) -> Explanation:
    """Explain a part that this build of Python does not have."""
    recipes: tuple[Recipe, ...]
    if package in _SYSTEM_PARTS:
        apt, dnf = _SYSTEM_PARTS[package]
        cause = "Linux distributions keep this part of Python in a package of its own."
        recipes = (
            Recipe(
                title="Install this part of the system's Python",
                use_if=("it is the system's Python",),
                steps=(Action(system={"apt": (apt,), "dnf": (dnf,)}, sudo=True),),
            ),
        )
    else:
        apt, dnf = _PARTS_OF_PYTHON[package]
        cause = (
            f"This Python was built where the header files of a library were missing, so that "
            f"{package} was left out. Python has to be built again after the library is there."
        )
        recipes = (
            Recipe(
                title="Install the library's header files, then build this Python again",
                use_if=("pyenv or you built this Python",),
                steps=(Action(system={"apt": (apt,), "dnf": (dnf,)}, sudo=True),),
                note="`pyenv install --force` builds a release again.",
            ),
            Recipe(
                title="Use a Python that has every part",
                steps=(Action(run=("uv", "venv", "--managed-python", ".venv-whole")),),
                note="Install the packages into that environment.",
            ),
        )
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"This Python was built without {package}",
            cause,
            recipes=recipes,
            confidence=Confidence.HIGH,
            name="python-part-missing",
        ),
    )


def _inner(
    case: Case, event: Event, inventory: Inventory, module: str, caller: Caller | None
) -> Explanation | None:
    """Explain a module inside a package: the package itself was found."""
    package = module.partition(".")[0]
    history = names.module_history(module)
    if history is None and caller and caller.kind == "addon" and caller.name == package:
        return explain_addon(event, module, caller)
    if history is None:
        return compiled_part(event, module, caller)
    if not history.present and COMPILED.search(module):
        return compiled_part(event, module, caller)
    found = fit(history, inventory.release(history.distribution))
    if found.way == "present":
        return compiled_part(event, module, caller)
    name = module.rpartition(".")[2]
    own = caller_of(case, event, package)
    if own is None and frames_inside(case, event, package):
        one, denied = explain_inconsistent(event, found, package, module), ("*/name-removed",)
        return msgspec.structs.replace(one, precision=Precision.EXACT, contradicts=denied)
    return explain_release(
        event,
        found,
        f"the module {module}",
        (module.rpartition(".")[0], name),
        own,
        history.moved_to,
    )


def _installed_elsewhere(case: Case, event: Event, distribution: str) -> Explanation | None:
    """Explain a module whose distribution the log shows as installed."""
    name = canonicalize_name(distribution)
    where = ""
    for line in case.log.lines[: event.at]:
        if "Successfully installed " in line or "already satisfied: " in line:
            words = re.findall(r"[A-Za-z][\w.-]{0,80}", line[:2000])
            installed = {canonicalize_name(re.sub(r"-\d.*", "", word)) for word in words}
            if name in installed:
                place = _SAME_PLACE.search(line[:2000])
                where = place[1] if place else "elsewhere"
    if not where:
        return None
    at = "" if where == "elsewhere" else f", in {where}"
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("torch/not-in-this-interpreter",),
        detection=detection(
            event,
            f"{distribution} is installed{at}, but not for the Python that runs the program",
            "pip belongs to one Python, and the program was started with another: another "
            "environment, another version, a notebook's kernel, or sudo.",
            recipes=(
                Recipe(
                    title="Install it with the Python that runs the program",
                    steps=(
                        Action(
                            run=("<python>", "-m", "pip", "install", distribution),
                        ),
                    ),
                    ask={"python": "the interpreter that runs the program (its sys.executable)"},
                ),
                Recipe(
                    title="See which Python each of them is",
                    steps=(
                        Action(
                            run=("{python.executable}", "-c", "import sys; print(sys.executable)")
                        ),
                        Action(run=("pip", "--version")),
                    ),
                    lasting=False,
                ),
            )
            if NAME.fullmatch(distribution) and distribution not in TORCH
            else (),
            confidence=Confidence.HIGH,
            name="installed-for-another-python",
        ),
    )


def _absent(
    case: Case, event: Event, package: str, distribution: str | None, caller: Caller | None
) -> Explanation | None:
    """Explain a module that is not installed at all."""
    if package in _ELSEWHERE:
        title, address = _ELSEWHERE[package]
        compiled = package in _COMPILED_ELSEWHERE
        return _not_installed(
            event,
            package,
            title,
            caller,
            Recipe(
                title=f"Install {title} from its repository",
                steps=(
                    Action(
                        install=(address,),
                        options=(Option.NO_BUILD_ISOLATION, Option.HOLD_TORCH)
                        if compiled
                        else (Option.HOLD_TORCH,),
                    ),
                ),
                note="It is compiled for the installed torch, which needs the CUDA toolkit."
                if compiled
                else "",
            ),
        )
    if distribution is not None:
        if package in _NO_WHEEL or distribution in TORCH:
            return None
        return _not_installed(
            event,
            package,
            f"the distribution {distribution}",
            caller,
            Recipe(
                title=f"Install {distribution}",
                steps=(Action(install=(distribution,), options=(Option.HOLD_TORCH,)),),
            ),
        )
    if COMPILED.search(package) and caller and caller.kind == "package":
        return compiled_part(event, package, caller)
    return unknown_module(case, event, package)


def _not_installed(
    event: Event, package: str, what: str, caller: Caller | None, recipe: Recipe
) -> Explanation:
    asked = f"{caller.name} imports it. " if caller and caller.kind == "package" else ""
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"The module {package} is not installed for this Python: {what} brings it",
            f"{asked}It was never installed there, or it went into another environment.",
            recipes=(recipe,),
            name="module-not-installed",
        ),
    )
