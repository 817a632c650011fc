"""Reports in which every text comes from somebody who wishes it were more than text."""

from __future__ import annotations

import msgspec

from doctor.model.facts import present, unknown
from doctor.model.findings import Evidence, EvidenceKind, Finding, Place, Suppression
from doctor.model.fixes import Command, Fix, Step
from doctor.model.issues import Edit, Snippet
from doctor.model.observation import Deselected, ProbeFailure, Target, TargetKind
from doctor.model.outcomes import Case, Outcome, Verdict
from doctor.model.report import Report, RuledOut, Undecided
from doctor.model.scales import Confidence, Severity
from tests.report import reports

NAMES = (
    *reports.facts(),
    "nvidia.nvml",
    "nvidia.gpu_present",
    "cuda.missing",
    "cuda.unlinkable",
    "cuda.home_broken",
    "metal.chip",
    "cargo.workspace",
    "project.manifests",
)

TEXTS = (
    "::error file=x::y",
    "\n  ::set-output name=a::b\n::stop-commands::t\r\n::add-mask::x\r::notice::y",
    "##[error]no ##[group]b",
    "%0A::error::escaped %25 %0D, a: b",
    "]]></failure><script>alert(1)</script>&amp;<!-- --><![CDATA[",
    '" onload="x" \' />',
    "\x1b[31mred\x1b[0m\x1b]8;;http://x\x07\x00\x08\x0b\x9b31m\x85",
    "\ud800 \udcff half characters \ufffe\uffff",
    "\u202egnp\u2028\u2029\ufeff",
    "北京的图形处理器坏了 🔥🚒👩‍🚒 é a\u0301",
    (
        "```\n````sh\nrm -rf /\n````\n| a | b |\n# head\n<details>[x](javascript:y) "
        "![i](http://x/y.png) @somebody #123 {0} {{}}"
    ),
    "../../etc/passwd C:\\Windows /etc/passwd",
    "key=" + "A" * 5000,
)
"""What has broken one format or another."""


def all_of(text: str) -> Report:
    """Put one text into every place of a report."""
    finding = Finding(
        id=text,
        target=text,
        title=text,
        severity=Severity.ERROR,
        confidence=Confidence.LOW,
        message=text,
        evidence=(Evidence(kind=EvidenceKind.LOG, text=text, source=text, line=3),),
        fixes=(
            Fix(
                kind="edit",
                title=text,
                use_if=(text,),
                note=text,
                asks={text: f"the use of {text}"},
                verify=Command(argv=(text,)),
                steps=(
                    Step(title=text, command=Command(argv=(text,), cwd=text)),
                    Step(edit=Edit(file=text, before=text, after=text)),
                ),
                snippet=Snippet(where=text, before=text, after=text),
            ),
        ),
        references=(text,),
        symptoms=(text,),
        missing_facts=(text,),
        place=Place(path=text, line=1),
    )
    outcome = Outcome(
        id=text,
        target=text,
        verdict=Verdict.FAILED,
        device=text,
        reason=text,
        signal=text,
        log=text,
        cases={text: Case(verdict=Verdict.SKIPPED, reason=text)},
    )
    return reports.report(
        finding,
        command=text,
        undecided=(Undecided(id=text, title=text, missing_facts=(text,)),),
        ruled_out=(RuledOut(id=text, title=text, why=text),),
        outcomes=(outcome, msgspec.structs.replace(outcome, verdict=Verdict.SKIPPED)),
        facts={
            name: unknown(text) if name.startswith("torch.c") else present(text, text)
            for name in NAMES
        },
        targets=(Target(name=text, kind=TargetKind.CARGO, path=text, chosen_by=text),),
        deselected=(Deselected(id=text, summary=text, seconds=9e9),),
        probe_failures=(ProbeFailure(probe=text, why=text),),
        taken=text,
    )


def hostile() -> Report:
    """Return a report of everything at once.

    Each text in every place, findings of each severity, a log of 10 MB.
    """
    parts = [all_of(text) for text in TEXTS]
    findings = [
        msgspec.structs.replace(
            found,
            severity=severity,
            place=Place(path=text, line=-1),
            references=("https://example.org/" + text, "https://example.org/a%20b#c"),
        )
        for text, part in zip(TEXTS, parts, strict=True)
        for found in part.findings
        for severity in Severity
    ]
    ignored = msgspec.structs.replace(
        findings[0], suppressed=Suppression(by=TEXTS[0], reason=TEXTS[4], until=TEXTS[1])
    )
    outcomes = [outcome for part in parts for outcome in part.observation.outcomes]
    log = "".join(TEXTS) + "\n::error::in the log\n"
    long = msgspec.structs.replace(
        outcomes[0], log=log * (10_000_000 // len(log)), cases={}, seconds=float("nan")
    )
    broken = msgspec.structs.replace(outcomes[0], verdict=Verdict.BROKEN, seconds=-1.0)
    return reports.report(
        *findings,
        ignored,
        exit_code=1,
        outcomes=(*outcomes, long, broken),
        facts={name: present(TEXTS[3], TEXTS[1]) for name in NAMES},
        probe_failures=tuple(
            failure for part in parts for failure in part.observation.probe_failures
        ),
        taken=TEXTS[1],
        deselected=tuple(Deselected(id=text, summary=text) for text in TEXTS),
    )
