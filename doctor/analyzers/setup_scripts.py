"""Explain what a setup.py imports and does not find: torch, or a module beside it."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, detection
from doctor.analyzers.recipes import command
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe

_SETUP = re.compile(r"(?:^|[/\\ \"])setup\.py\b")
_SUDO = re.compile(r"\bsudo (?:-[A-Za-z] )?(?:python|pip)")


def torch_of_setup(case: Case, event: Event) -> Explanation | None:
    """Explain a setup.py that is run by hand, with a Python that has no torch.

    pip's builds are another matter: they have an environment of their own.
    """
    near = [line[:_LONGEST] for line in case.log.lines[max(event.at - _NEAR, 0) : event.at + 1]]
    if not any(map(_SETUP.search, near)):
        return None
    by_root = any(map(_SUDO.search, near))
    own = command(
        "Run it without sudo, so that the Python of your environment does it",
        *("{python.executable}", "setup.py", "develop"),
        use_if=("torch is installed for your own Python",),
        note="sudo takes the Python of the system, and leaves the environment. Where the folder "
        "cannot be written, change its owner: chown.",
    )
    install = Recipe(
        title="Install torch for the Python that runs setup.py",
        use_if=("it is not installed there: pip list shows none",),
        steps=(Action(install=("torch",)),),
        note="In the environment that is active. python and python3 may be two of them: run "
        "setup.py with the one that pip --version names.",
    )
    return Explanation(
        event=event,
        detection=detection(
            event,
            "setup.py imports torch, and the Python that runs it has none"
            + (": sudo takes the Python of the system" * by_root),
            "The build script asks torch how it was built. torch is not installed, or only for "
            "another Python or environment.",
            recipes=(own, install) if by_root else (install,),
            name="torch-missing-for-setup",
        ),
    )


_LONGEST, _NEAR = 1000, 12


_OF_SETUP = re.compile(r"setup\.py\", line \d")


def beside_setup(case: Case, event: Event) -> tuple[Recipe, ...]:
    """Return what to do where setup.py imports a folder beside it.

    Isolated builds do not search the folder of setup.py (PEP 517), and an archive may lack it.
    """
    near = case.log.lines[max(event.at - _NEAR, 0) : event.at]
    if not any(_OF_SETUP.search(line[:_LONGEST]) for line in near):
        return ()
    return (
        Recipe(
            title="Build it in the whole clone, with its folder on the path",
            use_if=("the current folder is the clone, with setup.py in it",),
            steps=(
                Action(run=("git", "submodule", "update", "--init", "--recursive")),
                Action(
                    install=(".",), options=(Option.NO_BUILD_ISOLATION,), env={"PYTHONPATH": "."}
                ),
            ),
            note="setup.py imports a module that lies beside it. An archive of the release may "
            "lack that, and pip does not search the folder by itself.",
        ),
    )
