"""Point to the sentence of a message that says what to do, where nothing else explains it.

The sentence is quoted, never turned into a command. What asks for rights, secrets, downloads, or
for switching a protection off is left out, as is what only asks for a report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inventory import frame_of, is_library
from doctor.analyzers.recipes import code
from doctor.events.normal import normal
from doctor.events.owner import owning_event
from doctor.model.events import Event, Level
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Confidence, Severity

_SENTENCE = re.compile(r"(?<=[.!?;:])\s{1,4}(?=[A-Z`'\"(])|(?<=,) (?=(?:please|use|set|try) )")
_ADVICE = re.compile(
    r"^[('\"`]{0,2}(?:Please|please|Set|set|Use|use|Try|try|Consider|Make sure|Ensure|Specify"
    r"|Provide|Pass|Choose|Select|Increase|Decrease|Reduce|Add|Remove|Rename|Replace|Disable|Enable"
    r"|Upgrade|Downgrade|Update|Call|Convert|Move|Restart|Rerun|Re-run|Check|Verify|Did you mean"
    r"|You (?:must|need to|should|have to|can|may|might)|Must be|Only)\b"
    r"|\b(?:should|must|has to|have to|needs to|need to|is required to|are required to"
    r"|is expected to) (?:be|have|contain|match|use|set|equal|specify|provide|define|pass|call"
    r"|give|come|exist|start|end)\b"
    r"|\bmust be (?:one of|either|in|a|an)\b|\b(?:is|are) (?:required|mandatory)\b"
    r"|\b(?:available|valid|supported|possible|allowed) (?:\w{1,20} ){0,3}(?:are|is)\b"
    r"|\bis (?:not|no longer) supported(?: (?:by|for|in|on|with|when)\b)"
    r"|\bdoes(?: not|n't) (?:require|accept|support)\b|\brequires\b|\bexpected one of\b",
)
_REFUSED = re.compile(
    r"sudo|curl |wget |token|password|secret|api.?key|root\b|trust|insecure|unsafe|verify=False"
    r"|weights_only|allow_pickle|chmod|rm -|\bfile (?:a|an) (?:issue|bug)|open an? issue"
    r"|report (?:this|the|a|it)|github\.com|contact|CUDA_LAUNCH_BLOCKING|TORCH_USE_CUDA_DSA"
    r"|full stack|stack ?trace|traceback|log file|see (?:above|below)|for more (?:info|detail)",
    re.IGNORECASE,
)
_PYTHONS_OWN = re.compile(
    r"TypeError: (?:\w{1,30} indices must be|unsupported operand|can only concatenate|must be str"
    r"|sequence item|can't multiply|bad operand|expected str, bytes|object of type"
    r"|(?:[\w.]{1,60}\(\) )?argument must be|'\w{1,40}' (?:object|not supported))"
)
"""What Python says of any program's mistake, so that no sentence of it is advice."""
_LEAST, _MOST = 18, 240
_LONGEST = 1200
_BELOW = 3


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the sentence of the owning failure that says what to do."""
    event = owning_event(case.events)
    if event is None or event.level is not Level.FAILURE:
        return
    if event.objects.get("command") == "message" and event.kind == "configure-error":
        yield from _of_project(event)
        return
    if event.kind != "exception":
        return  # what has a form of its own has an analyzer of its own, or stays unsaid
    sentence = _advice(case, event)
    if not sentence or _PYTHONS_OWN.search(event.text):
        return
    text = normal(event.text[:_LONGEST]).text.strip(" :-")
    yield Explanation(
        event=event,
        precision=Precision.ADVICE,
        detection=detection(
            event,
            f"The program refuses what it was given: {_cut(text, 200)}",
            f'The message itself says what the program wants: "{_cut(sentence, _MOST)}". Nothing '
            "else in this log speaks for another cause: the setting, the input or the call is to "
            "be changed, and no installation.",
            recipes=(_recipe(case, event, sentence),),
            name="message-says",
            severity=Severity.NOTE,
            confidence=Confidence.LOW,
        ),
    )


def _recipe(case: Case, event: Event, sentence: str) -> Recipe:
    """Return the edit that a sentence asks for, at the line of the program that provoked it."""
    where, statement = _statement(case, event)
    if (choice := _CHOICE.search(event.text[:_LONGEST])) and (given := _GIVEN.search(event.text)):
        was = given[1] or given[2]
        values = [one.strip(" '\"`[]().") for one in _BETWEEN.split(choice[1])][:_CHOICES]
        values = [one for one in values if _VALUE.fullmatch(one)]
        if len(values) > 1 and was not in values:
            return code(
                f"Give one of the values that the program takes: {', '.join(values)}",
                where,
                values[0],
                before=was,
                note="A value that documentation names, and that is not in the list, came with a "
                "later release of the program.",
            )
    return code(
        f"Do what the message asks: {_cut(sentence, _MOST)}",
        where,
        f"# {_cut(sentence, _MOST)}",
        before=statement,
    )


_CHOICE = re.compile(r"\bone of\b[^:\[({]{0,60}[:\[({]\s{0,3}(.{1,400})")
_GIVEN = re.compile(
    r": ([\w./+-]{1,60}) is not (?:a|an|one|in)\b|: [^:]{0,80}?[`'\"]([\w./+-]{1,60})[`'\"]"
)
_BETWEEN = re.compile(r",? or |, ?")
_VALUE = re.compile(r"[\w./+-]{1,60}")
_CHOICES = 12


def _statement(case: Case, event: Event) -> tuple[str, str]:
    """Return the place and the text of the innermost statement of the program itself."""
    for at in range(event.at - 1, max(event.at - _FURTHEST, -1), -1):
        line = case.log.lines[at][:_LONGEST]
        if "Traceback (most recent" in line:
            break
        if (file := frame_of(line)) and not is_library(file):
            number = _LINE.search(line)
            name = re.split(r"[/\\]", file)[-1]
            below = normal(case.log.lines[at + 1][:_LONGEST]).text.strip()
            statement = below if _CALL.search(below) and len(below) <= _STATEMENT else ""
            return f"{name}, line {number[1]}" if number else name, statement
    return "the call or the setting that the lowest line of your own code shows", ""


_LINE = re.compile(r"\bline (\d{1,6})")
_CALL = re.compile(r"^[A-Za-z_@].{0,200}[(=]")
_STATEMENT = 160
_FURTHEST = 200


def _of_project(event: Event) -> Iterator[Explanation]:
    """Yield what the project says by message(FATAL_ERROR …), which is its own finding."""
    said = " ".join(event.objects.get("message", "").split())
    if len(said) < _LEAST or _REFUSED.search(said):
        return
    yield Explanation(
        event=event,
        precision=Precision.ADVICE,
        detection=detection(
            event,
            f"The project stops CMake: {_cut(said, 200)}",
            "The project's own CMakeLists.txt looked for something and refuses to go on; CMake "
            "itself and the compiler work.",
            recipes=(
                Recipe(
                    title=f"Do what the message asks, and configure in an empty folder: "
                    f"{_cut(said, _MOST)}",
                    steps=(Action(run=("cmake", "-B", "build-anew")),),
                    note="CMake keeps what it found in CMakeCache.txt, so that the old answer "
                    "stays in a folder that is used again.",
                ),
            ),
            name="message-says",
            severity=Severity.ERROR,
            confidence=Confidence.LOW,
        ),
    )


def _advice(case: Case, event: Event) -> str:
    """Return the first sentence that asks for something; empty where none does."""
    lines = [normal(event.text[:_LONGEST]).text]
    end = event.at + 1 + _BELOW
    for line in case.log.lines[event.at + 1 : end]:
        if not line.strip() or line.lstrip().startswith(("File ", "Traceback", "at ", "#", "[")):
            break
        lines.append(line[:_LONGEST].strip())
    sentences = [
        plain
        for line in lines
        for sentence in _SENTENCE.split(line)
        if _LEAST <= len(plain := _CLASS.sub("", sentence.strip(" '\"`"))) <= _MOST
        and not _REFUSED.search(plain)
        and "://" not in plain
    ]
    for pattern in (_ASKED, _ADVICE):
        if found := next((one for one in sentences if pattern.search(one)), ""):
            return found.rstrip(".")
    return ""


_CLASS = re.compile(r"^[\w.]{1,80}(?:Error|Exception): ")
_ASKED = re.compile(
    r"\b[Pp]lease (?:use|set|pass|try|give|specify|provide|add|choose|select|call|convert|make)\b"
)
"""What says outright what to do comes before what says how things should be."""


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rstrip()}…"
