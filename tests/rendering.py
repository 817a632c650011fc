"""Find the faults of a report that a reader would stumble over, whatever the report is about.

`python -m tests.rendering FOLDER…` judges every `*.log` and `*.txt` below the folders, or, without
one, every example of the catalog and every fixture, and prints the faults.
"""

from __future__ import annotations

import io
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

import yaml

from doctor.catalog.loading import load
from doctor.facts.conditions import condition_holds
from doctor.facts.placeholders import HOLE, PLACEHOLDER, fill_known
from doctor.fixes.shell import Shell, line
from doctor.model.catalog import Catalog
from doctor.model.facts import Facts, value_of
from doctor.model.findings import Finding
from doctor.model.fixes import Command, Fix
from doctor.model.issues import Condition, Expect
from doctor.model.report import Report
from doctor.model.vocabulary import is_known
from doctor.pipeline.assess import assess
from doctor.pipeline.logs import observation_from_logs, read_log
from doctor.pipeline.snapshots import read_observation
from tests.windows_lines import by_cmd, by_powershell

ROOT = Path(__file__).resolve().parents[1]
Source: TypeAlias = "tuple[str, str | Path]"
"""A name, and the text of a log or the path of an observation."""

_UNFILLED = re.compile(r"(?:^|\s)\?(?=[\s,.;:)]|$)")
_EMPTIED = re.compile(r"''|\"\"|“”|`` |\(\s*\)(?<!\w\(\))|  |\s[,.;)](?=\s|$)|: *$|[:,;] [,;:)]")
"""What a placeholder leaves behind that was dropped: empty quotes and brackets, double blanks."""
_SYSTEM_ONLY = {
    "windows": {"apt-get", "apt", "sudo", "dnf", "yum", "brew", "zypper", "pacman", "sh", "bash"},
    "linux": {"winget", "choco", "powershell", "setx"},
    "macos": {"apt-get", "apt", "dnf", "yum", "zypper", "pacman", "winget", "choco", "setx"},
}
"""Programs that a system does not have."""


def faults(report: Report, catalog: Catalog) -> Iterator[str]:
    """Yield what is wrong with how a report reads, a sentence each."""
    facts = report.observation.facts
    for finding in report.findings:
        found = (
            *_of_words(finding, own=finding.id in catalog.issues),
            *_of_evidence(finding),
            *_of_fixes(finding, facts),
            *_of_conditions(finding, catalog, facts),
        )
        yield from (f"{finding.id}: {fault}" for fault in found)


def _of_words(finding: Finding, *, own: bool) -> Iterator[str]:
    """Yield open placeholders; the title of a known issue (`own`) quotes nothing by itself."""
    texts = {"title": finding.title, "message": finding.message}
    for number, fix in enumerate(finding.fixes):
        texts |= {f"fixes[{number}].title": fix.title, f"fixes[{number}].note": fix.note}
        texts |= {f"fixes[{number}].use_if": "\n".join(fix.use_if)}
    for where, text in texts.items():
        for hole in HOLE.finditer(text):
            if hole[1].startswith("log.") or is_known(hole[1]):
                yield f"{where}: {hole[0]} is not filled"
        if _UNFILLED.search(text):
            yield f"{where}: a question mark stands for a value: {text!r}"
    if own and (found := _EMPTIED.search(finding.title)):
        yield f"title: {found[0]!r} where a value is missing: {finding.title!r}"


def _of_evidence(finding: Finding) -> Iterator[str]:
    seen = Counter(" ".join(one.text.split()).lower() for one in finding.evidence)
    yield from (f"evidence stands there twice: {text!r}" for text, n in seen.items() if n > 1)


def _of_fixes(finding: Finding, facts: Facts) -> Iterator[str]:
    system = str(value_of(facts, "host.os") or "")
    for fix in finding.fixes:
        for command in (*fix.commands, *([fix.verify] if fix.verify else [])):
            yield from _of_command(command, fix, system)
    titles = Counter(fix.title for fix in finding.fixes)
    alike = [one for n, one in enumerate(finding.fixes) if one in finding.fixes[:n]]
    yield from (f"the fix {one.title!r} stands there twice" for one in alike)
    yield from (
        f"two fixes are called {title!r}"
        for title, n in titles.items()
        if n > 1 and len({fix.use_if for fix in finding.fixes if fix.title == title}) < n
    )


