"""Code that is older than its libraries: what took the place of a name, and the way back."""

from __future__ import annotations

import re

import pytest

from doctor.analyzers import former_names
from tests.analyzers.logs import all_texts, case_of

OWN = 'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    {}\n{}\n'
PACKAGED = (
    "Traceback (most recent call last):\n"
    '  File "train.py", line 9, in <module>\n'
    '  File "/opt/env/lib/python3.8/site-packages/prettyplots/core.py", line 3, in draw\n'
    "    df.append(x)\n{}\n"
)


@pytest.mark.parametrize(
    ("line", "message", "title", "after"),
    [
        (
            "df = df.append(row)",
            "AttributeError: 'DataFrame' object has no attribute 'append'",
            "pandas 2 dropped DataFrame.append",
            "pd.concat",
        ),
        (
            "urlopen(url, cafile=path)",
            "TypeError: urlopen() got an unexpected keyword argument 'cafile'",
            "Python 3.13 takes no cafile",
            "create_default_context",
        ),
        (
            "images, labels = iterator.next()",
            "AttributeError: '_MultiProcessingDataLoaderIter' object has no attribute 'next'",
            "dropped next()",
            "next(iterator)",
        ),
        (
            "next_state, reward, done, _ = env.step(action)",
            "ValueError: too many values to unpack (expected 4)",
            "step() gives five values",
            "terminated or truncated",
        ),
        (
            "from keras.optimizers import Adam",
            "ImportError: cannot import name 'Adam' from 'keras.optimizers' (/a/b.py)",
            "keras.optimizers has no Adam",
            "from tensorflow.keras.optimizers import Adam",
        ),
        ("for i in xrange(3):", "NameError: name 'xrange' is not defined", "of Python 2", "range"),
        (
            "x = x.cuda(async=True)",
            "SyntaxError: invalid syntax",
            "async is a word of the language",
            "non_blocking",
        ),
    ],
)
def test_own_line_is_written_anew(line: str, message: str, title: str, after: str) -> None:
    """The first fix for a line of the program is what the library wants today."""
    found = next(iter(former_names.explain(case_of(OWN.format(line, message)))))
    first = found.detection.recipes[0]
    assert title in found.detection.title
    assert first.snippet is not None
    assert after in first.snippet.after


def test_a_package_is_not_edited() -> None:
    """In a package the line is not the reader's: the package moves, or the library does."""
    message = "AttributeError: 'DataFrame' object has no attribute 'append'"
    found = next(iter(former_names.explain(case_of(PACKAGED.format(message)))))
    assert all(one.snippet is None for one in found.detection.recipes)
    assert "prettyplots" in all_texts(found)


def test_a_pin_is_for_the_python_of_the_log() -> None:
    """Where the old releases have no wheel for this Python, an older one is made for them."""
    message = "AttributeError: module 'numpy' has no attribute 'asscalar'"
    text = OWN.format("np.asscalar(x)", message) + "Python 3.12.4\n"
    found = next(iter(former_names.explain(case_of(text))))
    assert "Python 3.10" in all_texts(found)


def test_two_values_of_reset_are_read_in_both_directions() -> None:
    """An environment of old gym under a new one, and a new program on an old gym, differ."""
    message = "ValueError: too many values to unpack (expected 2)"
    inside = OWN.format("obs, info = self.env.reset(**kwargs)", message)
    own = OWN.format("state, _ = env.reset(seed=1)", message)
    first, second = (next(iter(former_names.explain(case_of(one)))) for one in (inside, own))
    assert "gives its picture alone" in first.detection.title
    assert "this gym gives the state alone" in second.detection.title
    assert not list(former_names.explain(case_of(OWN.format("a, b = f(x)", message))))


def test_each_row_can_be_filled() -> None:
    """Each placeholder of a row is a group of its pattern, and each row has a way out."""
    for row in former_names._ROWS:
        groups = dict.fromkeys(re.compile(row.pattern).groupindex, "x")
        edits = [text for one in row.edits for text in (one.before, one.after, one.note)]
        for text in (row.title, row.cause, *edits):
            text.format_map(groups)
        assert row.edits or row.pins or row.recipes or row.python, row.title


def _steps(message: str, line: str, python: str) -> str:
    """Return the words of all steps that are offered for a message under a Python."""
    case = case_of(OWN.format(line, message) + f"Python {python}\n")
    recipes = next(iter(former_names.explain(case))).detection.recipes
    return " ".join(
        word for one in recipes for step in one.steps for word in (*step.run, *step.install)
    )


def test_old_builds_come_with_the_numpy_that_they_were_compiled_for() -> None:
    """The wheels of pandas 1 install beside numpy 2, and fail at their import."""
    message = "AttributeError: 'DataFrame' object has no attribute 'append'"
    assert "pandas<2 numpy<2" in _steps(message, "df = df.append(row)", "3.11.4")


def test_a_python_that_uv_does_not_bring_is_made_by_conda() -> None:
    """No uv brings a CPython before 3.8."""
    message = "ModuleNotFoundError: No module named 'tensorflow.examples'"
    steps = _steps(message, "from tensorflow.examples.tutorials.mnist import x", "3.10.4")
    assert "conda create --yes --name python-3.7 python=3.7" in steps
    assert "uv" not in steps.split()
