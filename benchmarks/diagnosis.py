"""Judge real failures from public threads by their text, and count the right answers.

    .venv/bin/python benchmarks/diagnosis.py [--set open|held|held-late]

The sets are those of fixtures/cases. Recall is given twice: over the cases for which the catalog
has the right answer, and over all. Precision is the share of right answers among the first findings
that were given at all. A known issue among the symptoms of a first finding `failure/…` counts as
that finding. A warning or an error on a quiet log is a wrong alarm. The pasted
environments are judged as `doctor check --from` does: the right answer may stand anywhere among the
findings, and a warning or an error about a healthy one is a wrong alarm.
"""

from __future__ import annotations

import argparse
import functools
import io
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from doctor.analyzers.case import PREFIX
from doctor.base.errors import InputError
from doctor.catalog import loading as catalogs
from doctor.model.catalog import Catalog
from doctor.model.findings import Finding
from doctor.model.scales import Severity
from doctor.pipeline.assess import assess
from doctor.pipeline.logs import observation_from_logs, read_log
from doctor.pipeline.snapshots import read_observation
from tests import cases


class Answer(msgspec.Struct, frozen=True):
    """What doctor said about one case.

    `wanted` are the ids that would be right, `given` those it gave, the first first. A known issue
    that the first finding explains by its mechanism (`failure/…`) is among `explained`: it shows
    as a symptom of that finding, and counts as given with it.
    """

    name: str
    wanted: tuple[str, ...]
    given: tuple[str, ...]
    explained: tuple[str, ...] = ()

    def within(self, first: int) -> bool:
        """Return whether a right id is among the first ones, or explained by the first."""
        return any(one in self.wanted for one in (*self.given[:first], *self.explained))


def answer(name: str, wanted: tuple[str, ...], findings: Sequence[Finding]) -> Answer:
    """Return the answer that ranked findings give to a case."""
    leads = bool(findings) and findings[0].id.startswith(PREFIX)
    return Answer(
        name,
        wanted,
        tuple(found.id for found in findings),
        findings[0].symptoms if leads else (),
    )


def main() -> int:
    """Judge, print the tables and every miss."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", choices=cases.SETS, help="one set alone; default: each of them")
    chosen = parser.parse_args().set
    answers = {name: answered(name) for name in cases.SETS if chosen in (None, name)}
    print(
        f"{len(catalog().issues)} known issues; judged by the text alone; "
        f"{time.strftime('%Y-%m-%d')}\n"
    )
    print(table(answers))
    print(quiet())
    print(environments())
    for name, found in answers.items():
        print(f"\nMisses of {name}:\n" + "\n".join(misses(found)))
    return 0


def judged(log: str) -> Sequence[Finding]:
    """Return the ranked findings for a pasted text, as `doctor diagnose` gives them."""
    seen = observation_from_logs([read_log("log", io.BytesIO(log.encode()), catalog())])
    return assess(seen, catalog(), command="diagnose").findings


def checked(environment: str) -> Sequence[Finding]:
    """Return the findings for a pasted environment, as `doctor check --from` gives them.

    None where it cannot be read.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "environment"
        path.write_text(environment, encoding="utf-8")
        try:
            return assess(read_observation(path), catalog()).findings
        except InputError:
            return ()


@functools.cache
def catalog() -> Catalog:
    """Return the catalog that comes with doctor."""
    return catalogs.load()


def answered(name: str) -> list[Answer]:
    """Judge every case of a set."""
    return [answer(slug, case.issues, judged(case.log)) for slug, case in cases.failures(name)]


def alarms(findings: Sequence[Finding]) -> list[str]:
    """Return the ids of what was told as a warning or an error."""
    return [found.id for found in findings if found.severity is not Severity.NOTE]


def table(answers: dict[str, list[Answer]]) -> str:
    """Return the figures of each set as a table in Markdown."""
    lines = [
        "| set | cases | recall@1 | recall@3 | precision@1 |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, every in answers.items():
        for title, part in (
            (f"{name}, catalog has an answer", [one for one in every if one.wanted]),
            (f"{name}, all", every),
        ):
            spoken = [one for one in part if one.given]
            first, three = sum(one.within(1) for one in part), sum(one.within(3) for one in part)
            lines.append(
                f"| {title} | {len(part)} | {share(first, part)} | {share(three, part)} | "
                f"{share(first, spoken)} |"
            )
    return "\n".join(lines)


def share(count: int, of: Sequence[object]) -> str:
    """Return a share in per cent with what it was counted from."""
    return f"{100 * count / len(of):.0f} % ({count}/{len(of)})" if of else "–"


def misses(answers: Sequence[Answer]) -> list[str]:
    """Return a line for each missing right answer, and for each answer to an unknown failure."""
    lines = []
    for one in answers:
        if not one.within(3) and (one.wanted or one.given):
            wanted = " or ".join(one.wanted) or "(none yet)"
            lines.append(
                f"  {one.name}: wanted {wanted}; given {', '.join(one.given[:5]) or 'nothing'}"
            )
    return lines or ["  none"]


def quiet() -> str:
    """Return how many quiet logs raised a wrong alarm, and which."""
    told = {name: found for name, case in cases.quiet() if (found := alarms(judged(case.log)))}
    lines = [f"\nWrong alarms on quiet logs: {share(len(told), cases.paths(cases.QUIET))}"]
    return "\n".join([*lines, *(f"  {name}: {', '.join(found)}" for name, found in told.items())])


def environments() -> str:
    """Count right answers about environments and false alarms on healthy ones, with their names."""
    found = {name: (case, checked(case.log)) for name, case in cases.environments()}
    sick = {
        name: answer(name, case.issues, told) for name, (case, told) in found.items() if case.issues
    }
    missed = [one for one in sick.values() if not one.within(len(one.given))]
    healthy = {
        name: alarms(told) for name, (case, told) in found.items() if case.family == cases.HEALTHY
    }
    loud = {name: told for name, told in healthy.items() if told}
    lines = [
        "\n| environments | right answer among the findings | wrong alarms on healthy ones |",
        "| --- | --- | --- |",
    ]
    lines.append(
        f"| {len(found)} | {share(len(sick) - len(missed), [*sick])} | "
        f"{share(len(loud), [*healthy])} |"
    )
    lines += [
        (
            f"  {one.name}: wanted {' or '.join(one.wanted)}; given "
            f"{', '.join(one.given[:5]) or 'nothing'}"
        )
        for one in missed
    ]
    return "\n".join(
        [*lines, *(f"  {name}: wrongly {', '.join(told)}" for name, told in loud.items())]
    )


if __name__ == "__main__":
    sys.exit(main())
