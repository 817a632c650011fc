"""Ordinary failures of a program's own code are notes that say what to look at or to change."""

from __future__ import annotations

from doctor.model.scales import Severity
from tests.analyzers.explained import explained, said
from tests.each import each

CELL = "Traceback (most recent call last)\n<ipython-input-3-a1> in <module>\n----> 1 f(x)\n{}\n\n{}"
OWN = 'Traceback (most recent call last):\n  File "/work/train.py", line 9, in f\n    g()\n{}'
SITE = "/usr/lib/python3.8/site-packages/"
LIBRARY = f'Traceback (most recent call last):\n  File "{SITE}{{}}", line 9, in f\n    g()\n{{}}'
PANDAS = CELL.format(f"\n{SITE}pandas/core/frame.py in f(self)\n--> 10   raise KeyError(key)", "{}")
COVERED = (
    (
        CELL.format("", "NameError: name 'train_set' is not defined"),
        "defines train_set has not run",
    ),
    (CELL.format("", "NameError: name 'np' is not defined"), "np was used before"),
    (OWN.format("NameError: name 'torch' is not defined"), "torch was used before"),
    (PANDAS.format("KeyError: 'Status'"), "no column Status"),
    (PANDAS.format("KeyError: \"None of ['Season'] are in the columns\""), "no column Season"),
    (PANDAS.format("KeyError: \"['a', 'b'] not in index\""), "no column a"),
    (
        OWN.format("ValueError: cannot reshape array of size 10 into shape (3,5)"),
        "10 values do not",
    ),
    (
        "ValueError: Found input variables with inconsistent numbers of samples: [55000, 10000]",
        "55000, 10000",
    ),
    ("ValueError: Expected 2D array, got 1D array instead:", "gets a 1D array"),
    (
        "ValueError: X has 1 features, but LinearRegression is expecting 4 features as input.",
        "LinearRegression was trained on 4 columns, and gets 1",
    ),
    (
        "ParserError: Error tokenizing data. C error: Expected 1 fields in line 7, saw 2",
        "Line 7 of the file has 2 fields",
    ),
    ("ValueError: expected sequence of length 14 at dim 1 (got 4)", "Rows of 14 and of 4"),
    (OWN.format("ValueError: not enough values to unpack (expected 4, got 1)"), "gets 1"),
    (OWN.format("ValueError: too many values to unpack (expected 2)"), "takes 2 values apart"),
    (
        "RuntimeError: asyncio.run() cannot be called from a running event loop",
        "runs an event loop already",
    ),
    (
        (
            "openai.RateLimitError: Error code: 429 - {'error': {'message': 'You exceeded your "
            "current quota', 'code': 'insufficient_quota'}}"
        ),
        "no credit left",
    ),
    (
        "RateLimitError: Error code: 429 - {'error': {'message': 'Rate limit reached for gpt'}}",
        "more in a minute",
    ),
    (
        (
            "ValueError: Expected more than 1 value per channel when training, got input size "
            "torch.Size([1, 26, 1, 1])"
        ),
        "one single sample",
    ),
    (
        OWN.format(
            "IndexError: The shape of the mask [10] at index 0 does not match the shape of the "
            "indexed tensor [4, 5] at index 0"
        ),
        "[10], the tensor [4, 5]",
    ),
    (
        OWN.format(
            "RuntimeError: shape mismatch: value tensor of shape [4, 512] cannot be broadcast to "
            "indexing result of shape [5, 512]"
        ),
        "[4, 512] are assigned to a place of [5, 512]",
    ),
    ("FileExistsError: [Errno 17] File exists: '/data/out'", "/data/out exists already"),
    ("OSError: cannot identify image file '/data/a.jpg'", "/data/a.jpg is no picture"),
    ("ValueError: Out of range float values are not JSON compliant", "NaN or infinite"),
    (
        ("ValueError: Expected a torch.device with a specified index or an integer, but got:cuda"),
        "cuda names no number",
    ),
    ("TypeError: Got unsupported ScalarType BFloat16", "NumPy has no BFloat16"),
    (OWN.format("ValueError: invalid literal for int() with base 10: '1.5'"), "'1.5'"),
    (
        (
            "TypeError: scatterplot() takes from 0 to 1 positional arguments but 2 positional "
            "arguments (and 1 keyword-only argument) were given"
        ),
        "scatterplot() takes its values by name",
    ),
    (OWN.format("AttributeError: 'NoneType' object has no attribute 'data'"), "with data"),
    (OWN.format("TypeError: 'NoneType' object is not subscriptable"), "None stands"),
    (OWN.format("IndexError: list index out of range"), "beyond the end of a list"),
)
INSIDE = (
    "AttributeError: 'NoneType' object has no attribute 'data'",
    "IndexError: list index out of range",
    "ValueError: too many values to unpack (expected 2)",
    "NameError: name 'np' is not defined",
)


def test_ordinary_failures_are_explained() -> None:
    """Each is a note with the objects of the log, and with something to do."""

    def look(case: tuple[str, str]) -> None:
        text, title = case
        found = [one.detection for one in explained(text) if title in one.detection.title]
        assert found, [one.detection.title for one in explained(text)]
        assert found[0].severity is Severity.NOTE
        assert found[0].recipes

    each(((case[0][-60:], case) for case in COVERED), look)


def test_code_of_packages_is_not_the_programs_own() -> None:
    """What fails inside of a package is not told as a mistake of the user."""

    def look(message: str) -> None:
        assert "own-code" not in [kind for kind, _ in said(LIBRARY.format("p/a.py", message))]

    each(((one, one) for one in INSIDE), look)
    engine = OWN.format("IndexError: list index out of range").replace(
        "/work/train.py", "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py"
    )
    assert "own-code" not in [kind for kind, _ in said(engine)]


def test_other_keys_are_no_columns() -> None:
    """A KeyError outside of pandas says nothing of a table."""
    assert not said(OWN.format("KeyError: 'Status'"))
