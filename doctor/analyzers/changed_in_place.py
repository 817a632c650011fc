"""Explain a value that backward() needs and that was overwritten, by what the message says of it.

A weight or a buffer has no operation behind it in the message: an optimizer has stepped before the
other loss went backward, or DistributedDataParallel has copied the buffers of its first process
into the others between two forward passes (pytorch #22095, #175024). The results of some functions
are kept for their gradient; what wrote into them stands after them in the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import Inventory
from doctor.analyzers.recipes import code
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe
from doctor.model.scales import Severity

_OUTPUT = re.compile(r"which is output \d{1,3} of (\w{2,60}?)(?:Backward)\d{0,2}\b")
_WEIGHT = re.compile(r"\[[\w.]{3,60} \[[\d, ]{1,60}\]\] is at version")
_OF_WEIGHTS = {"T", "AsStrided", "Transpose", "Permute"}
"""What stands between a weight and its use: the layer turns it over."""
_ANOMALY = code(
    "Have torch name the operation of the forward pass",
    "the start of the program",
    "torch.autograd.set_detect_anomaly(True)",
    note="The traceback then has a second part, with the line. Take it out afterwards.",
)
_LONGEST = 700
_VECTOR = re.compile(r"\[[\w.]{3,60} \[\d{1,9}\]\] is at version")
"""One dimension, as weights, biases and statistics of a normalization have it."""
_PARALLEL = re.compile(
    r"DistributedDataParallel|[/\\]nn[/\\]parallel[/\\]|\btorchrun\b|torch[./\\]distributed[./\\]"
    r"(?:launch|run|elastic)|\blocal_rank\b|\[rank\d{1,4}\]:"
)
_LOSS = re.compile(r"^\s{0,12}(?:\w{1,8}\.)?(?P<loss>\w{1,60})\.backward\(")
_ONLY_LOSSES = {"loss", "total_loss", "loss_total", "losses", "l", "self"}
_CALLERS = {"autograd", "tensor", "Tensor", "accelerator", "fabric", "scaler", "engine", "model"}
"""What backward() is called on that is no loss."""
_SEARCHED = 20_000
_STEPPED_BETWEEN = (
    "torch refuses since 1.5 to go backward through weights that were changed meanwhile; older "
    "programs, most of all with two optimizers as in a GAN, did that unseen."
)
_BUFFERS = code(
    "Keep DistributedDataParallel from copying its buffers at each forward pass",
    "the line that wraps the model",
    "DistributedDataParallel(model, device_ids=[rank], broadcast_buffers=False)",
    before="DistributedDataParallel(model, device_ids=[rank])",
    use_if=("the model runs under DistributedDataParallel and more than once before backward()",),
    note="Or turn BatchNorm into SyncBatchNorm (torch.nn.SyncBatchNorm.convert_sync_batchnorm), or "
    "give the model all inputs of a step in one call.",
)


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what overwrote the value: an optimizer's step, an activation, or an operator."""
    for event in case.of("changed-in-place"):
        text = event.text[:_LONGEST]
        output = _OUTPUT.search(text)
        if _VECTOR.search(text) and not _second_loss(case, event):
            yield _vector(case, event)
        elif _WEIGHT.search(text) or (output and output[1] in _OF_WEIGHTS):
            yield _stepped(case, event)
        elif output:
            yield _written(event, output[1])
        elif loss := _second_loss(case, event):
            yield _second(event, loss)
        else:
            yield _untold(event)


def _lines_before(case: Case, event: Event) -> list[str]:
    first = event.first if 0 <= event.first <= event.at else max(0, event.at - 40)
    return [line[:_LONGEST] for line in case.log.lines[first : event.at + 1]]


def _second_loss(case: Case, event: Event) -> str:
    """Return the loss of the traceback that by its name is one of several ("loss_gen_lm")."""
    for line in reversed(_lines_before(case, event)):
        found = _LOSS.match(line)
        if found and found["loss"] not in _ONLY_LOSSES | _CALLERS:
            return found["loss"]
    return ""


def _second(event: Event, loss: str) -> Explanation:
    return _explanation(
        event,
        f"{loss}.backward() needs a value that was changed before it, mostly by the step() of "
        "another loss",
        f"The program has more than one loss, and the value was changed between the forward pass "
        f"and {loss}.backward(). " + _STEPPED_BETWEEN,
        (*_order(loss), _ANOMALY),
    )


