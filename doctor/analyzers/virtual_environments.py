"""Explain environments that venv cannot make, by the interpreter and what it printed."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.recipes import LINUX, WINDOWS, by_system, command
from doctor.model.events import Event
from doctor.model.issues import Recipe

_BEHIND = 14


def explain(case: Case) -> Iterator[Explanation]:
    """Yield why an environment was not made, once."""
    for event in case.of("environment-not-made"):
        yield _explain(case, event)
        return


def _explain(case: Case, event: Event) -> Explanation:
    around = case.log.lines[max(event.at - 4, 0) : event.at + _BEHIND]
    text = "\n".join(line[:600] for line in around)
    is_store = "WindowsApps" in text
    if is_store:
        return explanation(
            event,
            "venv cannot make the environment: the Python is the one of the Microsoft Store",
            "Its files lie in a folder of Windows' own (WindowsApps), and what it writes is "
            "redirected to another place, so that the new environment is not found.",
            (_FROM_PYTHON_ORG, _REMOVE_ALIAS),
            name="environment-not-made",
        )
    if "not recognized as an internal" in text or "9009" in text:
        return explanation(
            event,
            "venv cannot make the environment: no Python is found",
            "The start script calls python, and neither PATH nor its setting PYTHON leads to one. "
            "Quotes or a missing file in the setting do the same.",
            (_FROM_PYTHON_ORG, _WHERE),
            name="environment-not-made",
        )
    if "ensurepip" in text:
        return explanation(
            event,
            "venv cannot make the environment: ensurepip fails, which puts pip into it",
            "The new interpreter starts, and then cannot install pip: a half-made environment of "
            "an earlier try is in the way, this Python was installed without pip (ensurepip), or a "
            "PYTHONHOME, PYTHONPATH or virus scanner interferes.",
            (_MOVE_AWAY, _SAY, _UBUNTU, _FROM_PYTHON_ORG),
            name="environment-not-made",
        )
    return explanation(
        event,
        "venv cannot make the environment",
        "Either the Python that makes it is not whole, or the folder cannot be written.",
        (_MOVE_AWAY, _SAY, _FROM_PYTHON_ORG),
        name="environment-not-made",
        exact=False,
    )


_FROM_PYTHON_ORG = command(
    "Install Python from python.org, and make the environment with it",
    *("winget", "install", "--exact", "--id", "Python.Python.3.10"),
    use_if=(WINDOWS,),
    note="Open a new window afterwards, remove the folder venv of the program, and start it "
    "again. 3.10 is what the Stable Diffusion programs are made for; take another release where "
    "yours asks for it.",
)
_REMOVE_ALIAS = command(
    "See which Python is found first",
    "where",
    "python",
    use_if=(WINDOWS,),
    look=True,
    note="Switch the entries python.exe and python3.exe off in Settings, Apps, App execution "
    "aliases, or uninstall the Store's Python.",
)
_WHERE = command("See which Python is found first", "where", "python", use_if=(WINDOWS,), look=True)
_MOVE_AWAY = command(
    "Move the half-made environment away, and start again",
    "cmd",
    "/c",
    "ren venv venv-broken",
    use_if=(WINDOWS, "the current folder holds the folder venv"),
)
_SAY = command(
    "See what ensurepip says",
    "{python.executable}",
    "-m",
    "ensurepip",
    "--default-pip",
    look=True,
    note="Use the Python that the first line of the log names.",
)
_UBUNTU: Recipe = by_system(
    "Install the part of Python that makes environments",
    apt=("python3-venv",),
    use_if=(LINUX,),
    note="A Python of another release has a package of its own, such as python3.10-venv.",
)
