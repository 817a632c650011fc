"""Explain a C or C++ library that is older than a compiled file (GLIBC, GLIBCXX, CXXABI).

| what the log says | what is said of it |
| --- | --- |
| version `GLIBC_2.32' not found | the first systems with it; glibc cannot be replaced alone |
| version `GLIBCXX_3.4.29' not found, CXXABI | which gcc, which copy is loaded, conda's package |
| nothing provides __glibc >=2.28 | no channel mends it: a newer system |
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.analyzers.apptainer import host_library_in_image
from doctor.analyzers.case import Case, Explanation, Precision, detection
from doctor.analyzers.machine import fact_text, is_conda
from doctor.analyzers.recipes import LINUX
from doctor.model.events import Event
from doctor.model.issues import Action, Condition, Recipe, Snippet
from doctor.timelines.c_library import SymbolVersion, symbol_version

_PREFIX = re.compile(
    r"(?P<prefix>/[^\s:'\"]{1,200}?/(?:envs/[^/\s:]{1,80}|(?:mini|ana|micro)conda\d?"
    r"|(?:mini|mamba)forge\d?)|/opt/conda)/(?:bin/\.\./)?lib/"
)
_IN_PACKAGES = re.compile(r"[/\\](?:site|dist)-packages[/\\]")


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of the newest version that is missing, for each library."""
    newest: dict[str, tuple[tuple[int, ...], Event, SymbolVersion | None, str]] = {}
    for event in case.of("symbol-version-missing"):
        name = event.objects.get("version", "")
        prefix, _, number = name.partition("_")
        if prefix not in ("GLIBC", "GLIBCXX", "CXXABI") or not number[:1].isdigit():
            continue
        order = tuple(int(part) for part in number.split(".") if part.isdigit())
        if prefix not in newest or order > newest[prefix][0]:
            newest[prefix] = (order, event, symbol_version(name), number)
    if "GLIBCXX" in newest:
        newest.pop("CXXABI", None)  # the other half of the same library
    for prefix, (_, event, version, number) in newest.items():
        if prefix == "GLIBC" and _OF_HOST in event.objects.get("file", ""):
            yield host_library_in_image(event, number)
        elif prefix == "GLIBC":
            yield _glibc(case, event, version, number, _file(event))
        else:
            yield _libstdcxx(case, event, version, f"{prefix}_{number}")


_OF_HOST = "/.singularity.d/libs/"
"""Where Apptainer puts the libraries of the host's driver into the container."""


def _file(event: Event) -> str:
    return event.objects.get("file", "").rpartition("/")[2]


def glibc_of_conda(case: Case, event: Event, package: str, number: str) -> Explanation:
    """Return the explanation of a package of conda that needs a newer glibc than the system's."""
    version = symbol_version(f"GLIBC_{number}")
    return _glibc(case, event, version, number, package, of_conda=True)


def _glibc(
    case: Case,
    event: Event,
    version: SymbolVersion | None,
    number: str,
    name: str,
    *,
    of_conda: bool = False,
) -> Explanation:
    here = fact_text(case, "host.glibc")
    system = case.context.distribution or fact_text(case, "host.distribution")
    what = name or "a compiled file"
    is_here = f": {system or 'the system'} has {here}" if here else ", and the system is older"
    systems = ", ".join(version.row.systems) if version is not None else ""
    cause = (
        "glibc belongs to the operating system. It cannot be replaced alone, and neither pip nor "
        "conda brings it"
        + (
            ": conda only reads its version (__glibc), and no channel changes it. "
            "Do not set CONDA_OVERRIDE_GLIBC: what is installed then fails when it is loaded. "
            if of_conda
            else ". "
        )
        + (f"The first systems with {number} or newer: {systems}." if systems else "")
    )
    if _at_most(number, (2, 17)):
        cause += " This system is older than every wheel of today (manylinux2014 needs 2.17)."
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        contradicts=("torch/conda-*", "*/conda-unsatisfiable") if of_conda else (),
        detection=detection(
            event,
            f"{what} needs glibc {number}{is_here}",
            cause,
            recipes=_newer_system(event)[: 1 if of_conda else None],
            name="c-library-too-old",
            captures={"glibc": number},
        ),
    )


