"""What frameworks and linkers repeat of a cause that the machine itself shows.

A driver that starts for nobody is met by each framework and by each check that links against it,
in words of their own. That is one error, and the others follow from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from doctor.base.globs import matches_any
from doctor.judge.match.gpu_messages import FRAMEWORKS, says_no_device
from doctor.model.facts import Facts, State, unknown
from doctor.model.findings import Detection, Evidence, EvidenceKind
from doctor.model.observation import Observation
from doctor.model.roles import has_role
from doctor.model.scales import Confidence, Severity

_OF_MACHINE = ("nvidia.", "env.", "host.")
"""How the facts begin that are no framework's words."""
_ABOUT_MACHINE = ("nvidia/", "cuda/", "container/", "wsl/")
_ERRORS = frozenset(one.error for one in FRAMEWORKS)
_ROLES = tuple(one.role for one in FRAMEWORKS)
_WITHOUT_LIBRARY = ("cuda/driver-library-not-linked", "triton/libcuda-not-found")
"""What a linker and Triton say where the driver's library is not there."""
_TORCH_AND_DRIVER = "torch/driver-too-old"


def with_echoes(observation: Observation, findings: Sequence[Detection]) -> list[Detection]:
    """Return findings in which the cause of the machine explains what repeats it.

    A log has no such order: there the words are all that is known.
    """
    if observation.logs:
        return list(findings)
    causes = [one for one in findings if _is_cause(one)]
    main = next((one for one in causes if not _follows(one, causes)), None)
    echoes = {
        one.id: main.id for one in findings if main and _repeats(one, causes, observation.facts)
    }
    echoes |= dict(_of_releases(findings))
    return [
        msgspec.structs.replace(
            one,
            symptoms=(*one.symptoms, *(name for name, cause in echoes.items() if cause == one.id)),
        )
        if one.id in echoes.values()
        else one
        for one in findings
    ]


def _is_cause(found: Detection) -> bool:
    """Say whether a finding is about the machine and explains that CUDA reaches nothing."""
    about = found.id.startswith(_ABOUT_MACHINE) or any(
        (each.fact or "").startswith(_OF_MACHINE) for each in found.evidence
    )
    return (
        about
        and found.severity is Severity.ERROR
        and found.confidence is not Confidence.LOW
        and matches_any("reach/cuda", found.symptoms)
    )


def _follows(found: Detection, causes: Sequence[Detection]) -> bool:
    others = (one for one in causes if one.id != found.id)
    return any(matches_any(found.id, one.symptoms) for one in others)


def _repeats(found: Detection, causes: Sequence[Detection], facts: Facts) -> bool:
    if found in causes:
        return False
    if found.id in _WITHOUT_LIBRARY:
        return facts.get("nvidia.libcuda", unknown("")).state is State.ABSENT
    words = [each for each in found.evidence if each.kind is not EvidenceKind.FACT or _quotes(each)]
    return bool(words) and all(
        _is_of_framework(each) and says_no_device(each.text) for each in words
    )


def _quotes(evidence: Evidence) -> bool:
    return evidence.fact in _ERRORS


def _is_of_framework(evidence: Evidence) -> bool:
    check = evidence.source.partition(" ")[0]
    return _quotes(evidence) or any(has_role(check, role) for role in _ROLES)


def _of_releases(findings: Sequence[Detection]) -> Iterator[tuple[str, str]]:
    """Yield what follows from a driver that is too old: each framework says it by itself."""
    known = {one.id for one in findings}
    tables = [one for one in known if one.startswith("compat/") and one.endswith("/driver")]
    for table in sorted(tables):
        if _TORCH_AND_DRIVER in known:
            yield table, _TORCH_AND_DRIVER
        for framework in FRAMEWORKS:
            if table.startswith(f"compat/{framework.name}"):
                yield f"reach/{framework.name}", table
