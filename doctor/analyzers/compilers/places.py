"""A compile error of no known class: the file that holds it says whose it is."""

from __future__ import annotations

import re

from doctor.analyzers import offers
from doctor.analyzers.build_tables import FIRST_WHEELS
from doctor.analyzers.built_packages import built, python_with_wheels
from doctor.analyzers.case import Case, Explanation, detection
from doctor.analyzers.checkouts import is_checkout, other_state
from doctor.analyzers.inventory import NAME, Inventory
from doctor.analyzers.machine import excerpt, fact_text, lines_around
from doctor.analyzers.package_builds import newer
from doctor.analyzers.recipes import command, variables
from doctor.model.events import Event
from doctor.model.issues import Action, Condition, Option, Recipe
from doctor.model.scales import Severity

_TORCH = re.compile(r"[/\\]torch[/\\]include[/\\]")
_TOOLKIT = re.compile(
    r"[/\\](?:cuda(?:-\d\d?\.\d)?|CUDA[/\\]v\d\d?\.\d|nvidia[/\\]\w{1,30})[/\\].{0,80}include[/\\]"
)
_PYBIND = re.compile(r"[/\\]pybind11[/\\]")
_PYTHON = re.compile(r"[/\\]include[/\\]python3\.\d|[/\\]Include[/\\]\w+\.h$|Python\.h$")
_SYSTEM = re.compile(
    r"/MacOSX[\d.]{0,6}\.sdk/|^/usr/(?:local/)?(?:include|lib)/|[/\\]VC[/\\]Tools[/\\]|Windows Kits"
)
_OF_SOMEBODY = re.compile(r"[/\\]include[/\\]|[/\\](?:site|dist)-packages[/\\]|registry[/\\]src")
_INSTALLED = re.compile(r"[/\\](?:site|dist)-packages[/\\]|registry[/\\]src|[/\\]envs[/\\]")
_STACK = re.compile(
    r"(?i)torch|cuda|nvcc|triton|hipcc|rocm|sycl|\bpip3? |\buv |setup\.py|building wheel|tensorflow"
    r"|onnx|candle|llama|ggml|cudarc"
)
_LOCKED = re.compile(r"^\s{0,12}Locking \d{1,6} packages? to latest")
_BUILT_CRATE = re.compile(
    r"^\s{0,12}(?:Adding|Compiling|Downloaded|Checking) (?P<name>[a-z][\w-]{1,60}) "
    r"v(?P<release>\d[\w.+-]{2,30})"
)
_BROKE_OFF = re.compile(
    r"(?:g?make|ninja)(?:\[\d{1,3}\])?: (?:\*\*\*|build stopped)"
    r"|error: (?:subprocess-exited-with-error|could not compile `)"
)
_UNSET = re.compile(r"environment variable `([A-Z][A-Z0-9_]{1,60})` not defined at compile time")
_PLACE = re.compile(r"^\s{0,12}--> (?P<file>(?:[A-Za-z]:)?[^\s:]{1,300}):\d")
_CRATE = re.compile(
    r"registry[/\\]src[/\\][^/\\]{1,80}[/\\]([a-z][\w-]{1,60}?)-(\d[\w.+-]{2,30})[/\\]"
)
_EXPANDED = re.compile(
    r"\s{0,8}(?P<file>[^\s:]{1,300}):(?P<row>\d{1,7}):\d{1,6}: note: "
    r"(?:expanded from|in (?:expansion|definition) of) macro "
    r"['\u2018](?P<macro>[A-Za-z_]\w{0,60})['\u2019]"
)
_INSTALLER = re.compile(
    r"Building wheel for [\w.-]{1,80} |pip-install-|Failed (?:to build|building wheel)"
    r"|pip-req-build|Failed to build `|Running setup\.py install"
)
_NUMPY = re.compile(r"[/\\]numpy[/\\]")


