"""Addresses of PyTorch's wheel index in a manifest, and the CUDA in the tags of its images.

A page of the index, `…/whl/cu121`, has the releases of torch that were built with that CUDA, and no
others. The table `torch-archs` says which those are: https://pytorch.org/get-started/previous-versions/.
An image of torch carries release, CUDA and cuDNN in its tag, one tag for each build:
https://hub.docker.com/r/pytorch/pytorch/tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from packaging.version import Version

from doctor.base.versions import minor, parse, public
from doctor.facts.derive.cells import accepts
from doctor.model.compat import Table
from doctor.model.plans import Plan
from doctor.planning.edits.files import Replacement

_PAGE = re.compile(r"https?://download(?:-r2)?\.pytorch\.org/whl/(?:test/)?(cu\d{2,3})(?![\w.])")
_NAMED = re.compile(r"""\b(name|index|source)\s{0,20}=\s{0,20}(["'])([\w.-]{1,100})\2""")
_TAG = re.compile(r"cu(\d{2,3})")
_IMAGE = re.compile(
    r"(\d{1,3}\.\d{1,3}\.\d{1,3})-cuda(\d{1,3}\.\d{1,3})-cudnn(\d{1,2})-(runtime|devel)"
)
_CUDNN_9 = Version("2.4")
"""From this torch on the images have cuDNN 9; before they have cuDNN 8."""


def build_of(plan: Plan, release: str, machine: str, tables: Mapping[str, Table]) -> Build:
    """Return the builds of the torch that a plan installs; `tables` are those of the catalog."""
    number = public(release)
    known: dict[str, None] = {}
    for row in _rows(tables, "torch-archs", number):
        if accepts(row.get("machine"), machine):
            cell = row.get("cuda")
            known |= dict.fromkeys(cell if isinstance(cell, list | tuple) else [str(cell)])
    usual = [str(row["cuda"]) for row in _rows(tables, "torch", number) if "cuda" in row]
    return Build(_wanted_tag(plan, release), tag_of(usual[0]) if usual else None, tuple(known))


def _rows(tables: Mapping[str, Table], name: str, release: str) -> Iterator[Mapping[str, Any]]:
    for row in tables[name].rows if name in tables else ():
        if accepts(row.get("torch"), release):
            yield row


def _wanted_tag(plan: Plan, release: str) -> str | None:
    """Return the build of torch that a plan installs, `cu130`; None where it says none."""
    _, _, local = release.partition("+")
    if _TAG.fullmatch(local):
        return local
    words = [word for step in plan.steps if step.command for word in step.command.argv]
    pages = [found[1] for word in words if (found := _PAGE.search(word))]
    return pages[-1] if pages else None


def cuda_of(tag: str) -> str:
    """Return the CUDA of a tag: `cu130` is 13.0."""
    digits = tag.removeprefix("cu")
    return f"{digits[:-1]}.{digits[-1:]}"


class Build(NamedTuple):
    """The builds of torch that a plan may take.

    `wanted` is the one that it names, `usual` the one on the package index, `cu130`; `known` are
    the CUDA releases that this torch was built with, empty where nobody knows.
    """

    wanted: str | None = None
    usual: str | None = None
    known: tuple[str, ...] = ()

    @property
    def tags(self) -> frozenset[str]:
        """Return the pages of the index that have this torch."""
        return frozenset(tag_of(cuda) for cuda in self.known)


def tag_of(cuda: str) -> str:
    """Return the tag of a CUDA: 13.0 is `cu130`."""
    return "cu" + (minor(cuda) or "").replace(".", "")


def pages(text: str, build: Build) -> Iterator[Replacement | str]:
    """Yield the replacements that move a file to the page of the index that has the release.

    A page that has it stays, unless it is the only one and the plan names another. What cannot be
    decided is a sentence. Names of indexes that carry the old tag move with it.
    """
    found = list(_PAGE.finditer(text))
    here, has = {each[1] for each in found}, build.tags
    for old in sorted(here):
        fits = old in has or not has
        if fits and (build.wanted is None or old == build.wanted or len(here) > 1):
            continue
        tag = build.wanted or build.usual
        if tag is None or (has and tag not in has):
            offers = ", ".join(sorted(has))
            yield f"the page {old} of the index has no such torch; it is built for {offers}"
        elif tag in here:
            yield f"the page {old} of the index has no such torch; {tag}, beside it, has"
        else:
            yield from (
                Replacement(each.start(1), each.end(1), tag) for each in found if each[1] == old
            )
            yield from _names(text, old, tag)


def _names(text: str, old: str, tag: str) -> Iterator[Replacement]:
    """Yield the replacements in names of an index that sources refer to, `pytorch-cu121`."""
    named = [each for each in _NAMED.finditer(text) if old in each[3]]
    for name in {each[3] for each in named}:
        if {each[1] for each in named if each[3] == name} >= {"name"}:
            uses = [each for each in named if each[3] == name]
            for each in uses if len(uses) > 1 else ():
                at = each.start(3) + name.index(old)
                yield Replacement(at, at + len(old), tag)


def image_tag(image: str, tag: str, release: str, build: Build) -> str | None:
    """Return the tag of the same kind of image for another release; None where none is known.

    The CUDA stays where that release has it and the plan names no other.
    """
    number = public(release)
    if image != "torch":
        version = re.match(r"v?\d{1,4}(?:\.\d{1,4}){2}(?=$|-gpu$|-gpu-jupyter$)", tag)
        same = version and version[0].removeprefix("v")
        return tag.replace(same, number, 1) if same else None
    found, version_ = _IMAGE.fullmatch(tag), parse(number)
    if found is None or version_ is None or version_.is_prerelease:
        return None
    cuda = found[2]
    if build.wanted or cuda not in build.known:
        cuda = cuda_of(build.wanted or build.usual or "cu")
    if cuda not in build.known:
        return None
    cudnn = 9 if version_ >= _CUDNN_9 else 8
    return f"{number}-cuda{cuda}-cudnn{cudnn}-{found[4]}"
