"""Delta debugging and bisection find what they promise, whatever the test answers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from doctor.repair.delta import Answer, closure, roots, smallest, smallest_closed, turn


@given(st.integers(1, 12), st.data())
def test_the_part_is_bad_and_no_item_can_be_left_out(count: int, data: st.DataObject) -> None:
    items = tuple(range(count))
    guilty = data.draw(st.lists(st.sets(st.sampled_from(items), min_size=1), min_size=1))
    asked: list[tuple[int, ...]] = []

    def test(part: tuple[int, ...]) -> Answer:
        asked.append(part)
        return Answer.BAD if any(one <= {*part} for one in guilty) else Answer.GOOD

    found = smallest(items, test)
    assert {*found} in guilty
    assert all(test(tuple(one for one in found if one != item)) is Answer.GOOD for item in found)


@given(st.integers(2, 9), st.data())
def test_what_cannot_be_tested_is_never_the_answer(count: int, data: st.DataObject) -> None:
    items = tuple(range(count))
    answers = st.sampled_from((Answer.GOOD, Answer.UNRESOLVED, Answer.BAD))
    known: dict[frozenset[int], Answer] = {frozenset(items): Answer.BAD, frozenset(): Answer.GOOD}

    def test(part: tuple[int, ...]) -> Answer:
        if frozenset(part) not in known:
            known[frozenset(part)] = data.draw(answers)
        return known[frozenset(part)]

    found = smallest(items, test)
    assert test(found) is Answer.BAD
    if len(found) > 1:
        rest = [tuple(one for one in found if one != item) for item in found]
        assert all(test(part) is not Answer.BAD for part in rest)


@given(st.integers(2, 40), st.data())
def test_the_turn_lies_between_a_good_and_a_bad_neighbour(count: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(1, count - 1))
    skipped = data.draw(st.sets(st.integers(1, count - 1).filter(lambda one: one != count - 1)))
    asked: list[int] = []

    def test(place: int) -> Answer:
        asked.append(place)
        if place in skipped:
            return Answer.UNRESOLVED
        return Answer.BAD if place >= first else Answer.GOOD

    edge = turn(range(count), test)
    assert edge.good < first <= edge.bad
    assert {*edge.unknown} == {*range(edge.good + 1, edge.bad)} <= skipped
    assert len(asked) == len({*asked})
    assert len(asked) <= count.bit_length() + len(skipped)


def test_items_bring_what_they_need() -> None:
    needs = {"a": frozenset({"b"}), "b": frozenset({"c", "a"}), "d": frozenset({"a"})}
    assert closure(["b"], needs) == {"a", "b", "c"}
    assert closure(["c"], needs) == {"c"}


@given(st.integers(1, 8), st.data())
def test_a_closed_part_cannot_be_made_smaller(count: int, data: st.DataObject) -> None:
    items = tuple(range(count))
    sets = st.frozensets(st.sampled_from(items), max_size=2)
    needs = {one: data.draw(sets) for one in items}
    guilty = data.draw(st.sets(st.sampled_from(items), min_size=1, max_size=3))

    def test(part: tuple[int, ...]) -> Answer:
        assert closure(part, needs) == {*part}
        return Answer.BAD if guilty <= {*part} else Answer.GOOD

    found = smallest_closed(items, needs, test)
    assert found == closure(tuple(guilty), needs)
    assert closure(roots(found, needs), needs) == found
