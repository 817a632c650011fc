"""The recipes for statuses with which Windows ends a process."""

from __future__ import annotations

import re

from doctor.analyzers.case import Case
from doctor.analyzers.gguf import updates
from doctor.analyzers.inventory import frames, package_of
from doctor.analyzers.recipes import WINDOWS, code, command, newest, variables
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe

_LOOK_AT_PROCESSOR = command(
    "See which processor it is",
    *("powershell", "-c", "(Get-CimInstance Win32_Processor).Name"),
    use_if=(WINDOWS,),
    look=True,
    note="AVX2 came with Intel's 4th generation (2013) and AMD's Excavator and Ryzen; Pentium and "
    "Celeron lacked it for longer. A virtual machine may hide it.",
)
_WITHOUT_AVX2 = Recipe(
    title="Compile llama-cpp-python on this machine, without AVX2",
    steps=(
        Action(
            env={
                "CMAKE_ARGS": "-DGGML_NATIVE=OFF -DGGML_AVX2=OFF -DGGML_FMA=OFF -DGGML_F16C=OFF "
                "-DGGML_BMI2=OFF"
            }
        ),
        Action(
            install=("llama-cpp-python",),
            options=(Option.REINSTALL, Option.NO_DEPS, Option.NO_CACHE, Option.NO_BINARY),
        ),
    ),
    note="It needs the build tools of Visual Studio for C++. Releases before July 2024 call the "
    "options LLAMA_AVX2, LLAMA_FMA and LLAMA_F16C. A processor without AVX needs -DGGML_AVX=OFF "
    "too.",
)
_WHERE = variables(
    "Have Python print where it crashed",
    {"PYTHONFAULTHANDLER": "1"},
    note="Run the program once more: the last line of the stack names the package.",
    lasting=False,
)
_DRIVER = command(
    "See the driver, the memory and the temperature of the GPU while it runs",
    *("nvidia-smi", "-l", "5"),
    look=True,
    note="Where it runs for a while and then ends at another place each time: update the driver, "
    "take overclocking back, make the paging file larger, and test the memory (mdsched). Where it "
    "ends at once, a package with compiled code does not fit: xformers and bitsandbytes first.",
)
_PYTHON = re.compile(r"[Pp]ython|\.py\b|Traceback|\bpip\b|site-packages")
_NEWEST_PROGRAM = command(
    "Update the program itself",
    *("winget", "upgrade", "<program>"),
    ask={"program": "its name in winget list"},
    note="A crash in a program's own code is mended by its authors. Where it began with an update, "
    "go back to the release before.",
)
_WITHOUT_GPU = code(
    "Start it without the GPU, which tells whether the driver or the program is at fault",
    "the program's settings",
    "GPU layers: 0",
    note="Where it runs then, update the driver of the GPU, or choose fewer layers; where it ends "
    "the same way, the model file or the processor does not fit the program.",
)


def of_windows(case: Case, event: Event, name: str) -> tuple[Recipe, ...]:
    """Return what to do about a status of Windows, the best first."""
    packages = [package_of(path) for path in frames(case, event)]
    if name == "STATUS_ILLEGAL_INSTRUCTION":
        if "llama_cpp" in packages:
            return (_WITHOUT_AVX2, _LOOK_AT_PROCESSOR)
        return (_LOOK_AT_PROCESSOR,)
    if name == "STATUS_ACCESS_VIOLATION":
        if not packages and not any(map(_PYTHON.search, case.log.lines)):
            return (*(updates(case) or (_NEWEST_PROGRAM,)), _WITHOUT_GPU, _DRIVER)
        inner = next((one for one in packages if one in ("xformers", "bitsandbytes")), None)
        first = (newest(inner, title=f"Take the newest {inner}"),) if inner else ()
        return (*first, _WHERE, _DRIVER)
    return ()
