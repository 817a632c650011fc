"""Explain two releases that do not go together, by the numbers that the message holds.

| event | what is read |
| --- | --- |
| X is required, but found Y | which of them is too old or too new |
| generated code of protobuf | the runtime that it asks for |
| NumPy's C interface | which side is newer |
| metadata of a distribution missing | the distribution |
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import Version

from doctor.analyzers.case import Case, Explanation
from doctor.analyzers.findings import explanation
from doctor.analyzers.inventory import NAME, caller_of, distinct, is_version
from doctor.analyzers.python_names import is_passing
from doctor.model.events import Event
from doctor.model.issues import Action, Option, Recipe
from doctor.timelines import names

_TOGETHER = ("torch", "torchvision", "torchaudio")
_TORCH = frozenset({"torch", "torchvision", "torchaudio", "triton", "cuda", "python", "nvcc"})

_DTYPE_OF_1, _DTYPE_OF_2 = 96, 88
"""Bytes of numpy.dtype in NumPy 1 and in NumPy 2, by `numpy.dtype.__basicsize__`."""

_PROGRAMS = frozenset({"cuda", "cmake", "gcc", "g++", "nvcc", "driver", "rustc", "python", "node"})


def explain(case: Case) -> Iterator[Explanation]:
    """Yield the explanation of each pair."""
    of_resolvers = {event.at for event in case.of("requirement-unmet")}
    for event in distinct(case, *_EXPLAINED):
        if is_passing(event) or event.at in of_resolvers:
            continue
        if (found := _EXPLAINED[event.kind](case, event)) is not None:
            yield found


def _move(requirement: str) -> tuple[Recipe, ...]:
    """Return the recipe for a requirement; torch moves together with its companions."""
    try:
        asked = Requirement(requirement)
    except InvalidRequirement:
        return ()
    name = asked.name.lower()
    if asked.url or name in _TORCH - set(_TOGETHER):
        return ()
    if name in _TOGETHER:
        others = tuple(one for one in _TOGETHER if one != name)
        return (
            Recipe(
                title=f"Take a {asked.name} that fits, and its companions with it",
                note="Install compiled extensions again afterwards.",
                steps=(Action(install=(requirement,), companions=others),),
            ),
        )
    return (
        Recipe(
            title=f"Take a {asked.name} that fits",
            steps=(Action(install=(requirement,), options=(Option.HOLD_TORCH,)),),
        ),
    )


def _required(case: Case, event: Event) -> Explanation | None:
    """Explain what transformers and others ask of a package when they are imported."""
    requirement = event.objects["requirement"].rstrip(",")
    other, installed = event.objects["other"], event.objects["installed"].rstrip(".")
    caller = caller_of(case, event, "")
    asking = caller.name if caller and caller.kind == "package" else "A package"
    return explanation(
        event,
        f"{asking} wants {requirement}, and {other} {installed} is installed",
        f"It checks that when it is imported, and refuses. {_side(requirement, installed)}",
        _move(requirement),
        name="requirement-unmet",
    )


def _side(requirement: str, installed: str) -> str:
    try:
        specifier = Requirement(requirement).specifier
    except InvalidRequirement:
        return ""
    if not is_version(installed):
        return ""
    lower = [
        Version(one.version)
        for one in specifier
        if one.operator in (">=", ">", "==", "~=") and is_version(one.version)
    ]
    return (
        "The installed one is too old."
        if lower and Version(installed) < max(lower)
        else ("The installed one is too new.")
    )


def _stated(case: Case, event: Event) -> Explanation | None:
    """Explain a sentence that names what is wanted and what is there."""
    del case
    who, what = event.objects["who"], event.objects["what"]
    wanted, installed = event.objects["wanted"].rstrip("."), event.objects["installed"].rstrip(".")
    operator = event.objects.get("operator", "").removeprefix("version").strip() or ">="
    if not is_version(wanted) or not is_version(installed) or what.lower() in _PROGRAMS:
        return None
    if not NAME.fullmatch(what) or (operator == ">=" and Version(installed) >= Version(wanted)):
        return None
    distribution = names.distribution_of(what)
    return explanation(
        event,
        f"{who} wants {what}{operator}{wanted}, and {installed} is installed",
        "The two do not go together.",
        _move(f"{distribution}{operator}{wanted}") if distribution else (),
        name="requirement-unmet",
    )


def _generated(case: Case, event: Event) -> Explanation | None:
    """Explain generated code that is newer than protobuf's runtime."""
    del case
    built, installed = event.objects["built"].rstrip("."), event.objects["installed"].rstrip(".")
    if not is_version(built) or not is_version(installed):
        return None
    if Version(built) > Version(installed):
        major = Version(built).major
        return explanation(
            event,
            f"protobuf {installed} is too old for code that was generated for {built}",
            "The runtime has to be at least as new as the generated code, and at most one major "
            "release newer.",
            _move(f"protobuf>={built},<{major + 2}"),
        )
    return explanation(
        event,
        f"protobuf {installed} is too new for code that was generated for {built}",
        "The runtime takes code of its own major release and of the one before it.",
        _move(f"protobuf>={built},<{Version(built).major + 2}"),
    )


