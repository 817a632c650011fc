"""Images: what a Dockerfile begins from, and what its commands install.

The syntax is that of https://docs.docker.com/reference/dockerfile/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.observe.manifests.pins import CONDA, Pin, lines, pin_in

_INSTRUCTION = re.compile(r"\s*([A-Za-z]{2,12})\s+(.*)")
_FROM = re.compile(
    r"(?:--platform=\S{1,80}\s+)?([\w./:-]{1,255}?)(?::([\w.-]{1,128}))?(?:@\S{1,100})?(?:\s+[Aa][Ss]\s+\S{1,100})?\s*"
)
_IMAGES = {
    "pytorch": "torch",
    "cuda": "cuda",
    "vllm-openai": "vllm",
    "tensorflow": "tensorflow",
    "jax": "jax",
    "sglang": "sglang",
}
_INSTALLS = re.compile(
    r"\b(?:pip3?|conda|mamba|micromamba) (?:\S{1,60} ){0,4}?install\b|\b(?:uv|poetry|pdm) add\b"
)
_AND = re.compile(r"&&|\|\||;|\|")
_OPTIONS = """
-c --channel -i --index-url --extra-index-url -f --find-links -r --requirement -t --target -n --name
-p --python --prefix --constraint
--override --index
"""
_TAKES_VALUE = frozenset(_OPTIONS.split())


def dockerfile(text: str) -> Iterator[Pin]:
    """Yield the packages of base images, and those that `RUN pip install` and the like name."""
    running = installing = False
    for number, line in lines(text):
        bare = line.strip()
        if not bare or bare[0] == "#":
            continue
        found = None if running else _INSTRUCTION.match(line)
        word, rest = (found[1].upper(), found[2]) if found else ("", bare)
        if word == "FROM":
            yield from _base(rest, number)
        if word == "RUN" or running:
            for part, command in enumerate(_AND.split(rest)):
                starts = _INSTALLS.search(command)
                installing = bool(starts) or (installing and running and part == 0)
                yield from (
                    _named(command[starts.end() :] if starts else command, number)
                    if installing
                    else ()
                )
            running = bare.endswith("\\")


def _base(image: str, number: int) -> Iterator[Pin]:
    found = _FROM.fullmatch(image)
    name = _IMAGES.get(found[1].rpartition("/")[2]) if found else None
    if found and name:
        yield Pin(name, number, firm=bool(found[2]) and found[2] != "latest")


def _named(command: str, number: int) -> Iterator[Pin]:
    """Yield the packages among the words of an install command."""
    skip = False
    for word in command.rstrip("\\").split():
        if word in _TAKES_VALUE or word[0] == "-":
            skip = word in _TAKES_VALUE
            continue
        if not skip and (pin := pin_in(word.strip("\"'"), number)):
            yield pin._replace(name=CONDA.get(pin.name, pin.name))
        skip = False
