"""Explain libraries that a loader does not find, or does not take.

| event | what is said of it |
| --- | --- |
| library-not-found | what the library is, which generation, who brings it, whether torch should |
| the same as a warning of TensorFlow | all that are missing, and what TensorFlow does without |
| library-unusable | file too short, wrong ELF class, executable stack, memory, rights |
| wrong-architecture | arm64 against x86_64 on macOS, 32 against 64 bits on Windows |
| dll-function-missing | Windows error 127: DLLs of two releases |
| dll-start-failed | Windows error 1114 |
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.libraries.missing import missing
from doctor.analyzers.libraries.tensorflow import WARNING, missing_for_tensorflow
from doctor.analyzers.libraries.unusable import unusable
from doctor.analyzers.libraries.windows import windows
from doctor.model.events import Event

_MOST, _NEAR = 4, 5


def _follows(event: Event, last: int) -> bool:
    """Say whether a missing function follows from the library that was not found above it."""
    return event.kind == "library-not-found" and event.at - last < _NEAR


def _passed_over(case: Case, event: Event) -> bool:
    """Say whether a copy for the other word size was left, and the copy beside it was tried."""
    if "ELFCLASS" not in event.objects.get("why", ""):
        return False
    path = event.objects.get("file", "")
    name = path.rpartition("/")[2]
    others = (
        one.objects.get("file", "")
        for one in case.of("undefined-symbol", "library-unusable")
        if one.at > event.at and "ELFCLASS" not in one.objects.get("why", "")
    )
    return bool(name) and any(one != path and one.rpartition("/")[2] == name for one in others)


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each library that is missing or refused, each once."""
    yield from missing_for_tensorflow(case)
    titles: set[str] = set()
    last = -_NEAR
    of_containers = {event.at for event in case.of("container-gpu-failed")}
    for event in case.of(
        "library-not-found",
        "library-unusable",
        "wrong-architecture",
        "dll-function-missing",
        "dll-start-failed",
    ):
        if event.at in of_containers:
            continue  # a library of the host, which NVIDIA's container toolkit looks for
        if _passed_over(case, event):
            continue
        if WARNING in event.text or ("symbol" in event.objects and _follows(event, last)):
            continue
        found = (
            missing(case, event)
            if event.kind == "library-not-found"
            else unusable(case, event)
            if event.kind in ("library-unusable", "wrong-architecture")
            else windows(case, event)
        )
        if found is not None and found.detection.title not in titles:
            titles.add(found.detection.title)
            last = event.at
            yield found
        if len(titles) == _MOST:
            return
