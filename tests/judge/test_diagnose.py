"""From observations to findings, on a toy catalog."""

from __future__ import annotations

from datetime import date

import msgspec
import pytest

from doctor.judge.match import diagnose
from doctor.judge.match.evidence import fact_evidence
from doctor.model.compat import Column, Origin, Source, Table
from doctor.model.findings import Detection, EvidenceKind
from doctor.model.issues import Action, Affected, Milder, Proof, Range, Recipe, Signature
from doctor.model.observation import Observation, ProbeFailure
from doctor.model.scales import Confidence, Severity
from tests import toy

OLD, NEW = {"torch.version": "1.13.1"}, {"torch.version": "2.13.0"}
CATALOG = toy.catalog(torch__wrong_sum=toy.issue())


def only(observation: Observation) -> Detection:
    findings = diagnose(observation, CATALOG).findings
    assert len(findings) == 1, [found.id for found in findings]
    return findings[0]


def test_facts_text_and_check_together_make_a_certain_finding() -> None:
    found = only(toy.seen(OLD, toy.outcome(sum="failed", log="the sum is off by 3"), log=""))
    assert (found.id, found.severity, found.confidence) == (
        "torch/wrong-sum",
        Severity.ERROR,
        Confidence.HIGH,
    )
    assert found.title == "torch 1.13.1 adds wrongly"
    assert found.captures == {"amount": "3"}
    assert {evidence.kind for evidence in found.evidence} == {
        EvidenceKind.LOG,
        EvidenceKind.OUTCOME,
        EvidenceKind.FACT,
    }


def test_mere_exposure_is_a_note() -> None:
    assert only(toy.seen(OLD)).severity is Severity.NOTE


def test_facts_that_only_narrow_a_text_tell_nothing_without_it() -> None:
    narrow = Affected(packages={"torch": (Range(fixed="2.0"),)}, exposes=False)
    catalog = toy.catalog(torch__wrong_sum=toy.issue(affected=(narrow,)))
    assert diagnose(toy.seen(OLD), catalog).findings == ()
    (told,) = diagnose(toy.seen(OLD, log="the sum is off by 3"), catalog).findings
    assert told.confidence is Confidence.HIGH


def test_facts_that_prove_the_fault_keep_their_severity() -> None:
    certain = toy.catalog(torch__wrong_sum=toy.issue(certain=True))
    found = diagnose(toy.seen(OLD), certain).findings[0]
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.HIGH)


def test_where_it_costs_less_it_is_told_as_less() -> None:
    rule = Milder(severity=Severity.WARNING, when=(toy.condition("cuda.selected", equals=False),))
    mild = toy.catalog(torch__wrong_sum=toy.issue(certain=True, milder=(rule,)))
    told = [
        diagnose(toy.seen({**OLD, "cuda.selected": chosen}), mild).findings[0].severity
        for chosen in (True, False, None)
    ]
    assert told == [Severity.ERROR, Severity.WARNING, Severity.ERROR]


def test_a_check_that_says_it_matters_less_is_believed_where_no_log_speaks() -> None:
    mild = msgspec.structs.replace(
        toy.outcome(sum="failed", log="the sum is off by 3"), data={"matters": "warning"}
    )
    handed = toy.seen(OLD, mild, log="the sum is off by 3")
    told = [
        diagnose(observation, CATALOG).findings[0] for observation in (toy.seen(OLD, mild), handed)
    ]
    assert [found.severity for found in told] == [Severity.WARNING, Severity.ERROR]
    assert {found.confidence for found in told} == {Confidence.HIGH}


def test_a_check_that_passes_beats_the_version() -> None:
    diagnosis = diagnose(toy.seen(OLD, toy.outcome("passed", sum="passed")), CATALOG)
    assert diagnosis.findings == ()
    assert [entry.why for entry in diagnosis.ruled_out] == ["toy-add sum passed"]


def test_a_pass_on_one_device_rules_out_nothing_on_another() -> None:
    observation = toy.seen(
        OLD,
        toy.outcome("passed", sum="passed"),
        toy.outcome("skipped", device="mps", sum="skipped"),
    )
    assert only(observation).severity is Severity.NOTE


def test_a_text_outside_the_known_range_is_a_note_of_low_confidence() -> None:
    found = only(toy.seen(NEW, log="noise\nthe sum is off by 3\nmore"))
    assert (found.severity, found.confidence) == (Severity.NOTE, Confidence.LOW)
    assert found.evidence[0].line == 2


