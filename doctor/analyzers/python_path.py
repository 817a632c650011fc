"""Explain a module out of a folder of PYTHONPATH that hides an installed one.

Python searches these folders before site-packages:
https://docs.python.org/3/using/cmdline.html#envvar-PYTHONPATH
"""

from __future__ import annotations

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.base.requirements import normalize_name
from doctor.model.events import Event
from doctor.model.facts import Facts, value_of
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Confidence
from doctor.timelines import names

_RULED_OUT = (
    *("*/older-than-*", "*/newer-than-*", "*/*-removed", "*/*-gone", "*/*-too-old"),
    *("*/name-moved", "*/moved-names", "*/names-gone-*"),
)


def explain_search_path(case: Case, event: Event, path: str, package: str) -> Explanation | None:
    """Explain a file that PYTHONPATH puts before the installed package; None for any other."""
    folders = _folders(case.facts)
    guilty = {folder for folder in folders if _is_of(path, folder, package)}
    release = _installed(case.facts, package)
    if not guilty or not release:
        return None
    named = sorted(guilty)[0]
    rest = _separator(case.facts).join(folder for folder in folders if folder not in guilty)
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=_RULED_OUT,
        detection=detection(
            event,
            f"{named} in PYTHONPATH hides the installed {package}",
            f"Python searches the folders of PYTHONPATH before site-packages. So {path} comes in "
            f"place of the installed {release}, and does not have all that others take from that.",
            recipes=(
                Recipe(
                    title=f"Start without {named} in PYTHONPATH"
                    if rest
                    else f"Start without PYTHONPATH, which leads to {named} only",
                    note="The line that sets it stands in a start file of the shell, of the job or "
                    "of the image.",
                    steps=(Action(env={"PYTHONPATH": rest}),),
                ),
            ),
            confidence=Confidence.HIGH,
            name="hidden-by-pythonpath",
        ),
    )


def _separator(facts: Facts) -> str:
    return ";" if value_of(facts, "host.os") == "windows" else ":"


def _folders(facts: Facts) -> list[str]:
    text = str(value_of(facts, "env.PYTHONPATH") or "")
    return list(dict.fromkeys(one for one in text.split(_separator(facts)) if one))


def _is_of(path: str, folder: str, package: str) -> bool:
    inside = path.replace("\\", "/").removeprefix(folder.replace("\\", "/").rstrip("/") + "/")
    return inside != path.replace("\\", "/") and inside.split("/")[0].split(".")[0] == package


def _installed(facts: Facts, package: str) -> str:
    """Return the installed distribution of a module with its version; empty where none is."""
    listed = value_of(facts, "packages")
    here = listed if isinstance(listed, dict) else {}
    distribution = normalize_name(names.distribution_of(package) or package)
    return f"{distribution} {here[distribution]}" if distribution in here else ""
