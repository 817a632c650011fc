"""Libraries of Unix that a build asks for on Windows, and prompts of Visual Studio."""

from __future__ import annotations

from doctor.analyzers.case import Explanation, Precision, detection
from doctor.analyzers.recipes import WINDOWS, code, command
from doctor.model.events import Event

_UNIX_ONLY = frozenset({"m", "pthread", "dl", "rt", "util", "stdc++", "gomp", "c", "gcc_s"})
_FOLDER = r"C:\Program Files (x86)\Microsoft Visual Studio\2022\BuildTools\VC\Auxiliary\Build"

X64_PROMPT = command(
    "Open the console for x64 of the Build Tools, and build there in an empty folder",
    "cmd",
    "/k",
    "call",
    rf"{_FOLDER}\vcvars64.bat",
    use_if=(WINDOWS,),
    note="Its name in the Start menu is x64 Native Tools Command Prompt. With Visual Studio itself "
    r"the folder is C:\Program Files\Microsoft Visual Studio\2022\Community.",
)


def unix_library(event: Event, name: str) -> Explanation | None:
    """Explain a library that Windows does not have, since its C runtime holds the functions."""
    plain = name.removesuffix(".lib")
    if plain == "nccl":
        return _nccl(event)
    if plain not in _UNIX_ONLY:
        return None
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"The build asks for {name}, a library of Unix that Windows does not have",
            f"The sources list lib{plain} for the linker, as Linux and macOS need it. On Windows "
            "the functions are in the C runtime, or missing. The compiler is whole; nothing has to "
            "be installed.",
            recipes=(
                code(
                    f"Take {plain} out of the list on Windows",
                    "setup.py of the package (or its CMakeLists.txt)",
                    f"libraries=[] if sys.platform == 'win32' else ['{plain}']",
                    before=f"libraries=['{plain}']",
                    note="Then install from that folder.",
                ),
                command(
                    "Build and run it under WSL, where the library is there",
                    "wsl",
                    "--install",
                    use_if=("the package does not know Windows at all",),
                ),
            ),
            name="library-of-unix",
        ),
    )


def _nccl(event: Event) -> Explanation:
    """Explain NCCL, which NVIDIA releases for Linux alone."""
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            "The build asks for NCCL, which does not exist for Windows",
            "NVIDIA releases NCCL for Linux alone. This release of the program links it although "
            "one GPU needs none of it; no toolkit brings nccl.lib.",
            recipes=(
                command(
                    "Take the newest state of the sources, which may leave NCCL out on Windows",
                    *("git", "pull", "--ff-only"),
                    note="A crate takes its feature nccl out of --features, or out of the defaults "
                    "(--no-default-features).",
                ),
                command(
                    "Build and run it under WSL, where NCCL is there",
                    *("wsl", "--install"),
                    use_if=("no release of the program builds without it",),
                ),
            ),
            name="library-of-unix",
        ),
    )
