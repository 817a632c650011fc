"""TensorFlow's warnings about libraries that it did not find: it goes on without the GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.machine import system_of
from doctor.model.issues import Action, Option, Recipe
from doctor.model.scales import Severity

WARNING = "Could not load dynamic library"
_GIVES_UP = ("skipping registering gpu", "cannot dlopen some gpu libraries")
_ONLY_FASTER = ("libnvinfer", "libnvinfer_plugin")


def missing_for_tensorflow(case: Case) -> Iterator[Explanation]:
    """Yield one explanation of all libraries that TensorFlow did not find."""
    events = [one for one in case.of("library-not-found") if WARNING in one.text]
    names = list(
        dict.fromkeys(one.objects["library"] for one in events if "library" in one.objects)
    )
    needed = [name for name in names if not name.startswith(_ONLY_FASTER)]
    if not names:
        return
    text = "\n".join(case.log.lines[-5000:]).lower()
    gave_up = any(words in text for words in _GIVES_UP)
    if not needed:
        yield Explanation(
            event=events[0],
            precision=Precision.EXACT,
            detection=detection(
                events[0],
                "TensorFlow runs without TensorRT, which it did not find",
                f"{names[0]} belongs to TensorRT. TensorFlow uses it only for converted models and "
                "runs on the GPU without it.",
                severity=Severity.NOTE,
                name="tensorflow-library-missing",
            ),
        )
        return
    first = next(one for one in events if one.objects.get("library") == needed[0])
    listed = ", ".join(needed[:4]) + (f" and {len(needed) - 4} more" if len(needed) > 4 else "")
    searched = first.objects.get("searched", "")
    wanted = next((_OF_CUDA[own][1] for own in map(_generation, needed) if own in _OF_CUDA), "")
    here = _toolkit_of_text(case) if wanted else ""
    other = here if here and here != wanted else ""
    yield Explanation(
        event=first,
        precision=Precision.EXACT if gave_up or other else Precision.FAMILY,
        detection=detection(
            first,
            f"TensorFlow does not find {listed}"
            + (f": it is built for CUDA {wanted}, and the text names {other}" if other else "")
            + (", and runs on the CPU" if gave_up else ": without them it runs on the CPU"),
            "The number in the name is the release that this TensorFlow was built for; another one "
            "is of no use to it. "
            + (
                f"It searched LD_LIBRARY_PATH ({searched[:120]}) and the system. "
                if searched
                else ""
            )
            + "On a machine without an NVIDIA GPU the lines mean nothing.",
            recipes=(*_with_libraries(system_of(case, first), needed), *_for_toolkit(other)),
            severity=Severity.WARNING if gave_up or other else Severity.NOTE,
            name="tensorflow-library-missing",
        ),
    )


def _with_libraries(system: str, names: Sequence[str]) -> tuple[Recipe, ...]:
    """Return the recipes for libraries: those of an old TensorFlow come from conda."""
    newest = Recipe(
        title="Install TensorFlow together with the CUDA libraries that it was built for",
        use_if=("the program runs with TensorFlow 2.15 or newer",),
        steps=(Action(install=("tensorflow[and-cuda]",), options=(Option.UPGRADE,)),),
    )
    own = next((_OF_CUDA[found] for found in map(_generation, names) if found in _OF_CUDA), None)
    if own is None:
        return () if system == "windows" else (newest,)
    releases, toolkit, cudnn = own
    folder = "Library/bin to PATH" if system == "windows" else "lib to LD_LIBRARY_PATH"
    beside = Recipe(
        title=f"Install CUDA {toolkit} and cuDNN {cudnn}, for which TensorFlow {releases} is built",
        note="Into the active conda environment. Where the program then still finds none, add its "
        f"folder {folder}.{_NEWER if toolkit == '11.2' else ''} In a container an image of that "
        "CUDA with cuDNN does it.",
        steps=(
            Action(
                run=(
                    *("conda", "install", "-y", "-c", "conda-forge"),
                    *(f"cudatoolkit={toolkit}", f"cudnn={cudnn}"),
                )
            ),
        ),
    )
    return (beside,) if system == "windows" else (beside, newest)


def _toolkit_of_text(case: Case) -> str:
    """Return the only CUDA release that a form of the text names; empty where there is none."""
    lines = (line[:200] for line in case.log.lines[:2000])
    found = {release[1] for line in lines if (release := _STATED.match(line))}
    return found.pop() if len(found) == 1 else ""


def _for_toolkit(toolkit: str) -> tuple[Recipe, ...]:
    """Return how to stay with a toolkit: by the TensorFlow that was built for it."""
    if toolkit not in _OF_TOOLKIT:
        return ()
    requirement, pythons = _OF_TOOLKIT[toolkit]
    return (
        Recipe(
            title=f"Stay with CUDA {toolkit}, by a TensorFlow that was built for it",
            use_if=(f"Python is one of {pythons}, and the program runs with this TensorFlow",),
            note="A copy of the library under the other name does not help.",
            steps=(Action(install=(requirement,)),),
        ),
    )


def _generation(name: str) -> str:
    """Return the CUDA release in the name of the runtime: 11.0 of libcudart.so.11.0."""
    found = _RUNTIME.search(name)
    if found is None:
        return ""
    return found[1] or f"{found[2][:-1]}.{found[2][-1]}"


_RUNTIME = re.compile(r"libcudart\.so\.(\d{1,2}\.\d)|cudart64_(\d{2,3})\.dll")
_STATED = re.compile(r"^[\s*>-]{0,6}CUDA(?:/cuDNN)?(?: version)?\s?[:=]\s?v?(\d{1,2}\.\d)\b", re.I)
_OF_TOOLKIT = {
    "10.0": ("tensorflow-gpu==2.0.4", "3.5 to 3.7"),
    "10.1": ("tensorflow==2.3.4", "3.5 to 3.8"),
    "11.0": ("tensorflow==2.4.4", "3.6 to 3.8"),
    "11.2": ("tensorflow==2.10.1", "3.7 to 3.10"),
}
"""The last TensorFlow for a toolkit, and the Pythons that it has wheels for."""
_NEWER = " TensorFlow 2.12 to 2.14 takes cudatoolkit=11.8 and cudnn=8.8."
_OF_CUDA = {
    "11.0": ("2.5 to 2.11", "11.2", "8.1"),
    "10.1": ("2.1 to 2.3", "10.1", "7.6"),
    "10.0": ("1.13 to 2.0", "10.0", "7.6"),
}
"""The tested builds: https://www.tensorflow.org/install/source#gpu."""
