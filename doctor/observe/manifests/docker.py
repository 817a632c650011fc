"""Images: what a Dockerfile begins from, and what its commands install.

The syntax is that of https://docs.docker.com/reference/dockerfile/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.observe.manifests.pins import CONDA, Pin, Span, Syntax, lines, pin_in

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
_CONDA = re.compile(r"\b(?:conda|mamba|micromamba) ")
_AND = re.compile(r"&&|\|\||;|\|")
_WORD = re.compile(r"\S+")
_VALUE = re.compile(r"([A-Za-z_]\w{0,60})[ =][\"']?(\d[\w.+-]{0,40})(?=[\"']?(?:\s|$))")
_VARIABLE = re.compile(r"={1,2}\$\{?([A-Za-z_]\w{0,60})\}?$")
_OPTIONS = """
-c --channel -i --index-url --extra-index-url -f --find-links -r --requirement -t --target -n --name
-p --python --prefix --constraint
--override --index
"""
_TAKES_VALUE = frozenset(_OPTIONS.split())


def dockerfile(text: str) -> Iterator[Pin]:
    """Yield the packages of base images, and those that `RUN pip install` and the like name."""
    running = installing = False
    values: dict[str, Span] = {}
    syntax = Syntax.PYTHON
    for number, line, begin in lines(text):
        bare = line.strip()
        if not bare or bare[0] == "#":
            continue
        found = None if running else _INSTRUCTION.match(line)
        word = found[1].upper() if found else ""
        rest, start = (found[2], begin + found.start(2)) if found else (line, begin)
        if word in ("ARG", "ENV"):
            values |= _values(rest, start)
        if word == "FROM":
            yield from _base(rest, number, start)
        if word == "RUN" or running:
            for part, (command, at) in enumerate(_commands(rest, start)):
                starts = _INSTALLS.search(command)
                installing = bool(starts) or (installing and running and part == 0)
                if starts:
                    syntax = Syntax.CONDA if _CONDA.search(starts[0]) else Syntax.PYTHON
                end = starts.end() if starts else 0
                if installing:
                    yield from _named(command[end:], number, at + end, syntax, values)
            running = bare.endswith("\\")


def _values(rest: str, start: int) -> dict[str, Span]:
    """Return the variables that an instruction sets to a version, `ARG TORCH=2.5.1`."""
    return {
        found[1]: Span(start + found.start(2), start + found.end(2), Syntax.VERSION)
        for found in _VALUE.finditer(rest)
    }


def _commands(rest: str, start: int) -> Iterator[tuple[str, int]]:
    """Yield the commands of a line, and where each begins."""
    end = 0
    for found in _AND.finditer(rest):
        yield rest[end : found.start()], start + end
        end = found.end()
    yield rest[end:], start + end


def _base(image: str, number: int, start: int) -> Iterator[Pin]:
    found = _FROM.fullmatch(image)
    name = _IMAGES.get(found[1].rpartition("/")[2]) if found else None
    if found and name:
        # An image that a digest names stays what it is, whatever its tag says.
        span = Span(start + found.start(2), start + found.end(2), Syntax.TAG) if found[2] else None
        told = bool(found[2]) and found[2] != "latest"
        yield Pin(name, number, firm=told, span=None if "@" in image or not told else span)


def _named(
    command: str, number: int, start: int, syntax: Syntax, values: dict[str, Span]
) -> Iterator[Pin]:
    """Yield the packages among the words of an install command."""
    skip = False
    for found in _WORD.finditer(command.rstrip().rstrip("\\")):
        word = found[0]
        if word in _TAKES_VALUE or word[0] == "-":
            skip = word in _TAKES_VALUE
            continue
        bare = word.strip("\"'")
        begin = start + found.start() + word.find(bare)
        if not skip and (pin := pin_in(bare, number, begin, syntax)):
            variable = _VARIABLE.search(bare)
            span = values.get(variable[1]) if variable else pin.span
            yield pin._replace(name=CONDA.get(pin.name, pin.name), span=span)
        skip = False
