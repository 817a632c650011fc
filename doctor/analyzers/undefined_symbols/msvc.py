"""Names of Microsoft's C++ library that an older one lacks, as a linker reports them.

The vectorized algorithms of the library are compiled functions, and each release of Visual Studio
adds some (https://github.com/microsoft/STL, stl/src/vector_algorithms.cpp). What is compiled with a
newer release asks for them.
"""

from __future__ import annotations

import re

from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.machine import lines_around
from doctor.model.events import Event
from doctor.model.issues import Action, Recipe, Snippet

_OF_STL = re.compile(
    r"^(?:__imp_)?__std_(?:find|search|min|max|minmax|reverse|swap|count|remove|replace|bitset"
    r"|mismatch|unique|is_sorted|rotate|includes|init_once|smf|tzdb|fs|regex)\w{0,60}$"
    r"|^(?:__imp_)?_(?:Thrd_sleep_for|Cnd_timedwait_for|Mtx_init_in_situ)\w{0,20}$"
)
_FILE = re.compile(r"(?P<file>[\w.+-]{1,80}\.lib)\(")
_ORT = re.compile(r"(?i)onnxruntime|\bort(?:-sys)?\b")
_UPDATE = Recipe(
    title="Update Visual Studio 2022, or its Build Tools, to the newest release, and build again",
    note="The Visual Studio Installer does the same with Update. Remove the folder of the build "
    "(cargo clean) before the next build.",
    steps=(Action(run=("winget", "upgrade", "--id", "<product>")),),
    ask={
        "product": "Microsoft.VisualStudio.2022.BuildTools, or .Community, .Professional or "
        ".Enterprise in the place of .BuildTools"
    },
)
_DYNAMIC = Recipe(
    title="Load ONNX Runtime while the program runs, in the place of linking the library",
    note="ORT_DYLIB_PATH then names the onnxruntime.dll of a release of ONNX Runtime.",
    snippet=Snippet(
        where="Cargo.toml",
        after='ort = { version = "<release>", default-features = false, '
        'features = ["load-dynamic"] }',
    ),
    ask={"release": "the release of ort that the program has"},
)


def of_newer_msvc(symbol: str) -> bool:
    """Say whether a symbol is one that releases of Visual Studio add to its C++ library."""
    return _OF_STL.match(symbol) is not None


def newer_msvc(case: Case, event: Event, symbol: str) -> Explanation:
    """Explain a function of the C++ library that the installed Visual Studio lacks."""
    found = _FILE.search(event.text)
    file = found["file"] if found else "A library that is linked"
    ort = any(_ORT.search(line) for line in lines_around(case, event, 40, 40))
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("windows/torch-symbols-unresolved",),
        detection=detection(
            event,
            f"{file} was compiled by a newer Visual Studio than the one that links: "
            f"{symbol} is missing",
            f"{symbol} is a function of Microsoft's C++ library (msvcprt.lib, libcpmt.lib), which "
            "grows with each release of Visual Studio. An older linker takes no library from a "
            "newer compiler. A warning about LIBCMT beside it (LNK4098) is not the cause.",
            recipes=(_UPDATE, *((_DYNAMIC,) if ort else ())),
            name="built-for-newer-msvc",
            captures={"symbol": symbol},
        ),
    )