def by_place(case: Case, event: Event) -> Explanation | None:
    """Explain by its place the first error of a compile that no rule knows."""
    message, file = event.objects.get("message", ""), event.objects.get("file", "")
    code = event.objects.get("code", "")
    if (
        (not file and not code and "place" not in event.objects)
        or "crate for `std`" in message
        or "crate for `core`" in message
    ):
        return None  # a driver such as nvcc or g++ that reports its parts; a missing target
    if not file and (code.startswith("E") or event.speaker == "rustc"):
        return _rust(case, event, code, message)
    if (found := _macro(case, event, file, message)) is not None:
        return found
    cause = _cause(case, file)
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{event.speaker} stops at {_short(file)}:{event.objects.get('row', '?')}: "
            f"{excerpt(message, 90)}",
            cause,
            recipes=_recipes(case, event, file),
            severity=Severity.NOTE if _is_own(case, file) else Severity.ERROR,
            name="compile-error",
        ),
    )


def _is_own(case: Case, file: str) -> bool:
    """Say whether the sources are a program of the user's own, without GPU and without torch.

    What a build tool stopped at is a failed build, whoever wrote it.
    """
    if _OF_SOMEBODY.search(file) or any(_BROKE_OFF.match(line) for line in case.log.lines[-400:]):
        return False
    return not any(_STACK.search(line) for line in case.log.lines[:20_000])


def _recipes(case: Case, event: Event, file: str) -> tuple[Recipe, ...]:
    """Return what helps against a mistake in sources that somebody else wrote."""
    package = _packaged(case, event)
    if package:
        return _older_than_python(case, package) or ready_made(package)
    if _INSTALLED.search(file) or _SYSTEM.search(file) or _TOOLKIT.search(file):
        return ()
    if _is_own(case, file) and not is_checkout(case):
        return ()
    return other_state(case)


def _older_than_python(case: Case, package: str) -> tuple[Recipe, ...]:
    """Return the recipes for a release that is older than the first with wheels for this Python."""
    python = Inventory(case).python() or ""
    if (package.lower(), python) not in FIRST_WHEELS:
        return ()
    older = python_with_wheels(case, package, python)
    condition = ("this very release is needed",)
    return (offers.new_environment(older, use_if=condition), *newer(package, python))


def _packaged(case: Case, event: Event) -> str:
    """Return the package that an installer builds at an event."""
    around = lines_around(case, event, 400, 400)
    if not any(_INSTALLER.search(line[:500]) for line in around):
        return ""
    name = built(case, event)
    return name if NAME.fullmatch(name) else ""


def ready_made(package: str) -> tuple[Recipe, ...]:
    """Return the recipes for a package without building it."""
    return (
        Recipe(
            title=f"Take {package} ready-made from conda-forge",
            use_if=(Condition(fact="python.conda", present=True),),
            steps=(
                Action(
                    run=("conda", "install", "-p", "{python.conda}", "-c", "conda-forge", package)
                ),
            ),
        ),
        Recipe(
            title=f"Take a release of {package} that has a wheel for this Python and system",
            note="pip says at once if there is none. Then another Python may have one, and conda: "
            f"conda create -n {package} -c conda-forge {package}",
            steps=(Action(install=(package,), options=(Option.HOLD_TORCH,), env=_BINARY),),
        ),
    )


_BINARY = {"PIP_ONLY_BINARY": ":all:", "UV_NO_BUILD": "1"}


