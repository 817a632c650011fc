"""A compile error of no known class: the file that holds it says whose it is."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, detection
from doctor.analyzers.machine import excerpt, fact_text, lines_around
from doctor.analyzers.recipes import command
from doctor.model.events import Event
from doctor.model.issues import Recipe
from doctor.model.scales import Severity

_TORCH = re.compile(r"[/\\]torch[/\\]include[/\\]")
_TOOLKIT = re.compile(
    r"[/\\](?:cuda(?:-\d\d?\.\d)?|CUDA[/\\]v\d\d?\.\d|nvidia[/\\]\w{1,30})[/\\].{0,80}include[/\\]"
)
_PYBIND = re.compile(r"[/\\]pybind11[/\\]")
_PYTHON = re.compile(r"[/\\]include[/\\]python3\.\d|[/\\]Include[/\\]\w+\.h$|Python\.h$")
_SYSTEM = re.compile(r"^/usr/(?:local/)?(?:include|lib)/|[/\\]VC[/\\]Tools[/\\]|Windows Kits")
_OF_SOMEBODY = re.compile(r"[/\\]include[/\\]|[/\\](?:site|dist)-packages[/\\]|registry[/\\]src")
_STACK = re.compile(
    r"(?i)torch|cuda|nvcc|triton|hipcc|rocm|sycl|\bpip3? |\buv |setup\.py|building wheel|tensorflow"
    r"|onnx|candle|llama|ggml|cudarc"
)
_PLACE = re.compile(r"^\s{0,12}--> (?P<file>(?:[A-Za-z]:)?[^\s:]{1,300}):\d")
_CRATE = re.compile(
    r"registry[/\\]src[/\\][^/\\]{1,80}[/\\]([a-z][\w-]{1,60}?)-(\d[\w.+-]{2,30})[/\\]"
)
_NUMPY = re.compile(r"[/\\]numpy[/\\]")


def by_place(case: Case, event: Event) -> Explanation | None:
    """Explain by its place the first error of a compile that no rule knows."""
    message, file = event.objects.get("message", ""), event.objects.get("file", "")
    code = event.objects.get("code", "")
    if (not file and not code) or "crate for `std`" in message or "crate for `core`" in message:
        return None  # a driver such as nvcc or g++ that reports its parts; a missing target
    if not file and code.startswith("E"):
        return _rust(case, event, code, message)
    cause = _cause(case, file)
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{event.speaker} stops at {_short(file)}:{event.objects.get('row', '?')}: "
            f"{excerpt(message, 90)}",
            cause,
            severity=Severity.NOTE if _is_own(case, file) else Severity.ERROR,
            name="compile-error",
        ),
    )


def _is_own(case: Case, file: str) -> bool:
    """Say whether the sources are a program of the user's own, without GPU and without torch."""
    if _OF_SOMEBODY.search(file):
        return False
    return not any(_STACK.search(line) for line in case.log.lines[:20_000])


def _short(file: str) -> str:
    parts = re.split(r"[/\\]", file)
    return "/".join(parts[-2:]) if len(parts) > 2 else file


def _cause(case: Case, file: str) -> str:
    first = "This is the first error of the compiler; the later ones may come from it. "
    if _TORCH.search(file):
        torch = fact_text(case, "torch.release")
        here = f" {torch}" if torch else ""
        return first + (
            f"It stands in a header of torch{here}, which compiles elsewhere: the compiler, its "
            "language standard or a macro of the package does not fit it."
        )
    if _PYBIND.search(file):
        return (
            first
            + "It stands in pybind11's headers: an old pybind11 with a newer compiler or Python."
        )
    if _NUMPY.search(file):
        return first + "It stands in NumPy's headers: the sources are of another NumPy generation."
    if _PYTHON.search(file):
        return first + "It stands in Python's headers: the sources are older than this Python."
    if _TOOLKIT.search(file):
        return first + (
            "It stands in a header of the CUDA toolkit: the sources, or the host compiler, are of "
            "another time than the toolkit."
        )
    if _SYSTEM.search(file):
        return first + "It stands in a header of the system, which does not fit this compiler."
    return first + (
        "It stands in the sources that are compiled, not in a library: they have a mistake, or "
        "they are written for another release of what they use. A newer release of the package, "
        "or the releases that its documentation names, is the way; another compiler rarely is."
    )


def _rust(case: Case, event: Event, code: str, message: str) -> Explanation:
    place = next(
        (
            match["file"]
            for line in lines_around(case, event, 0, 3)
            if (match := _PLACE.match(line))
        ),
        "",
    )
    # The compiler shows a crate from an index by its full path, one's own by a relative one.
    crate = _CRATE.search(place)
    own = bool(place) and not _OF_SOMEBODY.search(place) and not place.startswith("/")
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"rustc stops with {code}: {excerpt(message, 90)}",
            "This is the first error of rustc"
            + (f", in {_short(place)}" if place else "")
            + ". In a crate from crates.io it mostly means that a "
            "dependency moved on without it (`cargo update` took a newer one), or that the Rust "
            "release is another one than the crate was written for.",
            recipes=_newer_crate(crate[1], crate[2]) if crate else (),
            severity=Severity.NOTE if own else Severity.ERROR,
            name="compile-error",
        ),
    )


def _newer_crate(name: str, version: str) -> tuple[Recipe, ...]:
    """Return the recipes for a crate of an index that does not compile."""
    return (
        command(
            f"Take a newer {name} of the same line than {version}",
            "cargo",
            "update",
            "-p",
            f"{name}@{version}",
            note="Where Cargo.toml pins it, raise the pin.",
        ),
        command(
            f"See which crate asks for {name} {version}, and take a newer one of that",
            "cargo",
            "tree",
            "-i",
            f"{name}@{version}",
            look=True,
        ),
    )
