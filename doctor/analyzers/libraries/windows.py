"""DLLs that Windows found and could not use: errors 127 and 1114."""

from __future__ import annotations

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.libraries.missing import VISUAL_C_RUNTIME
from doctor.analyzers.machine import fact_text
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe


def windows(case: Case, event: Event) -> Explanation | None:
    """Explain a DLL that Windows found and could not use."""
    file = event.objects.get("file", "").replace("\\", "/").rpartition("/")[2]
    name = file or event.objects.get("module", "") or "The file"
    if event.kind == "dll-function-missing":
        return _function(case, event, name)
    return _start(event, name)


def _function(case: Case, event: Event, name: str) -> Explanation:
    if (found := _of_protobuf(case, event)) is not None:
        return found
    torch = fact_text(case, "torch.release")
    symbol = event.objects.get("symbol", "")
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{name} asks a DLL for a function that it does not have (Windows error 127)"
            + (f": {symbol[:80]}" if symbol else ""),
            "All DLLs were found, and one of them is of another release than the file was built "
            f"for. For an extension of torch{f' {torch}' if torch else ''} this means: it was "
            "built for another torch. Otherwise an older DLL of the same name comes first on PATH "
            "or lies beside the program.",
            recipes=(
                Recipe(
                    title="Install the package again in the build for this torch",
                    use_if=("the package has builds for several torch releases",),
                    steps=(
                        Action(install=("<package>",), options=(Option.REINSTALL, Option.NO_DEPS)),
                    ),
                    ask={"package": "the package of the module, with the release for this torch"},
                ),
            ),
            name="dll-function-missing",
        ),
    )


def _of_protobuf(case: Case, event: Event) -> Explanation | None:
    """Explain protobuf's own compiled part, which TensorFlow imports first.

    The wheel of 3.6.1 for Windows asks for a function that Python before 3.6.6 does not have
    (https://github.com/protocolbuffers/protobuf/issues/5046).
    """
    lines = case.log.lines[max(event.at - 3, 0) : event.at + 1]
    if not any("google.protobuf.pyext" in line[:400] for line in lines):
        return None
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("tensorflow/native-runtime-not-loaded",),
        detection=detection(
            event,
            "protobuf's compiled part does not load in this Python, and TensorFlow imports it",
            "TensorFlow itself, CUDA and cuDNN have no part in it: the traceback ends in "
            "google.protobuf. Its wheel was built for a later Python 3.6 than the one that is "
            "here, or for another one.",
            recipes=(
                Recipe(
                    title="Go back to protobuf 3.6.0",
                    use_if=("TensorFlow is a release of 1",),
                    steps=(Action(install=("protobuf==3.6.0",)),),
                ),
                Recipe(
                    title="Install protobuf again, whole",
                    steps=(
                        Action(install=("protobuf",), options=(Option.REINSTALL, Option.NO_CACHE)),
                    ),
                ),
            ),
            name="dll-function-missing",
        ),
    )


def _start(event: Event, name: str) -> Explanation:
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{name} was found, and its start failed (Windows error 1114)",
            "The DLL ran its own first steps and gave up. With torch's c10.dll the cause is mostly "
            "a Visual C++ runtime that is older than torch (one in the folder of another program "
            "comes first), or torch imported after a package with such a runtime.",
            recipes=(
                VISUAL_C_RUNTIME[0],
                Recipe(
                    title="Import torch before the other packages",
                    note="The first package that loads a runtime decides for the process.",
                    steps=(
                        Action(
                            run=(
                                "{python.executable}",
                                "-c",
                                "import torch; print(torch.__version__)",
                            )
                        ),
                    ),
                    lasting=False,
                ),
            ),
            name="dll-start-failed",
        ),
    )