def _vector(case: Case, event: Event) -> Explanation:
    parallel = any(_PARALLEL.search(line[:_LONGEST]) for line in case.log.lines[:_SEARCHED])
    step = _order("d_loss")[0]
    if parallel:
        return _explanation(
            event,
            "DistributedDataParallel most likely changed a buffer between two forward passes",
            "The value has one dimension, as the statistics of BatchNorm have it. By default "
            "DistributedDataParallel copies the buffers of its first process into the others at "
            "each forward pass, so a model that runs twice before backward() loses what the first "
            "pass kept. Without two passes it is a weight that an optimizer's step() changed.",
            (_BUFFERS, step, _ANOMALY),
        )
    return _explanation(
        event,
        "A vector that backward() needs was changed: a buffer under DistributedDataParallel, or a "
        "weight by an optimizer's step()",
        "The value has one dimension and no operation made it. Under DistributedDataParallel it is "
        "mostly a statistic of BatchNorm, which is copied anew at each forward pass; in a single "
        "process it is a bias or a weight of a normalization. " + _STEPPED_BETWEEN,
        (_BUFFERS, step, _ANOMALY),
    )


def _untold(event: Event) -> Explanation:
    return _explanation(
        event,
        "A value that the gradient needs was overwritten in place; the message does not tell which",
        "Three things do that: an optimizer's step() before another backward(), an operator such "
        "as += or relu(inplace=True), and DistributedDataParallel, which copies buffers at each "
        "forward pass. The installation is sound.",
        (
            _ANOMALY,
            code(
                "Make a new tensor instead",
                "the operation that torch then names",
                "x = x + 1",
                before="x += 1",
                note="So for relu(inplace=True), x[mask] = 0 and x.add_(). With two losses, call "
                "each backward() before the first step().",
            ),
            _BUFFERS,
        ),
        exact=False,
    )


def _order(loss: str) -> list[Recipe]:
    """Return how the losses are put in order."""
    other = "loss" if loss != "d_loss" else "g_loss"
    first, second = ("d_loss", "g_loss") if loss == "d_loss" else (other, loss)
    return [
        code(
            "Call each backward() before the first step()",
            "the loop of the training",
            f"{first}.backward(retain_graph=True)\n{second}.backward()\n"
            "first_optimizer.step()\nsecond_optimizer.step()",
            before=f"{first}.backward(retain_graph=True)\nfirst_optimizer.step()\n"
            f"{second}.backward()\nsecond_optimizer.step()",
            use_if=("a step() stands between the forward pass and this backward()",),
            note="Or compute the outputs for the second loss anew after the step, or hand on "
            "output.detach().",
        )
    ]


def _stepped(case: Case, event: Event) -> Explanation:
    recipes: list[Recipe] = [
        code(
            "Call each backward() before the first step()",
            "the loop of the training",
            "d_loss.backward(retain_graph=True)\ng_loss.backward()\nd_optimizer.step()\n"
            "g_optimizer.step()",
            before="d_loss.backward(retain_graph=True)\nd_optimizer.step()\ng_loss.backward()\n"
            "g_optimizer.step()",
            note="Or compute the outputs for the second loss anew, after the step of the first; "
            "and hand fake.detach() to the discriminator. For a recurrent state that is kept over "
            "batches: state.detach().",
        )
    ]
    python = Inventory(case).python() or ""
    if python in ("", "3.5", "3.6", "3.7", "3.8"):
        recipes.append(
            Recipe(
                title="Go back to torch 1.4, which did not look",
                use_if=(
                    "the code cannot be changed",
                    "the GPU is older than the RTX 30",
                    *(() if python else ("Python is 3.5 to 3.8",)),
                ),
                steps=(Action(install=("torch==1.4.0",), companions=("torchvision==0.5.0",)),),
                note="The gradients are then computed with the changed weights, as in the paper's "
                "own runs.",
            )
        )
    return _explanation(
        event,
        "An optimizer's step() changed weights that a later backward() still needs",
        "The value is a weight, since the message names no operation that made it. torch refuses "
        "since 1.5 to go backward through weights that were changed meanwhile; older programs, "
        "most of all with two optimizers as in a GAN, did that unseen.",
        tuple(recipes),
    )


def _written(event: Event, operation: str) -> Explanation:
    name = operation.lower()
    recipes = [
        code(
            "Make a new tensor where the result is changed",
            f"the lines behind {name}()",
            "x = x + y",
            before="x += y",
            note="So for *=, x[mask] = 0 (torch.where), x.add_(), and masked_fill_().",
        )
    ]
    if "relu" in name or name in ("elu", "hardtanh", "silu", "dropout"):
        recipes.insert(
            0,
            code(
                "Let the activation make a new tensor",
                "the definition of the model",
                "nn.ReLU(inplace=False)",
                before="nn.ReLU(inplace=True)",
                note="A += behind it, as in a residual block, becomes x = x + y.",
            ),
        )
    return _explanation(
        event,
        f"The result of {name}() was overwritten, and its gradient needs it",
        f"{name}() keeps its result for backward(). A later line wrote into it: an operator such "
        "as += or *=, an assignment to a part, or an activation that works in place.",
        (*recipes, _ANOMALY),
    )


_explanation = partial(explanation, name="changed-in-place", severity=Severity.NOTE)