def test_a_conclusive_text_counts_whatever_the_facts_say_in_a_log_and_in_a_check() -> None:
    """Facts can be out of sight.

    A container sees neither the fabric manager of its host nor its NVSwitches.
    """
    catalog = toy.catalog(torch__wrong_sum=toy.issue(conclusive=True, proofs=()))
    (found,) = diagnose(toy.seen(NEW, log="the sum is off by 3"), catalog).findings
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.MEDIUM)
    here = diagnose(
        toy.seen(NEW, toy.outcome(log="the sum is off by 3", sum="failed")), catalog
    ).findings
    assert [(entry.id, entry.severity, entry.confidence) for entry in here] == [
        ("torch/wrong-sum", Severity.ERROR, Confidence.MEDIUM)
    ]
    assert diagnose(toy.seen(NEW), catalog).findings == ()


@pytest.mark.parametrize(
    ("check_says", "told"),
    [({}, "error"), ({"matters": "warning"}, "warning"), ({"matters": "note"}, "note")],
)
def test_an_issue_that_explains_a_red_check_counts_as_much_as_the_check(
    check_says: dict[str, object], told: str
) -> None:
    """For logs of anybody's program the text is a note.

    A check that does so little must not fail with it.
    """
    mild = toy.issue(severity=Severity.NOTE, affected=(), proofs=())
    catalog = toy.catalog(torch__wrong_sum=mild)
    red = msgspec.structs.replace(
        toy.outcome(sum="failed", log="the sum is off by 3"), data=check_says
    )
    (found,) = diagnose(toy.seen(NEW, red), catalog).findings
    assert (found.id, found.severity.value) == ("torch/wrong-sum", told)
    (handed,) = diagnose(toy.seen(NEW, log="the sum is off by 3"), catalog).findings
    assert handed.severity is Severity.NOTE


def test_of_two_issues_that_explain_a_red_check_the_milder_keeps_its_weight() -> None:
    fact, aside = (
        toy.issue(severity=severity, affected=(), proofs=())
        for severity in (Severity.WARNING, Severity.NOTE)
    )
    catalog = toy.catalog(torch__cause=fact, torch__aside=aside)
    found = diagnose(
        toy.seen(NEW, toy.outcome(sum="failed", log="the sum is off by 3")), catalog
    ).findings
    assert [(entry.id, entry.severity) for entry in found] == [
        ("torch/cause", Severity.ERROR),
        ("torch/aside", Severity.NOTE),
    ]


def test_a_text_without_the_facts_names_what_is_missing() -> None:
    found = only(toy.seen({}, log="the sum is off by 3"))
    assert (found.severity, found.confidence, found.missing_facts) == (
        Severity.ERROR,
        Confidence.MEDIUM,
        ("torch.version",),
    )


def test_nothing_known_is_undecided_and_says_what_would_decide() -> None:
    diagnosis = diagnose(toy.seen({}), CATALOG)
    assert [(entry.id, entry.missing_facts) for entry in diagnosis.undecided] == [
        ("torch/wrong-sum", ("torch.version",))
    ]


def test_a_fixed_version_is_silent() -> None:
    diagnosis = diagnose(toy.seen(NEW), CATALOG)
    assert (diagnosis.findings, diagnosis.undecided, diagnosis.ruled_out) == ((), (), ())


@pytest.mark.parametrize("verdict", ["failed", "crashed", "timed_out"])
def test_a_red_check_that_nothing_explains_is_an_error(verdict: str) -> None:
    found = only(toy.seen(NEW, toy.outcome(verdict, product=verdict)))
    assert (found.id, found.severity) == ("canary/toy-add", Severity.ERROR)
    assert found.recipes


@pytest.mark.parametrize(
    ("told", "severity"),
    [({}, "error"), ({"matters": "warning"}, "warning"), ({"matters": 3}, "error")],
)
def test_a_check_may_say_that_its_failure_matters_less(
    told: dict[str, object], severity: str
) -> None:
    red = msgspec.structs.replace(toy.outcome("failed", product="failed"), data=told)
    assert only(toy.seen(NEW, red)).severity.value == severity


def test_a_red_check_that_an_issue_explains_is_told_once() -> None:
    assert only(toy.seen(OLD, toy.outcome(sum="failed"))).id == "torch/wrong-sum"


