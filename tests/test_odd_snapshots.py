"""A snapshot is foreign.

Whatever its facts hold, it is judged and rendered, or refused, and never breaks doctor.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.catalog import loading as catalog
from doctor.model.observation import Observation
from doctor.pipeline.assess import assess
from doctor.pipeline.check import RECORDING
from doctor.pipeline.policy import Policy
from doctor.redact.report import shareable
from doctor.report.structured import json_document as json_reporter
from doctor.report.terminal import document as terminal

RECORDED: dict[str, Any] = json.loads(RECORDING.read_text(encoding="utf-8"))
KNOWN = catalog.load()
ODD: list[Any] = [
    None,
    3,
    -1,
    1e308,
    "",
    "x" * 300,
    "\x1b[31m[bold]",
    "::error::x",
    [],
    [[]],
    {},
    {"a": [1]},
    True,
    ["a", None, 3],
    "2.13.0.dev1",
    "9" * 500,
]
ODD += [{"path": 3}, [{"index": "x", "capability": None}], "{torch.version}", "$(id)", {"torch": 1}]
values = st.sampled_from(ODD) | st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)
facts = st.dictionaries(
    st.sampled_from(sorted(RECORDED["facts"])),
    st.tuples(st.sampled_from(["present", "absent", "unknown"]), values),
    max_size=25,
)
verdicts = st.sampled_from(["failed", "crashed", "timed_out", "skipped", "broken", "passed"])


@settings(max_examples=15, deadline=None)
@given(
    changed=facts,
    verdict=verdicts,
    device=st.none() | st.text(max_size=8),
    matters=values,
    width=st.sampled_from([40, 80, 120]),
)
def test_odd_facts_break_nothing(
    changed: dict[str, Any], verdict: str, device: str | None, matters: object, width: int
) -> None:
    document = {**RECORDED, "facts": dict(RECORDED["facts"])}
    for name, (state, value) in changed.items():
        document["facts"][name] = {"state": state, "value": value, "source": "x", "why": ""}
    document["outcomes"] = [
        {**outcome, "verdict": verdict, "device": device, "data": {"matters": matters}}
        for outcome in RECORDED["outcomes"]
    ]
    document["logs"] = [
        {
            "source": "l",
            "lines": [
                "operator torchvision::nms does not exist",
                "NameError: name 's2' is not defined",
            ],
        }
    ]
    seen = msgspec.json.decode(json.dumps(document).encode(), type=Observation)
    report = assess(seen, KNOWN, Policy(expect=("cuda",)))
    assert (
        json.loads(json_reporter.render(shareable(report, {"$HOME": "/home/alice"})))["exit_code"]
        == report.exit_code
    )
    for verbosity in (-1, 0, 1):
        assert terminal.render(report, verbosity=verbosity, width=width, colour=False, unicode=True)
