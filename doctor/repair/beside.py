"""Find files that packages put beside site-packages, and that name a place which is gone.

An environment that was moved or copied keeps them: the first line of a program names the old
interpreter (https://docs.python.org/3/library/venv.html#how-venvs-work), and so does the kernel of
a notebook (https://jupyter-client.readthedocs.io/en/stable/kernels.html#kernel-specs). The
installed release once more writes them for the place where the environment lies today.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from doctor.environments.environment import Environment
from doctor.fixes.installer import install
from doctor.host import read_regular
from doctor.model.facts import Facts
from doctor.model.fixes import Step
from doctor.model.issues import Option
from doctor.observe.installed.editables import folder_of
from doctor.observe.scene import Distribution
from doctor.repair.damage import Damage, every_path
from doctor.repair.failures import Failure
from doctor.repair.moved import projects
from doctor.repair.settings import NOT_FOUND

_PATHS = re.compile(r"/[^\s'\":,;()]{1,500}")
_WORDS = re.compile(r"[\w.+-]{2,100}")
_BYTES, _START = 1 << 16, 512


def beside(
    failure: Failure, here: Mapping[str, Distribution], environment: Environment
) -> tuple[Damage, ...]:
    """Return the packages of such files: programs that the failure names, or a path in a file."""
    text = f"{failure.error} {failure.chain}"
    if not NOT_FOUND.search(text):
        return ()
    gone = [path for path in dict.fromkeys(_PATHS.findall(text)) if not Path(path).exists()]
    words = {*_WORDS.findall(text)}
    found = []
    for one in here.values():
        why = (_why(path, one, environment, gone, words) for path in sorted(every_path(one)))
        if told := next(filter(None, why), ""):
            found.append(Damage(one, told))
    return tuple(sorted(found, key=lambda each: each.package.name))


def _why(
    path: str,
    one: Distribution,
    environment: Environment,
    gone: Sequence[str],
    words: set[str],
) -> str:
    """Return why a file beside site-packages is of no use; empty where nothing is known."""
    if not path.startswith(".."):
        return ""
    place = Path(os.path.normpath(one.folder.parent / path))
    if place.parent == environment.scripts:
        starts = _interpreter(place) if place.name in words else ""
        dead = starts and not Path(starts).exists()
        return f"{place} starts with {starts}, which is not there" if dead else ""
    data = read_regular(place, _BYTES) or b""
    named = next((word for word in gone if word.encode() in data), "")
    return f"{place} names {named}, which is not there" if named else ""


def _interpreter(program: Path) -> str:
    """Return the interpreter in the first line of a program, also one that a shell starts for it.

    A path that is long or has a blank does not fit: installers write `#!/bin/sh` and start it on
    the next line.
    """
    text = (read_regular(program, _START) or b"").decode("utf-8", "replace")
    first, _, rest = text.partition("\n")
    if first == "#!/bin/sh" and rest.startswith("'''exec'"):
        words = rest.split('"') if '"' in rest.partition("\n")[0] else rest.split()
        return words[1] if len(words) > 1 else ""
    word = first.removeprefix("#!").strip().partition(" ")[0] if first.startswith("#!") else ""
    return word if Path(word).is_absolute() else ""


def own_steps(one: Distribution, facts: Facts, roots: Sequence[Path]) -> tuple[Step, ...]:
    """Return the steps that install an editable package again from where its sources lie today.

    Empty where they lie nowhere, or in several places.
    """
    old = Path(folder_of(one.direct_url) or "/")
    places = [old] if old.is_dir() and old != Path("/") else list(projects(one.name, roots))
    if len(places) != 1:
        return ()
    made = install(["-e", str(places[0])], [Option.NO_DEPS], None, facts)
    return tuple(Step(title=f"Install {one.name} from where it lies", command=c) for c in made)
