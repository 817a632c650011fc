"""Explain faults of extensions of the web UI for Stable Diffusion.

An extension calls the web UI's own modules, and those of other extensions. Each is a clone of its
own state, and what one asks for came or went in another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.inventory import NAME, distinct, frames, is_library
from doctor.analyzers.recipes import code, command
from doctor.model.events import Event
from doctor.model.issues import Recipe
from doctor.model.scales import Severity

_KINDS = (
    *("exception", "object-attribute-missing", "module-attribute-missing", "argument-missing"),
    *("keyword-not-accepted", "name-not-importable", "module-not-found"),
)
_EXTENSION = re.compile(r"[/\\]extensions(?:-builtin)?[/\\]([^/\\]{1,100})[/\\]")
_OF_WEBUI = re.compile(r"module 'modules\.|from 'modules[.']|No module named 'modules[.']")
_OF_ANOTHER = re.compile(r"'extensions\.([\w-]{1,80})\.")
_FAULT = re.compile(
    r"\b(?:AttributeError|TypeError|ImportError|ModuleNotFoundError|NameError|IndexError"
    r"|KeyError|UnboundLocalError)\b"
)
_MOST = 4
_HERE = "the current folder is the web UI's"


def explain(case: Case) -> Iterator[Explanation]:
    """Yield which extension asks for what its neighbours do not have."""
    for event in distinct(case, *_KINDS, most=_MOST):
        own = next((one for one in frames(case, event) if not is_library(one)), "")
        found = _EXTENSION.search(own)
        if found is None or not NAME.fullmatch(found[1]) or not _FAULT.search(event.text):
            continue
        if "'ControlNet' object has no attribute 'label_emb'" in event.text:
            yield _of_sdxl(event)
        else:
            yield _explanation(event, found[1])


def _explanation(event: Event, name: str) -> Explanation:
    another = _OF_ANOTHER.search(event.text)
    asked = another[1] if another and NAME.fullmatch(another[1]) else ""
    of_webui = bool(_OF_WEBUI.search(event.text))
    recipes: list[Recipe] = []
    if asked:
        recipes.append(_pull(asked))
    webui = command(
        "Bring the web UI up to date, then start it anew",
        "git",
        "pull",
        use_if=(_HERE,),
        note="Where the web UI has to stay: git -C extensions/" + name + " log names the states of "
        "the extension, and git checkout takes one of the time of the web UI.",
    )
    recipes += [webui, _pull(name)] if of_webui else [_pull(name), webui]
    recipes.append(
        command(
            "See whether another extension is in its way",
            *("{python.executable}", "launch.py", "--disable-extra-extensions"),
            use_if=(_HERE,),
            look=True,
        )
    )
    if asked:
        title = f"The extension {name} asks {asked} for what this state of it does not have"
    elif of_webui:
        title = f"The extension {name} is made for another state of the web UI"
    else:
        title = f"The extension {name} does not go together with this web UI: {event.text[:120]}"
    return Explanation(
        event=event,
        precision=Precision.EXACT if asked or of_webui else Precision.FAMILY,
        detection=detection(
            event,
            title,
            "Web UI and extensions are clones, each of its own day. What one asks for came or went "
            "in another; a change of one that was loaded before counts after a new start only.",
            recipes=tuple(recipes),
            name="extension-of-another-state",
        ),
    )


def _pull(name: str) -> Recipe:
    return command(
        f"Bring {name} up to date",
        *("git", "-C", f"extensions/{name}", "pull"),
        use_if=(_HERE,),
        note="Then start the web UI anew, not only its page.",
    )


def _of_sdxl(event: Event) -> Explanation:
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            "A ControlNet for Stable Diffusion 1.5 is used with a checkpoint of SDXL",
            "SDXL hands in sizes of the picture, for which models of 1.5 have no layer "
            "(label_emb). The installation is sound.",
            recipes=(
                code(
                    "Take a ControlNet for SDXL, or a checkpoint of Stable Diffusion 1.5",
                    "the unit's model",
                    "a model with sdxl or xl in its name",
                    before="control_v11p_sd15_…, control_sd15_…",
                ),
            ),
            name="families-mixed",
            severity=Severity.NOTE,
        ),
    )
