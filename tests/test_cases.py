"""The collected cases hold what they promise, and the benchmark counts them as it says."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import msgspec

from benchmarks.diagnosis import (
    Answer,
    alarms,
    answer,
    catalog,
    checked,
    environments,
    judged,
    misses,
    table,
)
from doctor.model.findings import Finding
from doctor.model.scales import Confidence, Severity
from tests import cases
from tests.each import each

_THREAD = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull)/\d+")
_HOME = re.compile(r"(?i)(?:/home|/users|[a-z]:[\\/]+users)[\\/]+([\w.~-]+)")
_NOBODY = {"ada", "runner", "ubuntu", "public"}
"""Homes that name nobody.

Ours, those of CI and of cloud images, and the one that all users of Windows share.
"""
_SECRET = re.compile(
    r"gh[pousr]_\w{20}|hf_\w{20}|sk-\w{20}|eyJ\w{20}|[\w.+-]+@[\w-]+\.(?:com|org|net|edu)\b"
)
_EVERY = cases.paths(*cases.SETS, cases.QUIET, cases.ENVIRONMENTS)
_CALM: dict[str, cases.Quiet | cases.Environment] = dict(
    [
        *cases.quiet(),
        *((name, one) for name, one in cases.environments() if one.family == cases.HEALTHY),
    ]
)


def test_a_case_is_whole_and_names_nobody() -> None:
    each([(f"{path.parent.name}/{path.stem}", path) for path in _EVERY], _is_whole)


def _is_whole(path: Path) -> None:
    case = cases.read(path)
    assert _THREAD.fullmatch(case.source)
    assert case.log.strip()
    assert len(case.log.splitlines()) <= 60
    sentences = (case.cause, case.fix) if isinstance(case, cases.Case) else (case.why,)
    assert all(sentence.endswith(".") and len(sentence.split()) >= 3 for sentence in sentences)
    assert re.fullmatch(r"[a-z0-9-]+", case.family)
    log = case.log
    assert {name.lower() for name in _HOME.findall(log)} <= _NOBODY
    assert not _SECRET.search(log)


def test_nothing_is_told_about_what_is_well() -> None:
    each(_CALM.items(), _is_calm)


def _is_calm(case: cases.Quiet | cases.Environment) -> None:
    assert not alarms(judged(case.log) if isinstance(case, cases.Quiet) else checked(case.log))


def test_the_right_answers_are_in_the_catalog() -> None:
    wanted = {
        issue for name in cases.SETS for _, case in cases.failures(name) for issue in case.issues
    }
    wanted |= {issue for _, case in cases.environments() for issue in case.issues}
    assert wanted
    assert wanted <= catalog().issues.keys()


def test_a_thread_stands_for_one_failure() -> None:
    threads = Counter(case.source for name in cases.SETS for _, case in cases.failures(name))
    threads.update(case.source for _, case in cases.environments())
    assert not [thread for thread, count in threads.items() if count > 1]


def test_no_signature_was_written_from_a_thread_that_is_kept_aside() -> None:
    sources = {
        reference.url for issue in catalog().issues.values() for reference in issue.references
    }
    sources |= {example.source for issue in catalog().issues.values() for example in issue.examples}
    assert sources
    assert not [
        name
        for kept in cases.ASIDE
        for name, case in cases.failures(kept)
        if case.source in sources
    ]


def test_a_hundred_issues_and_more_hold_in_a_thread_that_they_were_not_written_from() -> None:
    issues = catalog().issues.values()
    assert len(issues) >= 600
    assert (
        sum(
            any(example.source and example.expect == "match" for example in issue.examples)
            for issue in issues
        )
        >= 500
    )


def test_healthy_environments_have_no_right_answer_and_the_others_have_one() -> None:
    found = [case for _, case in cases.environments()]
    assert all((case.family == cases.HEALTHY) is not bool(case.issues) for case in found)
    assert sum(case.family == cases.HEALTHY for case in found) >= 10


def test_the_sets_are_large_and_mixed() -> None:
    sets = {name: [case for _, case in cases.failures(name)] for name in cases.SETS}
    assert all(len(found) >= 30 for found in sets.values())
    assert all(len({case.family for case in found}) >= 30 for found in sets.values())
    assert len(cases.paths(cases.QUIET)) >= 40
    assert len(cases.paths(cases.ENVIRONMENTS)) >= 24


def test_the_judgement_hears_a_text_and_stays_silent_on_another() -> None:
    failing = "RuntimeError: operator torchvision::nms does not exist"
    assert judged(failing)[0].id == "torchvision/other-torch"
    assert alarms(judged(failing)) == ["torchvision/other-torch"]
    assert not judged("Successfully installed torch-2.13.0 torchvision-0.28.0")


def test_an_environment_is_judged_by_what_it_says_of_itself() -> None:
    torch, host = (
        "PyTorch version: 2.6.0+cu126\nCUDA used to build PyTorch: 12.6",
        "OS: Ubuntu 24.10 (x86_64)\nPython platform: Linux-6.11.0",
    )
    sick = f"{torch}\n{host}\nGPU 0: NVIDIA GeForce RTX 5090"
    assert [found.id for found in checked(sick)] == ["torch/no-kernel-image"]
    assert not checked(sick.replace("5090", "4090"))
    assert not checked("no such report")
    assert environments().strip().startswith("| environments |")


def test_a_known_issue_counts_that_the_first_finding_explains_by_its_mechanism() -> None:
    mechanism = Finding(
        id="failure/x",
        target="",
        title="",
        severity=Severity.ERROR,
        confidence=Confidence.LOW,
        message="",
        symptoms=("a/b",),
    )
    other = msgspec.structs.replace(mechanism, id="a/c")
    assert answer("first", ("a/b",), [mechanism, other]).within(1)
    assert not answer("not its own", ("a/d",), [mechanism, other]).within(3)
    assert not answer("a known issue leads", ("a/b",), [other, mechanism]).within(3)
    assert not answer("silent", ("a/b",), []).within(1)


def test_recall_counts_ranks_and_cases_without_an_answer() -> None:
    answers = [
        Answer("first", ("a/b",), ("a/b",)),
        Answer("third", ("a/b", "a/c"), ("x/y", "x/z", "a/c")),
        Answer("fourth", ("a/b",), ("x/1", "x/2", "x/3", "a/b")),
        Answer("silent", ("a/b",), ()),
        Answer("unknown", (), ()),
        Answer("invented", (), ("x/y",)),
    ]
    known_part, all_of_them = table({"open": answers}).splitlines()[2:]
    assert (
        known_part == "| open, catalog has an answer | 4 | 25 % (1/4) | 50 % (2/4) | 33 % (1/3) |"
    )
    assert all_of_them == "| open, all | 6 | 17 % (1/6) | 33 % (2/6) | 25 % (1/4) |"
    assert [line.split(":")[0].strip() for line in misses(answers)] == [
        "fourth",
        "silent",
        "invented",
    ]
