"""Explain modules that are imported before they are complete, or in the place of others."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, detection
from doctor.analyzers.inventory import Inventory, distinct, frames, is_library, package_of
from doctor.analyzers.name_findings import explain_hidden, explain_inconsistent, hides
from doctor.analyzers.recipes import again
from doctor.analyzers.releases import TORCH, fit
from doctor.model.events import Event
from doctor.model.issues import Recipe, Snippet
from doctor.model.scales import Severity
from doctor.timelines import names
from doctor.timelines.standard_library import standard_module


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each circle and of each file that hides a module."""
    inventory = Inventory(case)
    for event in distinct(case, "import-cycle", "module-shadowed"):
        found = _cycle(case, event, inventory) if event.kind == "import-cycle" else _shadowed(event)
        if found is not None:
            yield found


def _cycle(case: Case, event: Event, inventory: Inventory) -> Explanation | None:
    """Explain a module that is imported before it is complete."""
    module = event.objects["module"]
    package = module.partition(".")[0]
    path = event.objects.get("path") or next(
        (one for one in frames(case, event) if hides(one, package)), ""
    )
    known = names.distribution_of(package) or standard_module(package)
    if path and known and not is_library(path) and hides(path, package):
        return explain_hidden(event, path, package)
    distribution = names.distribution_of(package)
    if path and package_of(path) == package and distribution:
        history = names.importable(module, event.objects["name"])
        version = inventory.release(distribution)
        if history is not None and (found := fit(history, version)).way in ("new", "old", "never"):
            return explain_inconsistent(event, found, module, event.objects["name"])
        return Explanation(
            event=event,
            detection=detection(
                event,
                f"{module} was imported before it was complete",
                f"Modules of {distribution} import each other in a circle, or an import inside it "
                f"failed before and was tried again. The first error of the log is the one to "
                f"mend; "
                f"where there is none, the files of {distribution} do not go together.",
                recipes=() if distribution in TORCH else (again(distribution),),
                name="import-cycle",
            ),
        )
    if path and is_library(path):
        return None
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"Modules of the program import each other in a circle: {module}",
            f"{module} is asked for {event.objects['name']} before the line that defines it has "
            f"run. This is in the program, not in what is installed.",
            recipes=(
                Recipe(
                    title="Import it later",
                    snippet=Snippet(
                        where="the function that uses the name, in the file at the end of the "
                        "traceback",
                        before=f"from {module} import {event.objects['name']}",
                        after=f"def function():\n    from {module} import {event.objects['name']}",
                    ),
                ),
            ),
            severity=Severity.NOTE,
            name="import-cycle",
        ),
    )


def _shadowed(event: Event) -> Explanation:
    """Explain what Python itself says of a file that hides a module."""
    path = event.objects["path"]
    return explain_hidden(event, path, re.split(r"[/\\]", path)[-1].partition(".")[0])
