"""Ask cargo: `cargo update --dry-run`.

https://doc.rust-lang.org/cargo/commands/cargo-update.html
"""

from __future__ import annotations

from doctor.base.patterns import compile_pattern
from doctor.environments.answers import Answer, NoAnswer, NoAnswerReason, Resolution
from doctor.environments.asking import Question, changes_of
from doctor.environments.statements import failure

_CRATE = r"[A-Za-z_][\w-]{0,100}"
_ROW = (
    rf"^ {{1,12}}(?P<verb>Adding|Removing|Updating|Downgrading) (?P<name>{_CRATE}) "
    r"v(?P<version>\d[\w.+-]{0,80})(?: \([^)]{1,300}\))?(?: -> v(?P<after>\d[\w.+-]{0,80}))?"
)


def ask(question: Question) -> Answer:
    """Return what `cargo update` would write into Cargo.lock."""
    verb = next((one for one in question.arguments if not one.startswith(("-", "+"))), "")
    if verb != "update":
        return NoAnswer(why=NoAnswerReason.NO_DRY_RUN, text=f"cargo {verb} has no dry run")
    done = question.run(*question.arguments, "--dry-run")
    if isinstance(done, NoAnswer):
        return done
    if not done.ok:
        return failure(done.errors)
    before: dict[str, str | None] = {}
    after: dict[str, str | None] = {}
    for line in done.errors.splitlines():
        if (row := compile_pattern(_ROW).search(line[:600])) is None:
            continue
        name, version = row.groups["name"], row.groups["version"]
        moved = row.groups.get("after")
        if row.groups["verb"] == "Adding":
            after[name] = version
        else:
            before[name] = version
            if moved:
                after[name] = moved
    return Resolution(changes=changes_of(before, after), seconds=done.seconds)
