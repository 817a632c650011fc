"""Headers that belong to no known library: the package's own, or of a submodule."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, detection
from doctor.analyzers.machine import lines_around
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe

SUBMODULES = Recipe(
    title="Fetch the submodules of the checkout",
    use_if=("the package is built from a git checkout",),
    steps=(Action(run=("git", "submodule", "update", "--init", "--recursive")),),
)
_FROM_INDEX = re.compile(r"Building wheel for [\w.-]{1,80} \(|pip-install-\w{6,12}[/\\]|\.tar\.gz")
_REPOSITORY = Recipe(
    title="Install it from its repository, which holds all files",
    note="An archive of sources on an index may lack headers that its builder forgot to list.",
    steps=(Action(install=("git+<repository>",), options=(Option.HOLD_TORCH,)),),
    ask={"repository": "the address of the project's repository, https://…"},
)
_IN_SUBMODULE = re.compile(
    r"(?:third_?party|external|submodules|3rdparty|extern|deps|cutlass)[/\\]"
)


def of_sources(name: str) -> tuple[Recipe, ...]:
    """Return what to do about a file of sources that a build names and does not find."""
    newer = Recipe(
        title="Install the newest release, whose archive may have the file",
        use_if=("pip builds the package from its source archive",),
        note="pip takes an archive where no wheel fits. Where the newest lacks the file too, the "
        "repository has it: pip install git+<address>.",
        steps=(Action(install=("<package>",), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
        ask={"package": "the package that is being built"},
    )
    return (SUBMODULES, newer) if _IN_SUBMODULE.search(name) else (newer, SUBMODULES)


def unknown_header(case: Case, event: Event, name: str) -> Explanation:
    """Explain a header that no table holds."""
    inside = "/" in name
    own = event.text.count('"') > 0 or name.endswith((".cuh", ".inl"))
    archive = any(_FROM_INDEX.search(line[:500]) for line in lines_around(case, event, 60, 0))
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{name} is not found: the compiler stops at the first header that is missing",
            "The header belongs to no library that doctor knows: it is the package's own, of a "
            "submodule, or of a library whose package for developers is not installed. "
            + (
                f"Its first folder, {name.partition('/')[0]}, mostly names the library."
                if inside
                else ""
            ),
            recipes=(_REPOSITORY,) if archive and own else (SUBMODULES,),
            name="header-missing",
            captures={"header": name},
        ),
    )