def _macro(case: Case, event: Event, file: str, message: str) -> Explanation | None:
    """Explain a header of the system that a macro of the package breaks."""
    if not _SYSTEM.search(file):
        return None
    notes = [match for line in lines_around(case, event, 0, 6) if (match := _EXPANDED.match(line))]
    own = next((one for one in notes if not _SYSTEM.search(one["file"])), None)
    if own is None:
        return None
    header = re.split(r"[/\\]", file)[-1]
    macro, package = own["macro"], _packaged(case, event)
    build = (
        Recipe(
            title=f"Build it with {macro} defined beforehand, so that the macro is left out",
            use_if=(f"its sources define {macro} only where it is not defined (#ifndef)",),
            steps=(
                Action(
                    install=(package or "<package>",),
                    options=(Option.NO_CACHE, Option.HOLD_TORCH),
                    env={"CFLAGS": f"-D{macro}={macro}"},
                ),
            ),
            ask={} if package else {"package": "the package that is built"},
        ),
    )
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"The macro {macro} in {_short(own['file'])}:{own['row']} breaks the system's "
            f"{header} ({excerpt(message, 60)})",
            f"The sources{f' of {package}' if package else ''} define a name that this release of "
            "the system's headers declares as a function. They are older than these headers. The "
            "further errors, and the warnings, come from other places.",
            recipes=(*ready_made(package), *build) if package else build,
            name="compile-error",
        ),
    )


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
    place = event.objects.get("place", "") or next(
        (
            match["file"]
            for line in lines_around(case, event, 0, 3)
            if (match := _PLACE.match(line))
        ),
        "",
    )
    # The compiler shows a crate from an index by its full path, one's own by a relative one.
    crate = _CRATE.search(place)
    own = bool(place) and not place.startswith("/") and _is_own(case, place)
    stops = f"rustc stops with {code}" if code else "rustc stops"
    where = f" in {crate[1]} {crate[2]}" if crate else ""
    return Explanation(
        event=event,
        detection=detection(
            event,
            f"{stops}{where}: {excerpt(message, 160 if not code else 90)}",
            "This is the first error of rustc"
            + (f", in {_short(place)}" if place else "")
            + (
                ". In a crate from crates.io it mostly means that a dependency moved on without it "
                "(`cargo update` took a newer one), or that the Rust release is another one than "
                "the crate was written for."
                if code
                else ". The crate itself stops the build there (compile_error!), and the further "
                "errors follow from that."
            ),
            recipes=_rust_recipes(case, message, crate),
            severity=Severity.NOTE if own else Severity.ERROR,
            name="compile-error",
        ),
    )


def _rust_recipes(case: Case, message: str, crate: re.Match[str] | None) -> tuple[Recipe, ...]:
    if unset := _UNSET.search(message):
        return (
            variables(
                f"Set {unset[1]}, which the crate reads while it is compiled",
                {unset[1]: "<value>"},
                ask={"value": "what the README or the build.rs of the crate says"},
            ),
        )
    return _other_crate(case, crate[1], crate[2]) if crate else ()


def _other_crate(case: Case, name: str, version: str) -> tuple[Recipe, ...]:
    """Return the recipes for a crate of an index that does not compile."""
    partner = _partner(case, name, version)
    first: tuple[Recipe, ...] = ()
    if partner:
        first = (
            command(
                f"Take {name} {partner[1]}, the release that goes with {partner[0]} {partner[1]}",
                *("cargo", "update", "-p", f"{name}@{version}", "--precise", partner[1]),
                note=f'For good: {name} = "={partner[1]}" in Cargo.toml. Cargo takes a later '
                "pre-release as compatible, although pre-releases promise nothing.",
            ),
        )
    fresh = any(_LOCKED.search(line[:300]) for line in case.log.lines[:5000])
    newer, asking = _newer_crate(name, version)
    return (*first, asking) if fresh else (*first, newer, asking)


def _partner(case: Case, name: str, version: str) -> tuple[str, str] | None:
    """Return a crate of the same family in another pre-release of the same version."""
    base, _, pre = version.partition("-")
    if not pre:
        return None
    for line in case.log.lines[:5000]:
        for match in _BUILT_CRATE.finditer(line[:300]):
            other, release = match["name"], match["release"]
            family = name.startswith(f"{other}-") or other.startswith(f"{name}-")
            if family and release != version and release.partition("-")[0] == base:
                return other, release
    return None


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
