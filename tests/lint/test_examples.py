"""An example is judged beside its possible issues as beside the whole catalog."""

from __future__ import annotations

from doctor.catalog.loading import load_folder
from doctor.judge.match import diagnose
from doctor.lint.examples import Trial
from doctor.model.issues import Expect
from tests.promises.sources import ROOT

_EACH = 25


def test_issues_that_are_left_out_would_have_changed_nothing() -> None:
    catalog = load_folder(ROOT / "matrices")
    trial = Trial(catalog)
    examples = [
        example
        for issue in catalog.issues.values()
        for example in issue.examples
        if example.log and example.expect is Expect.MATCH
    ]
    assert len(examples) > 1000
    for example in examples[::_EACH]:
        whole = diagnose(trial.observation(example), catalog)
        assert trial.beside_others(example).findings == whole.findings