def _array(case: Case, event: Event) -> Explanation | None:
    """Explain a module that was compiled for another NumPy, by its C interface."""
    built, installed = event.objects.get("built"), event.objects.get("installed")
    caller = caller_of(case, event, "numpy")
    who = caller.name if caller and caller.kind == "package" else ""
    if built and installed and int(built, 16) > int(installed, 16):
        return explanation(
            event,
            f"NumPy is older than the one that {who or 'a compiled module'} was compiled for "
            f"({built} against "
            f"{installed})",
            "A module works with the NumPy that it was compiled for and with newer ones of the "
            "same "
            "generation.",
            _newer_numpy(),
            name="numpy-differs",
        )
    return explanation(
        event,
        f"{who or 'A module'} was compiled for another generation of NumPy than the installed one",
        "NumPy 2 changed its binary interface. Modules that were compiled for NumPy 1 need it.",
        _move("numpy<2"),
        name="numpy-differs",
        exact=False,
    )


def _newer_numpy() -> tuple[Recipe, ...]:
    return (
        Recipe(
            title="Take a newer NumPy of the first generation",
            steps=(Action(install=("numpy<2",), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
        ),
    )


def _size(case: Case, event: Event) -> Explanation | None:
    """Explain a changed size of one of NumPy's types: the numbers say which side is newer."""
    kind = event.objects["type"]
    if "numpy" not in kind and "ufunc" not in kind:
        return None
    built, installed = int(event.objects["built"]), int(event.objects["installed"])
    caller = caller_of(case, event, "numpy")
    who = caller.name if caller and caller.kind == "package" else ""
    # NumPy 2 took fields out of this one type; in all others a newer release only adds some.
    # https://numpy.org/doc/2.0/numpy_2_0_migration_guide.html#the-pyarray-descr-struct-has-been-changed
    generations = kind.endswith("dtype") and {built, installed} == {_DTYPE_OF_1, _DTYPE_OF_2}
    newer = built == _DTYPE_OF_2 if generations else built > installed
    message = f"Its type {kind} has {built} bytes there and {installed} bytes here."
    recipes = _newer_numpy() if newer else _move("numpy<2")
    if generations:
        made, here = (2, 1) if newer else (1, 2)
        message = f"It was compiled for NumPy {made}, and NumPy {here} is installed. {message}"
        recipes = _again(who) if newer else (*_move("numpy<2"), *_newer_release(who))
    return explanation(
        event,
        f"{who or 'A compiled module'} was compiled for {'a newer' if newer else 'an older'} NumPy "
        f"than the installed one",
        message,
        recipes,
        name="numpy-differs",
    )


def _parts(case: Case, event: Event) -> Explanation | None:
    """Explain a changed size of a type of any package but NumPy.

    Where the module that fails is of the package itself, its files come of two releases.
    """
    root = event.objects["root"]
    if root in ("numpy", "scipy", "__builtin__", "builtins", "type") or "numpy" in event.text:
        return None
    distribution = names.distribution_of(root) or root
    caller = caller_of(case, event, root)
    who = caller.name if caller and caller.kind == "package" else root
    here = case.log.lines[max(0, event.at - 8) : event.at]
    own = who == root or any(f"init {root}." in line or f"{root}/" in line for line in here)
    kind = f"{root}{event.objects['type']}"
    if distribution in _TORCH or not NAME.fullmatch(distribution):
        return None
    again = Recipe(
        title=f"Remove {distribution} wholly, and install one release of it",
        note="Run the first command again until it finds none. From conda: conda remove "
        f"{distribution} (with pyarrow also arrow-cpp), then install it from one of both, never "
        "from pip over conda's. Where files are left in site-packages, a new environment is the "
        "quickest way. Restart a notebook's kernel afterwards.",
        steps=(Action(uninstall=(distribution,)), Action(install=(distribution,))),
    )
    if own:
        return explanation(
            event,
            f"The files of {distribution} come from two releases",
            f"A compiled module of {root} expects the type {kind} as another release has it. The "
            "copies of conda and pip lie in one folder, files were left, or a notebook still holds "
            "the old one in memory. Neither NumPy nor what imports it is at fault.",
            (again,),
            name="parts-of-two-releases",
        )
    made = names.distribution_of(who) or who
    return explanation(
        event,
        f"{who} was compiled for another release of {distribution} than the installed one",
        f"It expects the type {kind} with another size.",
        (
            Recipe(
                title=f"Take the {made} that fits the installed {distribution}",
                steps=(Action(install=(made,), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
            ),
            again,
        )
        if NAME.fullmatch(made) and made not in _TORCH
        else (again,),
        name="parts-of-two-releases",
    )


def _newer_release(who: str) -> tuple[Recipe, ...]:
    """Return how a package moves to a release for NumPy 2; nothing where it is not known."""
    distribution = names.distribution_of(who)
    if not distribution or distribution in _TORCH:
        return ()
    return (
        Recipe(
            title=f"Take a release of {distribution} for NumPy 2",
            steps=(Action(install=(distribution,), options=(Option.UPGRADE, Option.HOLD_TORCH)),),
        ),
    )


def _again(who: str) -> tuple[Recipe, ...]:
    distribution = names.distribution_of(who)
    recipes: tuple[Recipe, ...] = ()
    if distribution and distribution not in _TORCH:
        recipes = (
            Recipe(
                title=f"Take a release of {distribution} for NumPy 1",
                use_if=("something else needs NumPy 1",),
                steps=(Action(install=(distribution, "numpy<2"), options=(Option.HOLD_TORCH,)),),
            ),
        )
    return (
        Recipe(
            title="Take NumPy 2",
            use_if=("nothing else holds NumPy below 2",),
            steps=(Action(install=("numpy>=2",), options=(Option.HOLD_TORCH,)),),
        ),
        *recipes,
    )


def _metadata(case: Case, event: Event) -> Explanation | None:
    """Explain a distribution whose metadata are not found."""
    del case
    package = event.objects["package"]
    if not NAME.fullmatch(package):
        return None
    known = package.replace("-", "_") in ("bitsandbytes",) or names.distribution_of(
        package.replace("-", "_")
    )
    return explanation(
        event,
        f"No metadata of {package} are found: it is not installed for this Python",
        "A program asks the metadata of a distribution for its release. They are also missing "
        "where "
        "it runs from a source folder that was never installed, or where PyInstaller left them "
        "out.",
        (
            Recipe(
                title=f"Install {package}",
                steps=(Action(install=(package,), options=(Option.HOLD_TORCH,)),),
            ),
        )
        if known and package not in _TORCH
        else (),
        name="metadata-missing",
        exact=False,
    )


_EXPLAINED = {
    "release-required": _required,
    "release-too-old": _stated,
    "generated-code-newer": _generated,
    "array-api-differs": _array,
    "array-size-changed": _size,
    "parts-of-two-releases": _parts,
    "distribution-metadata-missing": _metadata,
}