def test_a_red_check_is_not_hung_on_an_issue_when_its_text_names_another() -> None:
    other = toy.issue(
        title="no disk",
        affected=(),
        proofs=(),
        signatures=(Signature(pattern="No space left on device"),),
    )
    both = toy.catalog(torch__wrong_sum=toy.issue(), host__no_space=other)
    observation = toy.seen(OLD, toy.outcome(sum="failed", log="OSError: No space left on device"))
    found = {finding.id: finding.severity for finding in diagnose(observation, both).findings}
    assert found == {"host/no-space": Severity.ERROR, "torch/wrong-sum": Severity.NOTE}


def test_a_signature_wants_its_companions_and_not_its_opposites() -> None:
    picky = toy.issue(
        affected=(),
        proofs=(),
        signatures=(Signature(pattern="E0384", also=("flash-attn",), unless=("tutorial",)),),
    )
    catalog = toy.catalog(candle__build=picky)
    told = {
        text: bool(diagnose(toy.seen({}, log=text), catalog).findings)
        for text in ("E0384", "E0384\nflash-attn", "E0384 flash-attn tutorial")
    }
    assert told == {"E0384": False, "E0384\nflash-attn": True, "E0384 flash-attn tutorial": False}


def test_a_broken_check_is_a_warning_and_says_that_doctor_is_at_fault() -> None:
    found = only(toy.seen(NEW, toy.outcome("broken")))
    assert (found.id, found.severity) == ("check/toy-add", Severity.WARNING)


def test_a_probe_that_failed_is_a_note() -> None:
    found = only(toy.seen(NEW, probe_failures=(ProbeFailure(probe="nvidia", why="hung"),)))
    assert (found.id, found.severity) == ("probe/nvidia", Severity.NOTE)


UNMET = {
    **NEW,
    "package.torchvision.version": "0.19.1",
    "requires.torchvision.torch.met": False,
    "requires.torchvision.torch.specifier": "==2.4.1",
    "requires.torchvision.torch.installed": "2.13.0",
}


def test_a_wish_that_is_not_met_is_a_warning() -> None:
    found = only(toy.seen(UNMET))
    assert (found.id, found.severity) == ("requires/torchvision", Severity.WARNING)
    assert found.title == "torchvision 0.19.1 asks for torch==2.4.1, and 2.13.0 is installed"


def test_many_wishes_of_one_package_are_told_once() -> None:
    names = ("nccl", "cudnn", "cublas", "cufft")
    more = {
        f"requires.torch.{name}.{key}": value
        for name in names
        for key, value in (("met", False), ("specifier", "==1"))
    }
    found = only(toy.seen({**NEW, **more}))
    assert (
        found.title == "torch does not find 4 packages as it asks for them: cublas, cudnn, cufft …"
    )
    assert found.recipes[0].steps[0].install == ("cublas==1", "cudnn==1", "cufft==1", "nccl==1")


def test_a_wish_that_an_issue_explains_is_told_once() -> None:
    issue = toy.issue(
        certain=True,
        signatures=(),
        proofs=(),
        affected=(Affected(when=(toy.condition("requires.torchvision.torch.met", equals=False),)),),
    )
    found = diagnose(toy.seen(UNMET), toy.catalog(torchvision__other_torch=issue)).findings
    assert [finding.id for finding in found] == ["torchvision/other-torch"]


def test_a_violated_table_is_told_with_its_own_sentence() -> None:
    table = Table(
        title="Oldest driver",
        columns={
            "cuda": Column(fact="torch.cuda_version", key=True),
            "driver": Column(
                fact="nvidia.driver_version",
                judge=True,
                severity=Severity.ERROR,
                says="CUDA {cuda} wants driver {wanted}, not {seen}",
            ),
        },
        sources={
            "doc": Source(what="doc", opened=date(2026, 11, 21), evidence=Origin.DOCUMENTATION)
        },
        rows=({"cuda": "13.0", "driver": {"from": "580"}, "source": ["doc"]},),
    )
    facts = {
        **NEW,
        "torch.cuda_version": "13.0",
        "nvidia.driver_version": "535.104.05",
        "compat.cuda-driver.driver": "violated",
        "compat.cuda-driver.driver.wanted": ">=580",
    }
    found = diagnose(toy.seen(facts), toy.catalog({"cuda-driver": table})).findings[0]
    assert found.title == "CUDA 13.0 wants driver >=580, not 535.104.05"
    assert (found.id, found.severity) == ("compat/cuda-driver/driver", Severity.ERROR)


