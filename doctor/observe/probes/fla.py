"""Check whether flash-linear-attention keeps an operator out of compiled graphs.

torch 2.5 cannot compile that operator.
"""

from __future__ import annotations

from itertools import takewhile

from doctor.host.reading import SOURCE, UnreadableFile
from doctor.model.facts import FactStream, absent, present, unknown
from doctor.observe.installed.modules import folder_of
from doctor.observe.scene import ProbeInput

BOUND = 1.0

_FILE = "ops/delta_rule/fused_recurrent.py"
_OPERATOR = "def fused_recurrent_delta_rule("


def probe(scene: ProbeInput) -> FactStream:
    """Give fla.delta_rule_disabled; absent where there is no such package or no such operator."""
    folder = folder_of(scene.interpreter, "fla") if scene.interpreter else None
    if folder is None:
        yield "fla.delta_rule_disabled", absent("sys.path")
        return
    path = folder / _FILE
    try:
        lines = (scene.host.whole(path, SOURCE) or "").splitlines()
    except UnreadableFile as error:
        yield "fla.delta_rule_disabled", unknown(str(error), str(path))
        return
    place = next((number for number, line in enumerate(lines) if line.startswith(_OPERATOR)), None)
    if place is None:
        yield "fla.delta_rule_disabled", absent(str(path))
        return
    decorators = takewhile(lambda line: line.startswith("@"), reversed(lines[:place]))
    yield (
        "fla.delta_rule_disabled",
        present(any("torch.compiler.disable" in line for line in decorators), str(path)),
    )
