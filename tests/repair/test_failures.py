"""How a program failed, and whether it came further than before."""

from __future__ import annotations

import sys

import pytest

from doctor.repair.ending import Ending
from doctor.repair.failures import came_further, failure_of, is_detour, misses

_SITE = "/env/lib/python3.11/site-packages"


def _text(*places: tuple[str, int], error: str) -> str:
    frames = "".join(f'  File "{path}", line {line}, in x\n    call()\n' for path, line in places)
    return f"Traceback (most recent call last):\n{frames}{error}\n"


def test_the_last_traceback_is_the_failure_and_the_others_stay_in_its_chain() -> None:
    first = _text((f"{_SITE}/core/a.py", 3), error="ImportError: libx.so: undefined symbol: f")
    last = _text(("/home/run.py", 7), (f"{_SITE}/beta.py", 2), error="RuntimeError: no core")
    found = failure_of(f"hello\n{first}\nDuring handling of the above …\n\n{last}")
    assert found.error == "RuntimeError: no core"
    assert [frame.top for frame in found.frames] == ["", "beta"]
    assert [frame.top for frame in found.every] == ["core", "", "beta"]
    assert "undefined symbol" in found.chain
    assert failure_of("Segmentation fault\n").error == "Segmentation fault"
    below = "Sphinx version error:\nThe docs.help extension needs 5.0\n"
    hint = "[AttributeError]: module 'cache' has no Storage\nWARNING: add -v to see more\n"
    assert Ending(code=1, text=hint).last_line == hint.splitlines()[0]
    assert failure_of(below).error == below.replace("\n", " ").strip()


@pytest.mark.parametrize(
    ("place", "error", "moved", "further"),
    [
        (("/home/run.py", 9), "ValueError: other", (), True),
        (("/home/run.py", 2), "ValueError: other", (), False),
        (("/home/run.py", 5), "ValueError: first", (), False),
        (("/home/run.py", 5), "ValueError: other", (), True),
        (("/home/run.py", 5), "ImportError: core is too new", ("core",), False),
    ],
)
def test_a_later_line_of_the_program_is_further(
    place: tuple[str, int], error: str, moved: tuple[str, ...], further: bool
) -> None:
    before = failure_of(_text(("/home/run.py", 5), error="ValueError: first"))
    assert came_further(before, failure_of(_text(place, error=error)), moved) is further


def test_lines_of_a_package_that_moved_are_not_compared() -> None:
    old = failure_of(_text(("/run.py", 5), (f"{_SITE}/core/a.py", 90), error="ValueError: one"))
    new = failure_of(_text(("/run.py", 5), (f"{_SITE}/core/a.py", 80), error="ValueError: two"))
    assert not came_further(old, new)
    assert not came_further(old, new, ("core",))
    other = failure_of(_text(("/run.py", 5), (f"{_SITE}/beta.py", 1), error="ValueError: two"))
    assert came_further(old, other, ("core",))


def test_another_failure_in_what_moved_may_be_the_next_fault() -> None:
    """Nobody can tell by the text; an earlier stop of the program is none."""
    old = failure_of(_text(("/run.py", 5), (f"{_SITE}/core/a.py", 90), error="ValueError: one"))
    again = failure_of(_text(("/run.py", 5), (f"{_SITE}/core/b.py", 3), error="core needs beta 2"))
    back = failure_of(_text(("/run.py", 2), (f"{_SITE}/core/b.py", 3), error="core needs beta 2"))
    assert not came_further(old, again, ("core",))
    assert is_detour(old, again, ("core",))
    assert not is_detour(old, back, ("core",))
    assert not is_detour(old, old, ("core",))


def test_the_rank_and_the_notices_of_torch_are_no_part_of_a_failure() -> None:
    text = (
        "[rank0]: Traceback (most recent call last):\n"
        '[rank0]:   File "/p/train.py", line 3, in <module>\n'
        "[rank0]:     dist.all_reduce(t)\n"
        "[rank0]: torch.distributed.DistBackendError: NCCL error\n"
        "[rank0]:[W1123 09:59:06.253 ProcessGroupNCCL.cpp:1575] Warning: WARNING: "
        "destroy_process_group() was not called before program exit\n"
    )
    failure = failure_of(text)
    assert [(one.path, one.line) for one in failure.frames] == [("/p/train.py", 3)]
    assert failure.error == "torch.distributed.DistBackendError: NCCL error"


def test_indented_details_are_a_part_of_the_message() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "/x/program.py", line 3, in <module>\n    S()\n    ^^^\n'
        "ValidationError: 1 validation error for S\nport\n"
        "  Input should be an integer, input_value='eighty'\n"
    )
    assert failure_of(text).error.endswith("input_value='eighty'")


_OF_TESTS = """
___________________ ERROR collecting tests/test_a.py ___________________
tests/test_a.py:1: in <module>
    from lab import read
.venv/lib/python3.11/site-packages/lab/core.py:7: in <module>
    import beta
E   ModuleNotFoundError: No module named 'beta'
___________________ ERROR collecting tests/test_b.py ___________________
tests/test_b.py:1: in <module>
E   ModuleNotFoundError: No module named 'gamma'
=========================== short test summary info ============================
ERROR tests/test_a.py
2 errors in 0.51s
"""


def test_the_first_failure_of_several_tests_is_the_one() -> None:
    """The tool shows it in a form of its own, and its last line only counts."""
    found = failure_of(_OF_TESTS)
    assert found.error == "ModuleNotFoundError: No module named 'beta'"
    assert [(frame.top, frame.line) for frame in found.frames] == [("", 1), ("lab", 7)]
    ended = Ending(code=2, text=_OF_TESTS)
    assert ended.last_line == found.error
    assert ended.further == ("ModuleNotFoundError: No module named 'gamma'",)
    second = failure_of(_OF_TESTS.partition("'beta'\n")[2])
    assert second.error == "ModuleNotFoundError: No module named 'gamma'"
    assert came_further(found, second)
    copied = failure_of(_OF_TESTS.replace(".venv", "../.doctor-clone-1/.venv"))
    assert copied.mark == found.mark
    inner = _text((f"{_SITE}/plug.py", 3), error="ValueError: no plugin")
    inner = "".join(f"INTERNALERROR> {line}\n" for line in inner.splitlines())
    assert [frame.top for frame in failure_of(inner).frames] == ["plug"]


@pytest.mark.skipif(sys.platform != "linux", reason="the numbers of signals on Linux")
@pytest.mark.parametrize(
    ("code", "text", "words", "why"),
    [
        (-7, "", "ends with exit code -7 (Bus error, signal 7)", "Bus error, signal 7"),
        (139, "ready\n", "ends with exit code 139 (Segmentation fault, signal 11)", ""),
        (-6, "F x.cc:2] bad\n", "ends with exit code -6 (Aborted, signal 6)", ""),
        (1, "ValueError: x\n", "ends with exit code 1", "ValueError: x"),
        (-15, "", "ends with exit code -15", ""),
    ],
)
def test_a_crash_is_told_by_its_signal(code: int, text: str, words: str, why: str) -> None:
    ending = Ending(code=code, text=text)
    assert ending.words == words
    assert ending.why == (why or (f"{ending.signal}: {text.strip()}" if text else ""))


def test_a_program_that_asks_for_a_file_misses_it() -> None:
    for text in (
        "ImportError: cannot import name 'serialization' from partially initialized module 'onnx'",
        "ModuleNotFoundError: No module named 'onnx.serialization'",
    ):
        assert misses(failure_of(text), "serialization")
        assert not misses(failure_of(text), "serial")
        assert not misses(failure_of(text), "onnx")
