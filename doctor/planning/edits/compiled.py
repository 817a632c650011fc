"""Lists of requirements that a tool writes: only that tool may write them again.

pip asks for the hash of every file as soon as one line has one, so no release can be changed by
hand: https://pip.pypa.io/en/stable/topics/secure-installs/. The header of such a file says how it
was made; nothing of it is repeated but the options that are known here.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

_HEADER = 4000
_MADE_BY = re.compile(
    r"#\s{1,8}(?:\$ )?(uv pip compile|uv export|pip-compile)((?: [^\n]{0,2000})?)"
)
_BY_POETRY = re.compile(r"poetry export")
_PLAIN = """
--generate-hashes --universal --no-annotate --no-header --strip-extras --no-strip-extras
--allow-unsafe --all-extras --no-emit-index-url --emit-index-url --emit-index-annotation
--all-groups --no-dev --frozen --locked --no-hashes --no-emit-project
"""
_WITH_VALUE = """
--python-version --python-platform --extra --group --only-group --resolver --annotation-style
--torch-backend --format --output-format -p
"""
_FLAGS, _VALUED = frozenset(_PLAIN.split()), frozenset(_WITH_VALUE.split())
_OUTPUT = frozenset(("-o", "--output-file"))
_VALUE = re.compile(r"[\w.-]{1,60}")


class Compiled(NamedTuple):
    """How a list was made: the words of the tool, its source files, and the options for it.

    `whole` is false where the header has more than doctor repeats.
    """

    tool: tuple[str, ...]
    sources: tuple[str, ...]
    options: tuple[str, ...]
    whole: bool


def compiled(path: str, text: str, manifests: Collection[str]) -> Compiled | None:
    """Return how a list of requirements was made; None for one that people write.

    Its sources are files of the project that doctor read. A list with hashes beside which lies a
    `.in` file was made from it.
    """
    found = _MADE_BY.search(text, 0, _HEADER)
    if found is None:
        return _by_hashes(path, text, manifests)
    folder = posixpath.dirname(path)
    options: list[str] = []
    sources: list[str] = []
    whole, words = True, found[2].split()
    while words:
        option, equals, value = words.pop(0).partition("=")
        if option in _FLAGS and not equals:
            options.append(option)
        elif option in _VALUED | _OUTPUT:
            value = value or (words.pop(0) if words else "")
            if option in _OUTPUT:
                continue
            whole = whole and bool(_VALUE.fullmatch(value))
            options += [option, value] if _VALUE.fullmatch(value) else []
        elif posixpath.normpath(posixpath.join(folder, option)) in manifests and not equals:
            sources.append(option)
        else:
            whole = False
    return Compiled(tuple(found[1].split()), tuple(sources), tuple(options), whole)


def _by_hashes(path: str, text: str, manifests: Collection[str]) -> Compiled | None:
    if "--hash=" not in text:
        return None
    stem, _, ending = path.rpartition(".")
    source = f"{stem}.in"
    if ending != "txt" or source not in manifests or _BY_POETRY.search(text, 0, _HEADER):
        return Compiled((), (), (), whole=False)
    name = posixpath.basename(source)
    return Compiled(("uv", "pip", "compile"), (name,), ("--generate-hashes",), whole=True)


def argv(made: Compiled, output: str, releases: Sequence[str]) -> tuple[str, ...] | None:
    """Return the command that writes a list again with these releases, `torch==2.13.0`.

    It runs in the folder of the list. None where doctor cannot say it as a whole.
    """
    if not made.whole or not made.tool:
        return None
    if made.tool == ("uv", "export"):
        return (*made.tool, *made.options, "--output-file", output)
    if not made.sources:
        return None
    upgrades = [word for each in releases for word in ("--upgrade-package", each)]
    return (*made.tool, *made.options, *upgrades, "--output-file", output, *made.sources)
