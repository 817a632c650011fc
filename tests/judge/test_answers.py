"""Conditions of fixes that are sentences, answered from the log."""

from __future__ import annotations

import pytest

from doctor.analyzers.case import Case
from doctor.events.reading import events_of
from doctor.events.surroundings import context_of
from doctor.judge.match.answers import with_answers
from doctor.model.catalog import Catalog
from doctor.model.facts import present
from doctor.model.findings import Detection, Evidence, EvidenceKind
from doctor.model.issues import Action, Recipe
from doctor.model.observation import Log
from doctor.model.scales import Confidence, Severity

_NOTHING = Catalog(issues={}, tables={}, digest="", newest_source="")
_OWN = """\
Traceback (most recent call last):
  File "/home/ada/train.py", line 3, in <module>
    x = np.bool(1)
  File "/venv/lib/python3.8/site-packages/numpy/__init__.py", line 305, in __getattr__
    raise AttributeError(__former_attrs__[attr])
AttributeError: module 'numpy' has no attribute 'bool'."""
_IN_PACKAGE = _OWN.replace("/home/ada/train.py", "/venv/lib/python3.8/site-packages/deepspeed/a.py")
_IPYTHON = """\
File ~/venv/lib/python3.8/site-packages/oneflow/framework/dtype.py:48
---> 48     oneflow.bool: np.bool,
File ~/venv/lib/python3.8/site-packages/numpy/__init__.py:305, in __getattr__(attr)
AttributeError: module 'numpy' has no attribute 'bool'."""


def _left(text: str, *sentences: str) -> list[tuple[str, ...]]:
    """Return what remains of the conditions of a fix: nothing at all where the log denies it."""
    log = Log(source="log", lines=tuple(text.split("\n")))
    recipes = (
        Recipe(title="other", steps=(Action(install=("other",)),)),
        Recipe(title="asked", use_if=sentences, steps=(Action(install=("one",)),)),
    )
    last = len(log.lines)
    evidence = Evidence(kind=EvidenceKind.LOG, text=log.lines[-1], source="log", line=last)
    facts = {"torch.cuda_version": present("12.1", "log"), "torch.release": present("2.1", "log")}
    case = Case(log, events_of(log), context_of(log), facts, _NOTHING)
    found = Detection(
        id="a/b",
        target="",
        title="t",
        severity=Severity.ERROR,
        confidence=Confidence.MEDIUM,
        message="m",
        evidence=(evidence,),
        recipes=recipes,
    )
    answered = with_answers(found, case).recipes
    return [tuple(map(str, one.use_if)) for one in answered if one.title == "asked"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (_OWN, "the line is the program's"),
        (_IN_PACKAGE, "the line lies in a package, or cannot be changed"),
        (_IPYTHON, "the line lies in a package"),
        (_IN_PACKAGE, "the traceback ends in deepspeed"),
        (_OWN, "the message names bool"),
        ("$ docker run x\nerror: no", "docker run starts the container"),
        ("loading ComfyUI\nerror: no", "the program is ComfyUI"),
        ("gcc -L/usr/local/cuda/lib64\nerror: no", "the toolkit stands in /usr/local/cuda"),
        ("error: no", "torch is a build for CUDA 12"),
        ("error: no", "torch is older than 2.2"),
        ("error: libcudnn.so.9, CUDNN_STATUS", "the message names CUDNN_STATUS"),
    ],
)
def test_a_sentence_that_the_log_confirms_is_no_condition(text: str, sentence: str) -> None:
    if sentence == "the message names bool":
        assert _left(text, sentence) == [(sentence,)]  # any word: a reader decides
    else:
        assert _left(text, sentence) == [()]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (_IN_PACKAGE, "the line is the program's"),
        (_OWN, "the line lies in a package"),
        (_IN_PACKAGE, "the traceback ends in speechbrain"),
        (_OWN, "the message names ANTIALIAS"),
        ("error: no", "torch is a build for CUDA 11"),
        ("error: no", "torch is 2.2 or newer"),
        (_OWN, "the message names ANTIALIAS, and the program can be changed"),
    ],
)
def test_a_fix_that_the_log_denies_is_not_shown(text: str, sentence: str) -> None:
    assert _left(text, sentence) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("error: no", "the program is ComfyUI"),
        ("error: no", "docker run starts the container"),
        ("error: no", "the traceback ends in deepspeed"),
        ("error: no", "nothing holds torch at this release"),
        ("ls: /usr/local/cuda: No such file", "the toolkit stands in /usr/local/cuda"),
        ("PATH=/usr/local/cuda-11.8/bin\nerror: no", "the toolkit stands in /usr/local/cuda"),
    ],
)
def test_what_a_log_does_not_tell_stays_a_condition(text: str, sentence: str) -> None:
    assert _left(text, sentence) == [(sentence,)]


def test_a_fix_stays_where_the_log_denies_all() -> None:
    text = _IN_PACKAGE
    assert _left(text, "the line is the program's") == []


def _order(name: str, *sentences: str) -> list[str]:
    """Return the sentences of the fixes of an issue in the order in which a reader sees them."""
    log = Log(source="log", lines=("error: no speech", "mmcv 2.0"))
    recipes = tuple(
        Recipe(title=one, use_if=(one,), steps=(Action(install=("x",)),)) for one in sentences
    )
    evidence = Evidence(kind=EvidenceKind.LOG, text="error: no speech", source="log", line=1)
    found = Detection(
        id=name,
        target="",
        title="t",
        severity=Severity.ERROR,
        confidence=Confidence.MEDIUM,
        message="m",
        evidence=(evidence,),
        recipes=recipes,
    )
    case = Case(log, events_of(log), context_of(log), {}, _NOTHING)
    return [one.title for one in with_answers(found, case).recipes]


def test_a_fix_for_a_package_that_the_log_never_names_comes_last() -> None:
    asked = ("the failing library is JAX", "mmcv has to stay", "somebody says so")
    assert _order("a/b", *asked) == [*asked[1:], asked[0]]


def test_an_issue_of_a_package_needs_no_log_that_names_it() -> None:
    alone = ("vLLM is alone on the GPU", "somebody says so")
    assert _order("vllm/no-memory", *alone) == list(alone)
    assert _order("torch/no-memory", *alone) == list(reversed(alone))


def test_of_examples_in_brackets_one_is_enough() -> None:
    named = ("an extension is old (mmcv, detectron2, spconv)", "somebody says so")
    assert _order("a/b", *named) == list(named)
    unnamed = ("an extension is old (detectron2, spconv)", "somebody says so")
    assert _order("a/b", *unnamed) == list(reversed(unnamed))
