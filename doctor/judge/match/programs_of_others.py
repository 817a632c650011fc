"""Put a program's own update before edits of its code, where the reader did not write the program.

A web UI or a trainer that was cloned fails in its own files. An edit of them is lost at its next
update, and mostly its newest state, or the one before, has no such fault.
"""

from __future__ import annotations

import re
from bisect import bisect_left

import msgspec

from doctor.analyzers.case import Case
from doctor.analyzers.inventory import frame_of, is_library
from doctor.model.findings import Detection
from doctor.model.issues import Action, Recipe

_PROGRAMS = (
    (
        "Forge",
        re.compile(r"[^/\\]{0,60}(?:webui[_-]forge|stable-diffusion-webui-forge)[^/\\]{0,60}"),
        ("webui",),
    ),
    (
        "the web UI",
        re.compile(r"(?:stable-diffusion-webui|sd-webui|automatic|sdnext|SD\.Next)[^/\\]{0,60}"),
        (),
    ),
    ("ComfyUI", re.compile(r"ComfyUI(?:-master)?"), ()),
    ("Fooocus", re.compile(r"Fooocus[^/\\]{0,60}"), ()),
    ("text-generation-webui", re.compile(r"(?:text-generation-webui|textgen)[^/\\]{0,60}"), ()),
    ("kohya_ss", re.compile(r"(?:kohya_ss|sd-scripts)[^/\\]{0,60}"), ()),
    ("LLaMA-Factory", re.compile(r"LL[aA][mM][aA]-?Factory[^/\\]{0,60}"), ()),
    ("FramePack", re.compile(r"FramePack[^/\\]{0,60}"), ("webui",)),
    ("OneTrainer", re.compile(r"OneTrainer[^/\\]{0,60}"), ()),
    ("GPT-SoVITS", re.compile(r"GPT-SoVITS[^/\\]{0,60}"), ()),
    ("RVC", re.compile(r"(?:Retrieval-based-Voice-Conversion-WebUI|RVC|Applio)[^/\\]{0,60}"), ()),
    ("Wan2GP", re.compile(r"Wan2GP[^/\\]{0,60}"), ()),
    ("ai-toolkit", re.compile(r"ai-toolkit[^/\\]{0,60}"), ()),
)
"""Names of programs, patterns of their folders, and the folder in it that holds the sources."""
_ADDONS = {"custom_nodes", "extensions"}
_DEEPEST = 30
_SAFE = re.compile(r"(?:[A-Za-z]:)?[\w./\\~+-]{3,200}")
_CODE = re.compile(r"\w\(|\w\.\w|\bimport\b")
_SETTINGS = re.compile(
    r"setting|command|workflow|config|\.ya?ml|\.toml|\.json|console|terminal|shell|page|options"
    r"|Dockerfile|Cargo|CMake|\.bat|\.ini|\.env"
)
_ABOVE = 80
_SHOWN = 2


def with_update(found: Detection, case: Case) -> Detection:
    """Return a finding with the program's own update first, where else only edits are shown."""
    shown = found.recipes[:_SHOWN]
    if not shown or not all(_is_edit(one) for one in shown):
        return found
    if (program := _program(found, case)) is None:
        return found
    name, folder = program
    safe = bool(_SAFE.fullmatch(folder)) and "\u2026" not in folder
    update = Recipe(
        title=f"Bring {name} up to date: the line that fails is its own, and not yours",
        steps=(Action(run=("git", "-C", folder if safe else "<folder>", "pull")),),
        ask={} if safe else {"folder": f"the folder of {name}"},
        note="Then start it as usual. Where the fault came with its last update, go back to the "
        "state before: git log --oneline names them, and git checkout takes one.",
    )
    return msgspec.structs.replace(found, recipes=(update, *found.recipes))


def _is_edit(recipe: Recipe) -> bool:
    """Say whether a recipe changes lines of Python, and not settings or a command."""
    snippet = recipe.snippet
    if snippet is None or recipe.steps or _SETTINGS.search(snippet.where):
        return False
    return bool(_CODE.search(snippet.after) or _CODE.search(snippet.before))


def _program(found: Detection, case: Case) -> tuple[str, str] | None:
    """Return the program whose file is the innermost of the traceback, and its folder."""
    log = case.log
    for evidence in found.evidence:
        if evidence.source != log.source or not evidence.line:
            continue
        at = bisect_left(log.numbers, evidence.line) if log.numbers else evidence.line - 1
        above = log.lines[max(at - _ABOVE, 0) : at + 1]
        # ComfyUI prints the message first, and the traceback below it.
        below = log.lines[at + 1 : at + 1 + _ABOVE]
        for line in (*reversed(above), *reversed(below)):
            path = frame_of(line)
            if not path or path.startswith("<") or is_library(path):
                continue
            return _named(path)
    return None


def _named(path: str) -> tuple[str, str] | None:
    """Return the program or the add-on that a file belongs to, and its folder."""
    separator = "\\" if "\\" in path else "/"
    parts = path.split(separator)[:_DEEPEST]
    for at, part in enumerate(parts[:-2]):
        if part in _ADDONS:
            return f"the add-on {parts[at + 1]}", separator.join(parts[: at + 2])
    for at, part in enumerate(parts[:-1]):
        for name, folder, inner in _PROGRAMS:
            if folder.fullmatch(part):
                end = at + 2 if parts[at + 1] in inner else at + 1
                return name, separator.join(parts[:end])
    return None
