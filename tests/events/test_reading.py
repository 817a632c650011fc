"""Events are found line by line, with their objects, in linear time."""

from __future__ import annotations

import io
import time

import pytest

from doctor.base.patterns import pattern_error
from doctor.catalog import loading
from doctor.events.forms import Form
from doctor.events.owner import failure_lines, owning_event
from doctor.events.reading import events_of, words
from doctor.events.voices import voices
from doctor.model.observation import Log
from doctor.pipeline.logs import read_log
from tests.each import each

FORMS = [(f"{voice.speaker}: {form.kind}", form) for voice in voices() for form in voice.forms]


def of(text: str) -> Log:
    """Return a log of a text."""
    return Log(source="log", lines=tuple(text.split("\n")))


def test_a_form_can_be_searched() -> None:
    """The engine accepts each pattern; words are lower-case and long enough to be rare."""
    assert all(voice.speaker for voice in voices())
    each(FORMS, _can_be_searched)


def _can_be_searched(form: Form) -> None:
    assert not pattern_error(form.pattern)
    assert form.words
    assert all(word == word.lower() and len(word) >= 4 for word in form.words)


def test_an_event_names_its_objects() -> None:
    """The symbol and the file stand among the objects; the line is counted from 1."""
    (event,) = events_of(of("first\nImportError: /x/a.so: undefined symbol: _ZN2at1xEv\nlast"))
    assert (event.speaker, event.kind, event.line) == ("ld.so", "undefined-symbol", 2)
    assert event.objects == {"file": "/x/a.so", "symbol": "_ZN2at1xEv"}
    assert owning_event([event]) == event


def test_a_repeated_event_is_bounded() -> None:
    """A line that stands there a hundred thousand times costs a bounded number of events."""
    log = of("\n".join(["a.so: undefined symbol: x"] * 100_000))
    assert 1 <= len(events_of(log)) <= 100


def test_a_long_log_keeps_the_lines_of_events() -> None:
    """The line of an event in the middle of a long log is read, whatever its case."""
    word = min(words())
    filler = b"nothing to see here\n" * 200_000
    text = filler + f"before {word.upper()} after\n".encode() + filler
    log = read_log("long", io.BytesIO(text), loading.load())
    assert any(word.upper() in line for line in log.lines)


@pytest.mark.parametrize(
    "piece",
    [
        "error: ",
        "Error",
        "x.cu(3): error: y",
        "ninja: build stopped",
        "Traceback (most recent call last)",
        "[rank0]: Traceback (most recent call last):",
        "╭─ Traceback (most recent call last) ─╮",
        "\u2028é“’ : Fehler :",
        '{"log": "',
    ],
)
def test_hostile_logs_take_linear_time(piece: str) -> None:
    """A line without end and a line that stands there very often cost seconds at most."""
    log = Log(source="log", lines=(piece * 30_000, *([piece] * 20_000)))
    started = time.process_time()
    events = events_of(log)
    owner = owning_event(events)
    assert time.process_time() - started < 2.5
    assert len(events) <= 2000
    assert owner is None or owner.at in failure_lines(events, owner)


def test_the_last_events_of_a_form_are_read_too() -> None:
    """A program that logs many failures may end with another one."""
    text = "\n".join([*(f"ValueError: item {one}" for one in range(500)), "RuntimeError: the end"])
    assert events_of(of(text))[-1].objects == {"type": "RuntimeError", "message": "the end"}


def test_forty_programs_speak() -> None:
    """The voices name the programs of a machine-learning stack."""
    speakers = {voice.speaker for voice in voices()}
    assert len(speakers) >= 40
    assert speakers >= {
        *("pip", "uv", "conda", "mamba", "poetry", "cargo", "rustc", "nvcc", "ptxas", "MSVC"),
        *("cmake", "ninja", "make", "the linker", "ld.so", "Windows", "Python", "pybind11"),
        *("CUDA", "HIP", "Level Zero", "Metal", "cuBLAS", "cuDNN", "NCCL", "Triton", "JAX"),
        *("XLA", "TensorFlow", "ONNX Runtime", "llama.cpp", "Docker", "kubelet", "Slurm", "Ray"),
        *("torchrun", "git", "curl", "wget", "apt", "systemd", "torch.compile"),
    }
