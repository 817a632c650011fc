"""Explain code of a model or of a data set that runs only if the reader allows it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import NAME, distinct, owners_of
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe, Snippet
from doctor.model.scales import Severity
from doctor.timelines import names

_note = partial(explanation, severity=Severity.NOTE)


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what asks to be allowed."""
    for event in distinct(case, "remote-code-not-trusted"):
        yield _explained(case, event)


def _explained(case: Case, event: Event) -> Explanation:
    if "load the dataset" in event.text or "load the metric" in event.text:
        return _data(case, event)
    return _note(
        event,
        "The model brings Python code along, which runs only if you allow it",
        "Read the code on the page of the model first: it runs with your rights. Newer releases of "
        "transformers know many such models themselves.",
        (
            Recipe(
                title="Allow it",
                use_if=("you have read the code and trust it",),
                snippet=Snippet(
                    where="the call that loads the model",
                    before="from_pretrained(name)",
                    after="from_pretrained(name, trust_remote_code=True)",
                ),
            ),
        ),
    )


def _data(case: Case, event: Event) -> Explanation:
    """Explain a data set that is a program; a package may load it, and not the reader's code."""
    owners = [one for one in owners_of(case, event) if one not in ("datasets", "evaluate")]
    caller = owners[0] if owners else ""
    update = (
        Recipe(
            title=f"Take the newest {caller}, which hands the answer on",
            steps=(Action(install=(caller,), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
        ),
    )
    return _note(
        event,
        "The data set is loaded by a program of its author, which runs only if you allow it",
        "datasets 2.20 and newer ask before they run it, and 4.0 no longer runs any. Look at the "
        "script on the page of the data set first: it runs with your rights.",
        (
            *(update if caller and NAME.fullmatch(names.distribution_of(caller) or "") else ()),
            Recipe(
                title="Allow it for this run, also where another package loads the data",
                use_if=("you have read the script and trust it",),
                steps=(Action(env={"HF_DATASETS_TRUST_REMOTE_CODE": "1"}),),
                note="In code of your own: load_dataset(name, trust_remote_code=True).",
                lasting=False,
            ),
            Recipe(
                title="Load the data as Parquet, which the hub makes of many data sets",
                snippet=Snippet(
                    where="the call that loads the data",
                    before="load_dataset(name)",
                    after='load_dataset(name, revision="refs/convert/parquet")',
                ),
            ),
        ),
    )