def test_a_table_is_silent_where_the_package_itself_says_what_it_asks_for() -> None:
    fits = Column(
        fact="torch.minor",
        judge=True,
        fixes=(
            Recipe(
                title="Take the right one",
                steps=(Action(install=("toy==1",)),),
            ),
        ),
    )
    table = Table(
        title="What goes together",
        columns={
            "torchvision": Column(fact="package.torchvision.version", key=True),
            "torch": fits,
        },
        sources={},
        rows=(),
    )
    facts = {**NEW, "package.torchvision.version": "0.19.1", "compat.torchvision.torch": "violated"}
    catalog = toy.catalog({"torchvision": table})
    (found,) = diagnose(toy.seen(facts), catalog).findings
    assert (found.id, found.severity, found.recipes) == (
        "compat/torchvision/torch",
        Severity.WARNING,
        fits.fixes,
    )
    assert (
        diagnose(toy.seen({**facts, "requires.torchvision.torch.met": True}), catalog).findings
        == ()
    )


def test_worse_comes_first_and_a_cause_before_its_symptoms() -> None:
    cause = toy.issue(
        title="torch was moved",
        certain=True,
        proofs=(),
        signatures=(),
        symptoms=("requires/*",),
        severity=Severity.WARNING,
    )
    found = diagnose(
        toy.seen({**UNMET, **OLD}, toy.outcome("failed", product="failed")),
        toy.catalog(torch__moved=cause),
    ).findings
    assert [finding.id for finding in found] == [
        "canary/toy-add",
        "torch/moved",
        "requires/torchvision",
    ]
    assert found[1].symptoms == ("requires/torchvision",)


def test_a_cause_ranks_with_the_worst_of_its_symptoms() -> None:
    cause = toy.issue(
        title="torch was moved",
        certain=True,
        proofs=(),
        signatures=(),
        symptoms=("torch/wrong-sum",),
        severity=Severity.WARNING,
    )
    wrong = toy.issue(certain=True, proofs=(), signatures=())
    found = diagnose(
        toy.seen(OLD), toy.catalog(torch__wrong_sum=wrong, torch__moved=cause)
    ).findings
    assert [(finding.id, finding.severity) for finding in found] == [
        ("torch/moved", Severity.WARNING),
        ("torch/wrong-sum", Severity.ERROR),
    ]


def test_symptoms_that_come_together_are_told_as_one_story() -> None:
    text = Signature(pattern="off by (?P<amount>[0-9]+)")
    part = toy.issue(affected=(), signatures=(text,))
    cause = toy.issue(
        affected=(), signatures=(), proofs=(), symptoms=("torch/one", "torch/two"), gathers=2
    )
    together = diagnose(
        toy.seen({}, log="off by 3"),
        toy.catalog(torch__cause=cause, torch__one=part, torch__two=part),
    ).findings
    assert [found.id for found in together] == ["torch/cause", "torch/one", "torch/two"]
    assert (together[0].confidence, together[0].symptoms, together[0].evidence[0].line) == (
        Confidence.MEDIUM,
        ("torch/one", "torch/two"),
        1,
    )
    alone = diagnose(
        toy.seen({}, log="off by 3"), toy.catalog(torch__cause=cause, torch__one=part)
    ).findings
    assert [found.id for found in alone] == ["torch/one"]


def test_no_story_is_told_that_the_facts_deny() -> None:
    part = toy.issue(affected=(), signatures=(Signature(pattern="off by (?P<amount>[0-9]+)"),))
    cause = toy.issue(signatures=(), proofs=(), symptoms=("torch/one", "torch/two"), gathers=2)
    catalog = toy.catalog(torch__cause=cause, torch__one=part, torch__two=part)
    assert [found.id for found in diagnose(toy.seen(NEW, log="off by 3"), catalog).findings] == [
        "torch/one",
        "torch/two",
    ]
    assert diagnose(toy.seen({}, log="off by 3"), catalog).findings[0].id == "torch/cause"


