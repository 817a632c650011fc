"""Which Python a program starts that brings its own, and that no `python3` on PATH is.

ComfyUI's portable edition: https://github.com/comfyanonymous/ComfyUI#windows-portable. Isaac Sim:
https://docs.isaacsim.omniverse.nvidia.com/latest/python_scripting/manual_standalone_python.html.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_LONGEST, _MOST = 1000, 4000
_EMBEDDED = re.compile(r"([A-Za-z]:\\[\w.\\-]{1,200})\\(?:python_embeded|ComfyUI)\\")
_ISAAC = re.compile(r"(?:^|[\s\"'(=:])((?:/[\w.-]{1,60}){1,12})/kit/python/")
_TOOLS = re.compile(
    r"(?:^|[\s\"'(=:])((?:/[\w.@-]{1,60}){1,12}/(?:pipx/venvs|uv/tools)/[\w.-]{1,60})/"
)
_WEBUI = re.compile(r"([A-Za-z]:\\[\w.\\ -]{1,200}\\\.?venv)\\[Ll]ib\\site-packages\\")
_WITH_PYTHON = re.compile(
    r"([A-Za-z]:\\[\w.\\ -]{1,120}\\(?:installer_files\\env|runtime|python(?:[_-]embed(?:ded)?)?))"
    r"\\(?:[Ll]ib\\site-p|python\.e)"
)
"""Programs for Windows with a whole Python in a folder of theirs: python.exe lies beside Lib."""
_SAID = re.compile(r"\*\* Python executable: ([A-Za-z]:\\[\w.\\ -]{1,200}\\[Pp]ython\.exe)\s*$")
"""What ComfyUI prints when it starts."""
_ONE_CLICK = re.compile(
    r"(?:^|[\s\"'(=:])((?:/[\w.@ -]{1,60}){1,12}/installer_files/env)/lib/python3"
)
"""The one-click installers of web UIs make a conda environment in this folder."""
_STARTED = re.compile(
    r"^\s{0,8}(?:[+$#>] )?((?:\.{0,2}/)?(?:[\w.@-]{1,60}/){0,12}\.?venv/bin/"
    r"python(?:3[\d.]{0,4})?) -"
)
"""A command of the log that starts the Python of a virtual environment."""
_SIGNS = (
    *("portable", "windows-standalone-build", "Windows, Standalone", "** Python executable"),
    *("embeded", "isaac", "venv/bin/python", "pipx/venvs", "uv/tools", "venv\\", "installer_files"),
    *("\\python\\", "\\python_embedded\\", "\\python-embed\\", "\\runtime\\"),
)
_PORTABLE = (".\\python_embeded\\python.exe", "python_embeded", "windows_portable")
_STANDALONE = ("--windows-standalone-build", "Windows, Standalone")


def interpreter_of(lines: Sequence[str], text: str) -> str:
    """Return the path of such an interpreter; empty where the log shows none, or several.

    `text` are the same lines in one.
    """
    signs = [sign for sign in _SIGNS if sign in text]
    if not signs:
        return ""
    near = [line[:_LONGEST] for line in lines if any(sign in line for sign in signs)][:_MOST]
    relative, *portable = _PORTABLE
    if any(sign in line for line in near for sign in portable):
        roots = {
            found[1].removesuffix("\\ComfyUI")
            for line in near
            if "portable" in line
            for found in _EMBEDDED.finditer(line)
            if "portable" in found[1]
        }
        return f"{roots.pop()}\\python_embeded\\python.exe" if len(roots) == 1 else relative
    if any(sign in line for line in near for sign in _STANDALONE):
        return relative
    for pattern, behind in (
        (_ISAAC, "/python.sh"),
        (_TOOLS, "/bin/python"),
        (_SAID, ""),
        (_WITH_PYTHON, "\\python.exe"),
        (_WEBUI, "\\Scripts\\python.exe"),
        (_ONE_CLICK, "/bin/python"),
        (_STARTED, ""),
    ):
        found_roots = {found[1] for line in near for found in pattern.finditer(line)}
        if len(found_roots) == 1:
            return found_roots.pop() + behind
    return ""
