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

_SEP = r"[/\\]"
_PROGRAMS = (
    ("Forge", r"[^/\\]*(?:webui[_-]forge|stable-diffusion-webui-forge)[^/\\]*", ("webui",)),
    ("the web UI", r"(?:stable-diffusion-webui|sd-webui|automatic|sdnext|SD\.Next)[^/\\]*", ()),
    ("ComfyUI", r"ComfyUI(?:-master)?", ()),
    ("Fooocus", r"Fooocus[^/\\]*", ()),
    ("text-generation-webui", r"(?:text-generation-webui|textgen)[^/\\]*", ()),
    ("kohya_ss", r"(?:kohya_ss|sd-scripts)[^/\\]*", ()),
    ("LLaMA-Factory", r"LL[aA][mM][aA]-?Factory[^/\\]*", ()),
    ("FramePack", r"FramePack[^/\\]*", ("webui",)),
    ("OneTrainer", r"OneTrainer[^/\\]*", ()),
    ("GPT-SoVITS", r"GPT-SoVITS[^/\\]*", ()),
    ("RVC", r"(?:Retrieval-based-Voice-Conversion-WebUI|RVC|Applio)[^/\\]*", ()),
    ("Wan2GP", r"Wan2GP[^/\\]*", ()),
    ("ai-toolkit", r"ai-toolkit[^/\\]*", ()),
)
"""Names of programs, patterns of their folders, and the folder in it that holds the sources."""
_FOLDERS = tuple(
    (name, re.compile(rf"^(.{{0,300}}?{_SEP}{folder}){_SEP}"), inner)
    for name, folder, inner in _PROGRAMS
)
_ADDON = re.compile(rf"{_SEP}(?:custom_nodes|extensions){_SEP}")
_SAFE = re.compile(r"(?:[A-Za-z]:)?[\w./\\~+-]{3,200}")
_CODE = re.compile(r"\w\(|\w\.\w+|\bimport\b|^\s*(?:def|class|with|if|for)\b", re.MULTILINE)
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
        for line in reversed(log.lines[max(at - _ABOVE, 0) : at + 1]):
            path = frame_of(line)
            if not path or path.startswith("<") or is_library(path):
                continue
            return None if _ADDON.search(path) else _named(path)
    return None


def _named(path: str) -> tuple[str, str] | None:
    for name, folder, inner in _FOLDERS:
        if match := folder.match(path):
            root = match[1]
            separator = "\\" if "\\" in path else "/"
            for one in inner:
                if path[len(root) :].startswith(separator + one + separator):
                    root = f"{root}{separator}{one}"
            return name, root
    return None
