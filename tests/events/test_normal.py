"""What others put around a line is taken off before an event is looked for."""

from __future__ import annotations

import time

import pytest

from doctor.events.normal import folded, is_mild, normal
from doctor.events.reading import events_of
from doctor.events.translations import ENGLISH
from doctor.model.observation import Log

ERROR = "RuntimeError: it broke"


@pytest.mark.parametrize(
    ("line", "process"),
    [
        (f"[rank0]: {ERROR}", "[rank0]"),
        (f"(EngineCore_0 pid=123) {ERROR}", "(EngineCore_0 pid=123)"),
        (
            f"(RayWorkerWrapper pid=77, ip=10.0.0.2) {ERROR}",
            "(RayWorkerWrapper pid=77, ip=10.0.0.2)",
        ),
        (f"(train.step() pid=5) {ERROR}", "(train.step() pid=5)"),
        (f"[1,0]<stderr>:{ERROR}", "[1,0]<stderr>"),
        (f"3: {ERROR}", "3"),
        (f"2026-11-21T18:00:01.0000000Z {ERROR}", ""),
        (f"[2026-11-21 18:00:01,123] {ERROR}", ""),
        (f"ERROR 11-21 18:00:01 [core.py:708] {ERROR}", ""),
        (
            f"(EngineCore_DP0 pid=9) ERROR 11-21 18:00:01 [core.py:708] {ERROR}",
            "(EngineCore_DP0 pid=9)",
        ),
        (f"Nov 21 18:00:01 node1 trainer[812]: {ERROR}", ""),
        (f"[   36.169023] {ERROR}", ""),
        (f"#12 34.56 {ERROR}", ""),
        (f"1.181 {ERROR}", ""),
        (f"2026-11-21T18:00:01.000000000Z stderr F {ERROR}", ""),
        (f"trainer-1  | {ERROR}", ""),
        (f"> > {ERROR}", ""),
        (f"│ {ERROR}        │", ""),
        (f"E       {ERROR}", ""),
        (f'{{"log":"{ERROR}\\n","stream":"stderr","time":"2026-11-21T18:00:01Z"}}', ""),
        (f"  0%|          | 0/50 [00:00<?, ?it/s]{ERROR}", ""),
        (f"##[error]{ERROR}", ""),
    ],
)
def test_an_exception_is_found_behind_what_stands_before_it(line: str, process: str) -> None:
    (event,) = events_of(Log(source="log", lines=(line,)))
    assert event.objects["type"] == "RuntimeError"
    assert event.objects["message"].startswith("it broke")
    assert event.process == process
    assert event.text == line.strip()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("‘AT_CHECK’ was not declared", "'AT_CHECK' was not declared"),
        ("capabilities : [[gpu]]", "capabilities: [[gpu]]"),
        (
            "ImportError：DLL load failed: 找不到指定的模块。",
            "ImportError:DLL load failed: The specified module could not be found。",
        ),
        ("main.cpp:2:10: schwerwiegender Fehler: x.h", "main.cpp:2:10: fatal error: x.h"),
        ("main.cpp:2:10: erreur fatale : x.h", "main.cpp:2:10: fatal error: x.h"),
        (
            "Speicherzugriffsfehler (Speicherabzug geschrieben)",
            "Segmentation fault (Speicherabzug geschrieben)",
        ),
    ],
)
def test_quotes_colons_and_languages_are_folded(written: str, read: str) -> None:
    assert folded([written, "next"]) == [read, "next"]


def test_each_translation_is_one_event_with_its_english() -> None:
    """No text of another language holds a part that was translated before it."""
    for english, others in ENGLISH.items():
        for foreign in others:
            assert folded([foreign])[0].startswith(english), foreign


@pytest.mark.parametrize(
    ("line", "mild"),
    [
        ("2023-01-01 10:00:00.1: W tensorflow/tsl/x.cc:64] Could not load dynamic library", True),
        ("W1122 16:41:45.676033    1706 bfc_allocator.cc:598] ran out of memory", True),
        ("/x/torch/cuda/__init__.py:88: UserWarning: CUDA initialization: no driver", True),
        ("WARNING 06-13 11:42:20 _custom_ops.py:11] Failed to import", True),
        ("x.cu(3): warning #177-D: unused", True),
        ("RuntimeError: CUDA error: unknown error", False),
        ("vm:2156:2156 [0] init.cc:904 NCCL WARN Duplicate GPU detected", False),
        ("E1122 16:41:45.676033    1706 x.cc:598] it broke", False),
    ],
)
def test_a_line_that_calls_itself_a_warning_is_mild(line: str, mild: bool) -> None:
    assert is_mild(line) is mild


@pytest.mark.parametrize(
    "piece",
    ["[rank0]: ", "> ", "│ ", "12:00:01 ", '{"a":', "it/s", "#1 ", "1: ", "W tensorflow/", "]" * 9],
)
def test_hostile_lines_take_linear_time(piece: str) -> None:
    line = piece * 20_000
    started = time.process_time()
    for _ in range(50):
        (text,) = folded([line])
        normal(text)
        is_mild(text)
    assert time.process_time() - started < 5
