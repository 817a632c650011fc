"""Print the modules and the public names of the standard library, as JSON.

Standard input holds names by module that are asked for beside those that a module lists: a
deprecated name may be made only when it is used (PEP 562). The program runs under the interpreter
that is asked, from Python 3.6 on, and imports nothing of doctor.
"""

import builtins
import importlib
import json
import os
import pkgutil
import sys
import warnings
from pathlib import Path
from typing import Dict, List  # noqa: UP035 Python 3.6 has no other

_BESIDE = {"antigravity", "this", "idlelib", "turtledemo", "test", "__main__", "site-packages"}
"""Modules that open a window or a browser, and what is no part of the library."""
_CLASSES = (
    ("str", "builtins"),
    ("bytes", "builtins"),
    ("dict", "builtins"),
    ("list", "builtins"),
    ("set", "builtins"),
    ("int", "builtins"),
    ("float", "builtins"),
    ("tuple", "builtins"),
    ("Thread", "threading"),
    ("Path", "pathlib"),
    ("PosixPath", "pathlib"),
    ("HTMLParser", "html.parser"),
    ("array.array", "array"),
    ("Element", "xml.etree.ElementTree"),
)


def modules() -> List[str]:  # noqa: UP006
    """Return the importable modules of the standard library and of its packages."""
    folder = Path(os.__file__).parent
    places = [str(folder), str(folder / "lib-dynload")]
    found = set(sys.builtin_module_names) | {each.name for each in pkgutil.iter_modules(places)}
    found = {each for each in found if not each.startswith("_sysconfigdata") and "-" not in each}
    for name in sorted(found - _BESIDE):
        inner = folder / name
        if inner.is_dir() and name != "encodings":
            found |= {
                f"{name}.{each.name}"
                for each in pkgutil.iter_modules([str(inner)])
                if not each.name.startswith(("_", "test"))
            }
    return sorted(each for each in found if each.partition(".")[0] not in _BESIDE)


def names(asked: Dict[str, List[str]]) -> Dict[str, List[str]]:  # noqa: UP006
    """Return the public names of each module that can be imported."""
    found: Dict[str, List[str]] = {}  # noqa: UP006
    for name in modules():
        try:
            module = importlib.import_module(name)
        except BaseException:  # noqa: BLE001 a module of another system, or without its library
            found[name] = []
            continue
        listed = {each for each in dir(module) if not each.startswith("_")}
        listed |= {each for each in asked.get(name, ()) if hasattr(module, each)}
        found[name] = sorted(listed)
    return found


def classes() -> Dict[str, List[str]]:  # noqa: UP006
    """Return the public attributes of classes that programs meet by name."""
    found = {}
    for name, module in _CLASSES:
        owner = importlib.import_module(module)
        kind = getattr(owner, name.rpartition(".")[2], None) or getattr(builtins, name, None)
        found[name] = sorted(each for each in dir(kind) if not each.startswith("_"))
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    json.dump({"names": names(json.load(sys.stdin)), "classes": classes()}, sys.stdout)
