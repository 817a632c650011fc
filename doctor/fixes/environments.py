"""Where an installation can go.

Into the environment, or into a new one above it where the environment is closed to this user.
"""

from __future__ import annotations

from doctor.fixes.installer import python
from doctor.model.facts import Facts, present, value_of
from doctor.model.fixes import Command

_ABOVE = ".venv-above"


def closed(facts: Facts) -> str:
    """Say why nothing can be installed into this environment; empty where it can."""
    if value_of(facts, "python.externally_managed") is True:
        return "pip refuses to install into this Python of the operating system (PEP 668)"
    if value_of(facts, "python.writable") is False:
        return "this user cannot write to the environment's site-packages"
    return ""


def above(facts: Facts) -> tuple[Facts, Command]:
    """Return facts of a new environment above this one, and the command that makes it.

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
    if value_of(facts, "python.uv"):
        # pip installs there: uv does not see the packages of the old environment. The old one's pip
        # does it too, and no newer setuptools comes along with it.
        seed = () if value_of(facts, "python.has_pip") else ("--seed",)
        make: tuple[str, ...] = (
            *("uv", "venv", *seed, "--system-site-packages"),
            *("--python", base, _ABOVE),
        )
    else:
        make = (base, "-m", "venv", "--system-site-packages", _ABOVE)
    return {**facts, **{name: present(value, _ABOVE) for name, value in known.items()}}, Command(
        argv=make
    )
