"""Explain what Lightning reports of metrics and schedulers."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision
from doctor.analyzers.recipes import code
from doctor.analyzers.texts import Text, explained
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity


def explain(case: Case) -> Iterator[Explanation]:
    """Yield which metric or scheduler does not fit."""
    yield from explained(case, _TABLE)


_TABLE: dict[str, Text] = {
    "metric-not-logged": Text(
        "{who} watches {metric}, and the model logged {metrics}",
        "The metric is logged nowhere, is logged under another name, or comes from a validation "
        "that did not run.",
        (
            code(
                "Watch a metric that the model logs",
                "the callback or the scheduler",
                "monitor='train_loss'",
                before="monitor='{log.metric}'",
                note="The message lists the metrics: {log.metrics}.",
            ),
            code(
                "Log the metric",
                "validation_step or training_step of the model",
                "self.log('{log.metric}', loss)",
                note="A metric of the validation needs a validation loader with at least one "
                "batch; a checkpoint within an epoch comes before the validation.",
            ),
        ),
        precision=Precision.EXACT,
    ),
    "scheduler-of-newer-torch": Text(
        "This Lightning is older than torch 2 and does not take {scheduler}",
        "torch 2.0 made LRScheduler the class of all schedulers. Lightning before 1.9 looks for "
        "the former one, _LRScheduler.",
        (
            Recipe(
                title="Take the last Lightning 1, which knows torch 2",
                steps=(
                    Action(install=("pytorch-lightning==1.9.5",), options=(Option.HOLD_TORCH,)),
                ),
            ),
            code(
                "Step the scheduler in the model",
                "the LightningModule",
                "def lr_scheduler_step(self, scheduler, *args):\n    scheduler.step()",
                use_if=("the program needs its release of Lightning",),
            ),
        ),
        severity=Severity.ERROR,
        precision=Precision.EXACT,
    ),
}