def _at_most(number: str, limit: tuple[int, int]) -> bool:
    parts = tuple(int(part) for part in number.split(".") if part.isdigit())
    return parts <= limit


_WITHOUT_PYG_LIB = Recipe(
    title="Take pyg-lib out, which torch-geometric does without",
    note="torch-sparse then loads without it. The wheels of pyg-lib lie on data.pyg.org alone; one "
    "for this system has to be built from its sources on GitHub.",
    steps=(Action(uninstall=("pyg-lib",)),),
)


def _newer_system(event: Event) -> tuple[Recipe, ...]:
    """Return the recipes; a file outside packages, such as a bundle in /opt, has no release."""
    path = event.objects.get("file", "")
    file = _file(event)
    newer = Recipe(
        title="Work on a newer system, or in a container with one",
        note="Without Docker, as on clusters, Apptainer runs the same images.",
        snippet=Snippet(
            where="the first line of the Dockerfile",
            after="FROM nvidia/cuda:12.8.1-devel-ubuntu24.04",
        ),
    )
    older = Recipe(
        title="Install an older release of the package, whose wheels are made for older systems",
        use_if=(
            f"the package of {file} has such a release" if file else "there is such a release",
        ),
        steps=(Action(install=("<package>==<older-release>",)),),
        ask={
            "package": f"the package of {file}" if file else "the package",
            "older-release": "a release from before it needed this glibc",
        },
    )
    if file == "libpyg.so":
        return (_WITHOUT_PYG_LIB, newer)
    return (newer,) if "/" in path and not _IN_PACKAGES.search(path) else (newer, older)


def _libstdcxx(case: Case, event: Event, version: SymbolVersion | None, name: str) -> Explanation:
    library = event.objects.get("library", "")
    file = _file(event) or "a compiled file"
    gcc = version.row.compiler if version is not None else ""
    systems = ", ".join(version.row.systems) if version is not None else ""
    conda = _PREFIX.match(library)
    # The file lies in an environment of conda, and the system's library was loaded.
    home = _PREFIX.match(event.objects.get("file", "")) if not conda and "/" in library else None
    prefix = conda[1] if conda else home[1] if home else ""
    inside = bool(prefix) or is_conda(case, event) or _by_conda_forge(case)
    of_system = "the system's, " if home else ""
    loaded = (
        f"The copy that was loaded is conda's ({library})"
        if conda
        else f"The copy that was loaded is {of_system}{library}"
        if "/" in library
        else "The copy that was loaded is older"
    )
    built = not _IN_PACKAGES.search(event.objects.get("file", "")) and event.objects.get("file")
    cause = (
        f"{file} was compiled with {_compiler(gcc)}{' or newer' if gcc else ''}. {loaded}, and it "
        "is older. A process loads one libstdc++, the first that is found; a newer one also runs "
        "what older ones ran."
        + (f" The first systems with it: {systems}." if systems and not conda else "")
        + (
            " If it was compiled on this machine, compiling again with the same gcc changes "
            "nothing."
            if built
            else ""
        )
    )
    return Explanation(
        event=event,
        precision=Precision.EXACT,
        detection=detection(
            event,
            f"{file} needs {name} ({_compiler(gcc)}), and the libstdc++ that was loaded is older",
            cause,
            recipes=(
                *(_own_copy_first(home[1], name) if home else ()),
                *_newer_libstdcxx(version, prefix, inside, library),
            ),
            name="cxx-library-too-old",
        ),
    )


def _by_conda_forge(case: Case) -> bool:
    """Say whether the Python, or torch, is one of conda-forge."""
    return any("| packaged by " in line and "conda" in line for line in case.log.lines[:5000])


