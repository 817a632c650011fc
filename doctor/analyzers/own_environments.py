"""Explain modules that an application's own environment lacks, by the application's own way.

Applications for Windows bring a Python, or make an environment, of their own. A package that is
installed with another Python never reaches them; their installer or updater fills what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inventory import NAME, distinct, frames
from doctor.analyzers.recipes import UNIX, WINDOWS, code, command
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_HERE = "the current folder is the application's"


class _Application(NamedTuple):
    """An application: what its paths show, its name, and what fills its environment."""

    paths: re.Pattern[str]
    name: str
    recipes: tuple[Recipe, ...]


def _update(windows: str, unix: str = "", note: str = "") -> tuple[Recipe, ...]:
    title = "Run its own updater, which installs what is missing"
    found = [command(title, f".\\{windows}", use_if=(WINDOWS, _HERE), note=note)]
    if unix:
        found.append(command(title, "sh", unix, use_if=(UNIX, _HERE), note=note))
    return tuple(found)


def _requirements(file: str) -> Recipe:
    return command(
        "Install its requirements with its own Python",
        *("{python.executable}", "-m", "pip", "install", "-r", file),
        use_if=(_HERE,),
    )


_APPLICATIONS = (
    _Application(
        re.compile(r"(?i)text-generation-webui|[/\\]textgen[/\\]|oobabooga"),
        "the text generation web UI",
        (
            *_update(
                "update_wizard_windows.bat",
                "update_wizard_linux.sh",
                "Choose to install or update the requirements. Older copies call it "
                "update_windows.bat. Start the program by start_windows.bat afterwards; a plain "
                "python belongs to another environment.",
            ),
            Recipe(
                title="Make its environment anew",
                use_if=(WINDOWS, _HERE),
                steps=(
                    Action(run=("ren", "installer_files", "installer_files-old")),
                    Action(run=(".\\start_windows.bat",)),
                ),
                note="Models and settings lie elsewhere and stay.",
            ),
        ),
    ),
    _Application(
        re.compile(r"(?i)kohya_ss"),
        "kohya_ss",
        (*_update("setup.bat", "setup.sh", "Choose to install kohya_ss."),),
    ),
    _Application(
        re.compile(r"(?i)stable-diffusion-webui|sd-webui-forge|webui_forge|[/\\]webui[/\\]"),
        "the web UI",
        (_requirements("requirements_versions.txt"),),
    ),
    _Application(
        re.compile(r"(?i)[/\\]Fooocus[/\\]"),
        "Fooocus",
        (_requirements("requirements_versions.txt"),),
    ),
    _Application(
        re.compile(r"(?i)Retrieval-based-Voice-Conversion|[/\\]RVC\d{0,8}\w{0,10}[/\\]"),
        "RVC",
        (_requirements("requirements.txt"),),
    ),
    _Application(
        re.compile(r"(?i)GPT-SoVITS"),
        "GPT-SoVITS",
        (_requirements("requirements.txt"),),
    ),
    _Application(
        re.compile(r"(?i)ComfyUI[/\\](?:main|nodes|server|execution|comfy\w{0,12}[/\\]|app[/\\])"),
        "ComfyUI",
        (
            _requirements("requirements.txt"),
            command(
                "Install its requirements with the Python of the portable package",
                *(".\\python_embeded\\python.exe", "-m", "pip", "install"),
                *("-r", "ComfyUI\\requirements.txt"),
                use_if=(WINDOWS, "the current folder is that of the portable package"),
            ),
        ),
    ),
)
_ADDON = re.compile(r"[/\\](custom_nodes|extensions|extensions-builtin)[/\\]([^/\\]{1,100})[/\\]")
_OF_WEBUI = frozenset({"launch", "modules"})
_MOST, _NAMED = 6, 4


def of_applications(case: Case) -> Iterator[Explanation]:
    """Yield which application lacks a module, and its own way to get it."""
    lacking: dict[str, list[tuple[Event, str]]] = {}
    for event in distinct(case, "module-not-found", most=_MOST):
        files = [path for path in frames(case, event) if not path.startswith("<")]
        module = event.objects["module"]
        if not files or "." in module or not NAME.fullmatch(module):
            continue
        addon = _ADDON.search(files[0])
        if addon and module in _OF_WEBUI:
            yield _installer(event, addon[2])
            continue
        own = next((one for one in _APPLICATIONS if one.paths.search(files[0])), None)
        if addon is None and own is not None:
            lacking.setdefault(own.name, []).append((event, module))
    for own in _APPLICATIONS:
        found = lacking.get(own.name, [])
        modules = " and ".join(sorted({module for _, module in found})[:_NAMED])
        for event, _ in found:
            yield _lacks(event, modules, own)


def _lacks(event: Event, modules: str, own: _Application) -> Explanation:
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The environment of {own.name} lacks {modules}",
            "Its installation did not come to its end, an update asks for more packages, or the "
            "program was started with another Python than its own.",
            recipes=own.recipes,
            name="module-not-installed",
        ),
    )


def _installer(event: Event, addon: str) -> Explanation:
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The installer of the extension {addon} does not find the web UI's own module",
            "The web UI hands its folder over in PYTHONPATH. A Python with a file python310._pth "
            "beside it, as one-click packages bring, reads its paths from there alone.",
            recipes=(
                code(
                    "Name the folder of the web UI in that file",
                    "python310._pth beside the package's python.exe (system\\python)",
                    "../../webui",
                    note="One line more; the path is seen from that file. Then start by the "
                    "package's own run.bat.",
                ),
                code(
                    "Start the extension's installer from the web UI's own environment",
                    "webui-user.bat",
                    "set PYTHON=",
                    note="Where the web UI makes a folder venv, no such file is in the way.",
                ),
            ),
            name="own-module-not-found",
        ),
    )
