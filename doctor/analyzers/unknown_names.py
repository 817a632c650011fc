"""Explain a name that a module lacks where no timeline tells which release has it.

A name that every release has is missing where Python imports something else by that name. Of a
package that nobody listed, either the release or the place is another one: one look tells which.
"""

from __future__ import annotations

import re

from packaging.version import Version

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inventory import Caller, Inventory, frames, is_library, package_of
from doctor.analyzers.name_findings import explain_inconsistent
from doctor.analyzers.recipes import again, code, command
from doctor.analyzers.releases import TORCH, Fit
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Confidence, Severity
from doctor.timelines.standard_library import standard_module

_MODULE = re.compile(r"[A-Za-z_]\w{0,60}(?:\.\w{1,60}){0,6}")
NAMESPACES = frozenset({"google", "azure", "nvidia", "zope", "ruamel", "sphinxcontrib", "jaraco"})
"""Folders that many distributions share: PyPI has other packages, or none, under these names."""
_OWN = frozenset(
    {"utils", "util", "models", "model", "src", "lib", "modules", "tools", "config", "network"}
    | {"networks", "net", "core", "common", "data", "dataset", "layers", "losses"}
)
"""Folders of programs: no distribution has their names."""


def _not_it(event: Event, distribution: str, module: str, name: str) -> Explanation | None:
    """Explain a name that each release has: what is imported is no such release, or not whole."""
    if not _MODULE.fullmatch(module) or event.objects.get("path"):
        return None
    if name == "__version__" or distribution in TORCH:
        return None  # leftovers explains these
    package = module.partition(".")[0]
    look = _where(
        package,
        f"Where the path is a file or a folder of the program, rename it: it hides {distribution}. "
        f"(namespace), or None, is a folder without the package.",
    )
    return Explanation(
        event=event,
        precision=Precision.FAMILY,
        detection=detection(
            event,
            f"What Python imports as {package} is not {distribution}, or not all of it: each "
            f"release has {name}",
            f"A file {package}.py or a folder {package} beside the program is imported before the "
            f"installed package, or the package was left half installed.",
            recipes=(look, again(distribution)),
            name="module-of-another-place",
            confidence=Confidence.LOW,
        ),
    )


def explain_own(
    case: Case, event: Event, asked: tuple[str, str], caller: Caller | None
) -> Explanation | None:
    """Explain a module of the program itself that lacks a name: the frames or its name show it."""
    module, name = asked
    if caller is not None and caller.kind != "project":
        return None
    package = module.partition(".")[0]
    place = re.compile(rf"[/\\]{re.escape(package)}(?:[/\\]|\.py$)")
    files = [path for path in frames(case, event) if not is_library(path)]
    own = package in _OWN or any(place.search(path) for path in files)
    if event.kind != "module-attribute-missing" or not own or not _MODULE.fullmatch(module):
        return None
    return Explanation(
        event=event,
        precision=Precision.FAMILY,
        detection=detection(
            event,
            f"The program's own {module} has no {name}",
            f"Either its authors took {name} out, or forgot to add it, or it is a file of the "
            f"folder {package} that nothing has imported yet, or an installed package of the name "
            f"{package} is imported in its place.",
            recipes=(
                command(
                    "Bring the clone up to date",
                    *("git", "pull"),
                    use_if=("the current folder is the clone",),
                    note=f"git grep {name} shows whether it is there at all; where it is not, its "
                    f"call can mostly be taken out.",
                ),
                code(
                    f"Import the file, where {name} is one of that folder",
                    "the file in the traceback",
                    f"import {module}.{name}",
                    note="import of a folder alone loads no file of it. Where pip list names a "
                    f"package {package}, uninstall that, or start with PYTHONPATH=. instead.",
                ),
            ),
            severity=Severity.NOTE,
            confidence=Confidence.LOW,
            name="module-of-another-place",
        ),
    )


def explain_unknown(
    event: Event, module: str, name: str, caller: Caller | None
) -> Explanation | None:
    """Explain a name that a package without a timeline lacks, from the message alone."""
    package = module.partition(".")[0]
    if (
        (caller is not None and caller.kind != "project")
        or event.objects.get("path")
        or not _MODULE.fullmatch(module)
        or package in _OWN | NAMESPACES
        or standard_module(package)
    ):
        return None
    look = _where(
        package,
        "A path inside the program's folder, or (namespace): a folder or a file hides the "
        "package; rename it, add the __init__.py that is missing, or install it with pip install "
        "-e. A path in site-packages: the release is another one than the program is written "
        "for.",
    )
    newer = Recipe(
        title=f"Take the newest release of what brings {package}",
        use_if=("it lies in site-packages",),
        steps=(Action(install=("<package>",), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
        ask={"package": f"the name in pip list of what brings {package}, often {package} itself"},
        note="Where the newest lacks the name too, the program is the older one: take the release "
        "of its requirements.",
    )
    return Explanation(
        event=event,
        precision=Precision.GUESS,
        detection=detection(
            event,
            f"What Python imports as {module} has no {name}: another release, or another place",
            f"The program is written for another release of {package}, or a folder or a file of "
            f"that name is imported before the installed package.",
            recipes=(look, newer),
            severity=Severity.NOTE,
            confidence=Confidence.LOW,
            name="module-of-another-place",
        ),
    )


def _where(package: str, note: str) -> Recipe:
    return command(
        f"See which {package} is imported, and which release",
        *("{python.executable}", "-c"),
        f"import {package} as m; print(getattr(m, '__file__', None), "
        f"getattr(m, '__version__', ''), list(getattr(m, '__path__', [])))",
        look=True,
        note=note,
    )


def explain_present(event: Event, found: Fit, module: str, name: str) -> Explanation | None:
    """Explain a name that the installed release, or each release, has."""
    package = module.partition(".")[0]
    if found.version or (package_of(event.objects.get("path", "")) == package and name != package):
        return explain_inconsistent(event, found, module, name)
    return _not_it(event, found.distribution, module, name)


_LEAST = {
    "transformers": {
        "3.9": "3.5",
        "3.10": "4.12",
        "3.11": "4.24",
        "3.12": "4.35",
        "3.13": "4.46",
        "3.14": "4.57",
    },
}
"""The oldest release that can be installed for a Python: tokenizers had no wheels for it before."""


def for_python(found: Fit, inventory: Inventory) -> Fit:
    """Count a name as present where each release that this Python can have is newer than it."""
    least = _LEAST.get(found.distribution, {}).get(inventory.python() or "")
    if found.way != "old" or found.version or not least or not found.since:
        return found
    return found._replace(way="present") if Version(found.since) <= Version(least) else found


def without_version(event: Event, module: str) -> Explanation:
    """Explain that a module of Python has no version of its own."""
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{module} is Python's own module here, and has no __version__",
            f"Some modules of Python had one in old releases, and packages of the name {module} on "
            "PyPI have one. The release of Python is that of its modules.",
            recipes=(
                code(
                    "Ask Python for its release",
                    "the line in the traceback",
                    "platform.python_version()",
                    before=f"{module}.__version__",
                    note="import platform first. For a package of that name: "
                    f"importlib.metadata.version('{module}').",
                ),
            ),
            name="name-not-in-python",
        ),
    )