def _of_command(command: Command, fix: Fix, system: str) -> Iterator[str]:
    words = (*command.argv, *command.env.values())
    for word in words:
        yield from (f"{fix.title!r}: {fault}" for fault in _of_word(word, fix))
    if command.argv and Path(command.argv[0]).name in _SYSTEM_ONLY.get(system, ()):
        yield f"{fix.title!r}: {system} has no {command.argv[0]}"
    bare = Command(argv=("program", *command.argv[1:]))
    for shell, read in ((Shell.CMD, by_cmd), (Shell.POWERSHELL, by_powershell)):
        try:
            got = read(line(bare, shell))
        except AssertionError as error:
            got = [str(error)]
        if got != [*bare.argv] and "doctor" not in command.argv:
            yield f"{fix.title!r}: {shell.value} reads {got} instead of {[*bare.argv]}"


def _of_word(word: str, fix: Fix) -> Iterator[str]:
    for hole in HOLE.finditer(word):
        if hole[1].startswith("log.") or is_known(hole[1]):
            yield f"{hole[0]} is not filled in {word!r}"
    if word == "?" or "==?" in word:
        yield f"a question mark stands for a value in {word!r}"
    for asked in PLACEHOLDER.findall(word):
        if asked.strip("<>") not in fix.asks:
            yield f"{asked} is not explained"


def _of_conditions(finding: Finding, catalog: Catalog, facts: Facts) -> Iterator[str]:
    """Yield the fixes whose conditions the facts contradict."""
    issue = catalog.issues.get(finding.id)
    shown = {fix.title for fix in finding.fixes}
    for recipe in issue.fixes if issue else ():
        if fill_known(recipe.title, facts, {}) not in shown:
            continue
        false = [
            one.fact
            for one in recipe.use_if
            if isinstance(one, Condition) and condition_holds(one, facts).truth is False
        ]
        twins = [one for one in issue.fixes if one.title == recipe.title] if issue else []
        if false and len(twins) == 1:
            yield f"{recipe.title!r} is shown, and {', '.join(false)} contradicts it"


def judged(source: str | Path, catalog: Catalog) -> Report:
    """Return the report on the text of a log, or on an observation in a file."""
    if isinstance(source, Path):
        return assess(read_observation(source), catalog)
    log = read_log("a log", io.BytesIO(source.encode("utf-8", "replace")), catalog)
    return assess(observation_from_logs((log,)), catalog, command="diagnose")


def examples(catalog: Catalog) -> Iterator[Source]:
    """Yield the logs of all examples that match."""
    for name, issue in sorted(catalog.issues.items()):
        for number, example in enumerate(issue.examples):
            if example.expect is Expect.MATCH and example.log:
                yield f"{name}[{number}]", example.log


def fixtures() -> Iterator[Source]:
    """Yield the cases, the pasted reports and the observations of this repository."""
    for path in sorted((ROOT / "fixtures" / "cases").rglob("*.yaml")):
        case = yaml.safe_load(path.read_text(encoding="utf-8"))
        text = case.get("log") or case.get("text") or case.get("report")
        if isinstance(text, str):
            yield f"{path.parent.name}/{path.stem}", text
    for folder in ("observations", "pasted", "plans"):
        for path in sorted((ROOT / "fixtures" / folder).iterdir()):
            if path.suffix in (".json", ".txt"):
                yield f"{folder}/{path.name}", path
    yield "demo", ROOT / "doctor" / "recordings" / "demo.json"


def foreign(folders: Iterable[Path]) -> Iterator[Source]:
    """Yield the logs below folders."""
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".log", ".txt") and path.is_file():
                yield str(path), path.read_text(encoding="utf-8", errors="replace")


def main(folders: list[str]) -> int:
    """Judge, and print each fault with its source; return 1 where there is any."""
    catalog = load()
    sources = foreign(map(Path, folders)) if folders else (*examples(catalog), *fixtures())
    count = wrong = findings = 0
    for name, source in sources:
        report = judged(source, catalog)
        count, findings = count + 1, findings + len(report.findings)
        for fault in faults(report, catalog):
            wrong += 1
            print(f"{name}: {fault}")
    print(f"{count} reports, {findings} findings, {wrong} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
