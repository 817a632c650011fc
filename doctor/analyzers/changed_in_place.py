"""Explain a value that backward() needs and that was overwritten, by what the message says of it.

A weight has no operation behind it in the message: its optimizer has stepped before the other loss
went backward. The results of some functions are kept for their gradient; what wrote into them
stands after them in the program.
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


def explain(case: Case) -> Iterator[Explanation]:
    """Yield what overwrote the value: an optimizer's step, an activation, or an operator."""
    for event in case.of("changed-in-place"):
        text = event.text[:_LONGEST]
        output = _OUTPUT.search(text)
        if _WEIGHT.search(text) or (output and output[1] in _OF_WEIGHTS):
            yield _stepped(case, event)
        elif output:
            yield _written(event, output[1])


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