def _own_copy_first(prefix: str, name: str) -> tuple[Recipe, ...]:
    """Return the recipe that has the process load the newer copy of its environment."""
    own = f"{prefix}/lib/libstdc++.so.6"
    return (
        Recipe(
            title="Load the libstdc++ of the conda environment in the place of the system's",
            use_if=(LINUX, f"grep -c {name} {own} prints 1 or more"),
            note=f"Or put its folder first: LD_LIBRARY_PATH={prefix}/lib. Importing the package "
            "before torch has the same effect. Never replace the system's file.",
            steps=(Action(env={"LD_PRELOAD": own}),),
        ),
    )


def _compiler(gcc: str) -> str:
    return f"gcc {gcc.removeprefix('GCC ').removeprefix('gcc ')}" if gcc else "a newer gcc"


_SYSTEM_FOLDERS = frozenset(
    {"/usr/lib", "/usr/lib64", "/lib", "/lib64"}
    | {
        f"{root}/{machine}-linux-gnu"
        for root in ("/usr/lib", "/lib")
        for machine in ("x86_64", "aarch64")
    }
)


def _beside_system(wanted: str, library: str) -> Iterator[Recipe]:
    """Yield what brings a newer libstdc++ beside, or in the place of, that of the system."""
    if "-linux-gnu/" in library:
        yield Recipe(
            title="Update the libstdc++ of Ubuntu",
            use_if=(
                Condition(fact="host.package_manager", equals="apt"),
                "this is Ubuntu",
            ),
            note="It comes from the repository of Ubuntu's toolchain maintainers. Programs of the "
            "system run on it as before.",
            steps=(
                Action(run=("add-apt-repository", "-y", "ppa:ubuntu-toolchain-r/test"), sudo=True),
                Action(system={"apt": ("libstdc++6",)}, sudo=True),
            ),
        )
    yield Recipe(
        title="Take a newer libstdc++ from conda-forge, and have the loader find it first",
        use_if=("a conda environment is active",),
        note="Set the variable in the shell that starts the program, and for this program alone.",
        steps=(
            Action(run=("conda", "install", "-y", "-c", "conda-forge", wanted)),
            Action(env={"LD_LIBRARY_PATH": "$CONDA_PREFIX/lib:$LD_LIBRARY_PATH"}),
        ),
    )


def _newer_libstdcxx(
    version: SymbolVersion | None, prefix: str, inside: bool, library: str
) -> tuple[Recipe, ...]:
    wanted = next(iter(version.row.conda), "") if version is not None else ""
    wanted = wanted if wanted.startswith("libstdcxx") else "libstdcxx-ng>=14"
    recipes: list[Recipe] = []
    if inside:
        recipes.append(
            Recipe(
                title="Update the libstdc++ of the conda environment",
                steps=(
                    Action(
                        run=(
                            *("conda", "install", "--prefix", prefix or "{python.conda|<folder>}"),
                            *("--channel", "conda-forge", "--yes", wanted),
                        )
                    ),
                ),
                ask={} if prefix else {"folder": "the folder of the conda environment"},
            )
        )
    of_system = library.rpartition("/")[0] in _SYSTEM_FOLDERS and not inside
    if of_system:
        recipes += _beside_system(wanted, library)
    else:
        recipes.append(
            Recipe(
                title="Start without LD_LIBRARY_PATH, which may lead to the older copy",
                use_if=("LD_LIBRARY_PATH names a folder with a libstdc++.so.6",),
                steps=(Action(env={"LD_LIBRARY_PATH": ""}),),
            )
        )
    if not inside:
        recipes.append(
            Recipe(
                title="Work on a newer system, or in a container with one",
                snippet=Snippet(
                    where="the first line of the Dockerfile",
                    after="FROM nvidia/cuda:12.8.1-devel-ubuntu24.04",
                ),
            )
        )
    return tuple(recipes)
