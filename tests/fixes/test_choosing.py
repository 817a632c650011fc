"""Facts choose among the fixes of a finding."""

from __future__ import annotations

from doctor.catalog import loading
from doctor.fixes.choosing import applicable, is_open, on_machine
from doctor.fixes.circumstances import circumstance, unseen
from doctor.model.facts import Facts, absent, present
from doctor.model.issues import Action, Condition, Range, Recipe

_OLD = {
    "python.minor": present("3.7", "log"),
    "python.oldest_torch": present("1.0.0", "table"),
    "python.newest_torch": present("1.13.1", "table"),
    "python.newest_torch_tags": present(["cu116", "cu117"], "table"),
}


def _install(title: str, *wanted: str, index: str = "", use_if: tuple = ()) -> Recipe:  # type: ignore[type-arg]
    return Recipe(title=title, use_if=use_if, steps=(Action(install=wanted, index=index or None),))


def _titles(recipes: tuple[Recipe, ...], facts: Facts) -> list[str]:
    return [one.title for one in applicable(recipes, facts)]


def test_a_fix_that_the_facts_confirm_comes_before_those_that_nobody_can_decide() -> None:
    newer = Condition(fact="torch.release", range=Range(introduced="2.2"))
    older = Condition(fact="torch.release", range=Range(fixed="2.2"))
    recipes = (
        _install("open", "a", use_if=("somebody says so",)),
        _install("new", "b", use_if=(newer,)),
        _install("old", "c", use_if=(older,)),
    )
    facts = {"torch.release": present("2.1.0", "log")}
    assert _titles(recipes, facts) == ["old", "open"]
    assert _titles(recipes, {}) == ["open", "new", "old"]


def test_the_system_alone_confirms_no_fix() -> None:
    linux = Condition(fact="host.os", equals="linux")
    recipes = (
        _install("open", "a", use_if=("somebody says so",)),
        _install("linux", "b", use_if=(linux,)),
    )
    assert _titles(recipes, {"host.os": present("linux", "log")}) == ["open", "linux"]


def test_a_torch_without_a_wheel_for_this_python_comes_last_and_says_so() -> None:
    index = "https://download.pytorch.org/whl/"
    recipes = (
        _install("new", "torch>=2.6,<2.15", index=index + "cu126"),
        _install("any", "torch", index=index + "cu130"),
        _install("old", "torch==1.13.1+cu117", index=index + "cu117"),
        _install("numpy", "numpy<2"),
    )
    found = applicable(recipes, _OLD)
    assert [one.title for one in found] == ["old", "numpy", "new", "any"]
    assert found[2].sentences == (
        "another Python is taken, since no such torch was released for Python 3.7",
    )
    assert _titles(recipes, {}) == ["new", "any", "old", "numpy"]


def test_the_fix_for_an_unknown_torch_comes_before_those_for_certain_releases() -> None:
    unknown = Condition(fact="torch.release", absent=True)
    older = Condition(fact="torch.release", range=Range(fixed="2.5"))
    recipes = (
        _install("sentence", "a", use_if=("somebody says so",)),
        _install("old", "b", use_if=(older,)),
        _install("any", "c", use_if=(unknown,)),
    )
    assert _titles(recipes, {}) == ["sentence", "any", "old"]
    assert _titles(recipes, {"torch.release": present("2.1", "log")}) == ["old", "sentence"]


def test_a_caution_does_not_put_another_fix_in_front() -> None:
    issue = loading.load().issues["torch/extension-lock-left-behind"]
    known = {
        "cache.stale_locks": present(["/x/lock"], "x"),
        "host.os": present("linux", "x"),
        "torch.release": present("2.13.0", "x"),
        "package.torchaudio.version": absent("x"),
    }
    first, *_ = applicable(issue.fixes, known)
    assert first.title == "Remove the lock"


def test_a_fix_for_a_rare_machine_comes_after_the_others_until_the_machine_shows() -> None:
    jetson = Condition(fact="host.jetson", present=True)
    blackwell = Condition(fact="nvidia.capability_max", range=Range(introduced="10.0"))
    recipes = (
        _install("board", "a", use_if=(jetson,)),
        _install("newest", "b", use_if=(blackwell,)),
        _install("open", "c", use_if=("somebody says so",)),
    )
    assert _titles(recipes, {}) == ["open", "board", "newest"]
    seen = {"host.jetson": present("NVIDIA Jetson Orin", "log")}
    assert _titles(recipes, seen)[0] == "board"


def test_nobody_is_asked_whether_a_machine_is_no_jetson_unless_it_is_changed() -> None:
    jetson = Condition(fact="host.jetson", absent=True)
    driver = Recipe(title="driver", use_if=(jetson,), steps=(Action(run=("a",), sudo=True),))
    assert not is_open(_install("torch", "torch", use_if=(jetson,)), {})
    assert is_open(driver, {})


def test_each_condition_on_the_machine_is_a_sentence_that_a_reader_can_decide() -> None:
    bare = [
        f"{name}: {unseen(one)}"
        for name, issue in loading.load().issues.items()
        for recipe in issue.fixes
        for one in recipe.conditions
        if on_machine(recipe) and not circumstance(one) and unseen(one).startswith("the fact ")
    ]
    assert bare == []


def test_a_requirement_between_the_oldest_and_the_newest_torch_needs_no_other_python() -> None:
    facts = {
        **_OLD,
        "python.minor": present("3.11", "log"),
        "python.oldest_torch": present("2.0.0", "table"),
        "python.newest_torch": present("2.15.0", "table"),
    }
    for wanted in ("torch~=2.8.0", "torch==2.8.*", "torch>=2.1,<2.4"):
        (recipe,) = applicable((_install("between", wanted),), facts)
        assert recipe.use_if == (), wanted
    (recipe,) = applicable((_install("older", "torch~=1.8.0"),), facts)
    assert recipe.use_if != ()


def test_a_release_that_only_the_log_names_is_compared_with_the_python_as_well() -> None:
    recipe = _install("wanted", "torch=={log.wanted}+cu121")
    (asked,) = applicable((recipe,), _OLD, {"wanted": "2.3.0"})
    assert "another Python is taken" in str(asked.use_if[0])
    assert applicable((recipe,), _OLD, {"wanted": "1.13.0"}) == [recipe]


def test_what_is_for_an_old_python_or_the_newest_torch_waits_until_one_of_them_is_known() -> None:
    recipes = (
        _install("3.7", "a", use_if=(Condition(fact="python.newest_torch", equals="1.13.1"),)),
        _install(
            "2.15",
            "b",
            use_if=(Condition(fact="torch.release", range=Range(introduced="2.15.0")),),
        ),
        _install(
            "rhel", "c", use_if=(Condition(fact="host.distribution_id", one_of=("rhel", "ol")),)
        ),
        _install("nixos", "d", use_if=(Condition(fact="host.distribution_id", equals="nixos"),)),
        _install("any", "e", use_if=("the program can move",)),
    )
    assert _titles(recipes, {}) == ["nixos", "any", "3.7", "2.15", "rhel"]
    assert _titles(recipes, _OLD)[0] == "3.7"
