"""Read which names of a checkpoint the model lacks, and which names of the model the file lacks.

`Module.load_state_dict` of torch prints both lists. If each name of one list ends in a name of
the other, only a prefix differs. One list alone says which side has a part more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.recipes import code
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe

_FAILED = re.compile(r"Error\(s\) in loading state_dict for (\w{1,80})")
_MISSING = re.compile(r"Missing key\(s\) in state_dict:")
_UNEXPECTED = re.compile(r"Unexpected key\(s\) in state_dict:")
_NAME = re.compile(r'"([\w.]{1,200})"')
_CUT = re.compile(r"(?:\.\.|…|,)\s{0,9}$")
_UNUSED = {
    *("num_batches_tracked", "position_ids", "criterion", "loss", "loss_fn", "loss_func"),
    *(
        "metric",
        "metrics",
        "lpips",
        "perceptual_loss",
        "discriminator",
        "total_ops",
        "total_params",
    ),
}
"""Parts that count batches, positions or operations, or that only training uses."""
_LINES = 200
_LONGEST = 20_000
_MOST = 2000
_SHOWN = 3
_IMPLIED = ("torch/checkpoint-other-names",)


def explain(case: Case) -> Iterator[Explanation]:
    """Yield how the names in the file and those of the model differ."""
    for event in case.of("exception", "checkpoint-names"):
        if _model(event) is None:
            continue
        lines = case.log.lines[event.at : event.at + _LINES]
        if any("_orig_mod." in line or "size mismatch for" in line for line in lines):
            continue
        missing, is_missing_cut = _names(lines, _MISSING)
        unexpected, is_unexpected_cut = _names(lines, _UNEXPECTED)
        found = None
        if missing and unexpected:
            found = _prefixed(event, missing, unexpected)
        elif unexpected and not is_unexpected_cut:
            found = _more_in_file(event, unexpected)
        elif missing and not is_missing_cut:
            found = _more_in_model(event, missing)
        if found is not None:
            yield found


def _names(lines: Sequence[str], heading: re.Pattern[str]) -> tuple[list[str], bool]:
    """Return the names of one list, and whether the log cuts it off."""
    for line in lines:
        if (start := heading.search(line[:_LONGEST])) is not None:
            text = line[start.end() : _LONGEST]
            other = text.find("key(s) in state_dict")
            text = text if other < 0 else text[:other]
            is_cut = len(line) > _LONGEST or _CUT.search(text[-40:]) is not None
            return _NAME.findall(text)[:_MOST], is_cut
    return [], False


def _prefixed(
    event: Event, missing: Sequence[str], unexpected: Sequence[str]
) -> Explanation | None:
    """Explain two lists that differ by a prefix only."""
    in_file = _prefix(unexpected, set(missing))
    in_model = _prefix(missing, set(unexpected))
    if bool(in_file) == bool(in_model):
        return None
    prefix = in_file or in_model
    parallel = (
        " DataParallel and DistributedDataParallel put it there." if prefix == "module." else ""
    )
    if in_file:
        after = (
            f'model.load_state_dict({{name.removeprefix("{prefix}"): value '
            "for name, value in state.items()})"
        )
        title = f"Take the prefix {prefix} off the names"
    else:
        after = (
            f'model.load_state_dict({{"{prefix}" + name: value for name, value in state.items()}})'
        )
        title = f"Put the prefix {prefix} before the names"
    side = "in the file" if in_file else "of the model"
    return _found(
        event,
        f"The names {side} begin with {prefix}, and the others do not",
        f"Apart from the prefix, the names are the same, such as {missing[0]}.{parallel}",
        (code(title, "the place that loads the checkpoint", after, before=_LOADS),),
    )


_LOADS = "model.load_state_dict(state)"


def _prefix(longer: Sequence[str], shorter: set[str]) -> str:
    """Return the prefix without which most of the longer names are among the others."""
    for depth in (1, 2, 3):
        prefixes = {".".join(name.split(".")[:depth]) + "." for name in longer}
        if len(prefixes) != 1:
            return ""
        prefix = prefixes.pop()
        same = sum(name.removeprefix(prefix) in shorter for name in longer)
        if same * 2 >= min(len(longer), len(shorter)) and same:
            return prefix
    return ""


def _more_in_file(event: Event, names: Sequence[str]) -> Explanation:
    """Explain a file that has parts which the model lacks."""
    parts = _parts(names)
    shown = ", ".join(parts[:_SHOWN])
    leave_out = code(
        "Leave these names out",
        "the place that loads the checkpoint",
        "print(model.load_state_dict(state, strict=False))",
        before=_LOADS,
        note="It prints what was left out. No other name may stand there.",
    )
    unused = all(_UNUSED.intersection(name.split(".")) for name in names)
    return _found(
        event,
        f"The checkpoint holds {shown}, which the model {_model(event)} does not have",
        "The model found all that it needs in the file. "
        + (
            "What is left over serves training only, or counts something."
            if unused
            else "The file was written by another revision of the program, or with other options."
        ),
        (leave_out,) if unused else (_other_revision(shown), leave_out),
    )


def _more_in_model(event: Event, names: Sequence[str]) -> Explanation:
    """Explain a model that has parts which the file lacks."""
    parts = _parts(names)
    shown = ", ".join(parts[:_SHOWN])
    numbered = [name for name in parts if re.search(r"\.\d+$", name)]
    way = (
        f"The number of layers is larger than in the file: {numbered[0]} is the first that "
        "it lacks. "
        if numbered
        else ""
    )
    return _found(
        event,
        f"The model {_model(event)} has {shown}, which the checkpoint does not hold",
        f"All other names fit. {way}The model is built with other options than those with which "
        "the file was trained, or the file belongs to another variant of it.",
        (
            code(
                f"Build the model as it was trained: without {parts[0]}",
                f"the options or the call that makes {_model(event)}",
                "print(sorted({'.'.join(name.split('.')[:4]) for name in state}))",
                note="The line shows the layers of the file. Set the option for depth, size or "
                f"variant that makes the same ones, or take the file for the variant with {shown}.",
            ),
            _other_revision(shown),
        ),
    )


def _other_revision(shown: str) -> Recipe:
    return Recipe(
        title="Take the revision of the program that belongs to the file",
        steps=(Action(run=("git", "pull")),),
        note=f"Run it in the folder of the program. A file that is older than the change "
        f"to {shown} needs the commit of its day: git log names it.",
    )


def _parts(names: Sequence[str]) -> list[str]:
    """Return the parts of the model that the names belong to, in their order.

    A part ends at its last number, or is the module above the parameter.
    """
    parts: dict[str, None] = {}
    for name in names:
        pieces = name.split(".")
        plain = pieces[1:] if pieces[0] == "module" and len(pieces) > 1 else pieces
        numbers = [at for at, piece in enumerate(plain[:-1]) if piece.isdigit()]
        end = max(numbers[-2:], default=0) if len(numbers) < _SHOWN else numbers[1]
        parts.setdefault(".".join(plain[: end + 1 if numbers else max(len(plain) - 1, 1)]), None)
    return list(parts)


def _model(event: Event) -> str | None:
    """Return the model that an event names; None where it is about something else."""
    found = _FAILED.search(event.text[:_LONGEST])
    return found[1] if found else None


def _found(event: Event, title: str, cause: str, recipes: tuple[Recipe, ...]) -> Explanation:
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=_IMPLIED,
        detection=detection(event, title, cause, recipes=recipes, name="checkpoint-names"),
    )
