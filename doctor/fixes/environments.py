"""Where an installation can go.

Into the environment, or into a new one above it where the environment is closed to this user.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.facts.devices import texts
from doctor.fixes.installer import python, uv_of
from doctor.model.facts import Facts, present, value_of
from doctor.model.fixes import Command, Step

_ABOVE = ".venv-above"
# What needs no quotes, neither in a shell nor in Python.
_PLAIN = re.compile(r"[\w./:+@,=-]{1,1000}")
_ADDED = re.compile(r'site\.addsitedir\("([\w./:+@,=-]{1,1000})"\)')
_LINKS = (
    'import sys, sysconfig; open(sysconfig.get_path("purelib") + "/below.pth", "w")'
    ".write(sys.argv[1])"
)
_LINK_WORDS = 4


def closed(facts: Facts) -> str:
    """Say why nothing can be installed into this environment; empty where it can."""
    if value_of(facts, "python.externally_managed") is True:
        return "pip refuses to install into this Python of the operating system (PEP 668)"
    if value_of(facts, "python.writable") is False:
        return "this user cannot write to the environment's site-packages"
    return ""


def above_note(why: str) -> str:
    """Return a sentence about a new environment above one that is closed."""
    return (
        f"The new environment is made above the old one, which stays as it is: {why}. It sees the "
        "old packages, and its own come first. Whoever may change the old one can make the same "
        "changes there."
    )


def link_of(facts: Facts, inner: str) -> Step | None:
    """Return the step that lets a new environment see the packages of a virtual one.

    None where `--system-site-packages` does it: it shows the packages of the base interpreter, and
    none of a virtual environment. The folder is added as a site, so that its own `.pth` files count
    as well (https://docs.python.org/3/library/site.html#site.addsitedir).
    """
    if value_of(facts, "python.virtual_environment") is not True:
        return None
    folders = [one for one in texts(facts, "python.site_packages") if _PLAIN.fullmatch(one)]
    if not folders:
        return None
    line = "; ".join(("import site", *(f'site.addsitedir("{one}")' for one in folders)))
    return Step(
        title="Let it see the packages of the old environment",
        command=Command(argv=(inner, "-c", _LINKS, line)),
    )


def linked_folders(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the folders that such a command adds; none for any other command."""
    if tuple(argv[1:3]) != ("-c", _LINKS) or len(argv) != _LINK_WORDS:
        return ()
    parts = argv[3].split("; ")
    added = [found[1] for part in parts[1:] if (found := _ADDED.fullmatch(part))]
    return tuple(added) if parts[0] == "import site" and len(added) == len(parts) - 1 else ()


def above(facts: Facts) -> tuple[Facts, tuple[Step, ...]]:
    """Return facts of a new environment above this one, and the steps that make it.

    What is installed into the new one comes first there, and the old one stays as it is.
    """
    base = python(facts)
    windows = value_of(facts, "host.os") == "windows"
    inner = f"{_ABOVE}\\Scripts\\python.exe" if windows else f"{_ABOVE}/bin/python"
    known = {
        "python.executable": inner,
        "python.installer": "pip",
        "python.has_pip": True,
        "python.externally_managed": False,
    }
    link = link_of(facts, inner)
    shares = () if link else ("--system-site-packages",)
    if value_of(facts, "python.uv"):
        # pip installs there: uv does not see the packages of the old environment. The old one's pip
        # does it too, and no newer setuptools comes along with it.
        seed = () if value_of(facts, "python.has_pip") else ("--seed",)
        make: tuple[str, ...] = (
            *(uv_of(facts), "venv", *seed, *shares),
            *("--python", base, _ABOVE),
        )
    else:
        make = (base, "-m", "venv", *shares, _ABOVE)
    told = {**facts, **{name: present(value, _ABOVE) for name, value in known.items()}}
    return told, (Step(command=Command(argv=make)), *((link,) if link else ()))
