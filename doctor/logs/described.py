"""Decide whether a text describes an environment, and return the facts that it states.

Whoever pastes an environment pastes what a tool printed, a list of packages, a form or a few lines
of their own. A program's log may state the same, and is no environment: it reports a failure, or
next to none of its lines describe anything.
"""

from __future__ import annotations

import re

from doctor.events.owner import owning_event
from doctor.events.reading import events_of
from doctor.logs.environment import environment_facts, facts_in_words
from doctor.logs.implied import implied
from doctor.logs.labels import of_labels
from doctor.logs.log import build_in_release, log_facts
from doctor.model.events import Level
from doctor.model.facts import Fact, State, present
from doctor.model.observation import Log

_MOST = 400
"""Lines of a text that no tool's report marks as an environment."""
_FEWEST = 2
_LONGEST = 400
_BOARD = re.compile(r"\bL4T R?\d\d\.\d|\bJetPack:? \d\.\d", re.IGNORECASE)
_PRODUCTS = (
    "torch.version",
    "torch.cuda_version",
    "nvidia.driver_version",
    "nvidia.gpu_names",
    "cuda.nvcc_version",
    "host.jetson",
)
_BESIDE = (*_PRODUCTS, "python.version", "host.os", "host.distribution", "cuda.version")


def described_facts(log: Log) -> dict[str, Fact]:
    """Return the facts of a text that describes an environment; empty where it is none."""
    is_report = bool(environment_facts(log.lines))
    words = of_labels(log.lines)
    facts = {
        **facts_in_words(words),
        **{name: fact for name, fact in log_facts(log).items() if fact.state is not State.UNKNOWN},
    }
    if any(word.startswith("CUDA runtime version: ") for word in words):
        # `nvcc -V` answers for the nvcc on PATH, which builds of extensions take as well.
        facts = {"cuda.selected": present(True, "the pasted text"), **facts}
    facts = {**build_in_release(facts), **facts}
    if not (is_report or _is_description(log, facts)):
        return {}
    return facts | implied(log.lines, facts)


def _is_description(log: Log, facts: dict[str, Fact]) -> bool:
    """Say whether a text without a known report describes an environment, and no failure."""
    known = {name for name, fact in facts.items() if fact.state is State.PRESENT}
    packages = {name for name in known if name.startswith("package.")}
    if not (packages or known.intersection(_PRODUCTS)):
        return False
    if "host.jetson" in known and any(_BOARD.search(line[:_LONGEST]) for line in log.lines[:_MOST]):
        known.add("cuda.version")  # a release of JetPack names its CUDA
    if len(packages | known.intersection(_BESIDE)) < _FEWEST or len(log.lines) > _MOST:
        return False
    owner = owning_event(events_of(log))
    return owner is None or owner.level is not Level.FAILURE
