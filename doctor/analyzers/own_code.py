"""Explain failures between files of one program: a clone whose parts do not go together.

| event | what is read |
| --- | --- |
| more positional arguments than a function takes | both files lie in the program's own folder |
| an argument that a function of the program does not take | the function and its caller |
| a model's forward() that does not take what a tokenizer gives | the name of the argument |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inventory import distinct, frames, is_library, package_of
from doctor.analyzers.recipes import code, command
from doctor.model.events import Event
from doctor.model.issues import Recipe
from doctor.model.scales import Confidence, Severity
from doctor.timelines import names

_POSITIONAL = re.compile(
    r"\b([\w.<>]{1,120})\(\) takes (?:from \d{1,3} to )?(\d{1,3}) positional arguments? but "
    r"(\d{1,3}) (?:was|were) given"
)
_FORWARD = re.compile(
    r"(?:(?P<model>[A-Z]\w{2,80})\.)?(?P<function>forward|generate)\(\) got an unexpected keyword "
    r"argument '(?P<name>token_type_ids|attention_mask|position_ids)'"
)
_UNUSED = re.compile(r"`model_kwargs` are not used by the model: \['(?P<name>token_type_ids)'\]")
_MOST = 4


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what does not go together in the program's own files."""
    kinds = ("exception", "keyword-not-accepted")
    for event in distinct(case, *kinds, most=_MOST):
        found = _of_tokenizer(event) or _positional(case, event) or _keyword(case, event)
        if found is not None:
            yield found


def _own(case: Case, event: Event) -> list[str]:
    """Return the program's own files of a traceback, the innermost first; empty below a library."""
    found: list[str] = []
    for path in frames(case, event):
        if path.startswith("<"):
            continue
        if is_library(path) or package_of(path) is not None:
            break
        found.append(path)
    return found


def _positional(case: Case, event: Event) -> Explanation | None:
    call = _POSITIONAL.search(event.text)
    if call is None or int(call[3]) <= int(call[2]) or not _own(case, event):
        return None
    return _explanation(
        event,
        f"The program's own files do not go together: {call[1]}() takes {call[2]} arguments, and "
        f"its caller hands in {call[3]}",
    )


def _keyword(case: Case, event: Event) -> Explanation | None:
    """Explain an argument that one file of a program hands to a class of another."""
    objects = event.objects
    function = objects.get("function", "")
    if event.kind != "keyword-not-accepted" or function.rpartition(".")[2] in _ANYBODYS:
        return None
    own = _own(case, event)
    if not own or not (_is_nobody_elses(function) or _defines(case, function, own)):
        return None
    return _explanation(
        event,
        f"The program's own files do not go together: {function}() does not take {objects['name']}",
    )


def _is_nobody_elses(function: str) -> bool:
    """Say whether a name is so long that it is the program's, and no known package has it."""
    is_long = function.count("_") >= _WORDS and "." not in function
    return is_long and not any(one.name == function for one in names.functions(function))


_WORDS = 3
_ANYBODYS = frozenset({"__init__", "forward", "__call__", "wrapper", "<lambda>"})


def _defines(case: Case, function: str, own: list[str]) -> bool:
    """Say whether the function is imported from the program's own folder, by the log's lines."""
    name = function.rpartition(".")[2]
    pattern = re.compile(rf"\bfrom \.[\w.]{{0,80}} import [^\n]{{0,200}}\b{re.escape(name)}\b")
    return len(set(own)) > 1 and any(pattern.search(line[:400]) for line in case.log.lines)


def _explanation(event: Event, title: str) -> Explanation:
    return Explanation(
        event=event,
        detection=detection(
            event,
            title,
            "Caller and function both belong to the program, so no package is at fault: its state "
            "has a mistake, or files of two states lie in one folder.",
            recipes=_RECIPES,
            name="own-files-differ",
            confidence=Confidence.MEDIUM,
        ),
        precision=Precision.FAMILY,
    )


_RECIPES: tuple[Recipe, ...] = (
    command(
        "Bring the program up to date, where it is a clone of somebody else's",
        "git",
        "pull",
        use_if=("the current folder is the clone",),
        note="If the newest state fails, go back to the one before: git log --oneline names them, "
        "and git checkout takes one. A released tag is the safest.",
    ),
    code(
        "Hand in what the function takes, where the code is your own",
        "the call that stands last in the traceback",
        "function(first, second)",
        before="function(first, second, third)",
    ),
)


def _of_tokenizer(event: Event) -> Explanation | None:
    """Explain an argument that comes out of a tokenizer, and that the model does not know."""
    found = _FORWARD.search(event.text) or _UNUSED.search(event.text)
    if found is None:
        return None
    name = found["name"]
    model = found.groupdict().get("model") or "The model"
    asked = code(
        f"Have the tokenizer leave {name} out",
        "the call of the tokenizer",
        f'tokenizer(text, return_tensors="pt", return_{name}=False)',
        before='tokenizer(text, return_tensors="pt")',
    )
    drop = code(
        f"Take {name} out of what goes into the model",
        "before the call of the model",
        f'inputs.pop("{name}", None)',
        note="In a data set: dataset.remove_columns. The Trainer drops it too, unless "
        "remove_unused_columns=False is set.",
    )
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{model} does not take {name}, which the tokenizer gives",
            "A tokenizer gives what its model family takes. This one belongs to another family, "
            "or its configuration names another class.",
            recipes=(drop,) if name == "position_ids" else (asked, drop),
            name="argument-of-tokenizer",
            severity=Severity.NOTE,
            confidence=Confidence.MEDIUM,
        ),
        precision=Precision.EXACT,
    )
