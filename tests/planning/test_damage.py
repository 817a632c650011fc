"""Plans for packages whose own files are gone: the same release again, and nothing else."""

from __future__ import annotations

import pytest

from doctor.fixes.lines import command_line
from doctor.model.facts import Fact, present
from doctor.model.observation import Observation
from doctor.model.outcomes import Case, Outcome, Verdict
from doctor.model.plans import Plan
from tests.planning.environments import judged, made_up

_HERE = {"numpy": "2.3.4", "onnxruntime": "1.23.2", "joblib": "1.4.2", "scikit-learn": "1.5.2"}
_FOLDER = "/env/lib/python3.11/site-packages"


def _gone(*names: str, failed: dict[str, str], more: dict[str, Fact] | None = None) -> Plan:
    """Return the plan for an environment in which the modules of packages are gone."""
    facts = dict(more or {})
    if names:
        facts["modules.gone"] = present([f"{_FOLDER}/{name}/__init__.py" for name in names], "")
        facts["modules.gone_packages"] = present([f"{name}=={_HERE[name]}" for name in names], "")
    seen = made_up(_HERE, [("onnxruntime", "numpy", ">=1.21.6")])
    outcome = Outcome(
        id="module-imports",
        target="interpreter",
        verdict=Verdict.FAILED if failed else Verdict.PASSED,
        cases={name: Case(verdict=Verdict.FAILED, reason=why) for name, why in failed.items()},
    )
    _, _, plan = judged(
        Observation(facts={**seen.facts, **facts}, outcomes=(outcome,), static=False)
    )
    return plan


def _lines(plan: Plan) -> list[str]:
    return [command_line(step) for step in plan.steps]


def test_a_package_without_its_module_is_written_again_and_not_lifted() -> None:
    plan = _gone(
        "onnxruntime",
        failed={"onnxruntime": "ModuleNotFoundError: No module named 'onnxruntime'"},
    )
    assert [(one.name, one.before, one.after) for one in plan.changes] == [
        ("onnxruntime", "1.23.2", "1.23.2")
    ]
    (line,) = _lines(plan)
    assert line.endswith("install --force-reinstall --no-deps onnxruntime==1.23.2")
    assert set(plan.solves) == {"python/module-gone", "import/onnxruntime"}
    assert not plan.leaves


def test_a_damage_without_a_failed_import_has_a_command_as_well() -> None:
    plan = _gone("joblib", failed={})
    assert _lines(plan) == [
        "/env/bin/python -m pip install --force-reinstall --no-deps joblib==1.4.2"
    ]
    assert not plan.leaves


def test_what_stands_on_a_damaged_package_stays_where_it_is() -> None:
    plan = _gone(
        "joblib",
        failed={
            "scikit-learn": "ModuleNotFoundError: No module named 'joblib' (raised in sklearn)"
        },
    )
    assert [one.name for one in plan.changes] == ["joblib"]
    assert "import/scikit-learn" in plan.solves


def test_an_import_that_fails_on_something_else_still_moves() -> None:
    plan = _gone(
        "joblib",
        failed={"onnxruntime": "ImportError: cannot load its library"},
    )
    assert {one.name for one in plan.changes} == {"joblib", "onnxruntime"}


def test_uv_writes_it_again_in_the_one_command() -> None:
    uv = {"python.uv": present("0.9.11", ""), "python.installer": present("uv", "")}
    plan = _gone("joblib", failed={}, more=uv)
    (line,) = _lines(plan)
    assert line.endswith("--reinstall-package joblib joblib==1.4.2")


def test_the_title_says_what_is_installed_again() -> None:
    plan = _gone("onnxruntime", "joblib", failed={})
    assert plan.title == "Install joblib 1.4.2 and onnxruntime 1.23.2 again"


def test_what_an_interrupted_installation_took_is_installed_again() -> None:
    taken = {
        "python.interrupted": present(["idna==3.10"], ""),
        "python.left_behind": present([f"{_FOLDER}/~dna", f"{_FOLDER}/~dna-3.10.dist-info"], ""),
    }
    plan = _gone(failed={}, more=taken)
    assert plan.title == "Install idna 3.10 again"


@pytest.mark.parametrize("system", ["linux", "windows"])
def test_what_was_renamed_is_removed_once_and_after_it_was_replaced(system: str) -> None:
    taken = {
        "host.os": present(system, ""),
        "python.interrupted": present(["idna==3.10"], ""),
        "python.left_behind": present([f"{_FOLDER}/~dna", f"{_FOLDER}/~dna-3.10.dist-info"], ""),
    }
    install, removal = _lines(_gone(failed={}, more=taken))
    assert install.endswith("pip install idna==3.10")
    assert "~dna-3.10.dist-info" in removal