def test_who_knows_more_comes_before_a_general_text() -> None:
    text = Signature(pattern="off by (?P<amount>[0-9]+)")
    general = toy.issue(affected=(), signatures=(text,), general=True)
    special = toy.issue(signatures=(text,))
    found = diagnose(
        toy.seen({}, log="off by 3"), toy.catalog(torch__a_general=general, torch__special=special)
    ).findings
    assert [(one.id, one.confidence) for one in found] == [
        ("torch/special", Confidence.MEDIUM),
        ("torch/a-general", Confidence.MEDIUM),
    ]


def test_what_stands_near_the_owning_line_comes_first() -> None:
    parts = {
        f"torch__{name}": toy.issue(
            affected=(), signatures=(Signature(pattern=f"{name} sum is off"),)
        )
        for name in ("aaaa", "zzzz")
    }
    log = "zzzz sum is off\n\n\n\n\naaaa sum is off"
    seen = [
        toy.seen({"log.owner": {"source": "build.log", "line": line, "text": "x"}}, log=log)
        for line in (1, 6)
    ]
    first = [diagnose(one, toy.catalog(None, **parts)).findings[0].id for one in seen]
    assert first == ["torch/zzzz", "torch/aaaa"]


def test_an_issue_of_cargo_is_not_undecided_where_no_workspace_is_examined() -> None:
    crate = toy.issue(
        affected=(Affected(when=(toy.condition("crate.half.version", present=True),)),),
        signatures=(),
        proofs=(),
    )
    assert diagnose(toy.seen(NEW), toy.catalog(candle__half=crate)).undecided == ()


def test_a_proof_without_a_case_is_the_whole_check() -> None:
    whole = toy.catalog(torch__wrong_sum=toy.issue(proofs=(Proof(check="toy-add"),), signatures=()))
    found = diagnose(toy.seen(OLD, toy.outcome("crashed")), whole).findings
    assert [(finding.id, finding.confidence) for finding in found] == [
        ("torch/wrong-sum", Confidence.HIGH)
    ]


def test_a_package_that_asks_for_nothing_is_not_told_to_lack_it() -> None:
    told = fact_evidence(
        "requires.torchaudio.torch.met",
        toy.seen({**NEW, "package.torchaudio.version": "2.11.0"}).facts,
    ).text
    assert told == "torchaudio 2.11.0 names no release of torch"


def test_a_check_may_say_of_single_cases_that_their_failure_matters_less() -> None:
    """A canary can prove a fault of the release that nothing here uses.

    Beside it another case may fail.
    """
    data: dict[str, object] = {"matters": {"sum": "warning"}}
    one, both = (
        msgspec.structs.replace(toy.outcome("failed", **cases), data=data)
        for cases in (
            {"sum": "failed", "product": "passed"},
            {"sum": "failed", "product": "failed"},
        )
    )
    assert [found.severity for found in diagnose(toy.seen(OLD, one), CATALOG).findings] == [
        Severity.WARNING
    ]
    found = {entry.id: entry.severity for entry in diagnose(toy.seen(OLD, both), CATALOG).findings}
    assert found == {"canary/toy-add": Severity.ERROR, "torch/wrong-sum": Severity.WARNING}
    (logged,) = diagnose(toy.seen(OLD, one, log="the sum is off by 3"), CATALOG).findings
    assert logged.severity is Severity.ERROR


def test_a_finding_that_explains_a_failed_check_is_no_note() -> None:
    """The report marks the check as failed; a note beside it would end in success."""
    mild = toy.issue(milder=(Milder(severity=Severity.NOTE, when=()),))
    red = msgspec.structs.replace(toy.outcome(sum="failed"), data={"matters": "warning"})
    (found,) = diagnose(toy.seen(OLD, red), toy.catalog(torch__wrong_sum=mild)).findings
    assert found.severity is Severity.WARNING


def test_a_title_holds_values_and_no_template_of_the_source() -> None:
    """A traceback shows `raise ValueError(f"… {amount}")` above the message."""
    signature = Signature(pattern=r"sum is off by (?P<amount>\S+)")
    catalog = toy.catalog(
        torch__wrong_sum=toy.issue(title="off by {log.amount|some}", signatures=(signature,))
    )
    source, message = "raise ValueError(f'sum is off by {amount}", "ValueError: sum is off by 3"
    for log, title in ((f"{source}\n{message}", "off by 3"), (source, "off by some")):
        (found,) = diagnose(toy.seen({}, log=log), catalog).findings
        assert found.title == title
