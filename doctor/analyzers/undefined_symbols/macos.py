"""Symbols that dyld of macOS does not find because the system is older than the file."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.machine import lines_around
from doctor.analyzers.undefined_symbols.owners import short
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe

_BUILT_FOR = re.compile(r"built for (?:Mac OS X|macOS|OS X) (\d{2}\.\d{1,2})")
_SYSTEM = re.compile(
    r"Expected in: (?:<[\w-]{1,60}> )?(/usr/lib/\S{1,80}|/System/Library/Frameworks/\S{1,160})"
)
_NEW_LAPACK = "$NEWLAPACK"
_MOST = 6


def of_macos(case: Case, event: Event) -> Explanation | None:
    """Explain a symbol that a library of macOS itself does not have yet."""
    if event.speaker != "dyld":
        return None
    lines = list(lines_around(case, event, 0, _MOST))
    text = "\n".join(lines)
    symbol = event.objects["symbol"]
    built, system = _BUILT_FOR.search(text), _SYSTEM.search(text)
    wanted = "13.3" if _NEW_LAPACK in symbol else built[1] if built else ""
    if not wanted and not system:
        return None
    file = event.objects.get("file", "").rpartition("/")[2] or "A compiled file"
    needs = f"macOS {wanted} or newer" if wanted else "a newer macOS"
    return Explanation(
        event=event,
        precision=Precision.EXACT if wanted else Precision.FAMILY,
        contradicts=("torch/extension-built-for-other-torch",),
        detection=detection(
            event,
            f"{file} needs {needs}: {short(symbol.removeprefix('_'))} is missing in this one",
            "The name belongs to a library of macOS itself, and the file was built for a newer "
            "system. pip and conda cannot bring it. A Python that was built for an old macOS takes "
            "wheels for newer ones only by mistake.",
            recipes=(
                Recipe(
                    title="Install a release of the package that still runs on this macOS",
                    steps=(
                        Action(install=("<package>==<older-release>",), options=(Option.NO_CACHE,)),
                    ),
                    ask={
                        "package": "the package of the file",
                        "older-release": "a release with wheels for this macOS",
                    },
                ),
            ),
            name="macos-too-old",
        ),
    )
