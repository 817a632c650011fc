"""Explain classes of a program itself: saved by other code, or of files of two states."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inventory import distinct, frames, is_library, package_of
from doctor.analyzers.recipes import code, command
from doctor.model.events import Event
from doctor.model.scales import Confidence, Severity
from doctor.timelines import names

_SAVED = re.compile(
    r"Can't get attribute '(?P<name>\w{1,100})' on <module '(?P<module>[\w.]{1,160})'"
)
_LOADS = re.compile(r"serialization\.py|unpickler|find_class|torch\.load|pickle\.load|joblib")
_IN_FILE = re.compile(r"on <module '__(?:mp_)?main__' from '[^']{1,300}\.py'>")
_WORKERS = re.compile(r"multiprocessing|spawn|DataLoader|num_workers|Process\(|Pool\(|ipykernel")
_CLASS = re.compile(r"[A-Z]\w{2,60}")
_NEVER = frozenset(
    {"NoneType", "Namespace", "DataFrame", "Series", "Tensor", "Image", "Path", "Popen"}
    | {"EasyDict", "Config", "ConfigDict", "Response", "Dataset", "Parameter", "Module"}
)
_ABOVE, _LONGEST, _MOST = 8, 300, 3


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what is wrong with the program's own classes."""
    for event in distinct(case, "not-picklable", most=_MOST):
        if (found := saved_object(case, event)) is not None:
            yield _saved(event, found["name"], found["module"])
    for event in distinct(case, "object-attribute-missing", most=_MOST):
        if _is_own(case, event):
            yield _of_two_states(event)


def saved_object(case: Case, event: Event) -> re.Match[str] | None:
    """Return what a file names that this code lacks; None where a worker gets no function."""
    found = _SAVED.search(event.text)
    above = case.log.lines[max(0, event.at - _ABOVE) : event.at]
    if found is None or any(_LOADS.search(line[:_LONGEST]) for line in above):
        return found
    script = not any(frames(case, event)) and _IN_FILE.search(event.text)
    workers = any(_WORKERS.search(line[:_LONGEST]) for line in case.log.lines)
    return found if script and not workers else None


def _saved(event: Event, name: str, module: str) -> Explanation:
    main = module in ("__main__", "__mp_main__")
    kind = "class" if name[:1].isupper() else "function"
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("torch/checkpoint-names-a-missing-module",),
        detection=detection(
            event,
            f"The file was saved by other code: {module} has no {kind} {name} here",
            f"A whole object was saved, and it names its {kind} by module. The code that loads it "
            "is of another release, branch or fork than the code that saved it.",
            recipes=(
                code(
                    f"Make the {kind} {name} known to the program that loads",
                    "the beginning of the program that loads",
                    f"from my_model import {name}",
                    use_if=(f"the {kind} stood in the script that saved the file",),
                    note="Or load a file that holds weights alone, where the project has one. "
                    "Save them so the next time: torch.save(model.state_dict()).",
                ),
            )
            if main
            else (
                code(
                    "Give the program weights that were made for this very code",
                    "the option that names the weights",
                    "the file that the page of this release or branch offers",
                    note=f"The program that saved it is the one whose {module} has {name}.",
                ),
                command(
                    "See which states of the code have that class",
                    *("git", "log", "--oneline", "--all", f"-Sclass {name}"),
                    use_if=("the current folder is the clone",),
                    look=True,
                    note="git checkout takes one of them.",
                ),
            ),
            name="saved-by-other-code",
        ),
    )


def _is_own(case: Case, event: Event) -> bool:
    """Say whether an attribute is asked of a class that only the program itself can have."""
    name = event.objects["class"].rpartition(".")[2]
    if not _CLASS.fullmatch(name) or name in _NEVER:
        return False
    for path in frames(case, event):
        package = package_of(path)
        if package == "torch" and "modules" in path:
            continue  # Module.__getattr__ only says what the program asked for
        if is_library(path) or package is not None or path.startswith("<"):
            return False
        return not any(names.class_attributes(name, one) for one in ("torch", "transformers"))
    return False


def _of_two_states(event: Event) -> Explanation:
    name, missing = event.objects["class"].rpartition(".")[2], event.objects["name"]
    return Explanation(
        event=event,
        precision=Precision.GUESS,
        detection=detection(
            event,
            f"The program's {name} has no {missing}: its files, or its weights, are of two states",
            f"The program asks its own class {name} for {missing}. Either a file was changed or "
            "taken from another release, or the object was loaded from a file that another release "
            "saved. The packages are not at fault.",
            recipes=(
                command(
                    "Bring the clone up to date",
                    *("git", "pull"),
                    use_if=("the current folder is the clone",),
                    note="git status --short shows the files that were changed here, and git stash "
                    "sets the changes aside.",
                ),
                code(
                    "Take weights and settings of the release of the code",
                    "the options that name the weights and the settings",
                    "the files that came with this release",
                    use_if=("the object is loaded from a file, or built from a .yaml file",),
                ),
            ),
            name="own-files-differ",
            severity=Severity.NOTE,
            confidence=Confidence.LOW,
        ),
    )
