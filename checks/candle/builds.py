"""What cargo said of a build: a fault of the source, or nothing that speaks about it.

No input or output here.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

NO_ROOM = re.compile(
    r"No space left on device|os error 28\b|not enough space on the disk", re.IGNORECASE
)
NO_MEMORY = re.compile(
    r"signal: 9, SIGKILL|LLVM ERROR: out of memory|memory allocation of \d+ bytes failed"
)
NO_LINKER = re.compile(
    r"linker `.+` not found|could not find native static library|error: no default toolchain"
)
NO_STANDARD = re.compile(r"can't find crate for `(core|std)`")
TOO_OLD = re.compile(
    r"is not supported by the following package|requires rustc \d|edition2024|rustc [\d.]+ or newer"
)
SCRIPT = re.compile(r"failed to run custom build command for `(?P<crate>[^`]+)`")
PANIC = re.compile(r"panicked at .*?:\d+:\d+:\n\s*(?P<said>.+)")
ANSWER = re.compile(r"^\s*(?P<said>(?:error|Error)\b.*)$", re.MULTILINE)


class Message(NamedTuple):
    """What rustc complains of.

    In which package and what of it, the error's code, its first line with the place, all of it.
    """

    package: str
    kind: str
    code: str
    line: str
    rendered: str


class Fault(NamedTuple):
    """How a build ended that did not end well.

    `failed` speaks about what was to be built, `skipped` does not.
    """

    verdict: str
    reason: str


def errors(out: str) -> list[Message]:
    """Return the errors of rustc in what `--message-format=json` printed."""
    found = []
    for line in out.splitlines():
        told = parsed(line)
        if told.get("reason") == "compiler-message" and told["message"]["level"].startswith(
            "error"
        ):
            found.append(message(told))
    return found


def parsed(line: str) -> dict[str, Any]:
    """Return a line that is a JSON object; an empty one for any other."""
    try:
        told = json.loads(line) if line.startswith("{") else {}
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def message(told: dict[str, Any]) -> Message:
    """Read one message of the compiler."""
    inner, target = told["message"], told.get("target") or {}
    code = (inner.get("code") or {}).get("code") or ""
    place = next(
        (
            f" ({span['file_name']}:{span['line_start']})"
            for span in inner.get("spans", ())
            if span.get("is_primary")
        ),
        "",
    )
    head = f"error[{code}]" if code else "error"
    kind = next(iter(target.get("kind") or ()), "")
    first = inner["message"].partition("\n")[0]
    return Message(
        str(told.get("package_id", "")),
        kind,
        code,
        f"{head}: {first}{place}"[:400],
        inner.get("rendered") or first,
    )


def built(out: str) -> dict[str, str]:
    """Return the programs that a build made, by name."""
    artifacts = [parsed(line) for line in out.splitlines() if '"compiler-artifact"' in line]
    return {
        each["target"]["name"]: each["executable"] for each in artifacts if each.get("executable")
    }


def fault(out: str, err: str, *, accelerated: bool) -> Fault:
    """Say of a build that ended with an error whether the source is to blame.

    What a build script says of this machine counts only where everything is there that it needs:
    with an accelerator's tools.
    """
    told, everything = errors(out), err + "".join(each.rendered for each in errors(out))
    for pattern, reason in (
        (NO_ROOM, "no room on the disk for the build"),
        (NO_MEMORY, "too little memory for the build"),
        (NO_LINKER, "no linker to build with"),
        (
            NO_STANDARD,
            (
                "this toolchain lacks the standard library for the platform that the "
                "workspace builds for"
            ),
        ),
    ):
        found = pattern.search(everything)
        if found:
            return Fault("skipped", f"{reason}: {found.group()}")
    real = [each for each in told if not each.line.startswith("error: aborting due to")]
    if real:
        return Fault("failed", real[0].line)
    script = SCRIPT.search(err)
    if script:
        said = PANIC.search(err) or ANSWER.search(err[script.end() :])
        reason = (
            f"the build script of {script.group('crate').partition(' (')[0]}: "
            f"{said.group('said').strip() if said else 'it failed'}"
        )
        return Fault("failed" if accelerated else "skipped", reason[:400])
    first = next(
        (line.strip() for line in err.splitlines() if line.startswith("error")),
        "cargo ended with an error and said nothing",
    )
    return Fault("failed" if TOO_OLD.search(err) else "skipped", first[:400])
