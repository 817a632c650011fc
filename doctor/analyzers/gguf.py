"""Explain models in GGUF files that a build of llama.cpp does not know.

Which program carries llama.cpp is read from the log: each is updated in its own way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.recipes import LINUX, MACOS, UNIX, WINDOWS, command, fitting
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe

_ELSEWHERE = {
    "mllama": ("Ollama", "Llama 3.2 Vision"),
    "clip": ("--mmproj of llama.cpp", "the eyes of a vision model, handed in beside the model"),
    "flux": ("ComfyUI-GGUF or stable-diffusion.cpp", "a model of pictures"),
    "sd3": ("ComfyUI-GGUF or stable-diffusion.cpp", "a model of pictures"),
    "wan": ("ComfyUI-GGUF or stable-diffusion.cpp", "a model of films"),
    "whisper": ("whisper.cpp", "a model of speech"),
}
"""Architectures that llama.cpp itself does not run, and who does."""
_CARRIERS = (
    ("Ollama", re.compile(r"(?i)\bollama\b")),
    ("LM Studio", re.compile(r"(?i)\blm[ -]?studio\b(?!-community)|\blms\b")),
    ("KoboldCpp", re.compile(r"(?i)koboldcpp")),
    ("llamafile", re.compile(r"(?i)llamafile")),
    ("llama-cpp-python", re.compile(r"llama_cpp[/\\_]|llama[-_]cpp[-_]python|Llama\.generate")),
    ("llama.cpp", re.compile(r"llama-(?:cli|server|mtmd-cli|bench)\b|^build: \d|^srv |^main: ")),
)
_FURTHEST = 2000
SEE_RELEASE = command(
    "See the release of llama.cpp, then take the newest one",
    "llama-cli",
    "--version",
    note="Ollama, LM Studio and llama-cpp-python bring their own: update that program.",
    look=True,
)


def explain(case: Case) -> Iterator[Explanation]:
    """Yield which program is older than the model."""
    for event in list(case.of("gguf-architecture"))[:1]:
        yield _architecture(case, event)


def _carrier(case: Case) -> str:
    """Return the program that carries llama.cpp, by its name in the log."""
    lines = [line[:400] for line in case.log.lines[:_FURTHEST]]
    return next((name for name, sign in _CARRIERS if any(sign.search(line) for line in lines)), "")


def updates(case: Case) -> tuple[Recipe, ...]:
    """Return what brings the program that carries llama.cpp up to date; empty where none shows."""
    carrier = _carrier(case)
    return fitting(case, _UPDATES[carrier]) if carrier in _UPDATES else ()


def _architecture(case: Case, event: Event) -> Explanation:
    name = event.objects["architecture"]
    carrier = _carrier(case)
    if name in _ELSEWHERE:
        who, what = _ELSEWHERE[name]
        return Explanation(
            event=event,
            precision=Precision.EXACT,
            detection=detection(
                event,
                f"{name} is no language model that llama.cpp loads: it is one for {who}",
                f"The file holds {what}. No newer llama.cpp helps.",
                recipes=(
                    command(
                        "Run the model with Ollama, from its own library",
                        "ollama",
                        "run",
                        "llama3.2-vision",
                    ),
                )
                if name == "mllama" and carrier != "Ollama"
                else (),
                name="gguf-for-another-program",
            ),
        )
    here = carrier or "The program"
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{here} carries a llama.cpp that does not know the architecture {name}",
            f"The file names the architecture {name}. Either the release is older than the model, "
            "or the file was made for a fork of llama.cpp, which the page of the model names.",
            recipes=fitting(case, _UPDATES.get(carrier, _UNKNOWN)),
            name="gguf-architecture",
        ),
    )


_PYTHON = Recipe(
    title="Take the newest llama-cpp-python",
    use_if=("the program uses llama-cpp-python",),
    steps=(Action(install=("llama-cpp-python",), options=(Option.UPGRADE, Option.NO_CACHE)),),
    note="For CUDA set CMAKE_ARGS=-DGGML_CUDA=on before. It brings the llama.cpp of its own "
    "release; where that is too old as well, run llama-server and ask it over HTTP.",
)
_SOURCE = command(
    "Bring the sources of llama.cpp up to date, and build again",
    "sh",
    "-c",
    "git pull && cmake --build build --config Release -j",
    use_if=(UNIX, "the current folder is llama.cpp's, and it was built there"),
)
_OLLAMA = (
    command(
        "Update Ollama",
        "sh",
        "-c",
        "curl -fsSL https://ollama.com/install.sh | sh",
        use_if=(LINUX, "it is installed on the machine itself"),
    ),
    command(
        "Take the newest image of Ollama, and start the container anew",
        "docker",
        "pull",
        "ollama/ollama:latest",
        use_if=("it runs in Docker",),
    ),
    command(
        "Update Ollama",
        "winget",
        "upgrade",
        "--exact",
        "--id",
        "Ollama.Ollama",
        use_if=(WINDOWS,),
    ),
    command("Update Ollama", "brew", "upgrade", "ollama", use_if=(MACOS,)),
)
_UPDATES: dict[str, tuple[Recipe, ...]] = {
    "Ollama": _OLLAMA,
    "LM Studio": (
        command(
            "Take the newest engine of LM Studio",
            "lms",
            "runtime",
            "update",
            note="Or in the program: Settings, Runtime.",
        ),
    ),
    "llama-cpp-python": (_PYTHON,),
    "llama.cpp": (_SOURCE,),
}


_UNKNOWN = (_PYTHON, _SOURCE)
